/* Stages, factors and the order of what comes out. */
#include "compute/cpu/fft/side_fft.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

int side_fft_serves(size_t points)
{
    return points >= SIDE_LEAST && points <= SIDE_MOST && (points & (points - 1)) == 0;
}

/* Eights, as many as leave fours only. */
static size_t side_radix(size_t left)
{
    return left == 4 || left == 16 ? 4 : 8;
}

static void side_set_factors(const struct side_stage *stage, float *out)
{
    for (size_t j = 0; j < stage->span / stage->radix; j++) {
        for (size_t k = 1; k < stage->radix; k++) {
            double angle = -2 * M_PI * (double)(j * k) / (double)stage->span;
            *out++ = (float)cos(angle);
            *out++ = (float)sin(angle);
        }
    }
}

/* Bin k is k0 + r0 (k1 + r1 (k2 + ...)), for radices r0, r1 ... of the stages. */
static uint32_t side_place(const struct side_fft *fft, size_t bin)
{
    size_t place = 0;
    for (size_t i = 0; i < fft->nstages; i++) {
        const struct side_stage *stage = &fft->stages[i];
        place += bin % stage->radix * (stage->span / stage->radix);
        bin /= stage->radix;
    }
    return (uint32_t)place;
}

status_t side_fft_create(size_t points, struct side_fft *out)
{
    status_t st = STATUS_OK;
    struct side_fft fft = {.points = points};
    size_t floats = 0;
    for (size_t span = points; span > 1; fft.nstages++) {
        struct side_stage *stage = &fft.stages[fft.nstages];
        *stage = (struct side_stage){.radix = side_radix(span), .span = span};
        span /= stage->radix;
        floats += 2 * span * (stage->radix - 1);
    }
    TRY(memory_aligned(floats, sizeof(float), "factors", &fft.factors));
    TRY(memory_zeroed(points, sizeof *fft.order, "an order", &fft.order));
    float *factors = fft.factors;
    for (size_t i = 0; i < fft.nstages; i++) {
        struct side_stage *stage = &fft.stages[i];
        side_set_factors(stage, factors);
        stage->factors = factors;
        factors += 2 * (stage->span / stage->radix) * (stage->radix - 1);
    }
    for (size_t k = 0; k < points; k++) {
        fft.order[k] = side_place(&fft, k);
    }
    *out = fft;
    fft = (struct side_fft){0};
out:
    side_fft_free(&fft);
    return st;
}

void side_fft_free(struct side_fft *fft)
{
    free(fft->order);
    free(fft->factors);
    *fft = (struct side_fft){0};
}
