/* Raw numbers: nothing in the file describes them, the job says all. */
#include "input/assumed.h"
#include "input/format/plain.h"

#include <inttypes.h>

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

static status_t raw_open_file(const char *path, const struct job_layout *layout,
                              struct archive **out)
{
    return plain_open(path, layout, raw_read, NULL, NULL, out);
}

const struct format raw_format = {
    .name = "raw", .takes_axes = 1, .is_no_product = 1, .open_file = raw_open_file};
