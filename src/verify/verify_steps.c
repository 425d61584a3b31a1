/* Whole numbers beside the reference's floats: a value that rounds otherwise by an error that is
 * allowed is as good as one that does not. */
#include "verify/verify_steps.h"

#include "base/memory.h"
#include "io/file.h"
#include "verify/verify_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct verify_steps {
    const struct product_spec *spec;
    struct steps_form form;
    uint32_t parts;
    uint64_t lines; /* of a whole row */
    /* Scale, then offset, of the lines of a chunk, of the block that was asked for last. */
    uint64_t block, first, count;
    float *scale;
    float *row; /* [lines][parts] */
};

/* So many of a block's floats from line `first` on. */
static status_t steps_read(const struct verify *verify, uint64_t offset, uint64_t lines,
                           uint64_t block, uint64_t first, uint64_t count, float *out)
{
    const struct product *product = verify->product;
    return file_read(verify->fd, product->path, offset + (block * lines + first) * sizeof *out, out,
                     count * sizeof *out);
}

status_t verify_steps_create(const struct verify *verify, struct channelise_plan *plan,
                             struct verify_steps **out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &plan->products[0].spec;
    const struct product_place *place = &verify->product->place;
    struct verify_steps *steps = NULL;
    float *given = NULL;
    *out = NULL;
    if (!quantised_is(spec)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *steps, "scales", &steps));
    *steps = (struct verify_steps){.spec = spec,
                                   .form = quantised_form(spec->kind, spec->bits),
                                   .lines = spec->nifs * spec->frequencies,
                                   .block = UINT64_MAX};
    steps->parts = steps->form.is_signed ? 2 : 1;
    TRY(memory_zeroed((size_t)steps->lines, 2 * sizeof *steps->scale, "scales", &steps->scale));
    TRY(memory_zeroed((size_t)steps->lines, steps->parts * sizeof *steps->row, "a row",
                      &steps->row));
    if (spec->has_first_scales) {
        TRY(memory_zeroed((size_t)steps->lines, 2 * sizeof *given, "scales", &given));
        TRY(steps_read(verify, place->scale_offset, steps->lines, 0, 0, steps->lines, given));
        TRY(steps_read(verify, place->offset_offset, steps->lines, 0, 0, steps->lines,
                       given + steps->lines));
        plan->products[0].first_scales = given;
        given = NULL;
    }
    *out = steps;
    steps = NULL;
out:
    free(given);
    verify_steps_destroy(steps);
    return st;
}

void verify_steps_destroy(struct verify_steps *steps)
{
    if (steps) {
        free(steps->scale);
        free(steps->row);
        free(steps);
    }
}

/* Has the scales of the block that a row is in. */
static status_t steps_find(const struct verify *verify, struct verify_steps *steps,
                           const struct chunk *chunk, uint64_t row)
{
    status_t st = STATUS_OK;
    const struct product_place *place = &verify->product->place;
    uint64_t block = place->scales == 1 ? 0 : row / place->scale_rows;
    uint64_t first = chunk_share(verify->chunking, steps->lines, chunk->first_stream);
    uint64_t count = chunk_share(verify->chunking, steps->lines, chunk->streams);
    if (block == steps->block && first == steps->first && count == steps->count) {
        goto out;
    }
    TRY(steps_read(verify, place->scale_offset, steps->lines, block, first, count, steps->scale));
    TRY(steps_read(verify, place->offset_offset, steps->lines, block, first, count,
                   steps->scale + steps->lines));
    steps->block = block;
    steps->first = first;
    steps->count = count;
out:
    return st;
}

status_t verify_steps_nearest(struct verify *verify, struct verify_steps *steps,
                              const struct chunk *chunk, uint64_t row, const float *expected)
{
    status_t st = STATUS_OK;
    TRY(steps_find(verify, steps, chunk, row));
    uint64_t numbers = steps->count * steps->parts;
    for (uint64_t i = 0; i < numbers; i++) {
        uint64_t line = i / steps->parts;
        steps->row[i] =
            steps_nearest(steps->form, steps_number(steps->form, verify->stored, i),
                          steps->scale[line], steps->scale[steps->lines + line], expected[i]);
    }
    memcpy(verify->stored, steps->row, (size_t)numbers * sizeof *steps->row);
out:
    return st;
}

/* What a block says of a line. */
struct told {
    double scale, offset, low, high;
};

/* Quiet channels beside a strong one have its errors. */
static status_t steps_compare_line(const struct verify *verify, uint64_t block, uint64_t line,
                                   const struct told *found, const struct told *expected,
                                   double largest, int has_scale)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    double off = 1e-3 * expected->scale + 1e-4 * largest;
    double centre = steps_centre(product->bits);
    double counts = 2 + (double)product->place.scale_rows / 64;
    struct {
        const char *name;
        double found, expected, most;
    } const told[] = {{"scale", found->scale, expected->scale, has_scale ? off : INFINITY},
                      {"offset", found->offset, expected->offset,
                       has_scale ? centre * off + 1e-5 * fabs(expected->offset) : INFINITY},
                      {"clipped_low", found->low, expected->low, counts},
                      {"clipped_high", found->high, expected->high, counts}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        REQUIRE(fabs(told[i].found - told[i].expected) <= told[i].most, STATUS_DATA,
                "%s is not what its job and input make of it: /%s of block %llu, channel %llu of "
                "its ifs, is %.7g, expected %.7g",
                product->path, told[i].name, (unsigned long long)block, (unsigned long long)line,
                told[i].found, told[i].expected);
    }
out:
    return st;
}

/* A block's numbers of a chunk's lines: scale and offset, then counts. */
struct block {
    float *scale, *offset;
    uint16_t *low, *high;
};

static status_t steps_read_block(const struct verify *verify, uint64_t lines, uint64_t number,
                                 uint64_t first, uint64_t count, const struct block *out)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    uint64_t scale = place->scales == 1 ? 0 : number;
    uint64_t at = (number * lines + first) * sizeof *out->low;
    TRY(steps_read(verify, place->scale_offset, lines, scale, first, count, out->scale));
    TRY(steps_read(verify, place->offset_offset, lines, scale, first, count, out->offset));
    TRY(file_read(verify->fd, product->path, place->low_offset + at, out->low,
                  count * sizeof *out->low));
    TRY(file_read(verify->fd, product->path, place->high_offset + at, out->high,
                  count * sizeof *out->high));
out:
    return st;
}

/* Reads the mean scale and offset of an if. Its empty lines have the mean of the others, which is
 * then the mean of all. */
static status_t steps_read_mean(const struct verify *verify, uint64_t lines, uint64_t number,
                                struct told *out)
{
    status_t st = STATUS_OK;
    const struct product_place *place = &verify->product->place;
    const uint64_t count = verify->product->frequencies;
    float *all = NULL;
    TRY(memory_zeroed((size_t)count, 2 * sizeof *all, "scales", &all));
    TRY(steps_read(verify, place->scale_offset, lines, 0, number * count, count, all));
    TRY(steps_read(verify, place->offset_offset, lines, 0, number * count, count, all + count));
    out->scale = out->offset = 0;
    for (uint64_t i = 0; i < count; i++) {
        out->scale += (double)all[i] / (double)count;
        out->offset += (double)all[count + i] / (double)count;
    }
out:
    free(all);
    return st;
}

status_t verify_steps_compare(const struct verify *verify, const struct chunk *chunk,
                              const struct product_steps *expected)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    uint64_t lines = product->streams * product->frequencies;
    uint64_t first = chunk_share(verify->chunking, lines, chunk->first_stream);
    uint64_t count = chunk_share(verify->chunking, lines, chunk->streams);
    char *room = NULL;
    TRY(memory_zeroed((size_t)count, 2 * sizeof(float) + 2 * sizeof(uint16_t), "scales", &room));
    struct block block = {.scale = (float *)(void *)room};
    block.offset = block.scale + count;
    block.low = (uint16_t *)(void *)(block.offset + count);
    block.high = block.low + count;
    for (uint64_t b = 0; b < expected->count; b++) {
        const uint64_t from = b * count;
        uint64_t number = expected->first + b;
        double largest = 0;
        uint64_t mean_of = UINT64_MAX;
        struct told mean = {0};
        TRY(steps_read_block(verify, lines, number, first, count, &block));
        for (uint64_t i = 0; i < count; i++) {
            largest = fmax(largest, (double)expected->scale[from + i]);
        }
        for (uint64_t i = 0; i < count; i++) {
            struct told found = {(double)block.scale[i], (double)block.offset[i], block.low[i],
                                 block.high[i]};
            struct told told = {(double)expected->scale[from + i],
                                (double)expected->offset[from + i], expected->low[from + i],
                                expected->high[from + i]};
            if (number == 0 && expected->scale[from + i] == 0) {
                uint64_t own = (first + i) / product->frequencies;
                TRY(own != mean_of ? steps_read_mean(verify, lines, own, &mean) : STATUS_OK);
                mean_of = own;
                told.scale = mean.scale;
                told.offset = mean.offset;
            }
            TRY(steps_compare_line(verify, number, first + i, &found, &told, largest,
                                   number < product->place.scales));
        }
    }
out:
    free(room);
    return st;
}
