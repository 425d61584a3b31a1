/* The four signals that drivers are known to take. */
#include "compute/opencl/signals.h"

#include <stddef.h>

static const int numbers[SIGNALS_KEPT] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};

void signals_keep(struct signals *signals)
{
    for (int i = 0; i < SIGNALS_KEPT; i++) {
        sigaction(numbers[i], NULL, &signals->actions[i]);
    }
}

void signals_put_back(const struct signals *signals)
{
    for (int i = 0; i < SIGNALS_KEPT; i++) {
        sigaction(numbers[i], &signals->actions[i], NULL);
    }
}
