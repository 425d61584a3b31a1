#include "run/setup.h"

#include "ranks/agree.h"

/* Rank 0 looks into the files; the others are told. */
static status_t share_archive_all(MPI_Comm comm, const struct job *job, struct archive **out)
{
    status_t st = STATUS_OK;
    struct text packed = {0};
    struct archive *archive = NULL;
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        st = archive_open(job, &archive);
        if (st == STATUS_OK) {
            st = archive_pack(archive, &packed);
        }
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

status_t setup_share_all(MPI_Comm comm, status_t st, const char *path, struct text *text,
                         const char *const *sets, uint32_t nsets, const struct job_each *each,
                         struct job **out_job, struct archive **out_archive)
{
    struct job *job = NULL;
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, text));
    st = job_parse_each(path, text->data, text->length, sets, nsets, each, &job);
    TRY(agree_all(comm, st));
    if (job->channels > 0) {
        TRY(share_archive_all(comm, job, out_archive));
    }
    *out_job = job;
    job = NULL;
out:
    job_destroy(job);
    return st;
}
