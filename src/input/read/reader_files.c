/* Plain reads: samples that lie in files just as they are handed out, byte order aside. */
#include "base/memory.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_READ = 8 << 20 /* bytes: that several threads share */ };

void reader_hint(reader_t *reader, uint64_t offset, uint64_t bytes)
{
    if (reader->is_huge && bytes >= LONG_READ) {
        uint64_t to =
            offset >= reader->read_from ? min_u64(reader->read_to, offset) : reader->read_to;
        if (to > reader->read_from) {
            file_forget(reader->fd, reader->read_from, to - reader->read_from);
        }
        reader->read_from = offset;
        reader->read_to = offset + bytes;
    }
}

status_t reader_check_file(const reader_t *reader)
{
    status_t st = STATUS_OK;
    if (reader->path) {
        TRY(sources_check_open(&reader->holder->storage.sources, reader->path, reader->fd));
    }
out:
    return st;
}

status_t reader_open_file(reader_t *reader, const struct archive_part *part, const char *path)
{
    status_t st = STATUS_OK;
    if (reader->path != path && (!reader->path || strcmp(reader->path, path) != 0)) {
        TRY(reader_check_file(reader));
        file_close(reader->fd);
        reader->path = NULL;
        TRY(file_open_read(path, &reader->fd));
        TRY(sources_check_open(&part->storage.sources, path, reader->fd));
        reader->path = path;
        reader->holder = part;
        reader->read_from = reader->read_to = 0;
    }
out:
    return st;
}

/* One long read, by several threads: one alone copies slower than a device is fed. */
struct long_read {
    const reader_t *reader;
    uint64_t offset, bytes, piece;
    char *out;
};

static status_t reader_read_piece(const void *context, uint32_t thread, uint64_t unit)
{
    const struct long_read *read = context;
    uint64_t from = unit * read->piece;
    uint64_t count = min_u64(read->piece, read->bytes - from);
    (void)thread;
    return file_read(read->reader->fd, read->reader->path, read->offset + from, read->out + from,
                     count);
}

static status_t reader_read_long(reader_t *reader, uint64_t offset, uint64_t bytes, char *out)
{
    struct long_read read = {reader, offset, bytes, ceil_div_u64(bytes, reader->threads), out};
    return reader_share(reader, ceil_div_u64(bytes, read.piece), reader_read_piece, &read);
}

status_t reader_judge(reader_t *reader, const struct archive_part *part, status_t failure)
{
    return failure == STATUS_DATA ? sources_judge(&part->storage.sources, reader->path, reader->fd,
                                                  &reader->is_unreadable)
                                  : failure;
}

status_t reader_read_bytes(reader_t *reader, const struct archive_part *part, const char *path,
                           uint64_t offset, uint64_t bytes, char *out)
{
    status_t st = STATUS_OK;
    TRY(reader_open_file(reader, part, path));
    if (bytes >= SHARED_READ && reader->threads > 1) {
        st = reader_read_long(reader, offset, bytes, out);
    } else {
        st = file_read(reader->fd, path, offset, out, bytes);
    }
    TRY(reader_judge(reader, part, st));
    if (bytes >= LONG_READ) {
        file_expect(reader->fd, offset + bytes, bytes);
    }
    reader_hint(reader, offset, bytes);
out:
    return st;
}

status_t reader_read_extents(reader_t *reader, const struct archive_part *part, uint64_t at,
                             uint64_t bytes, char *out)
{
    status_t st = STATUS_OK;
    uint64_t start = 0;
    for (uint32_t i = 0; i < part->nextents && bytes > 0; i++) {
        const struct archive_extent *extent = &part->extents[i];
        if (at < start + extent->bytes) {
            uint64_t inside = at - start;
            uint64_t count = min_u64(bytes, extent->bytes - inside);
            TRY(reader_read_bytes(reader, part, extent->path, extent->file_offset + inside, count,
                                  out));
            at += count;
            out += count;
            bytes -= count;
        }
        start += extent->bytes;
    }
    REQUIRE(bytes == 0, STATUS_DATA, "%s: its dataset ends %" PRIu64 " bytes early", part->path,
            bytes);
out:
    return st;
}
