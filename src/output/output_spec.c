/* Puts together what a job, its input and its plan say of the products that are written. */
#include "output/output_spec.h"

#include "base/memory.h"
#include "io/crc.h"

#include <stdlib.h>

/* Room for `count` items. */
static status_t spec_begin(const struct job *job, uint32_t count, struct output_spec *out)
{
    status_t st = STATUS_OK;
    *out = (struct output_spec){.job = job};
    TRY(memory_zeroed(count, sizeof *out->items, "products", &out->items));
    out->count = count;
out:
    return st;
}

void output_spec_free(struct output_spec *spec)
{
    inputs_free(&spec->inputs);
    free(spec->items);
    *spec = (struct output_spec){0};
}

status_t output_spec_of_products(const struct job *job, const struct archive *archive,
                                 struct output_spec *out)
{
    status_t st = STATUS_OK;
    TRY(spec_begin(job, job->nproducts, out));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        const struct job_product *product = &job->products[i];
        out->items[i] = (struct output_spec_item){.file = product->file,
                                                  .text = product->text,
                                                  .bank = product->bank,
                                                  .integrate = product->integrate,
                                                  .ratio = 1,
                                                  .has_bandpass = product->has_bandpass,
                                                  .compression = product->compression,
                                                  .format = product->format};
    }
    TRY(inputs_of_bank(job, archive, &out->inputs));
out:
    return st;
}

/* What a plan says of an item. */
static void spec_plan_item(struct output_spec_item *item, const struct product_spec *product,
                           uint64_t row_bytes)
{
    item->spec = *product;
    item->row_bytes = row_bytes;
}

void output_spec_plan_products(struct output_spec *spec, const struct channelise_plan *work)
{
    for (uint32_t i = 0; i < spec->count; i++) {
        const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
        struct output_spec_item *item = &spec->items[i];
        size_t coefficients = (size_t)bank->samples_per_spectrum * bank->channelise.taps;
        spec_plan_item(item, &work->products[i].spec, work->products[i].row_bytes);
        item->ratio = bank->ratio;
        item->spectra = bank->spectra;
        item->choice = bank->channelise.choice;
        item->crc = work->is_bank ? crc_of(bank->coeff, coefficients * sizeof *bank->coeff) : 0;
        if (work->filters && work->filters->synthesis) {
            const struct synthesise_spec *synthesis = &work->filters->synthesis->spec;
            item->crc = crc_more(item->crc, synthesis->coeff,
                                 (size_t)synthesis->taps * synthesis->points * sizeof(double));
        }
        for (uint32_t j = 0; work->filters && j < work->filters->count; j++) {
            const struct filter_spec *filter = &work->filters->stages[j].spec;
            item->crc = crc_more(item->crc, filter->coeff, filter_coeff_bytes(filter));
        }
    }
    spec->is_planned = 1;
    spec->chunking = work->chunking;
    spec->backend = work->backend;
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        spec->filters[i] = work->filters->stages[i].spec.choice;
    }
    if (work->filters && work->filters->synthesis) {
        spec->synthesis = work->filters->synthesis->spec.choice;
    }
}

/* The items of a dedispersion: its series, what a search of them finds. */
static status_t spec_begin_series(const struct job *job, uint32_t number, struct output_spec *out)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &job->dedisperse[number];
    const char *files[2];
    TRY(spec_begin(job, job_series_files(what, files), out));
    for (uint32_t i = 0; i < out->count; i++) {
        int is_search = files[i] == what->search.file;
        out->items[i] = (struct output_spec_item){
            .file = files[i],
            .text = is_search ? what->search_text : what->text,
            .integrate = 1,
            .ratio = 1,
            /* Most cells hold zeros, and the table comes with the second file. */
            .compression = is_search ? COMPRESSION_DEFLATE : what->compression,
            .has_times_across = 1,
            .column = is_search ? PEAK_CELL : 1};
    }
out:
    return st;
}

status_t output_spec_of_search(const struct job *job, const struct archive *archive,
                               struct output_spec *out)
{
    status_t st = STATUS_OK;
    TRY(spec_begin_series(job, 0, out));
    TRY(inputs_of_bank(job, archive, &out->inputs));
out:
    return st;
}

status_t output_spec_of_series(const struct job *job, uint32_t number, const char *filterbank,
                               const struct fbh5 *fbh5, struct output_spec *out)
{
    status_t st = STATUS_OK;
    TRY(spec_begin_series(job, number, out));
    TRY(inputs_of_filterbank(filterbank, fbh5, &out->inputs));
out:
    return st;
}

void output_spec_plan_series(struct output_spec *spec, const struct dedisperse_plan *d)
{
    spec->is_planned = 1;
    spec->chunking = d->chunking;
    spec->backend = d->backend;
    for (uint32_t i = 0; i < spec->count; i++) {
        struct output_spec_item *item = &spec->items[i];
        const struct product_spec *product = item->column > 1 ? &d->bursts.spec : &d->spec;
        spec_plan_item(item, product, product_spec_row_bytes(product));
        item->choice = (struct channelise_choice){.backend = BACKEND_AUTO};
        item->spectra = d->chunking.spectra;
        item->crc = d->delays_crc;
    }
}

status_t output_spec_create(const struct output_spec *spec, uint32_t i, int fd, const char *path,
                            const char *made_of, struct product_place *place)
{
    struct product_spec product = spec->items[i].spec;
    product.inputs = made_of;
    return product_create(fd, path, &product, place);
}
