/* How large the samples are that go into filters: rounding is relative to them, whatever filters
 * leave of them. */
#include "archive/read/reader.h"
#include "base/memory.h"
#include "plan/channelise_plan.h"
#include "verify/verify_parts.h"

#include <math.h>
#include <stdlib.h>

enum { PLACES = 8, MOST_SAMPLES = 1 << 14, MOST_BYTES = 16 << 20 };

/* Samples of the archive that are in memory. */
struct probe {
    struct slab *slab;
    reader_t *reader;
    size_t *re, *im;
    char *data;
    uint64_t count;
};

/* Noise of rms 1, as it is stored, becomes Y of this rms. */
static double input_gain(const struct channelise_plan *plan)
{
    double gain = 1;
    if (plan->filters->synthesis) { /* of as strong noise in all channels */
        const struct synthesise_spec *spec = &plan->filters->synthesis->spec;
        double energy = 0;
        for (uint64_t k = 0; k < (uint64_t)spec->taps * spec->points; k++) {
            energy += spec->coeff[k] * spec->coeff[k];
        }
        gain = sqrt(energy / spec->hop * spec->channels * (spec->is_real_out ? 2 : 1));
    }
    for (uint32_t i = 0; i < plan->filters->count; i++) {
        const struct filter_plan_stage *stage = &plan->filters->stages[i];
        const struct filter_coefficients *made = &stage->made;
        double energy = made->coeff ? 0 : stage->scale * stage->scale;
        for (size_t k = 0; made->coeff && k < (size_t)made->taps * (made->is_complex ? 2 : 1);
             k++) {
            energy += made->coeff[k] * made->coeff[k];
        }
        gain *= sqrt(energy);
    }
    double energy = 0;
    const struct channelise_plan_bank *bank = channelise_plan_bank_of(plan, 0);
    for (uint64_t i = 0; i < bank->channelise.taps * bank->samples_per_spectrum; i++) {
        energy += bank->coeff[i] * bank->coeff[i];
    }
    return gain * sqrt(energy);
}

/* The mean square of those samples of a stream that are there, and finite, if it is larger than
 * *most. */
static void input_look(const struct channelise_plan *plan, const struct probe *probe,
                       uint32_t stream, double *most)
{
    const struct sample_coding *coding = filter_plan_coding(plan->filters);
    const struct sample_input input = {probe->re, probe->im, (size_t)probe->slab->width};
    double sum = 0;
    uint64_t count = 0;
    for (uint64_t n = 0; n < probe->count; n++) {
        double volts[2] = {0, 0};
        sample_volts(coding, probe->data, &input, stream, (size_t)n, volts);
        double square = volts[0] * volts[0] + volts[1] * volts[1];
        if (isfinite(square) && square > 0) {
            sum += square;
            count++;
        }
    }
    *most = count > 0 ? fmax(*most, sum / (double)count) : *most;
}

static status_t input_open(const struct channelise_plan *plan, struct probe *probe)
{
    status_t st = STATUS_OK;
    const struct archive *archive = plan->archive;
    TRY(slab_create(archive, 0, archive->nstreams, &probe->slab));
    TRY(reader_create(archive, plan->cache_bytes, 1, &probe->reader));
    uint64_t step = probe->slab->nblocks * probe->slab->width;
    probe->count = min_u64(archive->samples, min_u64(MOST_SAMPLES, max_u64(MOST_BYTES / step, 16)));
    TRY(memory_aligned((size_t)probe->count, (size_t)step, "samples", &probe->data));
    TRY(memory_zeroed(archive->nstreams, sizeof *probe->re, "offsets", &probe->re));
    TRY(memory_zeroed(archive->nstreams, sizeof *probe->im, "offsets", &probe->im));
    slab_offsets(probe->slab, probe->count, probe->re, probe->im);
out:
    return st;
}

status_t verify_measure_input(const struct channelise_plan *plan, double **out)
{
    status_t st = STATUS_OK;
    const struct archive *archive = plan->archive;
    struct probe probe = {.slab = NULL};
    double *went_in = NULL;
    if (!plan->filters) {
        goto out;
    }
    TRY(memory_zeroed(archive->nstreams, sizeof *went_in, "samples' rms", &went_in));
    TRY(input_open(plan, &probe));
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t at = (archive->samples - probe.count) / (PLACES - 1) * i;
        st = reader_read(probe.reader, probe.slab, archive->first_sample + at, probe.count,
                         probe.data, NULL);
        if (st == STATUS_DATA && reader_is_unreadable(probe.reader)) {
            report_clear(); /* whoever needs it will say so */
            st = STATUS_OK;
            continue;
        }
        TRY(st);
        for (uint32_t s = 0; s < archive->nstreams; s++) {
            input_look(plan, &probe, s, &went_in[s]);
        }
    }
    /* Of what a synthesis makes one stream of, the strongest. */
    const uint32_t fan = filter_plan_fan(plan->filters);
    for (uint32_t s = 0; s < archive->nstreams; s++) {
        double most = s % fan == 0 ? 0 : went_in[s / fan];
        went_in[s / fan] = fmax(most, sqrt(went_in[s]) * input_gain(plan));
    }
    *out = went_in;
    went_in = NULL;
out:
    free(went_in);
    free(probe.re);
    free(probe.im);
    free(probe.data);
    reader_destroy(probe.reader);
    slab_destroy(probe.slab);
    return st;
}
