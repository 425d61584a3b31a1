/* Checks which files of a job are complete, and whether that job made them. */
#include "run/resume.h"

#include "input/open.h"
#include "io/file.h"
#include "output/outputs.h"

#include <inttypes.h>

/* Whether a file that is there was made by this very job, of these very inputs.
 *
 * Compares what a file says of where it comes from with the job: products in HDF5 contain all of
 * it, files of other formats have a stamp. */

/* The failure that was just reported as DATA is why it is not ours. */
static status_t made_by_fail_broken(const char *path)
{
    SCOPED(text_free) struct text cause = {0};
    TRY(text_add(&cause, "%s", report_cause()));
    report_clear();
    return report_fail(STATUS_USAGE,
                       "%s exists already: --force replaces it (it is not a complete product: %s)",
                       path, cause.data);
}

static status_t made_by_check_hdf5(const struct output_spec_item *item, const char *inputs)
{
    SCOPED(product_destroy_at) struct product *product = NULL;
    SCOPED(text_free) struct text difference = {0};
    status_t st = product_open(item->file, &product);
    TRY(st == STATUS_DATA ? made_by_fail_broken(item->file) : st);
    REQUIRE(product, STATUS_USAGE, "%s exists already: --force replaces it (it is not a product)",
            item->file);
    struct origin then = {.job = product->origin.job_text, .inputs = product->origin.inputs};
    struct origin now = {.job = item->text, .inputs = inputs};
    TRY(origin_compare(&then, &now, &difference));
    return REQUIRED(
        difference.length == 0, STATUS_USAGE,
        "%s exists already: --force replaces it (it was made by another job or of other files: "
        "%s)",
        item->file, difference.data);
}

/* Checks a file of another format by its stamp. */
static status_t made_by_check_stamp(const struct output_spec_item *item, const char *inputs)
{
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    struct stamp then = {0};
    int found = 0;
    const char *format = item->format == FILE_FIL ? "SIGPROC" : "PSRFITS";
    status_t st = fbh5_open(item->file, FBH5_HEADER, &fbh5);
    TRY(st == STATUS_DATA ? made_by_fail_broken(item->file) : st);
    TRY(stamp_read(item->file, &then, &found));
    REQUIRE(
        found && fbh5->format && strcmp(fbh5->format, format) == 0, STATUS_USAGE,
        "%s exists already: --force replaces it (it is not a %s file that says which job made it)",
        item->file, format);
    REQUIRE(
        fbh5->rows == then.rows, STATUS_USAGE,
        "%s exists already: --force replaces it (it is not a complete product: it contains %" PRIu64
        " of %" PRIu64 " spectra)",
        item->file, fbh5->rows, then.rows);
    struct stamp now = stamp_of(item->text, inputs, then.rows);
    return REQUIRED(then.job == now.job && then.inputs == now.inputs, STATUS_USAGE,
                    "%s exists already: --force replaces it (it was made %s)", item->file,
                    then.job != now.job ? "by another job" : "of other files");
}

/* Checks that a product was made by this job of these inputs. `inputs`: the text of
 * inputs_contents(); NULL: unknown (only for products in HDF5). Fails with USAGE if it was made by
 * another job or of other files, or is incomplete; with DATA, DEVICE, STOPPED. */
static status_t made_by_check(const struct output_spec_item *item, const char *inputs)
{
    struct identity identity;
    if (identity_of_path(item->file, &identity) != STATUS_OK) {
        report_clear();
        TRY(file_check_new(item->file, 0)); /* a folder, a pipe, a link that leads nowhere */
    }
    return item->format == FILE_HDF5 ? made_by_check_hdf5(item, inputs)
                                     : made_by_check_stamp(item, inputs);
}

/* Checks `count` products that were made of the same inputs. A product is known by some places of
 * large inputs: one that was written to since may differ elsewhere. Says so of the first. */
static status_t resume_check_items(const struct output_spec_item *items, uint32_t count,
                                   const struct inputs *inputs, int *is_said)
{
    SCOPED(text_free) struct text contents = {0};
    TRY(inputs_contents(inputs, &contents));
    for (uint32_t i = 0; i < count; i++) {
        const char *file = items[i].file;
        const char *later = NULL;
        struct identity made;
        TRY(made_by_check(&items[i], contents.data));
        if (*is_said) {
            continue;
        }
        TRY(identity_of_path(file, &made));
        TRY(inputs_later(inputs, &made, &later));
        if (!later) {
            continue;
        }
        report_note(
            "%s was written to after %s was made of it, but its size and sampled contents are the "
            "same; voltmill verify %s compares the two, --force makes the product anew",
            later, file, file);
        *is_said = 1;
    }
    return STATUS_OK;
}

/* Sets *out to whether all products have their names already, and no journal is left beside them; a
 * .part may be. Fails with DATA if a name cannot be looked up; with DEVICE (memory). */
static status_t resume_are_complete(const struct output_spec *spec, int *out)
{
    int is_complete = 1;
    for (uint32_t i = 0; i < spec->count && is_complete; i++) {
        SCOPED(product_files_free) struct product_files files = {.path = NULL};
        TRY(product_files_of(spec->items[i].file, &files));
        is_complete = files.has_path && !files.has_journal;
    }
    *out = is_complete;
    return STATUS_OK;
}

static status_t resume_was_begun(const struct output_spec *making, int *out)
{
    *out = 0;
    for (uint32_t i = 0; i < making->count && !*out; i++) {
        SCOPED(product_files_free) struct product_files files = {.path = NULL};
        TRY(product_files_of(making->items[i].file, &files));
        *out = files.has_journal;
    }
    return STATUS_OK;
}

/* A run that was killed while it took the journals of complete products away has left some of them:
 * takes those, too. */
static status_t resume_tidy(const struct output_spec *making, int only_looks, int *has_tidied)
{
    status_t st = STATUS_OK;
    struct product_files files[MOST_OUTPUTS] = {{.path = NULL}};
    uint32_t left = 0;
    int are_published = 1;
    for (uint32_t i = 0; i < making->count && are_published; i++) {
        TRY_OUT(product_files_of(making->items[i].file, &files[i]));
        TRY_OUT(outputs_is_published(&files[i], &are_published));
        left += files[i].has_journal != 0;
    }
    if (!are_published || left == 0 || left == making->count) {
        goto out;
    }
    for (uint32_t i = 0; i < making->count && !only_looks; i++) {
        file_remove(files[i].journal);
    }
    *has_tidied = 1;
    report_note("%s and the other products are complete: a run that was killed at its end has left "
                "only journals, which are removed",
                making->items[0].file);
out:
    for (uint32_t i = 0; i < making->count; i++) {
        product_files_free(&files[i]);
    }
    return st;
}

static status_t resume_look_at_dedispersions(const struct job *job, struct resume *skip,
                                             int *last_begun)
{
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        SCOPED(output_spec_free) struct output_spec making = {0};
        TRY(output_spec_of_series(job, i, job_filterbank(job, i), NULL, &making));
        int begun = 0;
        TRY(resume_are_complete(&making, &skip->dedisperse[i]));
        TRY(resume_was_begun(&making, &begun));
        *last_begun = begun ? (int)i : *last_begun;
    }
    return STATUS_OK;
}

/* Lists the inputs of a series. A filterbank of the job's own is one file. */
static status_t resume_find_filterbank(const struct job *job, uint32_t i, struct inputs *out)
{
    const char *path = job_filterbank(job, i);
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    TRY(!job_reads_voltages(job) ? fbh5_open(path, FBH5_HEADER, &fbh5) : STATUS_OK);
    return inputs_of_filterbank(path, fbh5, out);
}

/* The filterbank of a series, or, when that is there, another product that is made with it. */
static status_t resume_find_missing(const struct job *job, uint32_t i, const char **out)
{
    int is_there = 1;
    for (uint32_t j = 0; j <= job->nproducts && is_there; j++) {
        *out = j == 0 ? job_filterbank(job, i) : job->products[j - 1].file;
        SCOPED(product_files_free) struct product_files files = {.path = NULL};
        TRY(product_files_of(*out, &files));
        is_there = files.has_path && !files.has_part;
    }
    return STATUS_OK;
}

static status_t resume_check_series(const struct job *job, uint32_t i, int has_filterbank,
                                    int *is_said)
{
    SCOPED(inputs_free) struct inputs inputs = {0};
    SCOPED(output_spec_free) struct output_spec making = {0};
    TRY(output_spec_of_series(job, i, job_filterbank(job, i), NULL, &making));
    if (!has_filterbank) {
        const char *missing = NULL;
        TRY(resume_find_missing(job, i, &missing));
        return report_fail(STATUS_USAGE,
                           "%s exists, but its input %s is missing: --force replaces it",
                           making.items[0].file, missing);
    }
    TRY(resume_find_filterbank(job, i, &inputs));
    return resume_check_items(making.items, making.count, &inputs, is_said);
}

static status_t resume_check_skipped(const struct job *job, const struct output_spec *products,
                                     const struct resume *skip, int is_forced)
{
    int is_said = is_forced; /* who forces knows */
    for (uint32_t i = 0; i < products->count && skip->channelise; i++) {
        SCOPED(inputs_free) struct inputs inputs = {0};
        TRY(inputs_of_product(&products->inputs, i, &inputs));
        TRY(resume_check_items(&products->items[i], 1, &inputs, &is_said));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (skip->dedisperse[i]) {
            TRY(resume_check_series(job, i, skip->channelise, &is_said));
        }
    }
    return STATUS_OK;
}

/* With --force, what is complete is done again, unless a later pass was begun on it; and what is
 * not of this job may be replaced. */
static status_t resume_check_forced(const struct job *job, const struct output_spec *products,
                                    int last_begun, struct resume *skip)
{
    skip->channelise = skip->channelise && (last_begun >= 0 || !job_reads_voltages(job));
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        skip->dedisperse[i] = skip->dedisperse[i] && (int)i < last_begun;
    }
    status_t st = resume_check_skipped(job, products, skip, 1);
    if (st == STATUS_USAGE || st == STATUS_DATA) {
        report_clear();
        *skip = (struct resume){.channelise = !job_reads_voltages(job)};
        st = STATUS_OK;
    }
    return st;
}

status_t resume_find_part(const struct job *part, int *is_complete)
{
    SCOPED(output_spec_free) struct output_spec making = {0};
    TRY(output_spec_of_series(part, 0, job_filterbank(part, 0), NULL, &making));
    TRY(resume_are_complete(&making, is_complete));
    return *is_complete ? made_by_check(&making.items[0], NULL) : STATUS_OK;
}

/* A semi-coherent search is complete when its series are: they are made of the archive. */
static status_t resume_find_series(const struct job *job, const struct archive *archive,
                                   const struct resume_options *options, struct resume *out)
{
    SCOPED(output_spec_free) struct output_spec making = {0};
    int is_said = 0;
    int is_complete = 0;
    *out = (struct resume){0};
    TRY(output_spec_of_search(job, archive, &making));
    TRY(resume_are_complete(&making, &is_complete));
    if (is_complete && !options->force) {
        TRY(resume_check_items(&making.items[0], 1, &making.inputs, &is_said));
        *out = (struct resume){.channelise = 1, .dedisperse = {1}, .all = 1};
    }
    return STATUS_OK;
}

status_t resume_find(const struct job *job, const struct archive *archive,
                     const struct resume_options *options, struct resume *out)
{
    if (job_is_semi_coherent(job)) {
        return resume_find_series(job, archive, options, out);
    }
    SCOPED(output_spec_free) struct output_spec products = {0};
    struct resume skip = {.channelise = 0};
    int last_begun = -1;
    int has_tidied = 0;
    if (archive) {
        TRY(output_spec_of_products(job, archive, &products));
        TRY(resume_tidy(&products, options->only_looks, &has_tidied));
    }
    /* Passes from last to first: one that another run completes meanwhile has all before it. */
    TRY(resume_look_at_dedispersions(job, &skip, &last_begun));
    TRY(resume_are_complete(&products, &skip.channelise));
    skip.channelise |= !archive || has_tidied;
    skip.all = skip.channelise;
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        skip.all &= skip.dedisperse[i];
    }
    if (options->force) {
        skip.all = 0;
        TRY(resume_check_forced(job, &products, last_begun, &skip));
    } else {
        TRY(resume_check_skipped(job, &products, &skip, 0));
    }
    *out = skip;
    return STATUS_OK;
}
