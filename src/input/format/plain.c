/* Numbers without a container: axes and sizes, how numbers are stored, where samples are. Raw
 * numbers, of which the job says all. */
#include "input/format/plain.h"

#include "base/memory.h"
#include "input/archive.h"
#include "input/format/dataset.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "input/read/numbers.h"
#include "io/file.h"

#include <inttypes.h>

static const uint64_t most_bits = UINT64_C(1) << 60;

/* Axes one by one in the file's order. */
struct plain_axes {
    const char *path, *text;
    struct archive_dim dims[2 * AXES_TEXT_DIMS]; /* size 0: as much as the file has */
    uint32_t ndims;
    uint64_t bits; /* of an element */
};

/* The axes of one dimension, of whose sizes one may be left out if the file states the shape. */
static status_t plain_add_dimension(const struct plain *plain, const struct axes_text *text,
                                    uint32_t dim, struct plain_axes *axes)
{
    uint64_t known = 1;
    int is_open = 0;
    const uint64_t held = plain->ndims > 0 ? plain->shape[dim] : 0;
    for (uint32_t i = 0; i < text->dim[dim].nparts; i++) {
        known *= text->dim[dim].size[i] > 0 ? text->dim[dim].size[i] : 1;
        is_open |= text->dim[dim].size[i] == 0;
    }
    REQUIRE(plain->ndims == 0 || (held % known == 0 && (is_open || held == known)), STATUS_USAGE,
            "%s: dimension %u has %" PRIu64 " elements, but input.layout.axes (%s) say %s%" PRIu64,
            axes->path, dim, held, axes->text, is_open ? "a multiple of " : "", known);
    for (uint32_t i = 0; i < text->dim[dim].nparts; i++) {
        enum axis axis = text->dim[dim].part[i];
        uint64_t size = text->dim[dim].size[i];
        size = size > 0 ? size : plain->ndims > 0 ? held / known : axis == AXIS_REIM ? 2 : 0;
        REQUIRE(size > 0 || axis == AXIS_TIME || plain->ndims > 0, STATUS_USAGE,
                "%s: input.layout.axes (%s) state no size of %s, expected one, such as %s:2",
                axes->path, axes->text, axis_name(axis), axis_name(axis));
        REQUIRE(size > 0 || plain->ndims == 0 || plain->is_framed, STATUS_DATA,
                "%s: dimension %u of its shape has 0 elements", axes->path, dim);
        REQUIRE(axis != AXIS_REIM || (size == 2 && !plain->type.is_complex), STATUS_USAGE,
                "%s: axis reim has %" PRIu64 " elements of %s numbers, expected 2 of real ones",
                axes->path, size, plain->type.is_complex ? "complex" : "real");
        axes->dims[axes->ndims++] = (struct archive_dim){size, axis, 0};
    }
    return STATUS_OK;
}

static status_t plain_read_axes(const struct plain *plain, struct plain_axes *axes)
{
    struct axes_text text;
    char message[AXES_TEXT_MESSAGE];
    REQUIRE(axes_text_parse(axes->text, &text, message), STATUS_USAGE, "%s: axes \"%s\": %s",
            axes->path, axes->text, message);
    REQUIRE(plain->ndims == 0 || plain->ndims == text.ndims, STATUS_USAGE,
            "%s has %u dimensions, but input.layout.axes name %u (%s)", axes->path, plain->ndims,
            text.ndims, axes->text);
    REQUIRE(!plain->is_framed || (text.dim[0].part[0] == AXIS_TIME && !axes_text_in_pieces(&text)),
            STATUS_USAGE, "%s: input.layout.axes are %s, expected time, then those of a frame",
            axes->path, axes->text);
    for (uint32_t i = 0; i < text.ndims; i++) {
        TRY(plain_add_dimension(plain, &text, plain->is_reversed ? text.ndims - 1 - i : i, axes));
    }
    return STATUS_OK;
}

/* Time, if its size is not stated, is what the file has; a file that ends early has less of it. */
static status_t plain_fit(const struct plain *plain, struct plain_axes *axes)
{
    uint64_t step = axes->bits; /* bits of all but the outermost, or what is open */
    uint32_t open = 0;
    for (uint32_t i = 0; i < axes->ndims; i++) {
        open = axes->dims[i].size == 0 ? i : open;
    }
    for (uint32_t i = 0; i < axes->ndims; i++) {
        REQUIRE(i == open ||
                    (multiply_u64(step, axes->dims[i].size, &step) && step > 0 && step < most_bits),
                STATUS_DATA, "%s: its shape is absurd (axes %s)", axes->path, axes->text);
    }
    const uint64_t had = axes->dims[open].size;
    const uint64_t held = 8 * plain->bytes / step;
    const uint64_t torn = 8 * plain->bytes % step / 8;
    if (had > 0 && had <= held) {
        const uint64_t rest = plain->bytes - ceil_div_u64(had * step, 8);
        return assume_if(rest > 0 && plain->ndims > 0, &plain->archive->assumed,
                         "the last %" PRIu64 " bytes of the file, after the array of its shape, "
                         "are not read",
                         rest);
    }
    REQUIRE(held > 0, STATUS_DATA,
            "%s has %" PRIu64 " bytes of samples: not one time step of %" PRIu64 " bits",
            axes->path, plain->bytes, step);
    REQUIRE((open == 0 && axes->dims[0].axis == AXIS_TIME) || (had == 0 && torn == 0), STATUS_DATA,
            "%s has %" PRIu64 " bytes of samples, but its shape (axes %s%s) takes %s%.12g bytes: a "
            "file that ends early is read only if time is its outermost axis",
            axes->path, plain->bytes, axes->text,
            plain->is_reversed ? "; Fortran order: the last is outermost" : "",
            had > 0 ? "" : "a multiple of ", (double)step / 8 * (double)max_u64(1, had));
    axes->dims[open].size = held;
    if (had > 0) {
        report_warn("%s ends early: %" PRIu64 " of %" PRIu64 " time steps are there", axes->path,
                    held, had);
    } else if (torn > 0) {
        report_warn("%s ends within a time step: the last %" PRIu64 " bytes are left out",
                    axes->path, torn);
    }
    return STATUS_OK;
}

/* Numbers as they are stored; a packing of the job goes before their type. */
static status_t plain_set_number(const struct plain *plain)
{
    const struct job_layout *own = &plain->own;
    const struct number_type *type = &plain->type;
    struct archive *archive = plain->archive;
    struct archive_number *number = &archive->stored.number;
    archive->format = SAMPLE_F32; /* numbers_settle() finds the right one */
    if (own->numbers.has_packing && own->numbers.packing.bits == 0) {
        archive->format = SAMPLE_I4;
    } else if (own->numbers.has_packing) {
        dataset_set_packing(&own->numbers.packing,
                            own->numbers.nlevels > 0 ? own->numbers.levels : NULL, number);
    } else {
        number->kind = type->kind == 'f'   ? NUMBER_FLOAT
                       : type->kind == 'i' ? NUMBER_SIGNED
                                           : NUMBER_UNSIGNED;
        number->bits = type->bits;
        number->offset = own->numbers.has_offset ? own->numbers.offset : plain->offset;
    }
    REQUIRE(number->kind != NUMBER_FLOAT || number->offset == 0, STATUS_USAGE,
            "%s: its numbers are floating point, which have no offset", plain->path);
    number->is_big_endian = type->is_big_endian;
    return numbers_settle(archive);
}

/* Settles the description: the job's keys precede the file's. */
static status_t plain_take_words(struct plain *plain)
{
    struct archive *archive = plain->archive;
    struct job_layout *own = &plain->own;
    archive->states.clock = plain->is_by_clock && own->time.has_start;
    archive->states.start = own->time.has_start && !plain->is_by_clock;
    if (override_has(plain->layout, SAID_START)) {
        archive->states.clock = archive->states.start = 0;
    }
    archive->states.freq = own->freq.count > 0 && !override_has_frequencies(plain->layout);
    REQUIRE(archive->is_complex || !plain->layout || !plain->layout->has_domain ||
                !plain->layout->is_complex,
            STATUS_USAGE,
            "%s: input.layout.domain says complex, but its samples are real (axes with reim, such "
            "as time,reim, make pairs of them complex)",
            plain->path);
    TRY(assume_if(plain->is_framed && archive->is_complex && own->freq.count == 0 &&
                      !override_has_frequencies(plain->layout),
                  &archive->assumed,
                  "centre frequency 0 Hz: the file states none (input.layout.freq_hz does)"));
    TRY(memory_text("samples", &own->dataset));
    TRY(memory_text(plain->known, &archive->layout));
    TRY(recorder_take_words(plain->layout, archive->is_complex, own, archive));
    return REQUIRED(
        !archive->states.freq || own->freq.count == archive->count[AXIS_CHAN], STATUS_USAGE,
        "%s states one centre frequency, but input.layout.axes make %" PRIu64
        " coarse channels: input.layout.freq_hz is missing, expected the centre of each",
        plain->path, archive->count[AXIS_CHAN]);
}

/* Bits of an element, by its type or the job's packing. */
static status_t plain_element(const struct plain *plain, struct plain_axes *axes)
{
    const struct number_type *type = &plain->type;
    const struct job_layout_numbers *numbers = &plain->layout->numbers;
    axes->bits = type->bits * (type->is_complex ? 2 : 1);
    if (numbers->has_packing) {
        axes->bits = numbers->packing.bits > 0 ? numbers->packing.bits : 8;
        int fits = type->kind != 'f' && !type->is_complex && type->bits == axes->bits;
        REQUIRE(type->bits == 0 || fits, STATUS_USAGE,
                "%s: input.layout.packing needs real integers of %" PRIu64
                " bits, found %s %c%u (format raw reads any)",
                plain->path, axes->bits, type->is_complex ? "complex" : "real", type->kind,
                type->bits);
    }
    return STATUS_OK;
}

static status_t plain_describe(struct plain *plain)
{
    struct archive *archive = plain->archive;
    const struct job_layout *layout = plain->layout;
    struct plain_axes axes = {.path = plain->path,
                              .text = layout->axes ? layout->axes : plain->axes};
    uint32_t times = 0; /* two: blocks, outermost, and the time steps of a block */
    TRY(plain_element(plain, &axes));
    TRY(plain_read_axes(plain, &axes));
    TRY(plain_fit(plain, &axes));
    for (uint32_t i = 0; i < axes.ndims; i++) {
        times += axes.dims[i].axis == AXIS_TIME;
    }
    for (uint32_t i = times - 1; i < axes.ndims; i++) {
        recorder_add_dim(archive, axes.dims[i].axis, axes.dims[i].size);
    }
    if (plain->type.is_complex) {
        recorder_add_dim(archive, AXIS_REIM, 2);
    }
    int are_pairs = archive->present[AXIS_REIM] ||
                    (layout->numbers.has_packing && layout->numbers.packing.bits == 0);
    REQUIRE(!layout->is_reim_along || !are_pairs, STATUS_USAGE,
            "%s: input.layout.files_along names reim, but its samples are complex", plain->path);
    archive->is_complex = are_pairs || layout->is_reim_along;
    archive->count[AXIS_TIME] *= times > 1 ? axes.dims[0].size : 1;
    archive->parts[0].samples = archive->count[AXIS_TIME];
    TRY(plain_take_words(plain));
    return plain_set_number(plain);
}

static status_t plain_add_samples(struct plain *plain)
{
    const struct archive *archive = plain->archive;
    struct archive_part *part = &plain->archive->parts[0];
    uint64_t steps = archive->shape.dims[archive->shape.time_dim].size;
    uint64_t bits = archive_piece_bits(archive, steps);
    uint64_t pieces = part->samples / steps;
    REQUIRE(bits > 0 && (pieces == 1 || bits % 8 == 0), STATUS_DATA,
            "%s: a block of time has %" PRIu64 " bits, expected whole bytes", part->path, bits);
    const struct archive_run run = {.file_offset = plain->at,
                                    .piece_bytes = ceil_div_u64(bits, 8),
                                    .pieces = pieces,
                                    .steps = steps,
                                    .stored = steps};
    return archive_add_run(part, part->path, &run);
}

SCOPED_CALLS(plain_close, struct plain, override_free(&at->own), file_close(at->fd))

status_t plain_open(const char *path, const struct job_layout *layout, plain_step_t *read,
                    plain_step_t *add, void *context, struct archive **out)
{
    SCOPED(plain_close)
    struct plain plain = {.layout = layout,
                          .path = path,
                          .fd = -1,
                          .context = context,
                          .own.files_along = layout->files_along};
    TRY(archive_create(path, out));
    plain.archive = *out;
    TRY(recorder_open(&plain.archive->parts[0], &plain.fd, &plain.file_bytes));
    TRY(read(&plain));
    TRY(plain_describe(&plain));
    return add ? add(&plain) : plain_add_samples(&plain);
}

status_t plain_assume_streams(struct plain *plain, uint64_t streams, int is_said)
{
    plain->is_framed = 1;
    plain->ndims = streams > 1 ? 2 : 1;
    plain->shape[1] = streams;
    plain->axes = streams == 1 ? "time" : streams == 2 ? "time,pol" : "time,station";
    return assume_unless(streams == 1 || plain->layout->axes || is_said, &plain->archive->assumed,
                         "axes %s: its %" PRIu64 " channels are %s; input.layout.axes says more",
                         plain->axes, streams, streams == 2 ? "polarisations" : "stations");
}

status_t plain_set_centre(struct plain *plain, double hz)
{
    TRY(layout_make_frequencies(&plain->own, 1));
    plain->own.freq.hz[0] = hz;
    return STATUS_OK;
}

status_t plain_check_mistakes(const struct mistakes *mistakes, const char *what)
{
    status_t st = mistakes_report(mistakes);
    return st == STATUS_USAGE ? report_again(STATUS_DATA, "%s (%s)", report_cause(), what) : st;
}

/* Without r or c, numbers are complex pairs if the domain is complex and nothing else says why. */
static struct number_type raw_type(const struct job_layout *layout)
{
    struct axes_text axes;
    char message[AXES_TEXT_MESSAGE];
    struct number_type type = layout->numbers.type;
    int has_reim = layout->axes && axes_text_parse(layout->axes, &axes, message) &&
                   axes_text_has(&axes, AXIS_REIM);
    type.is_complex |= !type.has_domain && type.bits > 0 && layout->has_domain &&
                       layout->is_complex && !has_reim && !layout->is_reim_along;
    return type;
}

static status_t raw_read(struct plain *out)
{
    const struct job_layout *layout = out->layout;
    const struct job_layout_numbers *numbers = &layout->numbers;
    char **assumed = &out->archive->assumed;
    REQUIRE(numbers->type.bits > 0 || numbers->has_packing, STATUS_USAGE,
            "%s: input.layout.type is missing, expected " NUMBER_TYPE_TEXTS
            " (voltmill info --layout '{format: raw}' FILE measures the file as each)",
            out->path);
    REQUIRE(layout->skip < out->file_bytes, STATUS_DATA,
            "%s: input.layout.skip is %" PRIu64 ", but the file has %" PRIu64 " bytes", out->path,
            layout->skip, out->file_bytes);
    out->known = "raw numbers, as described in the job";
    out->type = raw_type(layout);
    out->axes = "time";
    out->at = layout->skip;
    out->bytes = out->file_bytes - layout->skip;
    TRY(assume_unless(layout->axes != NULL, assumed,
                      "axes time: one stream; input.layout.axes, such as time,pol:2, says more"));
    return assume_unless(
        out->type.kind != 'u' || numbers->has_offset || numbers->has_packing, assumed,
        "offset 0 of unsigned numbers: input.layout.offset says which one is 0 volts");
}

const struct format raw_format = {
    .name = "raw", .takes_axes = 1, .is_no_product = 1, .plain = raw_read};
