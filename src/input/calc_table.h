/* Tables of delay polynomials as CALC writes them: files .im of difxcalc and calcif2 (DiFX). */
#ifndef VOLTMILL_INPUT_CALC_TABLE_H
#define VOLTMILL_INPUT_CALC_TABLE_H

#include "dsp/array/delay_model.h"
#include "io/pack.h"

/* One scan of such a file. Delays are the time by which the wave reaches a station later than the
 * centre of the Earth: the negative of DELAY (us), which includes the atmosphere. Direction 0 is
 * the pointing source, the others are the phase centres. */
struct calc_table {
    struct delay_table table;
    char **stations;   /* [table.nstations] names */
    char **directions; /* [table.ndirections] names of sources */
    uint64_t ndelays;  /* numbers in table.delay_s */
};

/* Reads the scan that contains a moment. Fails with DATA: no such file, no such scan, polynomials
 * that are missing or do not follow each other. */
status_t calc_table_read(const char *path, struct utc utc, struct calc_table **out);
void calc_table_destroy(struct calc_table *calc);

extern const struct pack_type calc_table_type;

#endif
