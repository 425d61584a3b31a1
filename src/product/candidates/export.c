/* Candidates as text, in the columns that others' programs read. */
#include "product/candidates/export.h"

#include "base/memory.h"
#include "product/candidates/candidates.h"
#include "product/export/export_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* How tables of candidates begin. */
#define CANDIDATES_CSV_HEAD                                                                        \
    "snr,dm,time_s,mjd,width,beam,sample,members,dm_least,dm_most,time_first_s,time_last_s\n"
#define CANDIDATES_FETCH_HEAD "file,snr,stime,width,dm,label,chan_mask_path,num_files\n"

/* Seconds that a burst comes later at the highest channel, whose times others mean. */
static double export_later(const struct candidates_file *file, double dm)
{
    double top = file->highest_hz / 1e6;
    double reference = file->reference_hz / 1e6;
    return top > 0 && reference > 0
               ? file->constant * dm * (1 / (top * top) - 1 / (reference * reference))
               : 0;
}

/* The power of two that is nearest to a width, as both heimdall and FETCH have it. */
static int export_filter(const struct candidate *row)
{
    return (int)lrint(log2((double)row->width));
}

static uint64_t export_trial(const struct candidates_file *file, double dm)
{
    uint64_t trial = 0;
    while (trial + 1 < file->ndms && file->dms[trial] < dm) {
        trial++;
    }
    return trial;
}

static status_t export_csv(const struct candidates_file *file, const struct candidate *row,
                           struct text *out)
{
    (void)file;
    return text_add(
        out, "%.6g,%.12g,%.9f,%.12f,%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64 ",%.12g,%.12g,%.9f,%.9f\n",
        row->snr, row->dm, row->time_s, row->mjd, row->width, row->beam, row->sample, row->members,
        row->dm_least, row->dm_most, row->time_first_s, row->time_last_s);
}

/* S/N, sample, seconds, filter, DM trial, DM, members, first and last sample. */
static status_t export_heimdall(const struct candidates_file *file, const struct candidate *row,
                                struct text *out)
{
    double first = file->first_time;
    return text_add(
        out, "%.6g\t%" PRIu64 "\t%.9f\t%d\t%" PRIu64 "\t%.12g\t%" PRIu64 "\t%.0f\t%.0f\n", row->snr,
        row->sample + row->width / 2, row->time_s + export_later(file, row->dm), export_filter(row),
        export_trial(file, row->dm), row->dm, row->members,
        rint((row->time_first_s - first) / file->tsamp),
        rint((row->time_last_s - first) / file->tsamp));
}

static status_t export_fetch(const struct candidates_file *file, const struct candidate *row,
                             struct text *out)
{
    return text_add(out, "%s,%.6g,%.9f,%d,%.12g,0,,1\n", file->filterbank ? file->filterbank : "",
                    row->snr, row->time_s + export_later(file, row->dm), export_filter(row),
                    row->dm);
}

static const struct {
    const char *ending, *head, *what;
    status_t (*row)(const struct candidates_file *file, const struct candidate *row,
                    struct text *out);
} formats[] = {
    [CANDIDATES_CSV] = {".csv", CANDIDATES_CSV_HEAD, "comma-separated values", export_csv},
    [CANDIDATES_HEIMDALL] = {".cand", "", "columns of heimdall", export_heimdall},
    [CANDIDATES_FETCH] = {".fetch.csv", CANDIDATES_FETCH_HEAD, "columns of FETCH", export_fetch}};

status_t export_candidates_words(enum candidates_format format, const struct candidates_file *in,
                                 struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add(out, "%s", formats[format].head));
    for (uint64_t i = 0; i < in->found.count; i++) {
        TRY(formats[format].row(in, &in->found.rows[i], out));
    }
out:
    return st;
}

status_t export_candidates(const struct export_candidates_options *options, struct text *said)
{
    status_t st = STATUS_OK;
    struct candidates_file *in = NULL;
    struct guard reads = {0};
    struct export_file out = {.fd = -1};
    struct text words = {0};
    char *path = NULL;
    int is_before = 0;
    TRY(candidates_open(options->product, &in));
    TRY(export_name(options->out, options->product, formats[options->format].ending, &path));
    TRY(guard_add(&reads, "the file which it is made of,", options->product));
    TRY(export_candidates_words(options->format, in, &words));
    const struct export_plan plan = {.path = path,
                                     .mark = MARK_EXPORT,
                                     .force = options->force,
                                     .bytes = words.length,
                                     .head = &words};
    TRY(export_file_check(&plan, &reads));
    TRY(export_file_begin(&plan, &out));
    TRY(export_file_publish(&out));
    TRY(export_file_say_before(&out, said, &is_before));
    TRY(is_before
            ? STATUS_OK
            : text_add_shown(said, "%s: %llu candidates, %s\n", path,
                             (unsigned long long)in->found.count, formats[options->format].what));
out:
    export_file_end(&out);
    guard_free(&reads);
    candidates_close(in);
    text_free(&words);
    free(path);
    return st;
}
