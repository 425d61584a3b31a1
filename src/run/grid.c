/* The jobs that a semi-coherent search consists of, and what earlier runs have done of them. */
#include "run/grid.h"

#include "input/coefficients.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/mark.h"
#include "output/journal.h"
#include "ranks/agree.h"

#include <fcntl.h>

/* Writes `filter` of a part, as an override. */
static status_t grid_write_filter(const struct job *job, double dm, double span, struct text *out)
{
    const struct job_dedisperse *what = &job->dedisperse[0];
    double constant = 0;
    TRY(text_add(out, "filter"));
    TRY(job->nfilters > 0 ? text_add(out, ".%u=", job->nfilters) : text_add(out, "=["));
    TRY(text_add(out, "{dispersion: {dm: %.17g, span: %.17g", dm, span));
    if (what->constant) {
        REQUIRE(dispersion_constant(what->constant, &constant), STATUS_USAGE,
                "%s: dedisperse.0.constant: is %s, expected tempo, handbook, sigproc, codata or a "
                "positive number of s MHz^2 pc^-1 cm^3",
                job->path, what->constant);
        TRY(text_add(out, ", constant: %.17g", constant));
    }
    return text_add(out, "}}%s", job->nfilters > 0 ? "" : "]");
}

static status_t grid_name(const char *file, uint32_t which, char **out)
{
    char *name = NULL;
    TRY(memory_format(&name, "%s.coherent-%u", file, which));
    free(*out);
    *out = name;
    return STATUS_OK;
}

/* A part's series outlive the power that they are made of: they say by themselves what archive
 * that was made of. */
static status_t grid_add_origin(const char *archive, char **text)
{
    SCOPED(text_free) struct text all = {0};
    TRY(text_add(&all, "%s", *text));
    for (const char *line = archive; *line;) {
        size_t length = strcspn(line, "\n");
        TRY(text_add(&all, "# of "));
        TRY(text_add_bytes(&all, line, length));
        TRY(text_add(&all, "\n"));
        line += length + (line[length] == '\n');
    }
    free(*text);
    *text = memory_move(&all.data);
    return STATUS_OK;
}

static status_t grid_finish_job(const struct job *job, uint32_t which, const char *origin,
                                struct job *part)
{
    SCOPED(text_free) struct text taps = {0};
    TRY(job_copy_run(job, part));
    /* The text that the part was made of has only keys that determine bytes. */
    part->backend = job->backend;
    part->dedisperse[0].has_backend = job->dedisperse[0].has_backend;
    part->dedisperse[0].backend = job->dedisperse[0].backend;
    /* Temporary files. */
    part->products[0].compression = part->dedisperse[0].compression = COMPRESSION_NONE;
    TRY(grid_name(job->products[0].file, which, &part->products[0].file));
    TRY(grid_name(job->dedisperse[0].file, which, &part->dedisperse[0].file));
    TRY(grid_add_origin(origin, &part->dedisperse[0].text));
    TRY(coefficients_pack(job, &taps));
    struct unpack in = {.data = taps.data, .length = taps.length};
    return coefficients_unpack(&in, part);
}

static status_t grid_make_job(const struct job *job, uint32_t which, double span,
                              const char *origin, struct job **out)
{
    const struct job_dedisperse *what = &job->dedisperse[0];
    SCOPED(text_free) struct text filter = {0};
    SCOPED(job_destroy_at) struct job *part = NULL;
    TRY(grid_write_filter(job, what->coherent[which], span, &filter));
    const char *const sets[] = {filter.data, "products.0.file=power", "dedisperse.0.file=series"};
    TRY(job_parse(job->path, what->text, strlen(what->text), sets, 3, &part));
    TRY(grid_finish_job(job, which, origin, part));
    *out = memory_move(&part);
    return STATUS_OK;
}

/* Makes a part for each coherent DM that is the nearest one of some DMs. */
static status_t grid_divide(struct grid *grid)
{
    SCOPED(free_at) double *dms = NULL;
    const struct job_dedisperse *what = &grid->job->dedisperse[0];
    const struct job_dms *dm = &what->dm; /* no list of a tolerance */
    const struct dispersion_grid coherent = {what->coherent, what->ncoherent};
    TRY(dm->kind == DM_LINEAR ? dispersion_linear(dm->start, dm->step, dm->count, &dms)
                              : STATUS_OK);
    const double *const all = dms ? dms : dm->list;
    TRY(memory_zeroed(what->ncoherent, sizeof *grid->parts, "parts of a job", &grid->parts));
    for (uint32_t i = 0; i < what->ncoherent; i++) {
        struct dispersion_share share = dispersion_grid_share(&coherent, i, all, dm->count);
        if (share.count > 0) {
            grid->parts[grid->count++] = (struct grid_part){.coherent_dm = what->coherent[i],
                                                            .number = i,
                                                            .first = share.first,
                                                            .count = share.count};
        }
    }
    return STATUS_OK;
}

/* The parts' jobs, whose files are neither read by the job nor its series, as rank 0 checks. */
static status_t grid_make_parts(const struct archive *archive, const char *origin, int rank,
                                struct grid *grid)
{
    const struct protect_other series = {"series", grid->job->dedisperse[0].file};
    TRY(grid_divide(grid));
    double span = grid->parts[grid->count - 1].coherent_dm;
    for (uint32_t i = 0; i < grid->count; i++) {
        struct grid_part *part = &grid->parts[i];
        TRY(grid_make_job(grid->job, part->number, span, origin, &part->job));
        TRY(rank == 0 ? protect_job(part->job, archive, &series, 1) : STATUS_OK);
    }
    return STATUS_OK;
}

status_t grid_create_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                         struct grid **out)
{
    SCOPED(inputs_free) struct inputs inputs = {0};
    SCOPED(text_free) struct text origin = {0};
    SCOPED(grid_destroy_at) struct grid *grid = NULL;
    status_t st = memory_zeroed(1, sizeof *grid, "a job's parts", &grid);
    if (st == STATUS_OK) {
        grid->job = job;
        grid->lock_fd = -1;
        st = memory_format(&grid->lock, "%s.coherent", job->dedisperse[0].file);
    }
    TRY(agree_all(comm, st));
    if (agree_rank(comm) == 0) {
        st = inputs_of_bank(job, archive, &inputs);
        st = st == STATUS_OK ? inputs_contents(&inputs, &origin) : st;
    }
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, &origin));
    TRY(agree_all(comm, grid_make_parts(archive, origin.data, agree_rank(comm), grid)));
    *out = memory_move(&grid);
    return STATUS_OK;
}

static status_t grid_lock(struct grid *grid)
{
    uint64_t bytes = 0;
    TRY(folder_make(grid->lock, &grid->made));
    TRY(claim_take(grid->lock, &grid->lock_fd, &bytes));
    if (bytes > 0) {
        file_close(grid->lock_fd);
        grid->lock_fd = -1;
    }
    return REQUIRED(bytes == 0, STATUS_USAGE,
                    "%s exists and is not empty, so it is no lock of voltmill: remove it",
                    grid->lock);
}

status_t grid_lock_all(MPI_Comm comm, struct grid *grid)
{
    return agree_all(comm, agree_rank(comm) == 0 ? grid_lock(grid) : STATUS_OK);
}

void grid_destroy(struct grid *grid)
{
    if (!grid) {
        return;
    }
    for (uint32_t i = 0; i < grid->count; i++) {
        job_destroy(grid->parts[i].job);
    }
    claim_remove(grid->lock_fd, grid->lock);
    file_close(grid->lock_fd);
    folder_unmake(grid->lock, grid->made);
    MEMORY_FREE(grid->lock, grid->parts, grid);
}

/* Whether a run has made the file, complete or not. */
static int grid_is_product(const char *path)
{
    enum mark mark = mark_of(path);
    return mark == MARK_RUN || (mark == MARK_NONE && product_is_ours(path));
}

static int grid_is_journal(const char *path)
{
    enum journal_state state = JOURNAL_NONE;
    SCOPED(journal_destroy_at) journal_t *journal = NULL;
    return !report_failed(journal_open(path, &state, &journal)) && state != JOURNAL_NONE &&
           state != JOURNAL_FOREIGN;
}

/* Removes a file by its descriptor: what takes its place while it is judged stays, and so does what
 * another run is writing. */
static void grid_remove_file(const char *path, int (*is_ours)(const char *path))
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && is_ours(path) && claim_is_held(path) != 1) {
        claim_remove(fd, path);
    }
    file_close(fd);
}

static void grid_remove_product(const char *path)
{
    struct product_files files = {.path = NULL};
    if (product_files_of(path, &files) == STATUS_OK) {
        grid_remove_file(files.path, grid_is_product);
        grid_remove_file(files.part, grid_is_product);
        grid_remove_file(files.journal, grid_is_journal);
    }
    product_files_free(&files);
}

void grid_remove_power(const struct grid_part *part)
{
    grid_remove_product(part->job->products[0].file);
}

void grid_remove(struct grid *grid)
{
    /* Another run may be making the series anew, or begin to. The lock of a run that was killed is
     * taken, and removed with the grid. */
    if (grid->lock_fd < 0 && (claim_is_held(grid->lock) == 1 || grid_lock(grid) != STATUS_OK)) {
        report_clear();
        return;
    }
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct job *part = grid->parts[i].job;
        int is_complete = 0;
        if (resume_find_part(part, &is_complete) != STATUS_OK) {
            report_clear(); /* not of this job: it stays */
        } else if (is_complete) {
            grid_remove_product(part->products[0].file);
            grid_remove_product(part->dedisperse[0].file);
        }
    }
}

/* Finds the work that is left of a part. Complete series need no power any more, except for the
 * last part. */
static status_t grid_find_part(struct grid_part *part, int is_last, const struct archive *archive,
                               int only_looks)
{
    struct resume_options options = {.only_looks = only_looks};
    int is_complete = 0;
    SCOPED(product_files_free) struct product_files power = {.path = NULL};
    TRY(resume_find_part(part->job, &is_complete));
    if (!is_complete) {
        TRY(resume_find(part->job, archive, &options, &part->left));
        return STATUS_OK;
    }
    TRY(product_files_of(part->job->products[0].file, &power));
    int has_power = power.has_path && !power.has_part && !power.has_journal;
    part->left = (struct resume){.channelise = has_power || !is_last, .dedisperse = {1}};
    part->left.all = part->left.channelise;
    return STATUS_OK;
}

status_t grid_find_left(struct grid *grid, const struct archive *archive,
                        const struct run_options *options, int may_remove)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < grid->count; i++) {
        struct grid_part *part = &grid->parts[i];
        int is_last = i + 1 == grid->count;
        if (options->restart && !may_remove) {
            part->left = (struct resume){0};
            continue;
        }
        if (options->restart) {
            grid_remove_power(part);
            grid_remove_product(part->job->dedisperse[0].file);
        }
        st = grid_find_part(part, is_last, archive, !may_remove);
        if (st == STATUS_USAGE && options->force) {
            report_clear();
            part->left = (struct resume){0};
            st = STATUS_OK;
        }
        TRY(st);
    }
    return STATUS_OK;
}
