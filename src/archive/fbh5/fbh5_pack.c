/* The filterbank as bytes: all of it, from the process that looked into the file to every rank. */
#include "archive/fbh5/fbh5.h"
#include "archive/storage/stored.h"
#include "base/memory.h"

status_t fbh5_pack(const struct fbh5 *fbh5, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_text(out, fbh5->path));
    TRY(pack_u64(out, fbh5->file_bytes));
    TRY(pack_u64(out, fbh5->sample_bytes));
    TRY(pack_u64(out, fbh5->rows));
    TRY(pack_u64(out, fbh5->nifs));
    TRY(pack_u64(out, fbh5->chunk_rows));
    TRY(pack_u64(out, fbh5->cache_bytes));
    TRY(pack_u64(out, (uint64_t)fbh5->is_plain));
    TRY(pack_u64(out, fbh5->data_offset));
    TRY(pack_text(out, fbh5->data_path));
    TRY(storage_pack(&fbh5->storage, out));
    TRY(lost_pack(fbh5->lost, fbh5->nlost, out));
    TRY(pack_f64(out, fbh5->fch1_mhz));
    TRY(pack_f64(out, fbh5->foff_mhz));
    TRY(pack_f64(out, fbh5->tsamp));
    TRY(pack_u64(out, (uint64_t)fbh5->has_start));
    TRY(pack_i64(out, fbh5->start.mjd_day));
    TRY(pack_f64(out, fbh5->start.second));
    TRY(pack_f64(out, fbh5->first_time));
    TRY(pack_f64(out, fbh5->tstart_mjd));
    TRY(pack_text(out, fbh5->source));
    TRY(pack_text(out, fbh5->telescope));
    TRY(pack_u64(out, (uint64_t)fbh5->has_position));
    TRY(pack_f64(out, fbh5->raj_hours));
    TRY(pack_f64(out, fbh5->dej_degrees));
    TRY(pack_i64(out, fbh5->telescope_id));
    TRY(pack_text(out, fbh5->pols));
    TRY(pack_u64(out, (uint64_t)fbh5->is_ours));
    TRY(pack_text(out, fbh5->rawdatafile));
    TRY(pack_f64(out, fbh5->az_start));
    TRY(pack_f64(out, fbh5->za_start));
    TRY(pack_i64(out, fbh5->machine_id));
    TRY(pack_i64(out, fbh5->nbeams));
    TRY(pack_i64(out, fbh5->ibeam));
    TRY(pack_u64(out, fbh5->nchannels));
    TRY(pack_u64(out, fbh5->freq_hz ? fbh5->nchannels : 0));
    for (uint32_t c = 0; fbh5->freq_hz && c < fbh5->nchannels; c++) {
        TRY(pack_f64(out, fbh5->freq_hz[c]));
    }
out:
    return st;
}

status_t fbh5_unpack(struct unpack *in, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    fbh5->path = unpack_text(in);
    fbh5->file_bytes = unpack_u64(in);
    fbh5->sample_bytes = (uint32_t)unpack_u64(in);
    fbh5->rows = unpack_u64(in);
    fbh5->nifs = (uint32_t)unpack_u64(in);
    fbh5->chunk_rows = unpack_u64(in);
    fbh5->cache_bytes = unpack_u64(in);
    fbh5->is_plain = (int)unpack_u64(in);
    fbh5->data_offset = unpack_u64(in);
    fbh5->data_path = unpack_text(in);
    TRY(storage_unpack(in, &fbh5->storage));
    TRY(lost_unpack(in, &fbh5->lost, &fbh5->nlost));
    fbh5->fch1_mhz = unpack_f64(in);
    fbh5->foff_mhz = unpack_f64(in);
    fbh5->tsamp = unpack_f64(in);
    fbh5->has_start = (int)unpack_u64(in);
    fbh5->start.mjd_day = (int32_t)unpack_i64(in);
    fbh5->start.second = unpack_f64(in);
    fbh5->first_time = unpack_f64(in);
    fbh5->tstart_mjd = unpack_f64(in);
    fbh5->source = unpack_text(in);
    fbh5->telescope = unpack_text(in);
    fbh5->has_position = (int)unpack_u64(in);
    fbh5->raj_hours = unpack_f64(in);
    fbh5->dej_degrees = unpack_f64(in);
    fbh5->telescope_id = (int32_t)unpack_i64(in);
    fbh5->pols = unpack_text(in);
    fbh5->is_ours = (int)unpack_u64(in);
    fbh5->rawdatafile = unpack_text(in);
    fbh5->az_start = unpack_f64(in);
    fbh5->za_start = unpack_f64(in);
    fbh5->machine_id = (int32_t)unpack_i64(in);
    fbh5->nbeams = (int32_t)unpack_i64(in);
    fbh5->ibeam = (int32_t)unpack_i64(in);
    fbh5->nchannels = (uint32_t)unpack_u64(in);
    size_t count = unpack_count(in, sizeof(double));
    if (count > 0) {
        TRY(memory_zeroed(count, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    }
    for (size_t c = 0; c < count; c++) {
        fbh5->freq_hz[c] = unpack_f64(in);
    }
    TRY(unpack_check(in, "a filterbank"));
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
    return st;
}
