/* Heads of journals: made of a plan, compared, packed. */
#include "output/journal/journal_head.h"

#include "base/memory.h"
#include "io/crc.h"
#include "output/origin.h"
#include "product/spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most spans that a product can have, twice over: what is allocated for a journal is bounded. */
enum { MOST_SPANS = 1 << 22 };

void journal_head_free(struct journal_head *head)
{
    free(head->program);
    free(head->inputs);
    free(head->job);
    free(head->coefficients);
    free(head->arithmetic);
    *head = (struct journal_head){0};
}

status_t journal_head_of(const struct output_spec *spec, uint32_t i,
                         const struct product_place *place, struct journal_head *out)
{
    status_t st = STATUS_OK;
    struct text inputs = {0};
    struct inputs its = {0};
    *out = (struct journal_head){.integrate = spec->items[i].integrate,
                                 .ratio = spec->items[i].ratio,
                                 .spectra = spec->items[i].spectra};
    TRY(memory_text("voltmill " VOLTMILL_VERSION, &out->program));
    TRY(memory_text(spec->items[i].text, &out->job));
    TRY(inputs_of_product(&spec->inputs, i, &its));
    TRY(inputs_times(&its, &inputs));
    out->inputs = inputs.data;
    inputs.data = NULL;
    if (place) {
        TRY(memory_text(spec->items[i].spec.arithmetic, &out->arithmetic));
        TRY(memory_format(&out->coefficients, "CRC-32 %08x", (unsigned)spec->items[i].crc));
        out->place = *place;
        out->chunking = spec->chunking;
        out->chunking.block_spectra = 0;
        out->backend = spec->backend;
        out->choice = spec->items[i].choice;
        memcpy(out->filters, spec->filters, sizeof out->filters);
        out->synthesis = spec->synthesis;
    }
out:
    inputs_free(&its);
    text_free(&inputs);
    return st;
}

static struct origin head_origin_of(const struct journal_head *head)
{
    return (struct origin){.program = head->program,
                           .job = head->job,
                           .inputs = head->inputs,
                           .coefficients = head->coefficients,
                           .arithmetic = head->arithmetic};
}

status_t journal_head_compare(const char *path, const struct journal_head *begun,
                              const struct journal_head *now)
{
    status_t st = STATUS_OK;
    struct text difference = {0};
    struct origin origin_then = head_origin_of(begun);
    struct origin origin_now = head_origin_of(now);
    TRY(origin_compare(&origin_then, &origin_now, &difference));
    REQUIRE(difference.length == 0, STATUS_USAGE,
            "%s was begun with another plan: %s; --restart begins anew", path, difference.data);
    REQUIRE(!now->arithmetic || (begun->place.rows == now->place.rows &&
                                 begun->place.row_bytes == now->place.row_bytes &&
                                 begun->integrate == now->integrate),
            STATUS_USAGE,
            "%s was begun with another plan: %" PRIu64 " rows of %" PRIu64 " bytes then, %" PRIu64
            " rows of %" PRIu64 " bytes now; --restart begins anew",
            path, begun->place.rows, begun->place.row_bytes, now->place.rows, now->place.row_bytes);
out:
    text_free(&difference);
    return st;
}

struct journal_rows journal_head_rows(const struct journal_head *head, const struct chunk *chunk)
{
    uint64_t first = min_u64(chunk->first * head->ratio / head->integrate, head->place.rows);
    uint64_t end = (chunk->first + chunk->count) * head->ratio / head->integrate;
    end = min_u64(end, head->place.rows);
    return (struct journal_rows){first, end - first};
}

/* Choices are rows of such numbers. */
enum {
    HEAD_CHOICE = sizeof(struct channelise_shape) / sizeof(uint32_t),
    HEAD_FILTERS = JOB_FILTERS * sizeof(struct filter_choice) / sizeof(uint32_t),
    HEAD_SYNTHESIS = sizeof(struct synthesise_shape) / sizeof(uint32_t)
};

static status_t head_pack_numbers(struct text *out, const void *numbers, size_t count)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        TRY(pack_u64(out, ((const uint32_t *)numbers)[i]));
    }
out:
    return st;
}

/* The packed head: these, the choice's shape and wisdom, the filters' and, where there is one, a
 * synthesis'. */
#define FIELD(name) PACK_FIELD(struct journal_head, name)
static const struct pack_field head_fields[] = {FIELD(program),
                                                FIELD(inputs),
                                                FIELD(job),
                                                FIELD(coefficients),
                                                FIELD(arithmetic),
                                                FIELD(integrate),
                                                FIELD(ratio),
                                                FIELD(spectra),
                                                FIELD(place),
                                                FIELD(chunking.spectra),
                                                FIELD(chunking.chunk_spectra),
                                                FIELD(chunking.streams),
                                                FIELD(chunking.group_streams),
                                                FIELD(backend),
                                                FIELD(choice.backend)};
enum { FIELDS = sizeof head_fields / sizeof *head_fields };

status_t journal_head_pack(const struct journal_head *head, struct text *out)
{
    status_t st = STATUS_OK;
    const struct channelise_choice *choice = &head->choice;
    TRY(pack_fields(out, head, head_fields, FIELDS));
    TRY(head_pack_numbers(out, &choice->shape, HEAD_CHOICE));
    TRY(pack_text(out, choice->wisdom));
    TRY(head_pack_numbers(out, head->filters, HEAD_FILTERS));
    if (head->synthesis.backend != BACKEND_AUTO) {
        TRY(head_pack_numbers(out, &head->synthesis.backend, 1));
        TRY(head_pack_numbers(out, &head->synthesis.shape, HEAD_SYNTHESIS));
        TRY(pack_text(out, head->synthesis.wisdom));
    }
out:
    return st;
}

static void head_unpack_numbers(struct unpack *in, void *numbers, size_t count)
{
    static const struct pack_field number = {.kind = PACK_U32};
    for (size_t i = 0; i < count; i++) {
        unpack_fields(in, (uint32_t *)numbers + i, &number, 1);
    }
}

static void head_unpack_wisdom(struct unpack *in, char *out, size_t room)
{
    char *wisdom = unpack_text(in);
    if (wisdom && strlen(wisdom) < room) {
        snprintf(out, room, "%s", wisdom);
    } else {
        in->failed |= 1;
    }
    free(wisdom);
}

/* Numbers that the rest of the program may divide by and allocate for. */
static int head_makes_sense(const struct journal_head *head)
{
    const struct chunking *chunking = &head->chunking;
    const struct product_place *place = &head->place;
    uint64_t bytes = 0;
    uint64_t spectra = 0; /* at most: the last unit may have fewer */
    return chunking->spectra > 0 && chunking->spectra < UINT64_C(1) << 62 &&
           chunking->chunk_spectra > 0 && chunking->chunk_spectra < UINT64_C(1) << 62 &&
           chunking->streams > 0 && chunking->group_streams > 0 &&
           chunking->group_streams <= chunking->streams &&
           chunk_count(chunking) / chunk_groups(chunking) <= CHUNK_MOST / chunk_groups(chunking) &&
           head->integrate > 0 && head->ratio > 0 &&
           multiply_u64(max_u64(chunking->spectra, chunking->chunk_spectra), 2, &spectra) &&
           multiply_u64(spectra, head->ratio, &spectra) &&
           chunking->chunk_spectra * head->ratio % head->integrate == 0 &&
           head->spectra <= chunking->spectra * head->ratio &&
           place->rows == head->spectra / head->integrate && place->rows > 0 &&
           place->row_bytes > 0 && multiply_u64(place->rows, place->row_bytes, &bytes) &&
           bytes < UINT64_C(1) << 62 &&
           place->span_rows == spans_rows(place->rows, place->row_bytes) &&
           spans_count(place) <= MOST_SPANS;
}

int journal_head_unpack(struct unpack *in, struct journal_head *out)
{
    *out = (struct journal_head){0};
    unpack_fields(in, out, head_fields, FIELDS);
    head_unpack_numbers(in, &out->choice.shape, HEAD_CHOICE);
    head_unpack_wisdom(in, out->choice.wisdom, sizeof out->choice.wisdom);
    head_unpack_numbers(in, out->filters, HEAD_FILTERS);
    if (!in->failed && in->at < in->length) {
        head_unpack_numbers(in, &out->synthesis.backend, 1);
        head_unpack_numbers(in, &out->synthesis.shape, HEAD_SYNTHESIS);
        head_unpack_wisdom(in, out->synthesis.wisdom, sizeof out->synthesis.wisdom);
    }
    int is_known = out->backend == BACKEND_CPU || out->backend == BACKEND_OPENCL ||
                   out->backend == BACKEND_REFERENCE;
    return !in->failed && in->at == in->length && out->program && out->inputs && out->job &&
           out->coefficients && out->arithmetic && is_known && head_makes_sense(out);
}
