/* Unions of selections, joined pair by pair. */
#include "input/hdf5/joined.h"

enum { PARTS = sizeof((struct joined *)0)->parts / sizeof(hid_t) };

void joined_begin(struct joined *joined, const char *where)
{
    joined->where = where;
    for (int i = 0; i < PARTS; i++) {
        joined->parts[i] = -1;
    }
}

/* *into = *into or from; takes `from`. An empty selection cannot be joined with another. */
static status_t joined_unite(const struct joined *joined, hid_t *into, hid_t from)
{
    status_t st = STATUS_OK;
    if (*into < 0 || H5Sget_select_npoints(*into) == 0) {
        h5_close(*into);
        *into = from;
        from = -1;
    } else if (H5Sget_select_npoints(from) > 0) {
        H5_TRY(H5Smodify_select(*into, H5S_SELECT_OR, from), "%s: selections cannot be joined",
               joined->where);
    }
out:
    h5_close(from);
    return st;
}

status_t joined_add(struct joined *joined, hid_t space)
{
    status_t st = STATUS_OK;
    int i = 0;
    H5_TRY(space, "%s: elements cannot be selected", joined->where);
    for (; i < PARTS - 1 && joined->parts[i] >= 0; i++) {
        hid_t part = joined->parts[i];
        joined->parts[i] = -1;
        TRY(joined_unite(joined, &space, part));
    }
    hid_t whole = space;
    space = -1;
    TRY(joined_unite(joined, &joined->parts[i], whole));
out:
    h5_close(space);
    return st;
}

status_t joined_end(struct joined *joined, hid_t *out)
{
    status_t st = STATUS_OK;
    hid_t whole = -1;
    for (int i = 0; i < PARTS; i++) {
        hid_t part = joined->parts[i];
        joined->parts[i] = -1;
        TRY(part >= 0 ? joined_unite(joined, &whole, part) : STATUS_OK);
    }
    *out = whole;
    whole = -1;
out:
    h5_close(whole);
    return st;
}

void joined_free(struct joined *joined)
{
    for (int i = 0; i < PARTS; i++) {
        h5_close(joined->parts[i]);
        joined->parts[i] = -1;
    }
}
