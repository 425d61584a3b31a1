/* The filterbank as bytes: all of it, from the process that looked into the file to every rank. */
#include "base/memory.h"
#include "input/fbh5/fbh5.h"

#include <stdlib.h>

static const struct pack_field pointers[] = {
    PACK_FIELD(struct fbh5, path),
    PACK_FIELD(struct fbh5, format),
    PACK_FIELD(struct fbh5, assumed),
    PACK_LIST(struct fbh5, table.first, table.count, &pack_numbers),
    PACK_FIELD(struct fbh5, data_path),
    PACK_STORAGE(struct fbh5, storage),
    PACK_LIST(struct fbh5, lost, nlost, &lost_range_type),
    PACK_FIELD(struct fbh5, head.source),
    PACK_FIELD(struct fbh5, head.telescope),
    PACK_FIELD(struct fbh5, head.rawdatafile),
    PACK_FIELD(struct fbh5, pols),
    PACK_FIELD(struct fbh5, pol_names),
    PACK_COUNTED(struct fbh5, freq_hz, nchannels, &pack_numbers),
    PACK_COUNTED(struct fbh5, coherent.delay_hz, nchannels, &pack_numbers),
};
static const struct pack_type fbh5_type = PACK_WHOLE(struct fbh5, pointers);

void fbh5_destroy(struct fbh5 *fbh5)
{
    if (fbh5) {
        pack_free(fbh5, &fbh5_type);
        free(fbh5);
    }
}

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
