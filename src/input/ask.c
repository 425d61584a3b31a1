/* Archives and filterbanks looked at apart (io/apart.h): the public functions, which ask, and
 * the workers, which answer by what input/ and fbh5/ do in their own process. */
#include "base/memory.h"
#include "input/fbh5/fbh5.h"
#include "input/format/formats.h"
#include "input/open.h"

#include <stdlib.h>

static status_t ask_answer_archive(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    struct archive *archive = NULL;
    TRY(job_unpack_input(question, &job));
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
    TRY(job_pack_input(&question, job));
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
    fbh5->coherent.dm = with_band->coherent.dm;
    fbh5->coherent.constant = with_band->coherent.constant;
    fbh5->coherent.delay_hz = with_band->coherent.delay_hz;
    with_band->coherent.delay_hz = NULL;
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
