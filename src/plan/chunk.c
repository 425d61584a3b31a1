/* Where chunks and blocks begin and end. */
#include "plan/chunk.h"

#include "base/memory.h"

uint32_t chunk_groups(const struct chunking *chunking)
{
    return (uint32_t)ceil_div_u64(chunking->streams, chunking->group_streams);
}

uint64_t chunk_count(const struct chunking *chunking)
{
    return ceil_div_u64(chunking->spectra, chunking->chunk_spectra) * chunk_groups(chunking);
}

struct chunk chunk_at(const struct chunking *chunking, uint64_t index)
{
    uint32_t groups = chunk_groups(chunking);
    struct chunk chunk;
    chunk.index = index;
    chunk.group = (uint32_t)(index % groups);
    chunk.first = index / groups * chunking->chunk_spectra;
    chunk.count = min_u64(chunking->chunk_spectra, chunking->spectra - chunk.first);
    if (chunking->group_coarse > 0) {
        chunk.first_stream = chunk.group * chunking->group_coarse;
        chunk.streams = chunking->group_streams;
        chunk.run = chunking->group_coarse;
        chunk.stride = chunking->coarse;
        return chunk;
    }
    chunk.first_stream = chunk.group * chunking->group_streams;
    chunk.streams =
        (uint32_t)min_u64(chunking->group_streams, chunking->streams - chunk.first_stream);
    chunk.run = chunk.stride = chunk.streams;
    return chunk;
}

int chunk_is_same_cut(const struct chunking *a, const struct chunking *b)
{
    return a->spectra == b->spectra && a->chunk_spectra == b->chunk_spectra &&
           a->streams == b->streams && a->group_streams == b->group_streams &&
           a->group_coarse == b->group_coarse;
}

uint64_t chunk_block(const struct chunking *chunking, const struct chunk *chunk, uint64_t from)
{
    uint64_t left = chunk->first + chunk->count - from;
    if (left <= chunking->block_spectra) {
        return left;
    }
    uint64_t end = (from + chunking->block_spectra) / CHUNK_GRAIN * CHUNK_GRAIN;
    return end - from;
}

uint64_t chunk_share(const struct chunking *chunking, uint64_t whole, uint32_t streams)
{
    /* So that no product leaves 64 bits. */
    return whole / chunking->streams * streams +
           whole % chunking->streams * streams / chunking->streams;
}

struct chunk_kept chunk_kept_of(const struct chunk_row *row, const struct chunk *chunk)
{
    if (!chunk_is_coarse(chunk)) {
        return (struct chunk_kept){row->first, 0, row->count};
    }
    const uint64_t first = chunk->first_stream * row->each;
    const uint64_t from = max_u64(first, row->first);
    const uint64_t end = row->first + row->count * row->average;
    const uint64_t till = min_u64(first + chunk->run * row->each, end);
    const uint64_t before = min_u64((from - row->first) / row->average, row->count);
    return (struct chunk_kept){from - first, before,
                               from < till ? (till - from) / row->average : 0};
}

struct chunk_pieces chunk_pieces_of(const struct chunking *chunking, const struct chunk *chunk,
                                    uint64_t whole, const struct chunk_row *row)
{
    if (chunk_is_coarse(chunk)) {
        const uint64_t line = whole / row->ifs;
        const uint64_t one = line / (row->count > 0 ? row->count : chunk->stride);
        const struct chunk_kept kept =
            row->count > 0 ? chunk_kept_of(row, chunk)
                           : (struct chunk_kept){0, chunk->first_stream, chunk->run};
        return (struct chunk_pieces){one * kept.first, one * kept.count, line,
                                     kept.count > 0 ? row->ifs : 0};
    }
    if (row->column > 1) {
        const uint64_t one = whole / ceil_div_u64(chunking->streams, row->column);
        return (struct chunk_pieces){chunk->first_stream / row->column * one,
                                     ceil_div_u64(chunk->streams, row->column) * one, 0, 1};
    }
    return (struct chunk_pieces){chunk_share(chunking, whole, chunk->first_stream),
                                 chunk_share(chunking, whole, chunk->streams), 0, 1};
}

uint64_t chunk_row_quantum(uint64_t row_bytes, uint64_t page)
{
    return page / gcd_u64(row_bytes, page);
}
