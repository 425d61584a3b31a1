/* The filterbank as bytes: all of it, from the process that looked into the file to every rank. */
#include "archive/fbh5/fbh5.h"
#include "base/memory.h"

static const struct pack_field fbh5_fields[] = {
    PACK_FIELD(struct fbh5, path),
    PACK_FIELD(struct fbh5, format),
    PACK_FIELD(struct fbh5, assumed),
    PACK_FIELD(struct fbh5, table.bits),
    PACK_FIELD(struct fbh5, table.is_signed),
    PACK_FIELD(struct fbh5, table.is_big_endian),
    PACK_FIELD(struct fbh5, table.is_high_bit_first),
    PACK_FIELD(struct fbh5, table.offset),
    PACK_FIELD(struct fbh5, table.row_bytes),
    PACK_FIELD(struct fbh5, table.rows_each),
    PACK_FIELD(struct fbh5, table.data),
    PACK_FIELD(struct fbh5, table.has_scales),
    PACK_FIELD(struct fbh5, table.scaled_ifs),
    PACK_FIELD(struct fbh5, table.scales),
    PACK_FIELD(struct fbh5, table.offsets),
    PACK_FIELD(struct fbh5, table.weights),
    PACK_FIELD(struct fbh5, table.unit),
    PACK_FIELD(struct fbh5, table.zero),
    PACK_FIELD(struct fbh5, table.is_moved),
    PACK_LIST(struct fbh5, table.first, table.count, &pack_numbers),
    PACK_FIELD(struct fbh5, file_bytes),
    PACK_FIELD(struct fbh5, sample_bytes),
    PACK_FIELD(struct fbh5, number),
    PACK_FIELD(struct fbh5, is_flat),
    PACK_FIELD(struct fbh5, steps.bits),
    PACK_FIELD(struct fbh5, steps.rows),
    PACK_FIELD(struct fbh5, steps.scales),
    PACK_FIELD(struct fbh5, steps.scale_offset),
    PACK_FIELD(struct fbh5, steps.offset_offset),
    PACK_FIELD(struct fbh5, rows),
    PACK_FIELD(struct fbh5, nifs),
    PACK_FIELD(struct fbh5, chunk_rows),
    PACK_FIELD(struct fbh5, cache_bytes),
    PACK_FIELD(struct fbh5, chunk_bytes),
    PACK_FIELD(struct fbh5, unpack_rooms),
    PACK_FIELD(struct fbh5, is_plain),
    PACK_FIELD(struct fbh5, data_offset),
    PACK_FIELD(struct fbh5, marks_offset),
    PACK_FIELD(struct fbh5, data_path),
    PACK_STORAGE(struct fbh5, storage),
    PACK_LIST(struct fbh5, lost, nlost, &lost_range_type),
    PACK_FIELD(struct fbh5, fch1_mhz),
    PACK_FIELD(struct fbh5, foff_mhz),
    PACK_FIELD(struct fbh5, tsamp),
    PACK_FIELD(struct fbh5, has_start),
    PACK_FIELD(struct fbh5, start.mjd_day),
    PACK_FIELD(struct fbh5, start.second),
    PACK_FIELD(struct fbh5, first_time),
    PACK_FIELD(struct fbh5, tstart_mjd),
    PACK_FIELD(struct fbh5, source),
    PACK_FIELD(struct fbh5, telescope),
    PACK_FIELD(struct fbh5, has_position),
    PACK_FIELD(struct fbh5, raj_hours),
    PACK_FIELD(struct fbh5, dej_degrees),
    PACK_FIELD(struct fbh5, telescope_id),
    PACK_FIELD(struct fbh5, pols),
    PACK_FIELD(struct fbh5, pol_names),
    PACK_FIELD(struct fbh5, is_ours),
    PACK_FIELD(struct fbh5, rawdatafile),
    PACK_FIELD(struct fbh5, az_start),
    PACK_FIELD(struct fbh5, za_start),
    PACK_FIELD(struct fbh5, machine_id),
    PACK_FIELD(struct fbh5, nbeams),
    PACK_FIELD(struct fbh5, ibeam),
    PACK_FIELD(struct fbh5, nchannels),
    PACK_COUNTED(struct fbh5, freq_hz, nchannels, &pack_numbers),
    PACK_FIELD(struct fbh5, coherent_dm),
    PACK_FIELD(struct fbh5, coherent_constant),
    PACK_COUNTED(struct fbh5, delay_hz, nchannels, &pack_numbers),
};
static const struct pack_type fbh5_type = PACK_TYPE(struct fbh5, fbh5_fields);

status_t fbh5_pack(const struct fbh5 *fbh5, struct text *out)
{
    return pack_struct(out, fbh5, &fbh5_type);
}

status_t fbh5_unpack(struct unpack *in, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    unpack_struct(in, fbh5, &fbh5_type);
    TRY(unpack_check(in, "a filterbank"));
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
    return st;
}
