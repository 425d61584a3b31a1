/* Puts the rows of the parts' series into the job's. */
#include "run/grid_merge.h"

#include "base/clock.h"
#include "base/display.h"
#include "base/memory.h"
#include "pipeline/merge_pipeline.h"
#include "ranks/agree.h"

#include <stdlib.h>

/* The power of the last part is there until the end. */
static void merge_begin(const struct grid *grid, const struct archive *archive,
                        struct dedisperse_pass *p)
{
    p->search = archive;
    p->filterbank = grid->parts[grid->count - 1].job->products[0].file;
}

status_t grid_merge_foresee(const struct grid *grid, const struct grid_part *part,
                            const struct archive *archive, const struct run_options *options,
                            const struct channelise_plan *work, struct dedisperse_pass *out)
{
    status_t st = STATUS_OK;
    merge_begin(grid, archive, out);
    out->filterbank = part ? part->job->products[0].file : out->filterbank;
    pass_begin(&out->pass, MPI_COMM_NULL, grid->job, options);
    TRY(dedisperse_pass_plan_all(out, work));
    TRY(pass_measure(&out->pass));
    dedisperse_plan_end_tables(out->plan);
out:
    return st;
}

static status_t merge_list(const struct grid *grid, struct merge_source **out)
{
    status_t st = STATUS_OK;
    struct merge_source *sources = NULL;
    TRY(memory_zeroed(grid->count, sizeof *sources, "parts", &sources));
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        sources[i] = (struct merge_source){part->job->dedisperse[0].file, part->first, part->count};
    }
    *out = sources;
out:
    return st;
}

static void merge_summarise(const struct dedisperse_pass *p, const struct grid *grid,
                            double seconds)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    const struct dedisperse_plan *plan = p->plan;
    display_print("%s: dedispersed, %s %s x %s %s, %s, of %u coherent %s, in %.2f s\n",
                  plan->what->file, units_count(plan->delays.ndms, a),
                  units_plural(plan->delays.ndms, "DM", "DMs"), units_count(plan->outputs, b),
                  units_plural(plan->outputs, "time", "times"),
                  units_bytes(plan->delays.ndms * plan->outputs * sizeof(float), c), grid->count,
                  units_plural(grid->count, "DM", "DMs"), seconds);
}

status_t grid_merge_all(MPI_Comm comm, const struct grid *grid, const struct archive *archive,
                        const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct dedisperse_pass p = {.number = 0};
    struct merge_source *sources = NULL;
    double started = clock_now();
    merge_begin(grid, archive, &p);
    pass_begin(&p.pass, comm, grid->job, options);
    TRY(dedisperse_pass_plan_all(&p, NULL));
    pass_limit(&p.pass, p.plan->backend);
    TRY(pass_open_all(&p.pass));
    struct pipeline_sink sink = {p.pass.outputs, outputs_put, outputs_end, NULL, NULL, NULL};
    st = merge_list(grid, &sources);
    if (st == STATUS_OK) {
        st = merge_pipeline_create(p.plan, sources, grid->count, &sink, &p.pass.pipeline);
    }
    TRY(agree_all(comm, st));
    p.pass.in_bytes = p.plan->delays.ndms * p.plan->outputs * sizeof(float);
    pass_say_where_it_goes_on(&p.pass);
    TRY(pass_work_off_all(&p.pass));
    TRY(agree_all(comm, p.pass.rank == 0 ? archive_check_unchanged(archive) : STATUS_OK));
    TRY(pass_finish_all(&p.pass));
    if (p.pass.rank == 0) {
        merge_summarise(&p, grid, clock_now() - started);
        st = pass_judge_holes(&p.pass);
    }
    TRY(agree_all(comm, st));
out:
    dedisperse_pass_end(&p, st);
    free(sources);
    return st;
}
