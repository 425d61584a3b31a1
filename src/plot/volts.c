/* Samples by the reader of voltages, one time step after the other. */
#include "plot/volts.h"

#include "base/memory.h"
#include "base/text.h"
#include "compute/shared/samples.h"
#include "input/open.h"
#include "input/read/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES = 1 << 26 };

struct volts {
    struct archive *archive;
    struct slab *slab;
    reader_t *reader;
    size_t *re, *im; /* [nstreams] */
    struct sample_coding coding;
};

static void volts_describe(const struct archive *a, struct json *json)
{
    json_text(json, "layout", a->layout);
    json_u64(json, "samples", a->samples);
    json_u64(json, "gap_samples", archive_gap_in(a, a->first_sample, a->samples));
    json_bool(json, "is_complex", a->is_complex);
    json_bool(json, "is_lower", a->sideband < 0);
    json_f64(json, "rate_hz", a->sample_rate_hz);
    json_f64(json, "scale", a->scale);
    json_f64(json, "first_s", a->offset_seconds + (double)a->first_sample / a->sample_rate_hz);
    json_text(json, "start", a->sky.has_start ? units_utc(a->sky.start) : NULL);
    json_text(json, "source", a->sky.source);
    json_text(json, "telescope", a->sky.telescope);
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        json_list(json, axis_name(axis));
        for (uint32_t n = 0; n < a->nselected[axis]; n++) {
            uint64_t index = a->selected[axis][n];
            if (axis == AXIS_CHAN) {
                json_f64(json, NULL, a->freq_hz[index]);
            } else {
                json_text(json, NULL, a->names[axis] ? a->names[axis][index] : NULL);
            }
        }
        json_list_end(json);
    }
}

status_t volts_open(const struct drawing *d, struct json *json, struct volts **out)
{
    status_t st = STATUS_OK;
    struct volts *v = NULL;
    struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *v, "voltages", &v));
    if (text_ends(d->files[0], ".yaml")) {
        TRY(job_load(d->files[0], NULL, 0, &job));
        job->on_bad = ON_BAD_NAN;
        TRY(archive_open(job, &v->archive));
    } else {
        TRY(archive_open_files((char **)(uintptr_t)d->files, d->nfiles, d->choice.layout,
                               &v->archive));
    }
    const struct archive *a = v->archive;
    v->coding = (struct sample_coding){.format = a->format,
                                       .is_complex = a->is_complex,
                                       .nibbles = a->stored.nibbles,
                                       .conjugate = a->is_complex && a->sideband < 0,
                                       .has_missing_value = a->stored.has_missing_value,
                                       .missing_value = a->stored.missing_value};
    TRY(slab_create(a, 0, a->nstreams, &v->slab));
    TRY(reader_create(a, CACHE_BYTES, 1, &v->reader));
    TRY(memory_zeroed(a->nstreams, sizeof *v->re, "offsets", &v->re));
    TRY(memory_zeroed(a->nstreams, sizeof *v->im, "offsets", &v->im));
    volts_describe(a, json);
    *out = v;
    v = NULL;
out:
    job_destroy(job);
    volts_close(v);
    return st;
}

void volts_close(struct volts *v)
{
    if (v) {
        reader_destroy(v->reader);
        slab_destroy(v->slab);
        archive_destroy(v->archive);
        free(v->re);
        free(v->im);
        free(v);
    }
}

/* Puts NaN where a read did not find a block's samples. */
static void volts_blank(const struct loss *loss, uint64_t first, const struct source_block *b,
                        uint64_t parts, float *out)
{
    uint64_t end = min_u64(loss->first + loss->count, first + b->rows);
    for (uint64_t n = max_u64(loss->first, first); n < end; n++) {
        for (uint64_t i = 0; i < b->ifs * parts; i++) {
            if (loss->stream == LOSS_OF_ALL || loss->stream == b->first_if + i / parts) {
                out[(n - first) * b->ifs * parts + i] = NAN;
            }
        }
    }
}

status_t volts_read(struct volts *v, const struct source_block *b, float *out)
{
    status_t st = STATUS_OK;
    const struct archive *a = v->archive;
    const struct sample_input input = {v->re, v->im, (size_t)v->slab->width};
    const uint64_t first = a->first_sample + b->row;
    const uint64_t parts = a->is_complex ? 2 : 1;
    struct losses losses = {0};
    char *data = NULL;
    REQUIRE(b->row + b->rows <= a->samples && b->first_if + b->ifs <= a->nstreams &&
                b->chans == parts,
            STATUS_DEVICE, "samples are asked for beyond those of the observation");
    TRY(memory_aligned((size_t)slab_bytes(v->slab, b->rows), 1, "samples", &data));
    slab_offsets(v->slab, b->rows, v->re, v->im);
    TRY(reader_salvage(v->reader, v->slab, first, b->rows, data, &losses, &losses));
    for (uint64_t i = 0; i < b->rows * b->ifs; i++) {
        double value[2];
        uint32_t stream = (uint32_t)(b->first_if + i % b->ifs);
        int is_there = sample_volts(&v->coding, data, &input, stream, i / b->ifs, value);
        out[i * parts] = is_there ? (float)value[0] : NAN;
        out[i * parts + parts - 1] = is_there ? (float)value[parts - 1] : NAN;
    }
    for (size_t i = 0; i < losses.count; i++) {
        volts_blank(&losses.items[i], first, b, parts, out);
    }
out:
    losses_free(&losses);
    free(data);
    return st;
}
