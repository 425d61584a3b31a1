/* Which rows stay on the device, for whom and until when; and which files the passes mean. */
#include "pipeline/device_carry.h"

#include "plan/plan_products.h"

/* Whether a dedispersion that is left to do takes its power from the product, or any (NULL). */
static int carry_is_wanted(const struct device_carry *between, const struct job *job,
                           const uint32_t *product)
{
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        const struct job_dedisperse *what = &job->dedisperse[i];
        enum backend_kind kind = what->backend == BACKEND_AUTO ? between->automatic : what->backend;
        if (!between->are_done[i] && (!product || what->input == *product) &&
            backend_abilities(kind)->keeps_rows) {
            return 1;
        }
    }
    return 0;
}

status_t device_carry_begin(struct device_carry *between, backend_t *backend,
                            const struct channelise_plan *work)
{
    const struct job *job = work->job;
    for (uint32_t i = 0; i < job->nproducts; i++) {
        const struct product_spec *spec = &work->products[i].spec;
        /* Rows that become NaN, or are renormalised, do so on their way to the file. */
        int are_final = !spec->weights.are_kept && job->on_bad != ON_BAD_NAN;
        if (are_final && product_is_filterbank(spec->kind) && !plan_products_is_changed(work, i) &&
            carry_is_wanted(between, job, &i)) {
            uint64_t row = plan_products_made_bytes(work, i, work->archive->nstreams);
            TRY(resident_rows_create(
                backend, row,
                ceil_div_u64(work->chunking.chunk_spectra * channelise_plan_bank_of(work, i)->ratio,
                             spec->integrate),
                &between->resident[i]));
        }
    }
    return STATUS_OK;
}

/* Returns the index at which the file of a dedispersion's filterbank is noted. */
static uint32_t carry_place_of(const struct job *job, uint32_t number)
{
    return job_reads_voltages(job) ? job->dedisperse[number].input : 0;
}

status_t device_carry_note_found(struct device_carry *between, const struct job *job)
{
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        struct identity *file = &between->files[carry_place_of(job, i)];
        if (!between->are_done[i] && file->bytes == 0) {
            TRY(identity_of_path(job_filterbank(job, i), file));
        }
    }
    return STATUS_OK;
}

/* The time of its last change is ignored: a network's file system may update it late when ranks on
 * other nodes wrote the file. */
status_t device_carry_check(const struct device_carry *between, const struct job *job,
                            uint32_t number, const struct fbh5 *fbh5)
{
    const struct identity *before = &between->files[carry_place_of(job, number)];
    const struct archive_source *now = sources_find(&fbh5->storage.sources, fbh5->path);
    REQUIRE(now, STATUS_DATA, "%s: its device and inode are unknown", fbh5->path);
    return identity_check_same(fbh5->path, before, &now->identity);
}

int device_carry_leave(struct device_carry *between, backend_t *backend,
                       const struct channelise_plan *work)
{
    if (!backend_abilities(work->backend)->keeps_rows ||
        !carry_is_wanted(between, work->job, NULL)) {
        return 0;
    }
    between->backend = backend;
    return 1;
}

backend_t *device_carry_end(struct device_carry *between)
{
    backend_t *backend = between->backend;
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        stage_destroy(memory_move(&between->resident[i]));
    }
    between->backend = NULL;
    return backend;
}
