/* The options of `voltmill bench`. */
#ifndef VOLTMILL_CLI_BENCH_BENCH_OPTIONS_H
#define VOLTMILL_CLI_BENCH_BENCH_OPTIONS_H

#include "bench/bench_ppf.h"
#include "cli/print/csv.h"

enum { BENCH_LIST = 24 };

/* Values of one column, each to be combined with all of the others. */
struct bench_list {
    uint64_t values[BENCH_LIST];
    uint32_t count;
};

/* What is asked for, and the state of the table while it is made. */
struct bench_settings {
    enum backend_kind backend;
    const char *device;
    struct bench_list channels, taps, bits, streams, kernels;
    enum fft_kind fft;
    int is_real, is_lofar;
    enum quantity quantity;
    uint64_t integrate, samples, repeats, threads;
    int with_transfers;
    const char *csv_path;
    int help;
    /* While it runs. */
    backend_t *opened;
    struct backend_rates rates;
    uint32_t failed;
    struct csv csv;
};

/* Reads argv[0] ("bench") and what follows it. Fails with USAGE. */
status_t bench_options_read(int argc, char **argv, struct bench_settings *out);

/* Reads "8", "256,1024" or "256..4096" (doubling) into `out`; `option` names it in messages. Fails
 * with USAGE. */
status_t bench_list_read(const char *option, const char *text, uint64_t least, uint64_t most,
                         struct bench_list *out);

#endif
