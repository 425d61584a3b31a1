/* Everything that is read against everything that is written. */
#include "output/protect.h"

#include "input/inputs.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "output/journal/product_files.h"

#include <stdlib.h>

enum { NAMES = 4 };

/* Those that a product has on its way, the job's first. */
static const char *protect_name(const struct product_files *files, int i)
{
    const char *const names[NAMES] = {files->path, files->part, files->journal, files->packed};
    return names[i];
}

static status_t protect_guard_inputs(const struct inputs *inputs, struct guard *out)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->files[i];
        TRY(guard_add(out, input->small ? input->small : "the input file", input->path));
    }
out:
    return st;
}

/* All that the job reads and does not make itself. */
static status_t protect_guard_job(const struct job *job, const struct archive *archive,
                                  struct guard *out)
{
    status_t st = STATUS_OK;
    struct inputs inputs = {0};
    struct fbh5 *fbh5 = NULL;
    TRY(guard_add(out, "the job file", job->path));
    if (archive) {
        TRY(inputs_of_bank(job, archive, &inputs));
    } else {
        TRY(fbh5_open(job->files[0], &fbh5));
        TRY(inputs_of_filterbank(job->files[0], fbh5, &inputs));
    }
    TRY(protect_guard_inputs(&inputs, out));
out:
    fbh5_destroy(fbh5);
    inputs_free(&inputs);
    return st;
}

static status_t protect_check_two_products(const struct product_files *a,
                                           const struct product_files *b)
{
    status_t st = STATUS_OK;
    int is_same = 0;
    TRY(file_is_same(a->path, b->path, &is_same));
    REQUIRE(!is_same, STATUS_USAGE, "two products are one file: %s, %s", a->path, b->path);
    for (int i = 0; i < NAMES; i++) {
        for (int j = 0; j < NAMES; j++) {
            TRY(file_is_same(protect_name(a, i), protect_name(b, j), &is_same));
            REQUIRE(!is_same, STATUS_USAGE,
                    "%s and %s are one file: a name under which product %s or its journal is "
                    "written, and one of product %s",
                    protect_name(a, i), protect_name(b, j), a->path, b->path);
        }
    }
out:
    return st;
}

/* Product `i` of the job: against what is read, and the products before it. */
static status_t protect_check_product(const struct job *job, uint32_t i, const struct guard *reads)
{
    status_t st = STATUS_OK;
    struct product_files names = {.part = NULL};
    struct product_files before = {.part = NULL};
    TRY(product_files_of(job_file(job, i), &names));
    for (int j = 0; j < NAMES; j++) {
        TRY(guard_check(reads, "product", protect_name(&names, j)));
    }
    for (uint32_t k = 0; k < i; k++) {
        TRY(product_files_of(job_file(job, k), &before));
        TRY(protect_check_two_products(&before, &names));
        product_files_free(&before);
    }
out:
    product_files_free(&before);
    product_files_free(&names);
    return st;
}

static status_t protect_check_against_products(const struct job *job,
                                               const struct protect_other *other)
{
    status_t st = STATUS_OK;
    struct product_files names = {.part = NULL};
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        TRY(product_files_of(job_file(job, i), &names));
        for (int j = 0; j < NAMES; j++) {
            int is_same = 0;
            TRY(file_is_same(other->path, protect_name(&names, j), &is_same));
            REQUIRE(!is_same, STATUS_USAGE, "%s %s is product %s of the job", other->what,
                    other->path, protect_name(&names, j));
        }
        product_files_free(&names);
    }
out:
    product_files_free(&names);
    return st;
}

static status_t protect_check_other(const struct job *job, const struct protect_other *other,
                                    const struct guard *reads)
{
    status_t st = STATUS_OK;
    if (other->path) {
        TRY(guard_check(reads, other->what, other->path));
        TRY(protect_check_against_products(job, other));
    }
out:
    return st;
}

/* The tables of searches: like the others, and against them, and those before. */
static status_t protect_check_tables(const struct job *job, const struct protect_other *others,
                                     uint32_t nothers, const struct guard *reads)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        struct protect_other pair[2] = {{"table", job->dedisperse[i].search.csv}};
        TRY(protect_check_other(job, &pair[0], reads));
        for (uint32_t j = 0; pair[0].path && j < i + nothers; j++) {
            pair[1] = j < i ? (struct protect_other){"table", job->dedisperse[j].search.csv}
                            : others[j - i];
            TRY(protect_others(pair, 2));
        }
    }
out:
    return st;
}

status_t protect_others(const struct protect_other *others, uint32_t nothers)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < nothers; i++) {
        for (uint32_t j = 0; j < i; j++) {
            int is_same = 0;
            if (others[i].path && others[j].path) {
                TRY(file_is_same(others[i].path, others[j].path, &is_same));
            }
            REQUIRE(!is_same, STATUS_USAGE, "%s %s and %s %s are one file", others[j].what,
                    others[j].path, others[i].what, others[i].path);
        }
    }
out:
    return st;
}

status_t protect_job(const struct job *job, const struct archive *archive,
                     const struct protect_other *others, uint32_t nothers)
{
    status_t st = STATUS_OK;
    struct guard reads = {0};
    TRY(protect_guard_job(job, archive, &reads));
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        TRY(protect_check_product(job, i, &reads));
    }
    for (uint32_t i = 0; i < nothers; i++) {
        TRY(protect_check_other(job, &others[i], &reads));
    }
    TRY(protect_check_tables(job, others, nothers, &reads));
    TRY(protect_others(others, nothers));
out:
    guard_free(&reads);
    return st;
}
