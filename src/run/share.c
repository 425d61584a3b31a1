/* Rank 0 reads the job and opens the archive; then one backend is found for all. */
#include "run/share.h"

#include "archive/assumed.h"
#include "archive/coefficients/coefficients.h"
#include "io/machine/machine_memory.h"
#include "job/yaml/yaml_file.h"
#include "plan/synthesis/synthesis_filter.h"
#include "ranks/agree.h"
#include "run/ranges/ranges.h"

#include <stdio.h>
#include <string.h>

/* Rank 0 looks into the files; the others are told. */
static status_t share_archive_all(MPI_Comm comm, const struct job *job, struct archive **out)
{
    status_t st = STATUS_OK;
    struct text packed = {0};
    struct archive *archive = NULL;
    int rank = agree_rank(comm);
    if (rank == 0) {
        st = archive_open(job, &archive);
        if (st == STATUS_OK) {
            assumed_say(archive->parts[0].path, archive->assumed);
        }
        st = st == STATUS_OK ? archive_pack(archive, &packed) : st;
    }
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, &packed));
    if (rank != 0) {
        struct unpack in = {.data = packed.data, .length = packed.length};
        st = archive_unpack(&in, &archive);
    }
    TRY(agree_all(comm, st));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    text_free(&packed);
    return st;
}

/* The same of the files that filters' coefficients lie in, and of the filter of a synthesis. */
static status_t share_coefficients_all(MPI_Comm comm, const struct archive *archive,
                                       struct job *job)
{
    status_t st = STATUS_OK;
    struct text packed = {0};
    int rank = agree_rank(comm);
    if (rank == 0) {
        st = coefficients_read(job);
        st = st == STATUS_OK ? coefficients_pack(job, &packed) : st;
        st = st == STATUS_OK ? synthesis_filter_make(job, archive) : st;
        st = st == STATUS_OK ? synthesis_filter_pack(job, &packed) : st;
    }
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, &packed));
    if (rank != 0) {
        struct unpack in = {.data = packed.data, .length = packed.length};
        st = coefficients_unpack(&in, job);
        st = st == STATUS_OK ? synthesis_filter_unpack(&in, job) : st;
    }
    TRY(agree_all(comm, st));
out:
    text_free(&packed);
    return st;
}

/* Where rank 0 divides dedispersions, the job is read once more, with these ranges. */
static status_t share_divided_all(MPI_Comm comm, const char *path, const struct text *text,
                                  const char *const *sets, uint32_t nsets,
                                  const struct job_each *each, const struct archive *archive,
                                  struct job **job)
{
    status_t st = STATUS_OK;
    struct job_division division;
    struct job *divided = NULL;
    if (!job_is_divided(*job)) {
        return STATUS_OK;
    }
    TRY(agree_all(comm, agree_rank(comm) == 0 ? ranges_find(*job, archive, &division) : STATUS_OK));
    share_bytes_all(comm, &division, sizeof division);
    st = job_parse_divided(path, text->data, text->length, sets, nsets, each, &division, &divided);
    TRY(agree_all(comm, st));
    TRY(archive ? share_coefficients_all(comm, archive, divided) : STATUS_OK);
    job_take_memory(divided, (*job)->memory);
    job_destroy(*job);
    *job = divided;
    divided = NULL;
out:
    job_destroy(divided);
    return st;
}

/* What each rank may take of `run.memory: auto`: as much as the one that has least, so that all
 * plan the same. */
static void share_memory_all(MPI_Comm comm, struct job *job)
{
    int rank;
    int ranks;
    if (!job->is_memory_auto) {
        return;
    }
    local_ranks_all(comm, &rank, &ranks);
    uint64_t left = machine_memory_left("");
    uint64_t share = left > 0 ? job_share_memory(left, (uint32_t)ranks) : JOB_MEMORY;
    job_take_memory(job, least_u64_all(comm, share));
}

status_t share_job_all(MPI_Comm comm, status_t st, const char *path, struct text *text,
                       const char *const *sets, uint32_t nsets, const struct job_each *each,
                       opened_t *opened, struct job **out_job, struct archive **out_archive)
{
    struct job *job = NULL;
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, text));
    st = job_parse_each(path, text->data, text->length, sets, nsets, each, &job);
    TRY(agree_all(comm, st));
    share_memory_all(comm, job);
    opened_begin(opened, job);
    if (job_reads_voltages(job)) {
        TRY(share_archive_all(comm, job, out_archive));
        TRY(share_coefficients_all(comm, *out_archive, job));
    }
    TRY(share_divided_all(comm, path, text, sets, nsets, each,
                          job_reads_voltages(job) ? *out_archive : NULL, &job));
    *out_job = job;
    job = NULL;
out:
    job_destroy(job);
    return st;
}

status_t share_load_job(const char *path, const char *const *sets, uint32_t nsets, struct job **out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    struct job *job = NULL;
    struct archive *archive = NULL;
    TRY(text_read_file(&text, path, YAML_FILE_BYTES, "a job file (YAML)"));
    TRY(job_parse(path, text.data, text.length, sets, nsets, &job));
    share_memory_all(MPI_COMM_NULL, job);
    if (job_is_divided(job)) {
        job_destroy(job);
        job = NULL;
        TRY(share_job_all(MPI_COMM_NULL, STATUS_OK, path, &text, sets, nsets, NULL, NULL, &job,
                          &archive));
    }
    *out = job;
    job = NULL;
out:
    archive_destroy(archive);
    job_destroy(job);
    text_free(&text);
    return st;
}

enum backend_kind share_settle_backend_all(MPI_Comm comm, enum backend_kind wanted)
{
    uint32_t lacks_gpu = wanted == BACKEND_AUTO && !backend_has_gpu();
    uint32_t any_lacks = most_u32_all(comm, lacks_gpu);
    return wanted != BACKEND_AUTO ? wanted : backend_automatic(!any_lacks);
}
