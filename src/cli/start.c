#include "cli/start.h"

#include "io/apart/launch.h"
#include "ranks/agree.h"

#include <stdio.h>

status_t start_all(status_t st, int *rank)
{
    int level = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    report_quiet(*rank != 0);
    return agree_all(MPI_COMM_WORLD, st);
}

void start_print_all(const char *text)
{
    int rank = 0;
    if (launch_is_used()) {
        (void)start_all(STATUS_OK, &rank);
    }
    if (rank == 0) {
        fputs(text, stdout);
    }
}
