/* Archives and filterbanks looked at apart (io/apart/apart.h): questions and answers. */
#include "archive/ask.h"

#include "archive/archive.h"
#include "archive/fbh5/fbh5.h"
#include "base/memory.h"

#include <stdlib.h>

static status_t ask_pack_texts(struct text *out, char *const *texts, uint32_t count)
{
    status_t st = STATUS_OK;
    TRY(pack_u64(out, count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(pack_text(out, texts[i]));
    }
out:
    return st;
}

static status_t ask_unpack_texts(struct unpack *in, char ***texts, uint32_t *count)
{
    status_t st = STATUS_OK;
    uint32_t wanted = (uint32_t)unpack_count(in, 8);
    TRY(memory_zeroed(wanted, sizeof **texts, "names", texts));
    *count = wanted;
    for (uint32_t i = 0; i < wanted; i++) {
        (*texts)[i] = unpack_text(in);
    }
out:
    return st;
}

static status_t ask_pack_layout(const struct job_layout *layout, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_i64(out, layout->automatic));
    TRY(pack_text(out, layout->dataset));
    TRY(pack_text(out, layout->axes));
    TRY(pack_i64(out, (int64_t)layout->files_along));
    TRY(pack_i64(out, layout->has_domain));
    TRY(pack_i64(out, layout->is_complex));
    TRY(pack_i64(out, layout->has_sample_rate));
    TRY(pack_f64(out, layout->sample_rate_hz));
    TRY(pack_i64(out, layout->has_packing));
    TRY(pack_i64(out, layout->nibbles.offset_binary));
    TRY(pack_i64(out, layout->nibbles.high_is_real));
    TRY(pack_i64(out, layout->has_missing_value));
    TRY(pack_f64(out, layout->missing_value));
    TRY(pack_i64(out, layout->has_sideband));
    TRY(pack_i64(out, layout->sideband));
    TRY(pack_i64(out, layout->has_start));
    TRY(pack_i64(out, layout->start.mjd_day));
    TRY(pack_f64(out, layout->start.second));
    TRY(pack_i64(out, layout->has_oversampling));
    TRY(pack_u64(out, layout->oversampling_num));
    TRY(pack_u64(out, layout->oversampling_den));
    TRY(pack_text(out, layout->telescope));
    TRY(pack_text(out, layout->source));
    TRY(pack_i64(out, layout->freq_hz != NULL));
    TRY(pack_u64(out, layout->nfreq));
    for (uint32_t i = 0; i < layout->nfreq; i++) {
        TRY(pack_f64(out, layout->freq_hz[i]));
    }
out:
    return st;
}

static status_t ask_unpack_layout(struct unpack *in, struct job_layout *layout)
{
    status_t st = STATUS_OK;
    layout->automatic = (int)unpack_i64(in);
    layout->dataset = unpack_text(in);
    layout->axes = unpack_text(in);
    layout->files_along = (enum axis)unpack_i64(in);
    layout->has_domain = (int)unpack_i64(in);
    layout->is_complex = (int)unpack_i64(in);
    layout->has_sample_rate = (int)unpack_i64(in);
    layout->sample_rate_hz = unpack_f64(in);
    layout->has_packing = (int)unpack_i64(in);
    layout->nibbles.offset_binary = (int)unpack_i64(in);
    layout->nibbles.high_is_real = (int)unpack_i64(in);
    layout->has_missing_value = (int)unpack_i64(in);
    layout->missing_value = unpack_f64(in);
    layout->has_sideband = (int)unpack_i64(in);
    layout->sideband = (int)unpack_i64(in);
    layout->has_start = (int)unpack_i64(in);
    layout->start.mjd_day = (int32_t)unpack_i64(in);
    layout->start.second = unpack_f64(in);
    layout->has_oversampling = (int)unpack_i64(in);
    layout->oversampling_num = (uint32_t)unpack_u64(in);
    layout->oversampling_den = (uint32_t)unpack_u64(in);
    layout->telescope = unpack_text(in);
    layout->source = unpack_text(in);
    int has_freq = (int)unpack_i64(in);
    uint32_t nfreq = (uint32_t)unpack_count(in, sizeof(double));
    if (has_freq) {
        TRY(memory_zeroed(nfreq, sizeof *layout->freq_hz, "frequencies", &layout->freq_hz));
        layout->nfreq = nfreq;
        for (uint32_t i = 0; i < nfreq; i++) {
            layout->freq_hz[i] = unpack_f64(in);
        }
    }
out:
    return st;
}

static status_t ask_pack_select(const struct job_select *select, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_i64(out, (int64_t)select->kind));
    TRY(pack_u64(out, select->first_sample));
    TRY(pack_u64(out, select->end_sample));
    TRY(pack_f64(out, select->from_second));
    TRY(pack_f64(out, select->to_second));
    TRY(pack_i64(out, select->from_utc.mjd_day));
    TRY(pack_f64(out, select->from_utc.second));
    TRY(pack_i64(out, select->to_utc.mjd_day));
    TRY(pack_f64(out, select->to_utc.second));
    for (int i = 0; i < AXIS_KINDS; i++) {
        TRY(ask_pack_texts(out, select->streams[i], select->nstreams[i]));
    }
out:
    return st;
}

static status_t ask_unpack_select(struct unpack *in, struct job_select *select)
{
    status_t st = STATUS_OK;
    select->kind = (enum select_kind)unpack_i64(in);
    select->first_sample = unpack_u64(in);
    select->end_sample = unpack_u64(in);
    select->from_second = unpack_f64(in);
    select->to_second = unpack_f64(in);
    select->from_utc.mjd_day = (int32_t)unpack_i64(in);
    select->from_utc.second = unpack_f64(in);
    select->to_utc.mjd_day = (int32_t)unpack_i64(in);
    select->to_utc.second = unpack_f64(in);
    for (int i = 0; i < AXIS_KINDS; i++) {
        TRY(ask_unpack_texts(in, &select->streams[i], &select->nstreams[i]));
    }
out:
    return st;
}

/* What a job says of its input. */
static status_t ask_pack_input(const struct job *job, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_text(out, job->path));
    TRY(ask_pack_texts(out, job->files, job->nfiles));
    TRY(ask_pack_layout(&job->layout, out));
    TRY(ask_pack_select(&job->select, out));
    TRY(pack_i64(out, (int64_t)job->on_bad));
out:
    return st;
}

static status_t ask_unpack_input(struct unpack *in, struct job **out)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *job, "a job", &job));
    job->path = unpack_text(in);
    TRY(ask_unpack_texts(in, &job->files, &job->nfiles));
    TRY(ask_unpack_layout(in, &job->layout));
    TRY(ask_unpack_select(in, &job->select));
    job->on_bad = (enum on_bad)unpack_i64(in);
    TRY(unpack_check(in, "a job"));
    *out = job;
    job = NULL;
out:
    job_destroy(job);
    return st;
}

status_t ask_archive(const struct job *job, struct archive **out)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    TRY(ask_pack_input(job, &question));
    TRY(apart_ask("archive", &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(archive_unpack(&in, out));
out:
    text_free(&question);
    text_free(&answer);
    return st;
}

status_t ask_answer_archive(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    struct archive *archive = NULL;
    TRY(ask_unpack_input(question, &job));
    TRY(archive_open(job, &archive));
    TRY(archive_pack(archive, answer));
out:
    archive_destroy(archive);
    job_destroy(job);
    return st;
}

status_t ask_filterbank(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    TRY(apart_ask_of("filterbank", path, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(fbh5_unpack(&in, out));
out:
    text_free(&answer);
    return st;
}

status_t ask_answer_filterbank(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    char *path = unpack_text(question);
    REQUIRE(path, STATUS_DEVICE, "out of memory: a name");
    TRY(fbh5_open(path, &fbh5));
    TRY(fbh5_pack(fbh5, answer));
out:
    fbh5_destroy(fbh5);
    free(path);
    return st;
}

status_t ask_band(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    struct fbh5 *with_band = NULL;
    TRY(fbh5_pack(fbh5, &question));
    TRY(apart_ask("band", &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(fbh5_unpack(&in, &with_band));
    fbh5->freq_hz = with_band->freq_hz;
    with_band->freq_hz = NULL;
out:
    fbh5_destroy(with_band);
    text_free(&question);
    text_free(&answer);
    return st;
}

status_t ask_answer_band(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(fbh5_unpack(question, &fbh5));
    TRY(fbh5_load_band(fbh5));
    TRY(fbh5_pack(fbh5, answer));
out:
    fbh5_destroy(fbh5);
    return st;
}

status_t ask_even(const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    TRY(fbh5_pack(fbh5, &question));
    TRY(apart_ask("even", &question, &answer));
out:
    text_free(&question);
    text_free(&answer);
    return st;
}

status_t ask_answer_even(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    (void)answer;
    struct fbh5 *fbh5 = NULL;
    TRY(fbh5_unpack(question, &fbh5));
    TRY(fbh5_check_even(fbh5));
out:
    fbh5_destroy(fbh5);
    return st;
}
