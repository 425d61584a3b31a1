/* OpenCL of processors takes signals for itself when it is first asked, and LLVM when it first
 * compiles: calls that may do so stand between these two, which put back what was there. */
#ifndef VOLTMILL_COMPUTE_OPENCL_SIGNALS_H
#define VOLTMILL_COMPUTE_OPENCL_SIGNALS_H

#include <signal.h>

enum { SIGNALS_KEPT = 4 };

struct signals {
    struct sigaction actions[SIGNALS_KEPT];
};

void signals_keep(struct signals *signals);
void signals_put_back(const struct signals *signals);

#endif
