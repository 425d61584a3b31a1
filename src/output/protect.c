/* Everything that is read against everything that is written. */
#include "output/protect.h"

#include "archive/inputs.h"
#include "io/file.h"
#include "io/guard.h"

#include <stdlib.h>

enum { NAMES = 3 };

/* The names that a product has on its way; own[0] is the job's. */
struct names {
    const char *of[NAMES];
    char *part, *journal;
};

static status_t protect_names_begin(const char *path, struct names *out)
{
    status_t st = STATUS_OK;
    *out = (struct names){.of = {path}};
    TRY(file_part_name(path, &out->part));
    TRY(file_journal_name(path, &out->journal));
    out->of[1] = out->part;
    out->of[2] = out->journal;
out:
    return st;
}

static void protect_names_free(struct names *names)
{
    free(names->part);
    free(names->journal);
}

static status_t protect_guard_inputs(const struct inputs *inputs, struct guard *out)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->files[i];
        TRY(guard_add(out, input->is_small ? "the file of the window" : "the input file",
                      input->path));
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

static status_t protect_check_two_products(const struct names *a, const struct names *b)
{
    status_t st = STATUS_OK;
    int is_same = 0;
    TRY(file_is_same(a->of[0], b->of[0], &is_same));
    REQUIRE(!is_same, STATUS_USAGE, "two products are one file: %s, %s", a->of[0], b->of[0]);
    for (int i = 0; i < NAMES; i++) {
        for (int j = 0; j < NAMES; j++) {
            TRY(file_is_same(a->of[i], b->of[j], &is_same));
            REQUIRE(!is_same, STATUS_USAGE,
                    "%s and %s are one file: a name under which product %s or its journal is "
                    "written, and one of product %s",
                    a->of[i], b->of[j], a->of[0], b->of[0]);
        }
    }
out:
    return st;
}

/* Product `i` of the job: against what is read, and the products before it. */
static status_t protect_check_product(const struct job *job, uint32_t i, const struct guard *reads)
{
    status_t st = STATUS_OK;
    struct names names = {.part = NULL};
    struct names before = {.part = NULL};
    TRY(protect_names_begin(job_file(job, i), &names));
    for (int j = 0; j < NAMES; j++) {
        TRY(guard_check(reads, "product", names.of[j]));
    }
    for (uint32_t k = 0; k < i; k++) {
        TRY(protect_names_begin(job_file(job, k), &before));
        TRY(protect_check_two_products(&before, &names));
        protect_names_free(&before);
        before = (struct names){.part = NULL};
    }
out:
    protect_names_free(&before);
    protect_names_free(&names);
    return st;
}

static status_t protect_check_against_products(const struct job *job,
                                               const struct protect_other *other)
{
    status_t st = STATUS_OK;
    struct names names = {.part = NULL};
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        TRY(protect_names_begin(job_file(job, i), &names));
        for (int j = 0; j < NAMES; j++) {
            int is_same = 0;
            TRY(file_is_same(other->path, names.of[j], &is_same));
            REQUIRE(!is_same, STATUS_USAGE, "%s %s is product %s of the job", other->what,
                    other->path, names.of[j]);
        }
        protect_names_free(&names);
        names = (struct names){.part = NULL};
    }
out:
    protect_names_free(&names);
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
        if (others[i].path) {
            TRY(guard_check(&reads, others[i].what, others[i].path));
            TRY(protect_check_against_products(job, &others[i]));
        }
    }
    TRY(protect_others(others, nothers));
out:
    guard_free(&reads);
    return st;
}
