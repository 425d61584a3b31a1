/* What is known of a run after it: the job, what was printed, and the products themselves. */
#include "plot/report.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "job/job.h"
#include "plot/glance.h"
#include "plot/page.h"
#include "plot/plot.h"
#include "product/product.h"
#include "run/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST = 256, MOST_JOB = 1 << 24 };

static struct text said; /* by this process since report_begin() */

static void report_keep_line(const char *line)
{
    (void)text_add(&said, "%s", line);
}

static void report_keep_message(enum report_kind kind, const char *message)
{
    (void)text_add(&said, "%s: %s\n", report_word(kind), message);
}

status_t report_begin(const char *path, int force)
{
    status_t st = STATUS_OK;
    TRY(plot_check_new(path, MARK_RUN, force));
    display_copy(report_keep_line);
    report_copy(report_keep_message);
out:
    return st;
}

void report_end(void)
{
    display_copy(NULL);
    report_copy(NULL);
    text_free(&said);
}

static status_t report_add_sets(const struct report_run *run, struct text *page)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < run->nsets; i++) {
        TRY(page_row(page, i ? "" : "set", run->sets[i]));
    }
out:
    return st;
}

/* Of the observation, as its first product has it. */
static status_t report_add_observation(const struct product *product, struct text *page)
{
    status_t st = STATUS_OK;
    char a[UNITS_TEXT];
    struct text start = {0};
    TRY(page_row(page, "telescope", product->sky.telescope));
    TRY(page_row(page, "source", product->sky.source));
    if (product->sky.has_start) {
        TRY(text_add(&start, "%s UTC", units_utc(product->sky.start, a)));
        TRY(page_row(page, "observation from", start.data));
    }
    TRY(page_row(page, "made of", product->origin.inputs));
    TRY(page_row(page, "computed by", product->origin.arithmetic));
out:
    text_free(&start);
    return st;
}

static status_t report_add_summary(const struct report_run *run, const struct job *job,
                                   struct text *page)
{
    status_t st = STATUS_OK;
    char host[HOST] = "";
    char a[UNITS_TEXT];
    char began[32] = "";
    struct tm utc;
    struct text words = {0};
    struct product *product = NULL;
    TRY(page_paragraph(page, run->holes ? run->holes : "All products are complete."));
    TRY(page_table_begin(page));
    TRY(page_row(page, "job", run->job));
    TRY(report_add_sets(run, page));
    TRY(report_forgive(product_open(job_file(job, 0), &product)));
    TRY(product ? report_add_observation(product, page) : STATUS_OK);
    (void)gethostname(host, sizeof host - 1);
    strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%S", gmtime_r(&run->began, &utc));
    TRY(text_add(&words, "%s UTC, for %s, on %d %s", began,
                 units_seconds((double)(long long)(1e3 * run->seconds) / 1e3, a), run->ranks,
                 units_plural((uint64_t)run->ranks, "rank", "ranks")));
    TRY(text_add_shown(&words, ", rank 0 on %s", host));
    TRY(page_row(page, "ran", words.data));
    TRY(page_row(page, "program", "voltmill " VOLTMILL_VERSION));
    TRY(page_table_end(page));
out:
    product_destroy(product);
    text_free(&words);
    return st;
}

static status_t report_add_job(const struct report_run *run, struct text *page)
{
    status_t st = STATUS_OK;
    struct text job = {0};
    TRY(text_read_file(&job, run->job, MOST_JOB, "a job file (YAML)"));
    TRY(page_heading(page, "The job"));
    TRY(page_lines(page, job.data ? job.data : ""));
out:
    text_free(&job);
    return st;
}

static status_t report_compose(const struct report_run *run, const struct job *job,
                               struct text *page)
{
    status_t st = STATUS_OK;
    struct text title = {0};
    struct glance glance = {.page = page};
    TRY(text_add_shown(&title, "voltmill: %s", text_basename(run->job)));
    TRY(page_begin(page, title.data));
    TRY(report_add_summary(run, job, page));
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        TRY(glance_at_product(&glance, job_file(job, i)));
    }
    if (job->nbanks > 0) {
        TRY(glance_at_filter(&glance, job));
    }
    if (said.length > 0) {
        TRY(page_heading(page, "What the run said"));
        TRY(page_lines(page, said.data));
    }
    TRY(report_add_job(run, page));
    TRY(page_end(page));
out:
    text_free(&title);
    return st;
}

status_t report_write(const struct report_run *run)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    struct text page = {0};
    const struct guard reads = {0};
    int is_before = 0;
    TRY(share_load_job(run->job, run->sets, run->nsets, &job));
    TRY(report_compose(run, job, &page));
    TRY(plot_publish(run->path, &page, MARK_RUN, run->force, &reads, &is_before));
    display_print("%s: the report\n", run->path);
out:
    text_free(&page);
    job_destroy(job);
    return st;
}
