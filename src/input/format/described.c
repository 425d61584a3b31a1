/* HDF5 files of no known format, as the job's input.layout describes them. */
#include "base/memory.h"
#include "input/format/dataset.h"
#include "input/format/gather.h"

static status_t described_open_file(const char *path, const struct job_layout *layout,
                                    struct archive **out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    struct archive *archive = NULL;
    TRY(archive_create(path, &archive));
    TRY(h5_open_cut_file(path, &file));
    TRY(memory_text("as described in the job", &archive->layout));
    TRY(dataset_describe(file, layout, "input.layout.", archive));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    h5_close(file);
    return st;
}

static status_t described_open(const struct format_input *input, struct archive **out)
{
    return gather_files(input, described_open_file, out);
}

const struct format described_format = {.name = "described", .open = described_open};
