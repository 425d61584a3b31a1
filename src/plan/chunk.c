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
    chunk.first_stream = chunk.group * chunking->group_streams;
    chunk.streams =
        (uint32_t)min_u64(chunking->group_streams, chunking->streams - chunk.first_stream);
    return chunk;
}

int chunk_is_same_cut(const struct chunking *a, const struct chunking *b)
{
    return a->spectra == b->spectra && a->chunk_spectra == b->chunk_spectra &&
           a->streams == b->streams && a->group_streams == b->group_streams;
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

uint64_t chunk_columns_share(const struct chunking *chunking, uint64_t column, uint64_t whole,
                             uint32_t streams)
{
    return column > 1
               ? ceil_div_u64(streams, column) * (whole / ceil_div_u64(chunking->streams, column))
               : chunk_share(chunking, whole, streams);
}

uint64_t chunk_row_quantum(uint64_t row_bytes, uint64_t page)
{
    return page / gcd_u64(row_bytes, page);
}
