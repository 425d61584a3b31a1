/* Archives and filterbanks looked at apart (io/apart/apart.h): the public functions, which ask, and
 * the workers, which answer by what archive/ and fbh5/ do in their own process. */
#include "archive/fbh5/fbh5.h"
#include "archive/format/formats.h"
#include "archive/open.h"
#include "base/memory.h"

#include <stdlib.h>

/* What a job says of its input. */
#define SELECTED(axis)                                                                             \
    PACK_LIST(struct job, select.streams[axis], select.nstreams[axis], &pack_texts)
#define PACK_SAID(key)                                                                             \
    PACK_FIELD(struct job, layout.said[SAID_##key].attribute),                                     \
        PACK_FIELD(struct job, layout.said[SAID_##key].unit),

static const struct pack_field stream_fields[] = {
    PACK_FIELD(struct job_stream, thread),   PACK_FIELD(struct job_stream, channel),
    PACK_FIELD(struct job_stream, pol),      PACK_FIELD(struct job_stream, freq_hz),
    PACK_FIELD(struct job_stream, sideband), PACK_FIELD(struct job_stream, dc),
};
static const struct pack_type stream_type = PACK_TYPE(struct job_stream, stream_fields);

static const struct pack_field input_fields[] = {
    PACK_FIELD(struct job, path),
    PACK_LIST(struct job, files, nfiles, &pack_texts),
    PACK_LIST(struct job, external, nexternal, &pack_texts),
    PACK_FIELD(struct job, layout.automatic),
    PACK_FIELD(struct job, layout.format),
    PACK_FIELD(struct job, layout.dataset),
    PACK_FIELD(struct job, layout.parts[0]),
    PACK_FIELD(struct job, layout.parts[1]),
    PACK_FIELD(struct job, layout.axes),
    PACK_FIELD(struct job, layout.files_along),
    PACK_FIELD(struct job, layout.is_reim_along),
    PACK_FIELD(struct job, layout.has_domain),
    PACK_FIELD(struct job, layout.is_complex),
    PACK_FIELD(struct job, layout.has_sample_rate),
    PACK_FIELD(struct job, layout.sample_rate_hz),
    PACK_FIELD(struct job, layout.has_sample_period),
    PACK_FIELD(struct job, layout.sample_period_s),
    PACK_FIELD(struct job, layout.has_packing),
    PACK_FIELD(struct job, layout.packing),
    PACK_FIELD(struct job, layout.has_offset),
    PACK_FIELD(struct job, layout.offset),
    PACK_FIELD(struct job, layout.has_missing_value),
    PACK_FIELD(struct job, layout.missing_value),
    PACK_FIELD(struct job, layout.has_scale),
    PACK_FIELD(struct job, layout.scale),
    PACK_FIELD(struct job, layout.has_sideband),
    PACK_FIELD(struct job, layout.sideband),
    PACK_FIELD(struct job, layout.has_dc),
    PACK_FIELD(struct job, layout.is_dc_at_edge),
    PACK_FIELD(struct job, layout.has_dropped),
    PACK_FIELD(struct job, layout.ignores_dropped),
    PACK_FIELD(struct job, layout.frequencies.has_start),
    PACK_FIELD(struct job, layout.frequencies.start),
    PACK_FIELD(struct job, layout.frequencies.step),
    PACK_FIELD(struct job, layout.frequencies.from),
    PACK_FIELD(struct job, layout.frequencies.attribute),
    PACK_FIELD(struct job, layout.frequencies.member),
    PACK_FIELD(struct job, layout.frequencies.unit),
    PACK_FIELD(struct job, layout.has_start),
    PACK_FIELD(struct job, layout.start.mjd_day),
    PACK_FIELD(struct job, layout.start.second),
    PACK_FIELD(struct job, layout.has_oversampling),
    PACK_FIELD(struct job, layout.oversampling_num),
    PACK_FIELD(struct job, layout.oversampling_den),
    PACK_FIELD(struct job, layout.telescope),
    PACK_FIELD(struct job, layout.source),
    PACK_FIELD(struct job, layout.has_ra),
    PACK_FIELD(struct job, layout.ra_deg),
    PACK_FIELD(struct job, layout.has_dec),
    PACK_FIELD(struct job, layout.dec_deg),
    PACK_LIST(struct job, layout.first_sample, layout.nfirst_sample, &pack_numbers),
    PACK_FIELD(struct job, layout.station),
    PACK_LIST(struct job, layout.streams, layout.nstreams, &stream_type),
    JOB_SAID(PACK_SAID) PACK_LIST(struct job, layout.freq_hz, layout.nfreq, &pack_numbers),
    PACK_FIELD(struct job, select.kind),
    PACK_FIELD(struct job, select.first_sample),
    PACK_FIELD(struct job, select.end_sample),
    PACK_FIELD(struct job, select.from_second),
    PACK_FIELD(struct job, select.to_second),
    PACK_FIELD(struct job, select.from_utc.mjd_day),
    PACK_FIELD(struct job, select.from_utc.second),
    PACK_FIELD(struct job, select.to_utc.mjd_day),
    PACK_FIELD(struct job, select.to_utc.second),
    PACK_FIELD(struct job, select.has_freq),
    PACK_FIELD(struct job, select.from_hz),
    PACK_FIELD(struct job, select.to_hz),
    PACK_FIELD(struct job, select.has_places),
    PACK_FIELD(struct job, select.first_place),
    PACK_FIELD(struct job, select.last_place),
    SELECTED(AXIS_STATION),
    SELECTED(AXIS_BEAM),
    SELECTED(AXIS_POL),
    SELECTED(AXIS_CHAN),
    PACK_FIELD(struct job, on_bad),
};
static const struct pack_type input_type = PACK_TYPE(struct job, input_fields);

static status_t ask_answer_archive(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    struct archive *archive = NULL;
    TRY(memory_zeroed(1, sizeof *job, "a job", &job));
    unpack_struct(question, job, &input_type);
    TRY(unpack_check(question, "a job"));
    TRY(archive_open_here(job, &archive));
    TRY(archive_pack(archive, answer));
out:
    archive_destroy(archive);
    job_destroy(job);
    return st;
}

const struct apart_task archive_open_task = {"archive", ask_answer_archive};

status_t archive_open(const struct job *job, struct archive **out)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    TRY(pack_struct(&question, job, &input_type));
    TRY(apart_do(&archive_open_task, &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(archive_unpack(&in, out));
out:
    text_free(&question);
    text_free(&answer);
    return st;
}

static status_t ask_answer_filterbank(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    char *path = NULL;
    TRY(apart_path(question, &path));
    TRY(formats_open_filterbank(path, &fbh5));
    TRY(fbh5_pack(fbh5, answer));
out:
    fbh5_destroy(fbh5);
    free(path);
    return st;
}

const struct apart_task fbh5_open_task = {"filterbank", ask_answer_filterbank};

status_t fbh5_open(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    TRY(apart_do_path(&fbh5_open_task, path, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(fbh5_unpack(&in, out));
out:
    text_free(&answer);
    return st;
}

/* What is done with a filterbank that is open: the answer is what became of it. */
static status_t ask_of_filterbank(const struct apart_task *task, const struct fbh5 *fbh5,
                                  struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    TRY(fbh5_pack(fbh5, &question));
    TRY(apart_do(task, &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(fbh5_unpack(&in, out));
out:
    text_free(&question);
    text_free(&answer);
    return st;
}

static status_t ask_answer_of_filterbank(struct unpack *question, struct text *answer,
                                         status_t (*work)(struct fbh5 *fbh5))
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(fbh5_unpack(question, &fbh5));
    TRY(work(fbh5));
    TRY(fbh5_pack(fbh5, answer));
out:
    fbh5_destroy(fbh5);
    return st;
}

static status_t ask_answer_band(struct unpack *question, struct text *answer)
{
    return ask_answer_of_filterbank(question, answer, fbh5_load_band_here);
}

const struct apart_task fbh5_load_band_task = {"band", ask_answer_band};

status_t fbh5_load_band(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct fbh5 *with_band = NULL;
    TRY(ask_of_filterbank(&fbh5_load_band_task, fbh5, &with_band));
    free(fbh5->freq_hz);
    fbh5->freq_hz = with_band->freq_hz;
    with_band->freq_hz = NULL;
    fbh5->coherent_dm = with_band->coherent_dm;
    fbh5->coherent_constant = with_band->coherent_constant;
    fbh5->delay_hz = with_band->delay_hz;
    with_band->delay_hz = NULL;
out:
    fbh5_destroy(with_band);
    return st;
}

static status_t ask_answer_even(struct unpack *question, struct text *answer)
{
    return ask_answer_of_filterbank(question, answer, fbh5_check_even_here);
}

const struct apart_task fbh5_check_even_task = {"even", ask_answer_even};

status_t fbh5_check_even(const struct fbh5 *fbh5)
{
    struct fbh5 *same = NULL;
    status_t st = ask_of_filterbank(&fbh5_check_even_task, fbh5, &same);
    fbh5_destroy(same);
    return st;
}
