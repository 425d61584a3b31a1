/* struct product_place between processes, and in journals: its bytes are part of their format. */
#include "product/place.h"

status_t product_pack_place(const struct product_place *place, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_u64(out, place->rows));
    TRY(pack_u64(out, place->row_bytes));
    TRY(pack_u64(out, place->span_rows));
    TRY(pack_u64(out, place->data_offset));
    TRY(pack_u64(out, place->time_offset));
    TRY(pack_u64(out, place->crc_offset));
    TRY(pack_u64(out, place->missing_offset));
    TRY(pack_u64(out, place->holes_offset));
    TRY(pack_u64(out, place->file_bytes));
out:
    return st;
}

void product_unpack_place(struct unpack *in, struct product_place *out)
{
    out->rows = unpack_u64(in);
    out->row_bytes = unpack_u64(in);
    out->span_rows = unpack_u64(in);
    out->data_offset = unpack_u64(in);
    out->time_offset = unpack_u64(in);
    out->crc_offset = unpack_u64(in);
    out->missing_offset = unpack_u64(in);
    out->holes_offset = unpack_u64(in);
    out->file_bytes = unpack_u64(in);
}
