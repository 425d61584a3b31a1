#include "run/skip.h"

#include "base/file.h"
#include "base/memory.h"
#include "run/dedispersion.h"
#include "run/journal.h"
#include "run/outputs.h"
#include "run/run_dedisperse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file that is there was made by this very job, from files of these names and sizes. */
static status_t check_made_by(const struct making_item *item, const char *inputs)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    TRY(product_open(item->file, &product));
    REQUIRE(product && strcmp(product->job_text, item->text) == 0 &&
                (!inputs || !product->inputs || strcmp(product->inputs, inputs) == 0),
            STATUS_USAGE,
            "%s exists, and was made by another job or of other files: --force replaces it",
            item->file);
out:
    product_destroy(product);
    return st;
}

static int was_begun(const struct making *making)
{
    int begun = 0;
    for (uint32_t i = 0; i < making->count; i++) {
        char *journal = NULL;
        begun |= file_journal_name(making->items[i].file, &journal) == STATUS_OK &&
                 access(journal, F_OK) == 0;
        free(journal);
    }
    return begun;
}

/* A run that was killed while it took the journals of complete products away has left some of them:
 * takes those, too. */
static status_t tidy(const struct making *making, int only_looks, int *has_tidied)
{
    status_t st = STATUS_OK;
    char *journals[MOST_OUTPUTS] = {NULL};
    uint32_t left = 0;
    int are_published = 1;
    for (uint32_t i = 0; i < making->count && are_published; i++) {
        enum journal_state state;
        journal_t *journal = NULL;
        char *part = NULL;
        TRY(file_journal_name(making->items[i].file, &journals[i]));
        TRY(file_part_name(making->items[i].file, &part));
        are_published = access(making->items[i].file, F_OK) == 0 && access(part, F_OK) != 0;
        free(part);
        if (are_published && access(journals[i], F_OK) == 0) {
            TRY(journal_open(journals[i], &state, &journal));
            are_published = journal && journal_is_complete(journal);
            journal_destroy(journal);
            left++;
        }
    }
    if (!are_published || left == 0 || left == making->count) {
        goto out;
    }
    for (uint32_t i = 0; i < making->count && !only_looks; i++) {
        unlink(journals[i]);
    }
    *has_tidied = 1;
    report_note("%s and the other products are complete: of a run that was killed at its very end, "
                "only journals are left to be removed",
                making->items[0].file);
out:
    for (uint32_t i = 0; i < making->count; i++) {
        free(journals[i]);
    }
    return st;
}

static status_t list_inputs(const struct archive *archive, struct text *out)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; archive && i < archive->nparts; i++) {
        TRY(text_add(out, "%s%s (%llu bytes)", i ? "\n" : "", archive->parts[i].path,
                     (unsigned long long)archive->parts[i].file_bytes));
    }
out:
    return st;
}

static status_t look_at_dedispersions(const struct job *job, struct skip *skip, int *last_begun)
{
    status_t st = STATUS_OK;
    struct making making = {0};
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(dedispersion_making(job, i, run_filterbank_path(job, i), NULL, &making));
        skip->dedisperse[i] = outputs_are_complete(&making);
        *last_begun = was_begun(&making) ? (int)i : *last_begun;
        making_free(&making);
    }
out:
    making_free(&making);
    return st;
}

/* With --force, what is complete is done again, unless a later pass was begun on it. */
static void forget_forced(const struct job *job, int last_begun, struct skip *skip)
{
    skip->channelise = skip->channelise && (last_begun >= 0 || job->channels == 0);
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        skip->dedisperse[i] = skip->dedisperse[i] && (int)i < last_begun;
    }
}

/* A filterbank as its series name it. */
static status_t name_filterbank(const char *path, struct text *out)
{
    status_t st = STATUS_OK;
    struct stat info;
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s cannot be looked at: %s", path,
            strerror(errno));
    TRY(text_add(out, "%s (%llu bytes)", path, (unsigned long long)info.st_size));
out:
    return st;
}

static status_t check_series(const struct job *job, uint32_t i, int has_filterbank)
{
    status_t st = STATUS_OK;
    struct text inputs = {0};
    struct making_item item = {.file = job->dedisperse[i].file, .text = job->dedisperse[i].text};
    REQUIRE(has_filterbank, STATUS_USAGE,
            "%s exists, but what it was made of is not complete: --force replaces it", item.file);
    TRY(name_filterbank(run_filterbank_path(job, i), &inputs));
    TRY(check_made_by(&item, inputs.data));
out:
    text_free(&inputs);
    return st;
}

static status_t check_skipped(const struct job *job, const struct making *products,
                              const char *inputs, const struct skip *skip)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < products->count && skip->channelise; i++) {
        TRY(check_made_by(&products->items[i], inputs));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (skip->dedisperse[i]) {
            TRY(check_series(job, i, skip->channelise));
        }
    }
out:
    return st;
}

status_t skip_find(const struct job *job, const struct archive *archive,
                   const struct skip_options *options, struct skip *out)
{
    status_t st = STATUS_OK;
    int force = options->force;
    struct making products = {0};
    struct text inputs = {0};
    struct skip skip = {.channelise = 0};
    int last_begun = -1;
    int has_tidied = 0;
    TRY(list_inputs(archive, &inputs));
    if (archive) {
        TRY(making_of_products(job, archive, &products));
        TRY(tidy(&products, options->only_looks, &has_tidied));
    }
    skip.channelise = !archive || has_tidied || outputs_are_complete(&products);
    TRY(look_at_dedispersions(job, &skip, &last_begun));
    skip.all = skip.channelise;
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        skip.all &= skip.dedisperse[i];
    }
    if (force) {
        forget_forced(job, last_begun, &skip);
    }
    if (options->is_passed_over && skip.all && !force) {
        TRY(check_skipped(job, &products, inputs.data, &skip));
    }
    if (skip.all && has_tidied && !force) {
        skip.all = 0; /* the command that was killed, once more: it succeeds */
    } else if (skip.all) {
        /* Each pass is done again, or refuses to replace what is there. */
        skip = (struct skip){.channelise = !archive, .all = !force};
    }
    if (force && check_skipped(job, &products, inputs.data, &skip) != STATUS_OK) {
        report_clear();
        skip = (struct skip){.channelise = !archive};
    }
    TRY(check_skipped(job, &products, inputs.data, &skip));
    *out = skip;
out:
    making_free(&products);
    text_free(&inputs);
    return st;
}
