/* Marks of rows whose input could not be read: noted for each group of streams, and judged when all
 * of them were recomputed. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "io/file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum { PIECE = 8192 };

struct verify_marked {
    uint64_t *rows; /* [count] ascending */
    int *groups;    /* [count] of streams that were recomputed, */
    int *unread;    /* and of them those with input that cannot be read */
    uint64_t count;
};

void verify_marks_destroy(struct verify_marked *marked)
{
    if (marked) {
        free(marked->rows);
        free(marked->groups);
        free(marked);
    }
}

status_t verify_marks_create(const struct verify *verify, struct verify_marked **out)
{
    status_t st = STATUS_OK;
    const struct product_place *place = &verify->product->place;
    char flags[PIECE];
    struct verify_marked *marked = NULL;
    size_t count = (size_t)verify->holes;
    TRY(memory_zeroed(1, sizeof *marked, "marks", &marked));
    TRY(memory_zeroed(count + 1, sizeof *marked->rows, "marks", &marked->rows));
    TRY(memory_zeroed(count + 1, 2 * sizeof *marked->groups, "marks", &marked->groups));
    marked->unread = marked->groups + count;
    for (uint64_t row = 0; row < place->rows && marked->count < count; row++) {
        if (row % PIECE == 0) {
            TRY(file_read(verify->fd, verify->product->path, place->holes_offset + row, flags,
                          min_u64(PIECE, place->rows - row)));
        }
        if (flags[row % PIECE]) {
            marked->rows[marked->count++] = row;
        }
    }
    *out = marked;
    marked = NULL;
out:
    verify_marks_destroy(marked);
    return st;
}

void verify_marks_note(struct verify_marked *marked, uint64_t row, int is_unread)
{
    uint64_t low = 0;
    uint64_t high = marked->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (marked->rows[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < marked->count && marked->rows[low] == row) {
        marked->groups[low]++;
        marked->unread[low] += is_unread ? 1 : 0;
    }
}

void verify_marks_add_up_all(MPI_Comm comm, int rank, struct verify_marked *marked)
{
    const uint64_t count = 2 * marked->count;
    for (uint64_t at = 0; at < count; at += INT_MAX) {
        int some = (int)min_u64(count - at, INT_MAX);
        int *numbers = marked->groups + at;
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : numbers, numbers, some, MPI_INT, MPI_SUM, 0, comm);
    }
}

status_t verify_marks_judge(const struct verify *verify)
{
    status_t st = STATUS_OK;
    const struct verify_marked *marked = verify->marked;
    const uint64_t all = chunk_groups(verify->chunking);
    for (uint64_t i = 0; i < marked->count; i++) {
        REQUIRE(marked->unread[i] > 0 || (uint64_t)marked->groups[i] < all, STATUS_DATA,
                "%s: row %" PRIu64 " is marked in /provenance/holes, but nothing of it is NaN by "
                "input that cannot be read: make it anew (--force)",
                verify->product->path, marked->rows[i]);
    }
out:
    return st;
}
