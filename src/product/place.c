/* struct product_place between processes, and in journals: its bytes are part of their format. */
#include "product/place.h"

#define FIELD(name) PACK_FIELD(struct product_place, name)
static const struct pack_field place_fields[] = {
    FIELD(rows),           FIELD(row_bytes),    FIELD(span_rows),
    FIELD(data_offset),    FIELD(time_offset),  FIELD(crc_offset),
    FIELD(missing_offset), FIELD(holes_offset), FIELD(file_bytes)};
enum { FIELDS = sizeof place_fields / sizeof *place_fields };

status_t product_pack_place(const struct product_place *place, struct text *out)
{
    return pack_fields(out, place, place_fields, FIELDS);
}

void product_unpack_place(struct unpack *in, struct product_place *out)
{
    unpack_fields(in, out, place_fields, FIELDS);
}
