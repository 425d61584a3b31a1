/* The first block goes through a pipeline of its own, of which only the scales are kept. */
#include "pipeline/pipeline_kinds.h"

#include "plan/plan_products.h"
#include "product/ifs.h"

#include <stdlib.h>
#include <string.h>

/* Scale, then offset, of all lines of each product with `first_scales`. */
struct first_scales {
    const struct channelise_plan *work;
    float *of[MOST_OUTPUTS];
};

int first_scales_are_wanted(const struct channelise_plan *work, uint32_t i)
{
    return quantised_is(&work->products[i].spec) && work->products[i].spec.steps.are_first;
}

size_t first_scales_count(const struct channelise_plan *work, uint32_t i)
{
    return (size_t)(2 * work->products[i].spec.nifs * work->products[i].spec.frequencies);
}

/* Keeps the scales of the first block (a sink's step()). Its rows are made again with their chunks.
 */
static status_t first_scales_take(void *context, uint32_t product, const struct chunk *chunk,
                                  const struct product_steps *steps)
{
    struct first_scales *first = context;
    const struct chunking *chunking = &first->work->chunking;
    uint64_t all = first_scales_count(first->work, product) / 2;
    const struct chunk_row row = plan_products_row(&first->work->products[product].spec);
    const struct chunk_pieces lines = chunk_pieces_of(chunking, chunk, all, &row);
    float *of = first->of[product];
    for (uint64_t k = 0; k < lines.count && of && steps->first == 0; k++) {
        float *to = of + lines.first + k * lines.step;
        memcpy(to, steps->scale + k * lines.size, (size_t)lines.size * sizeof *to);
        memcpy(to + all, steps->offset + k * lines.size, (size_t)lines.size * sizeof *to);
    }
    return STATUS_OK;
}

/* Units that the first blocks of all these products take. */
static uint64_t first_scales_units(const struct channelise_plan *work)
{
    uint64_t units = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct product_spec *spec = &work->products[i].spec;
        if (first_scales_are_wanted(work, i)) {
            uint64_t spectra = min_u64(spec->steps.rows, spec->rows) * spec->integrate;
            uint64_t ratio = channelise_plan_bank_of(work, i)->ratio;
            units = max_u64(units, ceil_div_u64(spectra, ratio));
        }
    }
    return min_u64(units, work->chunking.spectra);
}

static status_t first_scales_run(struct first_scales *first, backend_t *backend, double patience)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = first->work;
    const struct pipeline_sink sink = {.context = first, .step = first_scales_take};
    pipeline_t *pipeline = NULL;
    TRY_OUT(channelise_pipeline_create(work, backend, &sink, NULL, &pipeline));
    pipeline_limit(pipeline, patience);
    for (uint32_t group = 0; group < chunk_groups(&work->chunking); group++) {
        struct chunk chunk = chunk_at(&work->chunking, group);
        chunk.count = first_scales_units(work);
        TRY_OUT(pipeline_chunk(pipeline, NULL, &chunk));
    }
    TRY_OUT(pipeline_finish(pipeline, NULL));
out:
    if (pipeline && !pipeline_hangs(pipeline)) { /* else its threads cannot be ended */
        pipeline_destroy(pipeline);
    }
    return st;
}

/* Mean scale and offset of lines that have some, or of such means; count: how many of them. */
struct first_mean {
    double scale, offset;
    uint64_t count;
};

static void first_scales_add(struct first_mean *mean, double scale, double offset)
{
    mean->count++;
    mean->scale += (scale - mean->scale) / (double)mean->count;
    mean->offset += (offset - mean->offset) / (double)mean->count;
}

/* Whether an if is a power. Q, U, V and the parts of A B* have either sign. */
static int first_scales_is_power(const struct product_spec *spec, uint32_t number)
{
    uint32_t own = number % ifs_of_antenna(spec);
    return spec->combine.polarisation == POLARISATION_IQUV        ? own == 0
           : spec->combine.polarisation == POLARISATION_COHERENCY ? own < 2
                                                                  : 1;
}

/* Scale and offset of an if all of whose lines are empty: the mean of the same polarisation of
 * other stations and beams, else of all powers. A range about 0 if it has either sign. */
static struct first_mean first_scales_borrow(const struct product_spec *spec,
                                             const struct first_mean *ifs, uint32_t number)
{
    uint32_t each = ifs_of_antenna(spec);
    struct first_mean own = {0};
    struct first_mean powers = {0};
    struct first_mean all = {0};
    for (uint32_t i = 0; i < spec->nifs; i++) {
        if (ifs[i].count > 0) {
            first_scales_add(&all, ifs[i].scale, ifs[i].offset);
            if (i % each == number % each) {
                first_scales_add(&own, ifs[i].scale, ifs[i].offset);
            }
            if (first_scales_is_power(spec, i)) {
                first_scales_add(&powers, ifs[i].scale, ifs[i].offset);
            }
        }
    }
    powers = powers.count > 0 ? powers : all;
    if (!first_scales_is_power(spec, number)) {
        powers.offset = -steps_centre(spec->steps.bits) * powers.scale;
    }
    return own.count > 0 ? own : powers;
}

/* Empty lines (scale 0) get the mean of the others of their if. */
static status_t first_scales_fill(const struct channelise_plan *work, uint32_t i, float *scale)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    const size_t lines = first_scales_count(work, i) / 2;
    const size_t each = (size_t)spec->frequencies;
    float *offset = scale + lines;
    struct first_mean *ifs = NULL;
    uint64_t found = 0;
    TRY_OUT(memory_zeroed(spec->nifs, sizeof *ifs, "scales", &ifs));
    for (size_t k = 0; k < lines; k++) {
        if (scale[k] > 0) {
            first_scales_add(&ifs[k / each], (double)scale[k], (double)offset[k]);
            found++;
        }
    }
    REQUIRE_OUT(found > 0, STATUS_DATA,
                "%s: its first %llu rows contain only zeros and NaN, from which scales: first "
                "cannot choose scales: use scales: block",
                work->job->products[i].file,
                (unsigned long long)min_u64(spec->steps.rows, spec->rows));
    for (uint32_t number = 0; number < spec->nifs; number++) {
        const struct first_mean mean =
            ifs[number].count > 0 ? ifs[number] : first_scales_borrow(spec, ifs, number);
        for (size_t k = number * each; k < (number + 1) * each; k++) {
            offset[k] = scale[k] > 0 ? offset[k] : (float)mean.offset;
            scale[k] = scale[k] > 0 ? scale[k] : (float)mean.scale;
        }
    }
out:
    free(ifs);
    return st;
}

status_t first_scales_make_room(struct channelise_plan *work)
{
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        TRY(first_scales_are_wanted(work, i)
                ? memory_zeroed(first_scales_count(work, i), sizeof(float), "scales",
                                &work->products[i].first_scales)
                : STATUS_OK);
    }
    return STATUS_OK;
}

status_t first_scales_make(struct channelise_plan *work, backend_t *backend, double patience)
{
    status_t st = STATUS_OK;
    struct first_scales first = {.work = work};
    for (uint32_t i = 0; i < work->job->nproducts; i++) { /* none are given while they are made */
        first.of[i] = memory_move(&work->products[i].first_scales);
    }
    TRY_OUT(first_scales_run(&first, backend, patience));
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        TRY_OUT(first.of[i] ? first_scales_fill(work, i, first.of[i]) : STATUS_OK);
    }
out:
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        work->products[i].first_scales = first.of[i];
    }
    return st;
}
