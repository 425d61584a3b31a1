/* Whole numbers beside the reference's floats: a value that rounds otherwise by an error that is
 * allowed is as good as one that does not. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "io/file.h"

#include <float.h>
#include <math.h>

struct verify_steps {
    const struct product_spec *spec;
    struct steps_form form;
    uint32_t parts;
    uint64_t lines; /* of a whole row */
    /* Scale, then offset, of the lines of a chunk, of the block that was read last. */
    uint64_t block, count;
    struct chunk_pieces pieces;
    float *scale;
    float *row; /* [lines][parts] */
    /* Clipped numbers of the block that rows come of, so far: [low, high][least, most][lines]. */
    uint32_t *clipped[2][2];
    uint64_t counted; /* its rows */
};

static const double steps_rounding = 32 * FLT_EPSILON; /* of power, relative */

/* How far a number may be from the reference's. */
struct steps_slack {
    double mean, bound;
};

/* Reads the scales of some of a block's lines, and their offsets, `stride` floats after. */
static status_t steps_read(const struct verify *verify, uint64_t lines, uint64_t block,
                           const struct chunk_pieces *pieces, uint64_t stride, float *out)
{
    const struct product *product = verify->product;
    const uint64_t bytes = pieces->size * sizeof *out;
    for (uint64_t k = 0; k < pieces->count; k++, out += pieces->size) {
        const uint64_t at = (block * lines + pieces->first + k * pieces->step) * sizeof *out;
        TRY(file_read(verify->fd, product->path, product->place.scale_offset + at, out, bytes));
        TRY(file_read(verify->fd, product->path, product->place.offset_offset + at, out + stride,
                      bytes));
    }
    return STATUS_OK;
}

status_t verify_steps_create(const struct verify *verify, struct channelise_plan *plan,
                             struct verify_steps **out)
{
    const struct product_spec *spec = &plan->products[0].spec;
    SCOPED(verify_steps_destroy_at) struct verify_steps *steps = NULL;
    SCOPED(free_at) float *given = NULL;
    *out = NULL;
    if (!quantised_is(spec)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *steps, "scales", &steps));
    *steps = (struct verify_steps){.spec = spec,
                                   .form = quantised_form(spec->kind, spec->steps.bits),
                                   .lines = spec->nifs * spec->frequencies,
                                   .block = UINT64_MAX};
    steps->parts = steps->form.is_signed ? 2 : 1;
    TRY(memory_zeroed((size_t)steps->lines, 2 * sizeof *steps->scale, "scales", &steps->scale));
    TRY(memory_zeroed((size_t)steps->lines, steps->parts * sizeof *steps->row, "a row",
                      &steps->row));
    TRY(memory_zeroed((size_t)steps->lines, 4 * sizeof *steps->clipped[0][0], "counts",
                      &steps->clipped[0][0]));
    for (int i = 1; i < 4; i++) {
        steps->clipped[i / 2][i % 2] = steps->clipped[0][0] + (size_t)i * steps->lines;
    }
    if (spec->steps.are_first) {
        TRY(memory_zeroed((size_t)steps->lines, 2 * sizeof *given, "scales", &given));
        const struct chunk_pieces all = {0, steps->lines, 0, 1};
        TRY(steps_read(verify, steps->lines, 0, &all, steps->lines, given));
        plan->products[0].first_scales = memory_move(&given);
    }
    *out = memory_move(&steps);
    return STATUS_OK;
}

void verify_steps_destroy(struct verify_steps *steps)
{
    if (steps) {
        MEMORY_FREE(steps->scale, steps->row, steps->clipped[0][0], steps);
    }
}

/* Has the scales of the block that a row is in. */
static status_t steps_find(const struct verify *verify, struct verify_steps *steps,
                           const struct chunk *chunk, uint64_t row)
{
    const struct product_place *place = &verify->product->place;
    uint64_t block = place->scales == 1 ? 0 : row / place->scale_rows;
    const struct chunk_pieces pieces =
        chunk_pieces_of(verify->chunking, chunk, steps->lines, &verify->row);
    uint64_t count = pieces.count * pieces.size;
    if (block == steps->block && pieces.first == steps->pieces.first && count == steps->count) {
        return STATUS_OK;
    }
    TRY(steps_read(verify, steps->lines, block, &pieces, steps->lines, steps->scale));
    steps->block = block;
    steps->pieces = pieces;
    steps->count = count;
    return STATUS_OK;
}

/* Computes the errors allowed to a row's numbers from its strongest spectrum (agreement.h). The
 * limit is doubled, since some numbers were divided by a gain. */
static struct steps_slack steps_slack_of(const struct verify *verify,
                                         const struct verify_steps *steps,
                                         const struct verify_steps_row *of)
{
    const struct product_spec *spec = steps->spec;
    const double filters = 2 * (1 + 2.0 * verify->found.agreement.filters) * agreement_worst_limit;
    const double spectra = steps->form.is_signed ? 1 : sqrt((double)spec->integrate);
    const uint64_t channels =
        spec->bank.nchannels < spec->frequencies ? spec->bank.nchannels : spec->frequencies;
    double mean = 0;
    double most = 0;
    for (uint64_t line = 0; line < steps->count; line += channels) {
        uint64_t end = min_u64(line + channels, steps->count);
        double sum = 0;
        for (uint64_t i = line; i < end; i++) {
            const float *number = of->expected + i * steps->parts;
            double power = steps->parts == 2 ? (double)number[0] * (double)number[0] +
                                                   (double)number[1] * (double)number[1]
                                             : fabs((double)number[0]);
            power = isfinite(power) ? power : 0;
            most = fmax(most, power);
            sum += power;
        }
        mean = fmax(mean, sum / (double)(end - line));
    }
    for (uint64_t i = 0; i < of->nwholes && of->wholes; i++) {
        mean = fmax(mean, of->wholes[i].mean);
        most = fmax(most, of->wholes[i].most);
    }
    return (struct steps_slack){
        .mean = mean, .bound = filters * (sqrt(mean) + 0.1 * sqrt(most) + spectra * of->went_in)};
}

/* Returns the error that is allowed for a value, in steps. */
static double steps_slack_at(const struct verify_steps *steps, const struct steps_slack *slack,
                             float value, double factor)
{
    double power = fmax(fabs((double)value), slack->mean);
    double allowed =
        steps->form.is_signed
            ? slack->bound
            : 2 * sqrt(power) * slack->bound + slack->bound * slack->bound + steps_rounding * power;
    return allowed * factor + 1e-6;
}

/* Counts a number of line `line` that is at an end of its range: certainly clipped, perhaps
 * clipped. Beyond half a step it is. */
static void steps_count(struct verify_steps *steps, const struct steps_slack *slack, uint64_t line,
                        int32_t number, float expected)
{
    int is_high = number == steps_most(steps->form);
    if (!is_high && number != steps_least(steps->form)) {
        return;
    }
    float factor = 1 / steps->scale[line];
    double beyond = steps_of(expected, steps->scale[steps->lines + line], factor) - number;
    beyond = (is_high ? beyond : -beyond) - 0.5;
    double near = steps_slack_at(steps, slack, expected, (double)factor);
    int is_infinite = isinf(expected);
    steps->clipped[is_high][0][line] += is_infinite || beyond > near ? 1 : 0;
    steps->clipped[is_high][1][line] += is_infinite || !(beyond < -near) ? 1 : 0;
}

/* Compares what a block says was clipped of a chunk's lines, when all its rows have come. */
static status_t steps_compare_counts(const struct verify *verify, const struct verify_steps *steps,
                                     uint64_t block)
{
    const struct product *product = verify->product;
    const uint64_t offsets[] = {product->place.low_offset, product->place.high_offset};
    SCOPED(free_at) uint16_t *found = NULL;
    TRY(memory_zeroed((size_t)steps->count, sizeof *found, "counts", &found));
    for (int high = 0; high < 2; high++) {
        const struct chunk_pieces *pieces = &steps->pieces;
        for (uint64_t k = 0; k < pieces->count; k++) {
            uint64_t at = block * steps->lines + pieces->first + k * pieces->step;
            TRY(file_read(verify->fd, product->path, offsets[high] + at * sizeof *found,
                          found + k * pieces->size, pieces->size * sizeof *found));
        }
        for (uint64_t i = 0; i < steps->count; i++) {
            uint32_t least = steps->clipped[high][0][i];
            uint32_t most = steps->clipped[high][1][i];
            char expected[64] = "";
            snprintf(expected, sizeof expected, least < most ? "%u to %u" : "%u", least, most);
            REQUIRE(found[i] >= least && found[i] <= most, STATUS_DATA,
                    "%s is not what its job and input make of it: /clipped_%s of block %llu, "
                    "channel %llu of its ifs, is %u, expected %s",
                    product->path, high ? "high" : "low", (unsigned long long)block,
                    (unsigned long long)chunk_pieces_at(pieces, i), found[i], expected);
        }
    }
    return STATUS_OK;
}

status_t verify_steps_nearest(struct verify *verify, struct verify_steps *steps,
                              const struct chunk *chunk, uint64_t row,
                              const struct verify_steps_row *of)
{
    const uint64_t block_rows = steps->spec->steps.rows;
    const uint64_t block = row / block_rows;
    const uint64_t end = min_u64((block + 1) * block_rows, steps->spec->rows);
    TRY(steps_find(verify, steps, chunk, row));
    if (row % block_rows == 0) {
        steps->counted = 0;
        memset(steps->clipped[0][0], 0, (size_t)steps->lines * 4 * sizeof *steps->clipped[0][0]);
    }
    const struct steps_slack slack = steps_slack_of(verify, steps, of);
    uint64_t numbers = steps->count * steps->parts;
    for (uint64_t i = 0; i < numbers; i++) {
        uint64_t line = i / steps->parts;
        int32_t number = steps_number(steps->form, verify->stored, i);
        steps_count(steps, &slack, line, number, of->expected[i]);
        steps->row[i] = steps_nearest(steps->form, number, steps->scale[line],
                                      steps->scale[steps->lines + line], of->expected[i]);
    }
    memcpy(verify->stored, steps->row, (size_t)numbers * sizeof *steps->row);
    steps->counted++;
    return row + 1 == end && steps->counted == end - block * block_rows
               ? steps_compare_counts(verify, steps, block)
               : STATUS_OK;
}

/* Scale and offset of a line as a block stores them. */
struct told {
    double scale, offset;
};

/* Computes the error that the filters' input may cause in a line's scale, its rms divided by
 * steps_a_rms(). */
static double steps_left_of(const struct verify *verify, const struct told *line, double went_in)
{
    const struct product *product = verify->product;
    double left = agreement_most_worst(&verify->found.agreement) * went_in;
    if (product_quantity(product->kind) == QUANTITY_POWER) {
        double mean = fabs(line->offset + steps_centre(product->bits) * line->scale);
        left *= sqrt((double)product->integrate);
        left = 2 * sqrt(mean) * left + left * left;
    }
    return left / steps_a_rms(product->bits);
}

/* Errors that a line has of others: quiet channels beside a strong one have its errors, and Stokes
 * parameters those of the powers whose difference they are. */
struct steps_others {
    double scale, offset; /* the largest of all, and of the same channel */
};

static status_t steps_compare_line(const struct verify *verify, uint64_t block, uint64_t line,
                                   const struct told *found, const struct told *expected,
                                   const struct steps_others *others, double went_in)
{
    const struct product *product = verify->product;
    const struct told none = {0, 0};
    const double zeros = -steps_centre(product->bits); /* offset of a line of zeros, with scale 1 */
    /* Where only one side has zeros, the other has what rounding left. */
    const int is_found = found->scale != 1 || found->offset != zeros;
    const int is_expected = expected->scale != 1 || expected->offset != zeros;
    found = is_expected && !is_found ? &none : found;
    expected = is_found && !is_expected ? &none : expected;
    double off =
        1e-3 * expected->scale + 1e-4 * others->scale + steps_left_of(verify, expected, went_in);
    double centre = -zeros;
    struct {
        const char *name;
        double found, expected, most;
    } const told[] = {{"scale", found->scale, expected->scale, off},
                      {"offset", found->offset, expected->offset,
                       centre * off + 1e-5 * fmax(others->offset, fabs(expected->offset))}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        REQUIRE(fabs(told[i].found - told[i].expected) <= told[i].most, STATUS_DATA,
                "%s is not what its job and input make of it: /%s of block %llu, channel %llu of "
                "its pols, is %.7g, expected %.7g",
                product->path, told[i].name, (unsigned long long)block, (unsigned long long)line,
                told[i].found, told[i].expected);
    }
    return STATUS_OK;
}

/* Reads the mean scale and offset of an if. Its empty lines have the mean of the others, which is
 * then the mean of all. */
static status_t steps_read_mean(const struct verify *verify, uint64_t lines, uint64_t number,
                                struct told *out)
{
    const uint64_t count = verify->product->frequencies;
    SCOPED(free_at) float *all = NULL;
    TRY(memory_zeroed((size_t)count, 2 * sizeof *all, "scales", &all));
    const struct chunk_pieces its = {number * count, count, 0, 1};
    TRY(steps_read(verify, lines, 0, &its, count, all));
    out->scale = out->offset = 0;
    for (uint64_t i = 0; i < count; i++) {
        out->scale += (double)all[i] / (double)count;
        out->offset += (double)all[count + i] / (double)count;
    }
    return STATUS_OK;
}

status_t verify_steps_compare(const struct verify *verify, const struct chunk *chunk,
                              const struct product_steps *expected, double went_in)
{
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    uint64_t lines = product->streams * product->frequencies;
    const struct chunk_pieces pieces =
        chunk_pieces_of(verify->chunking, chunk, lines, &verify->row);
    const uint64_t count = pieces.count * pieces.size;
    SCOPED(free_at) float *found = NULL;  /* scales, then offsets */
    SCOPED(free_at) float *others = NULL; /* [frequencies]: the largest offset of each channel */
    TRY(memory_zeroed((size_t)count, 2 * sizeof *found, "scales", &found));
    TRY(memory_zeroed((size_t)product->frequencies, sizeof *others, "scales", &others));
    for (uint64_t b = 0; b < expected->count && expected->first + b < place->scales; b++) {
        const float *scale = expected->scale + b * count;
        const float *offset = expected->offset + b * count;
        uint64_t number = expected->first + b;
        uint64_t mean_of = UINT64_MAX;
        double largest = 0;
        struct told mean = {0};
        memset(others, 0, (size_t)product->frequencies * sizeof *others);
        TRY(steps_read(verify, lines, number, &pieces, count, found));
        for (uint64_t i = 0; i < count; i++) {
            /* GCC 12 for ARM crashes at fmax() here. */
            largest = (double)scale[i] > largest ? (double)scale[i] : largest;
            float *most = &others[chunk_pieces_at(&pieces, i) % product->frequencies];
            *most = fabsf(offset[i]) > *most ? fabsf(offset[i]) : *most;
        }
        for (uint64_t i = 0; i < count; i++) {
            const struct told stored = {(double)found[i], (double)found[count + i]};
            struct told told = {(double)scale[i], (double)offset[i]};
            const uint64_t line = chunk_pieces_at(&pieces, i);
            uint64_t own = line / product->frequencies;
            if (number == 0 && scale[i] == 0) {
                TRY(own != mean_of ? steps_read_mean(verify, lines, own, &mean) : STATUS_OK);
                mean_of = own;
                told = mean;
            }
            const struct steps_others all = {largest, (double)others[line % product->frequencies]};
            TRY(steps_compare_line(verify, number, line, &stored, &told, &all, went_in));
        }
    }
    return STATUS_OK;
}
