/* Products looked at apart (io/apart/apart.h): questions and answers. */
#include "product/ask.h"

#include "base/memory.h"
#include "product/kind/series.h"
#include "product/place.h"

#include <stdlib.h>

static status_t ask_pack_f64s(struct text *out, const double *values, size_t count)
{
    status_t st = STATUS_OK;
    TRY(pack_i64(out, values != NULL));
    TRY(pack_u64(out, values ? count : 0));
    if (values && count > 0) {
        TRY(text_add_bytes(out, (const char *)values, count * sizeof *values));
    }
out:
    return st;
}

static status_t ask_unpack_f64s(struct unpack *in, double **values)
{
    status_t st = STATUS_OK;
    int is_there = (int)unpack_i64(in);
    size_t count = unpack_count(in, sizeof(double));
    if (is_there) {
        TRY(memory_zeroed(count, sizeof **values, "numbers", values));
    }
    for (size_t i = 0; i < count; i++) {
        (*values)[i] = unpack_f64(in);
    }
out:
    return st;
}

static status_t ask_pack_product(const struct product *product, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_i64(out, (int64_t)product->kind));
    TRY(pack_text(out, product->path));
    TRY(pack_text(out, product->job_text));
    TRY(pack_i64(out, product->version_of_format));
    TRY(pack_text(out, product->version));
    TRY(pack_text(out, product->inputs));
    TRY(pack_text(out, product->telescope));
    TRY(pack_text(out, product->source));
    TRY(pack_i64(out, product->has_start));
    TRY(pack_i64(out, product->start.mjd_day));
    TRY(pack_f64(out, product->start.second));
    TRY(pack_u64(out, product->rows));
    TRY(pack_u64(out, product->streams));
    TRY(pack_u64(out, product->frequencies));
    TRY(pack_u64(out, product->integrate));
    TRY(pack_u64(out, product->channels));
    TRY(pack_u64(out, product->taps));
    TRY(pack_f64(out, product->sample_rate_hz));
    TRY(pack_f64(out, product->first_time));
    TRY(pack_f64(out, product->time_step));
    TRY(ask_pack_f64s(out, product->frequency_hz, product->frequencies));
    TRY(ask_pack_f64s(out, product->coeff, product->ncoeff));
    TRY(pack_u64(out, product->ncoeff));
    TRY(pack_u64(out, product->missing));
    TRY(pack_u64(out, product->gaps));
    TRY(product_pack_place(&product->place, out));
out:
    return st;
}

static status_t ask_unpack_product(struct unpack *in, struct product **out)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    TRY(memory_zeroed(1, sizeof *product, "a product", &product));
    product->kind = (enum product_kind)unpack_i64(in);
    product->path = unpack_text(in);
    product->job_text = unpack_text(in);
    product->version_of_format = unpack_i64(in);
    product->version = unpack_text(in);
    product->inputs = unpack_text(in);
    product->telescope = unpack_text(in);
    product->source = unpack_text(in);
    product->has_start = (int)unpack_i64(in);
    product->start.mjd_day = (int32_t)unpack_i64(in);
    product->start.second = unpack_f64(in);
    product->rows = unpack_u64(in);
    product->streams = unpack_u64(in);
    product->frequencies = unpack_u64(in);
    product->integrate = unpack_u64(in);
    product->channels = (uint32_t)unpack_u64(in);
    product->taps = (uint32_t)unpack_u64(in);
    product->sample_rate_hz = unpack_f64(in);
    product->first_time = unpack_f64(in);
    product->time_step = unpack_f64(in);
    TRY(ask_unpack_f64s(in, &product->frequency_hz));
    TRY(ask_unpack_f64s(in, &product->coeff));
    product->ncoeff = unpack_u64(in);
    product->missing = unpack_u64(in);
    product->gaps = unpack_u64(in);
    product_unpack_place(in, &product->place);
    TRY(unpack_check(in, "a product"));
    *out = product;
    product = NULL;
out:
    product_destroy(product);
    return st;
}

status_t ask_product(const char *path, struct product **out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    *out = NULL;
    TRY(apart_ask_of("product", path, &answer));
    if (answer.length > 0) { /* nothing: none of our products */
        struct unpack in = {.data = answer.data, .length = answer.length};
        TRY(ask_unpack_product(&in, out));
    }
out:
    text_free(&answer);
    return st;
}

static status_t ask_unpack_path(struct unpack *question, char **out)
{
    status_t st = STATUS_OK;
    *out = unpack_text(question);
    REQUIRE(*out, STATUS_DEVICE, "out of memory: a name");
out:
    return st;
}

status_t ask_answer_product(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    char *path = NULL;
    TRY(ask_unpack_path(question, &path));
    TRY(product_open(path, &product));
    if (product) {
        TRY(ask_pack_product(product, answer));
    }
out:
    product_destroy(product);
    free(path);
    return st;
}

status_t ask_place(const char *path, struct product_place *out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    TRY(apart_ask_of("place", path, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    product_unpack_place(&in, out);
out:
    text_free(&answer);
    return st;
}

status_t ask_answer_place(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct product_place place;
    char *path = NULL;
    TRY(ask_unpack_path(question, &path));
    TRY(product_find_place(path, &place));
    TRY(product_pack_place(&place, answer));
out:
    free(path);
    return st;
}

static status_t ask_pack_dedispersed(const struct dedispersed *to, struct text *out)
{
    status_t st = STATUS_OK;
    size_t ndelays = to->ndms * to->nchannels;
    TRY(pack_u64(out, to->ndms));
    TRY(pack_u64(out, to->nchannels));
    TRY(ask_pack_f64s(out, to->dms, to->ndms));
    TRY(ask_pack_f64s(out, to->freq_hz, to->nchannels));
    TRY(pack_text(out, to->filterbank));
    TRY(pack_text(out, to->mode));
    TRY(pack_text(out, to->edges));
    TRY(pack_f64(out, to->constant));
    TRY(pack_f64(out, to->reference_hz));
    TRY(pack_u64(out, ndelays));
    TRY(text_add_bytes(out, (const char *)to->delays, ndelays * sizeof *to->delays));
out:
    return st;
}

static status_t ask_unpack_dedispersed(struct unpack *in, struct dedispersed **out)
{
    status_t st = STATUS_OK;
    struct dedispersed *to = NULL;
    TRY(memory_zeroed(1, sizeof *to, "a product", &to));
    to->ndms = (size_t)unpack_u64(in);
    to->nchannels = (size_t)unpack_u64(in);
    TRY(ask_unpack_f64s(in, &to->dms));
    TRY(ask_unpack_f64s(in, &to->freq_hz));
    to->filterbank = unpack_text(in);
    to->mode = unpack_text(in);
    to->edges = unpack_text(in);
    to->constant = unpack_f64(in);
    to->reference_hz = unpack_f64(in);
    size_t count = unpack_count(in, sizeof *to->delays);
    TRY(memory_zeroed(count, sizeof *to->delays, "delays", &to->delays));
    unpack_bytes(in, to->delays, count * sizeof *to->delays);
    TRY(unpack_check(in, "a product"));
    *out = to;
    to = NULL;
out:
    dedispersed_destroy(to);
    return st;
}

status_t ask_dedispersed(const char *path, struct dedispersed **out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    TRY(apart_ask_of("dedispersed", path, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(ask_unpack_dedispersed(&in, out));
out:
    text_free(&answer);
    return st;
}

status_t ask_answer_dedispersed(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct dedispersed *to = NULL;
    char *path = NULL;
    TRY(ask_unpack_path(question, &path));
    TRY(dedispersed_read(path, &to));
    TRY(ask_pack_dedispersed(to, answer));
out:
    dedispersed_destroy(to);
    free(path);
    return st;
}

status_t ask_contents(const char *path, const struct product_place *place,
                      struct contents_found *out)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    *out = (struct contents_found){0};
    TRY(pack_text(&question, path));
    TRY(product_pack_place(place, &question));
    TRY(apart_ask("contents", &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    out->known = unpack_u64(&in);
    out->bad = unpack_u64(&in);
    if (in.at < in.length) {
        TRY(text_add_bytes(&out->words, in.data + in.at, in.length - in.at));
    }
out:
    text_free(&question);
    text_free(&answer);
    return st;
}

status_t ask_answer_contents(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct contents_found found = {0};
    struct product_place place;
    char *path = NULL;
    TRY(ask_unpack_path(question, &path));
    product_unpack_place(question, &place);
    TRY(contents_compare(path, &place, &found));
    TRY(pack_u64(answer, found.known));
    TRY(pack_u64(answer, found.bad));
    TRY(text_add_bytes(answer, found.words.data ? found.words.data : "", found.words.length));
out:
    text_free(&found.words);
    free(path);
    return st;
}

status_t ask_series(const char *path)
{
    struct text answer = {0};
    status_t st = apart_ask_of("series", path, &answer);
    text_free(&answer);
    return st;
}

status_t ask_answer_series(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    (void)answer;
    struct series *series = NULL;
    char *path = NULL;
    TRY(ask_unpack_path(question, &path));
    TRY(series_open(path, &series));
out:
    series_destroy(series);
    free(path);
    return st;
}

status_t ask_answer_is_product(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    char *path = NULL;
    TRY(ask_unpack_path(question, &path));
    TRY(pack_u64(answer, (uint64_t)product_is_ours(path)));
out:
    free(path);
    return st;
}
