/* Sizes, and the spans of the delays in every tile. */
#include "compute/opencl/dedisperse/dedisperse_shape.h"

#include "base/memory.h"

uint32_t dedisperse_shape_tile_samples(const struct dedisperse_shape *s)
{
    return s->time_items * s->time_out * s->pack;
}

uint32_t dedisperse_shape_tile_dms(const struct dedisperse_shape *s)
{
    return s->dm_items * s->dm_out;
}

uint32_t dedisperse_shape_padded(const struct dedisperse_shape_problem *p,
                                 const struct dedisperse_shape *s)
{
    /* Floats are added sixteen rows at a time. */
    uint32_t unit = p->is_float && s->chunk < DEDISPERSE_SIXTEEN ? DEDISPERSE_SIXTEEN : s->chunk;
    return (uint32_t)ceil_div_u64(p->nrows, unit) * unit;
}

uint32_t dedisperse_shape_row_words(const struct dedisperse_shape *s,
                                    const struct dedisperse_shape_spans *spans)
{
    /* A span begins up to a word before the first sample; the funnel reads one word more. */
    uint32_t words = (spans->span + s->pack - 1) / s->pack;
    uint32_t row = s->time_items * s->time_out + words + (s->staging == STAGING_FUNNEL);
    return (row + 3) / 4 * 4;
}

uint32_t dedisperse_shape_rel(const struct dedisperse_shape_spans *spans, uint32_t delay,
                              uint32_t i)
{
    return delay + spans->front - spans->skew * i;
}

uint32_t dedisperse_shape_base(uint32_t least)
{
    /* Four words of four samples, which are loaded at a time. */
    enum { ALIGNED = 16 };
    return least / ALIGNED * ALIGNED;
}

enum { SPAN_ROWS = 64 };

/* The spans of `count` rows from `first` on in one tile of DMs from .. to - 1. */
static void shape_span_of_rows(const struct dedisperse_shape_problem *p,
                               struct dedisperse_shape_spans *spans, uint32_t from, uint32_t to,
                               uint32_t first, uint32_t count)
{
    uint32_t least[SPAN_ROWS];
    uint32_t most[SPAN_ROWS];
    for (uint32_t i = 0; i < count; i++) {
        least[i] = UINT32_MAX;
        most[i] = 0;
    }
    for (uint32_t dm = from; dm < to; dm++) {
        const uint32_t *delays = p->delays + (size_t)dm * p->nrows + first;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t rel = dedisperse_shape_rel(spans, delays[i], dm - from);
            least[i] = rel < least[i] ? rel : least[i];
            most[i] = rel > most[i] ? rel : most[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t span = most[i] - dedisperse_shape_base(least[i]);
        spans->span = span > spans->span ? span : spans->span;
        spans->mean += span;
    }
}

/* Computes the spans of one tile of DMs from .. to - 1. */
static void shape_span_of_tile(const struct dedisperse_shape_problem *p,
                               struct dedisperse_shape_spans *spans, uint32_t from, uint32_t to)
{
    for (uint32_t row = 0; row < p->nrows; row += SPAN_ROWS) {
        shape_span_of_rows(p, spans, from, to, row, (uint32_t)min_u64(SPAN_ROWS, p->nrows - row));
    }
    spans->ntiles++;
}

void dedisperse_shape_spans(const struct dedisperse_shape_problem *p,
                            const struct dedisperse_shape *s, struct dedisperse_shape_spans *known)
{
    uint32_t dms = dedisperse_shape_tile_dms(s);
    if (known->dms == dms && known->skew == s->skew) {
        return;
    }
    *known = (struct dedisperse_shape_spans){.dms = dms, .skew = s->skew};
    known->front = (s->skew * (dms - 1) + 3) / 4 * 4;
    for (uint32_t range = 0; range < p->nranges; range++) {
        for (uint32_t dm = p->firsts[range]; dm < p->firsts[range + 1]; dm += dms) {
            shape_span_of_tile(p, known, dm, (uint32_t)min_u64(dm + dms, p->firsts[range + 1]));
        }
    }
    known->mean /= (double)known->ntiles * p->nrows;
}

uint32_t dedisperse_shape_registers(const struct dedisperse_shape_problem *p,
                                    const struct dedisperse_shape *s)
{
    int is_totalled = s->pack == 4 && p->nrows > 256;
    uint32_t word = (s->pack > 1 ? 2U : 1U) * (is_totalled ? 2U : 1U);
    uint32_t sums = s->time_out * s->dm_out;
    if (s->group > 0) {
        /* High parts as kernels/dedisperse_tree.cl has them. */
        return s->pack == 1 || p->nrows <= 257 ? sums
               : p->nrows <= 1024              ? sums + sums / 4
                                               : 2 * sums;
    }
    for (uint32_t rows = s->chunk; p->is_float && rows < DEDISPERSE_SIXTEEN; rows *= 2) {
        word++; /* sums that wait for others */
    }
    return word * sums;
}
