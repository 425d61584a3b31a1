/* The kernels of a search once: blocks that are all there, a short one behind them, and blocks that
 * lack samples: run under oclgrind by tests/cli/oclgrind.sh. */
#include "peaks_bench.h"

#include <stdio.h>

int main(void)
{
    enum { WIDTHS = 32, TIMES = 4096 + 192, STRIDE = 4352, NDMS = 2 };
    const struct boxes boxes = boxes_of(WIDTHS, 6, TIMES);
    for (int is_missing = 0; is_missing < 2; is_missing++) {
        printf("%s: peaks %s\n", is_missing ? "missing" : "whole",
               compare(&boxes, NDMS, STRIDE, is_missing, 0) > 0 ? "found" : "NOT FOUND");
    }
    return 0;
}
