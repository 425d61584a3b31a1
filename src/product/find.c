/* Peaks of all DMs, gathered in the order of DMs and times, and grouped. */
#include "product/candidates.h"

#include "base/memory.h"
#include "base/report.h"
#include "base/units.h"
#include "dsp/boxes.h"
#include "dsp/groups.h"
#include "io/file.h"
#include "product/kind/dedispersed_kind.h"

#include <stdlib.h>
#include <string.h>

/* Positive floats are ordered as the integers that their bits are. */
enum { PIECE_ROWS_BYTES = 1 << 20, BINS = 1 << 16, BIN_SHIFT = 15 };

struct finding {
    const struct product_spec *spec;
    struct candidates *out;
    struct peak *cells; /* some rows */
    uint64_t *bins;     /* [BINS] peaks by S/N */
    float all_above;    /* of this S/N and more all are kept, */
    float least;        /* and as many as `spare` of this and more, the first ones */
    uint64_t spare;
    struct burst *bursts;
    size_t count;
};

static void find_count(struct finding *f, uint32_t dm, uint64_t cell, const struct peak *peak)
{
    (void)dm;
    (void)cell;
    uint32_t bits;
    memcpy(&bits, &peak->snr, sizeof bits);
    f->bins[bits >> BIN_SHIFT]++;
    f->out->peaks++;
    f->out->above += peak->above;
}

static void find_keep(struct finding *f, uint32_t dm, uint64_t cell, const struct peak *peak)
{
    int is_strong = peak->snr >= f->all_above;
    int is_spare = !is_strong && peak->snr >= f->least && f->spare > 0;
    f->spare -= (uint64_t)is_spare;
    if (is_strong || is_spare) {
        f->bursts[f->count++] = (struct burst){.snr = peak->snr,
                                               .dm = dm,
                                               .first = (uint32_t)(cell * PEAK_CELL) + peak->offset,
                                               .width = peak->width};
    }
}

/* Hands on every peak that the file holds. */
static status_t
find_walk(struct finding *f, int fd, const char *path, const struct product_place *place,
          void (*take)(struct finding *f, uint32_t dm, uint64_t cell, const struct peak *peak))
{
    uint64_t cells = place->row_bytes / sizeof *f->cells;
    uint64_t rows = max_u64(PIECE_ROWS_BYTES / place->row_bytes, 1);
    for (uint64_t row = 0; row < place->rows; row += rows) {
        uint64_t count = min_u64(rows, place->rows - row);
        TRY(file_read(fd, path, place->data_offset + row * place->row_bytes, f->cells,
                      count * place->row_bytes));
        for (uint64_t i = 0; i < count * cells; i++) {
            if (f->cells[i].snr > 0) {
                take(f, (uint32_t)(row + i / cells), i % cells, &f->cells[i]);
            }
        }
    }
    return STATUS_OK;
}

static float find_bin(uint32_t bin)
{
    uint32_t bits = bin << BIN_SHIFT;
    float snr;
    memcpy(&snr, &bits, sizeof snr);
    return snr;
}

/* The strongest, if there are more than are wanted: whole bins, and of the next one the first. */
static uint64_t find_settle_least(struct finding *f)
{
    const struct dedispersed_search *search = &f->spec->series->search;
    uint64_t kept = 0;
    uint32_t bin = BINS;
    while (bin > 0 && kept + f->bins[bin - 1] <= search->most) {
        kept += f->bins[--bin];
    }
    if (bin > 0) {
        f->all_above = find_bin(bin);
        f->least = find_bin(bin - 1);
        f->spare = search->most - kept;
        kept = search->most;
    }
    f->out->kept_above = bin > 0 ? (double)f->all_above : search->boxes->threshold;
    return kept;
}

/* By how many samples each DM's delays differ across the band; they rise with the DM. */
static status_t find_spans(const struct dispersion *delays, uint32_t **out)
{
    status_t st = STATUS_OK;
    uint32_t *spans = NULL;
    uint32_t *of = NULL;
    TRY_OUT(memory_zeroed(delays->ndms, sizeof *spans, "DMs", &spans));
    TRY_OUT(memory_zeroed(delays->nchannels, sizeof *of, "delays", &of));
    for (uint32_t dm = 0; dm < delays->ndms; dm++) {
        dispersion_rows(delays, dm, 1, of);
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        for (uint32_t c = 0; c < delays->nchannels; c++) {
            least = of[c] < least ? of[c] : least;
            most = of[c] > most ? of[c] : most;
        }
        spans[dm] = most - least;
        spans[dm] = dm > 0 && spans[dm] < spans[dm - 1] ? spans[dm - 1] : spans[dm];
    }
    *out = spans;
    spans = NULL;
out:
    free(spans);
    free(of);
    return st;
}

static struct candidate find_row(const struct dedispersed_spec *series,
                                 const struct burst_group *group)
{
    struct time_axis time = series->search.time;
    const struct burst *best = &group->best;
    double middle = (double)best->first + 0.5 * ((double)best->width - 1);
    double seconds = time.first + middle * time.step;
    const struct fbh5 *input = series->input;
    return (struct candidate){
        .snr = (double)best->snr,
        .dm = series->dms[best->dm],
        .time_s = seconds,
        .mjd = input->sky.has_start ? utc_mjd(utc_add(input->sky.start, seconds)) : 0,
        .width = best->width,
        .beam = input->head.ibeam,
        .sample = best->first,
        .members = group->members,
        .dm_least = series->dms[group->least_dm],
        .dm_most = series->dms[group->most_dm],
        .time_first_s = time.first + (double)group->first * time.step,
        .time_last_s = time.first + (double)(group->end - 1) * time.step};
}

static status_t find_group(struct finding *f)
{
    status_t st = STATUS_OK;
    const struct dedispersed_spec *series = f->spec->series;
    struct burst_group *groups = NULL;
    uint32_t *spans = NULL;
    size_t count = 0;
    TRY_OUT(find_spans(series->delays, &spans));
    TRY_OUT(burst_groups_find(f->bursts, f->count, spans, series->delays->ndms, &groups, &count));
    TRY_OUT(memory_zeroed(count, sizeof *f->out->rows, "candidates", &f->out->rows));
    f->out->count = count;
    for (size_t i = 0; i < count; i++) {
        f->out->rows[i] = find_row(series, &groups[i]);
    }
out:
    free(groups);
    free(spans);
    return st;
}

void candidates_free(struct candidates *candidates)
{
    free(candidates->rows);
    *candidates = (struct candidates){.count = 0};
}

status_t candidates_find(const struct product_spec *spec, int fd, const char *path,
                         const struct product_place *place, struct candidates *out)
{
    status_t st = STATUS_OK;
    struct finding f = {.spec = spec, .out = out};
    *out = (struct candidates){.count = 0};
    TRY_OUT(
        memory_aligned((size_t)max_u64(PIECE_ROWS_BYTES, place->row_bytes), 1, "peaks", &f.cells));
    TRY_OUT(memory_zeroed(BINS, sizeof *f.bins, "peaks", &f.bins));
    TRY_OUT(find_walk(&f, fd, path, place, find_count));
    uint64_t kept = find_settle_least(&f);
    if (kept < out->peaks) {
        report_warn(
            "%s: %s peaks reach S/N %g, more than search.most: the %s strongest, from S/N %.4g on, "
            "are grouped. Interference? A mask, zero_dm, or a higher threshold leaves it out",
            path, units_count(out->peaks), spec->series->search.boxes->threshold, units_count(kept),
            (double)f.least);
    }
    TRY_OUT(memory_zeroed((size_t)kept, sizeof *f.bursts, "peaks", &f.bursts));
    TRY_OUT(find_walk(&f, fd, path, place, find_keep));
    TRY_OUT(find_group(&f));
out:
    free(f.cells);
    free(f.bins);
    free(f.bursts);
    return st;
}
