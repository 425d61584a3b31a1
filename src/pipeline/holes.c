/* Which spectra of a block a bad raw spectrum enters, and which rows these make NaN. */
#include "pipeline/holes.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct holes {
    const struct channelise_plan *work;
    char *bad;  /* [count], spectra of the block */
    char *rows; /* [count], rows of a product */
    int has_bad;
    uint64_t first, count;
    int is_open[MOST_OUTPUTS]; /* the dump that the last block has not completed is a hole */
};

status_t holes_create(const struct channelise_plan *work, uint64_t block_spectra, holes_t **out)
{
    status_t st = STATUS_OK;
    holes_t *holes = NULL;
    TRY(memory_zeroed(1, sizeof *holes, "holes", &holes));
    holes->work = work;
    TRY(memory_zeroed((size_t)block_spectra, 1, "holes", &holes->bad));
    TRY(memory_zeroed((size_t)block_spectra, 1, "holes", &holes->rows));
    *out = holes;
    holes = NULL;
out:
    holes_destroy(holes);
    return st;
}

void holes_destroy(holes_t *holes)
{
    if (holes) {
        free(holes->bad);
        free(holes->rows);
        free(holes);
    }
}

void holes_begin(holes_t *holes, int is_first, uint64_t first, uint64_t count, const char *bad)
{
    uint64_t raw = channelise_inputs(&holes->work->channelise, 1); /* of one spectrum */
    holes->first = first;
    holes->count = count;
    holes->has_bad = bad != NULL;
    if (is_first) {
        memset(holes->is_open, 0, sizeof holes->is_open);
    }
    for (uint64_t i = 0; i < count && bad; i++) {
        holes->bad[i] = memchr(bad + i, 1, (size_t)raw) != NULL;
    }
}

const char *holes_punch(holes_t *holes, uint32_t i, uint64_t rows, uint32_t streams, void *data)
{
    uint64_t integrate = holes->work->job->products[i].integrate;
    uint64_t floats = holes->work->products[i].row_bytes / holes->work->archive->nstreams *
                      streams / sizeof(float);
    uint64_t row = 0;
    int any = 0;
    int *is_open = &holes->is_open[i];
    for (uint64_t j = 0; j < holes->count; j++) {
        *is_open |= holes->has_bad && holes->bad[j];
        if ((holes->first + j + 1) % integrate != 0) {
            continue;
        }
        if (row < rows) {
            holes->rows[row] = (char)*is_open;
            any |= *is_open;
            row++;
        }
        *is_open = 0;
    }
    for (uint64_t j = 0; j < rows && any; j++) {
        float *at = (float *)data + j * floats;
        for (uint64_t k = 0; k < floats && holes->rows[j]; k++) {
            at[k] = NAN;
        }
    }
    return any ? holes->rows : NULL;
}
