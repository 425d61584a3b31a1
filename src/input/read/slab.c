/* Which bytes some streams need, and where their samples lie among them. */
#include "base/memory.h"
#include "input/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* Place of one number of one stream: block outside of the time axis, byte inside a time step. */
struct place {
    uint64_t block;
    uint64_t inner;
};

static struct place slab_find_place(const struct archive *archive, uint64_t index[AXIS_KINDS],
                                    int imaginary)
{
    struct place place = {0, 0};
    uint64_t *position = &place.block;
    if (archive->present[AXIS_REIM]) {
        index[AXIS_REIM] = (uint64_t)imaginary;
    }
    place.block = archive_stack_of(archive, index, imaginary);
    if (archive->shape.stacked != AXIS_TIME) {
        index[archive->shape.stacked] %= archive_in_file(archive, archive->shape.stacked);
    }
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        if (archive->shape.dims[i].axis == AXIS_TIME) {
            position = &place.inner;
            continue;
        }
        *position = *position * archive->shape.dims[i].size + index[archive->shape.dims[i].axis];
    }
    place.inner *= archive->stored.element_bytes;
    if (imaginary && archive->stored.is_compound) {
        place.inner += archive->stored.element_bytes / 2;
    }
    return place;
}

/* Sorts the blocks named in slot[] into a list without doubles and replaces each by its place. */
static status_t slab_number_blocks(struct slab *slab)
{
    status_t st = STATUS_OK;
    size_t named = (size_t)slab->nstreams * 2;
    uint64_t *all = NULL;
    TRY(memory_zeroed(named, sizeof *all, "blocks of a slab", &all));
    memcpy(all, slab->slot[0], slab->nstreams * sizeof *all);
    memcpy(all + slab->nstreams, slab->slot[1], slab->nstreams * sizeof *all);
    qsort(all, named, sizeof *all, compare_u64);
    size_t kept = 0;
    for (size_t i = 0; i < named; i++) {
        if (kept == 0 || all[kept - 1] != all[i]) {
            all[kept++] = all[i];
        }
    }
    for (int part = 0; part < 2; part++) {
        for (uint32_t i = 0; i < slab->nstreams; i++) {
            uint64_t *at = bsearch(&slab->slot[part][i], all, kept, sizeof *all, compare_u64);
            slab->slot[part][i] = (uint64_t)(at - all);
        }
    }
    slab->blocks = all;
    slab->nblocks = kept;
    all = NULL;
out:
    free(all);
    return st;
}

status_t slab_create(const struct archive *archive, uint32_t first_stream, uint32_t nstreams,
                     struct slab **out)
{
    status_t st = STATUS_OK;
    struct slab *slab = NULL;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    TRY(memory_zeroed(1, sizeof *slab, "a slab", &slab));
    slab->first_stream = first_stream;
    slab->nstreams = nstreams;
    slab->inner_bytes = archive->stored.element_bytes;
    int inside = 0;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        slab->inner_bytes *= inside ? archive->shape.dims[i].size : 1;
        inside = inside || archive->shape.dims[i].axis == AXIS_TIME;
    }
    for (int part = 0; part < 2; part++) {
        TRY(memory_zeroed(nstreams, sizeof(uint64_t), "a slab", &slab->slot[part]));
        TRY(memory_zeroed(nstreams, sizeof(uint64_t), "a slab", &slab->inner[part]));
        for (uint32_t i = 0; i < nstreams; i++) {
            uint64_t index[AXIS_KINDS];
            archive_stream_index(archive, first_stream + i, index);
            struct place place = slab_find_place(archive, index, part && archive->is_complex);
            slab->slot[part][i] = place.block;
            slab->inner[part][i] = place.inner;
            low = min_u64(low, place.inner / archive->stored.element_bytes);
            high = max_u64(high, place.inner / archive->stored.element_bytes + 1);
        }
    }
    slab->low_byte = low * archive->stored.element_bytes;
    slab->width = (high - low) * archive->stored.element_bytes;
    if (slab->width >= slab->inner_bytes / 2) {
        /* Cutting so little off would only break up the reads. */
        slab->low_byte = 0;
        slab->width = slab->inner_bytes;
    }
    for (int part = 0; part < 2; part++) {
        for (uint32_t i = 0; i < nstreams; i++) {
            slab->inner[part][i] -= slab->low_byte;
        }
    }
    TRY(slab_number_blocks(slab));
    *out = slab;
    slab = NULL;
out:
    slab_destroy(slab);
    return st;
}

void slab_destroy(struct slab *slab)
{
    if (!slab) {
        return;
    }
    for (int part = 0; part < 2; part++) {
        free(slab->slot[part]);
        free(slab->inner[part]);
    }
    free(slab->blocks);
    free(slab);
}

uint64_t slab_bytes(const struct slab *slab, uint64_t count)
{
    uint64_t bytes = 0;
    if (!multiply_u64(slab->nblocks, slab->width, &bytes) || !multiply_u64(bytes, count, &bytes)) {
        return 0;
    }
    return bytes;
}

void slab_offsets(const struct slab *slab, uint64_t count, size_t *re, size_t *im)
{
    for (uint32_t i = 0; i < slab->nstreams; i++) {
        re[i] = (size_t)(slab->slot[0][i] * count * slab->width + slab->inner[0][i]);
        im[i] = (size_t)(slab->slot[1][i] * count * slab->width + slab->inner[1][i]);
    }
}
