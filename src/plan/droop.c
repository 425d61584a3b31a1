/* Responses of filters where the channels are: transforms as long as the filter bank's are fine. */
#include "plan/droop.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "dsp/dft.h"
#include "product/kind/bank_axes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job's own filters ---- */

/* Channels' frequencies are whole multiples of their spacing, so a transform of as many samples as
 * make one such step has them all: coefficients behind its end are added from its beginning on. */
static status_t droop_respond(const struct filter_plan_stage *stage, double scale, size_t length,
                              double complex *out)
{
    status_t st = STATUS_OK;
    const struct filter_coefficients *made = &stage->made;
    double complex *folded = NULL;
    TRY(memory_zeroed(length, sizeof *folded, "a response", &folded));
    for (uint32_t i = 0; i < made->taps; i++) {
        folded[i % length] +=
            (made->is_complex ? made->coeff[2 * i] + I * made->coeff[2 * i + 1] : made->coeff[i]) /
            scale;
    }
    TRY(dft_forward(length, folded, out));
out:
    free(folded);
    return st;
}

/* Multiplies gains by those of a filter that gets the voltages `in`. */
static status_t droop_of_stage(const struct channelise_plan *work, uint32_t number,
                               const struct product_spec *spec, double *gains)
{
    status_t st = STATUS_OK;
    const struct filter_plan_stage *stage = &work->filters->stages[number];
    const struct archive *in = number > 0 ? &work->filters->stages[number - 1].seen : work->archive;
    const struct archive *seen = spec->archive;
    double complex *response = NULL;
    double spacing = seen->sample_rate_hz / spec->bank.samples_per_spectrum;
    size_t length = (size_t)llround(in->sample_rate_hz / spacing);
    if (stage->chirps || stage->made.is_deripple) {
        return STATUS_OK; /* all pass, or flat behind it as they are */
    }
    TRY(memory_zeroed(length, sizeof *response, "a response", &response));
    TRY(droop_respond(stage, in->scale, length, response));
    int sideband = in->is_complex ? 1 : in->sideband;
    for (uint64_t k = 0; k < bank_channels(spec); k++) {
        uint64_t chan = in->selected[AXIS_CHAN][k / spec->bank.nchannels];
        double offset = sideband * (bank_channel(spec, k) - in->freq_hz[chan]) +
                        (in->is_complex ? 0 : in->sample_rate_hz / 4);
        long long bin = llround(offset / spacing) % (long long)length;
        double gain = cabs(response[bin < 0 ? bin + (long long)length : bin]);
        gains[k] *= gain * gain;
    }
out:
    free(response);
    return st;
}

/* ---- a table ---- */

struct droop_table {
    double (*points)[2];
    size_t count;
};

static status_t droop_read(const char *path, struct droop_table *table)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    size_t room = 0;
    FILE *file = NULL;
    TRY(text_open(path, "the droop in ", 0, &file));
    for (size_t line = 1; getline(&text, &room, file) >= 0; line++) {
        static const char blanks[] = " \t\r\n\v\f,";
        double point[2] = {0, 0};
        char *rest = NULL;
        text[strcspn(text, "#")] = '\0';
        char *word = strtok_r(text, blanks, &rest);
        if (!word) {
            continue;
        }
        char *second = strtok_r(NULL, blanks, &rest);
        int ok = second && !strtok_r(NULL, blanks, &rest) && units_parse_f64(word, &point[0]) &&
                 units_parse_f64(second, &point[1]) && point[1] > 0;
        ok = ok && (table->count == 0 || point[0] > table->points[table->count - 1][0]);
        REQUIRE(ok, STATUS_DATA,
                "%s, line %zu: expected Hz from a coarse channel's centre, more than before, and a "
                "gain in power above 0",
                path, line);
        double(*grown)[2] = realloc(table->points, (table->count + 1) * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: a table");
        table->points = grown;
        memcpy(table->points[table->count++], point, sizeof point);
    }
    REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", path, strerror(errno));
    REQUIRE(table->count >= 2, STATUS_DATA,
            "%s: expected at least two lines of a frequency and a gain", path);
out:
    if (file) {
        fclose(file);
    }
    free(text);
    return st;
}

static double droop_look_up(const struct droop_table *table, double hz)
{
    size_t low = 0;
    size_t high = table->count - 1;
    double(*points)[2] = table->points;
    if (hz <= points[0][0] || hz >= points[high][0]) {
        return hz <= points[0][0] ? points[0][1] : points[high][1];
    }
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(points[middle][0] <= hz ? &low : &high) = middle;
    }
    double share = (hz - points[low][0]) / (points[high][0] - points[low][0]);
    return points[low][1] + share * (points[high][1] - points[low][1]);
}

static status_t droop_of_file(const struct channelise_plan *work, const char *path,
                              const struct product_spec *spec, double *gains)
{
    status_t st = STATUS_OK;
    const struct archive *archive = work->archive;
    struct droop_table table = {NULL, 0};
    TRY(droop_read(path, &table));
    for (uint64_t k = 0; k < bank_channels(spec); k++) {
        uint64_t chan = archive->selected[AXIS_CHAN][k / spec->bank.nchannels];
        gains[k] *= droop_look_up(&table, bank_channel(spec, k) - archive->freq_hz[chan]);
    }
out:
    free(table.points);
    return st;
}

/* ---- both ---- */

status_t droop_settle(const struct channelise_plan *work, uint32_t i, double **out)
{
    status_t st = STATUS_OK;
    const struct job_product *job = &work->job->products[i];
    const struct product_spec *spec = &work->products[i].spec;
    uint64_t count = bank_channels(spec);
    double *gains = NULL;
    double most = 0;
    *out = NULL;
    if (job->ndroop == 0) {
        goto out;
    }
    TRY(memory_zeroed((size_t)count, sizeof *gains, "gains", &gains));
    for (uint64_t k = 0; k < count; k++) {
        gains[k] = 1;
    }
    for (uint32_t d = 0; d < job->ndroop; d++) {
        uint32_t filters = !job->droop[d].path && work->filters ? work->filters->count : 0;
        for (uint32_t f = 0; f < filters; f++) {
            TRY(droop_of_stage(work, f, spec, gains));
        }
        TRY(job->droop[d].path ? droop_of_file(work, job->droop[d].path, spec, gains) : STATUS_OK);
    }
    for (uint64_t k = 0; k < count; k++) {
        most = fmax(most, gains[k]);
    }
    REQUIRE(most > 0 && isfinite(most), STATUS_USAGE,
            "%s: products.%u.droop: nothing of what the bank gets passes what was before it",
            work->job->path, i);
    *out = gains;
    gains = NULL;
out:
    free(gains);
    return st;
}
