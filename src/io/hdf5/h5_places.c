/* Places of chunks, as HDF5 looks them up: it is asked to read the chunk through a file driver of
 * our own, which remembers from where, and reads nothing. HDF5 1.10 has calls that give places, but
 * they walk through all chunks for each. */
#include "io/hdf5/h5_places.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_versions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* HDF5 knows the first member, and hands the whole to the functions below. */
struct looking {
    H5FD_t driver;
    char *path;
    int fd;
    haddr_t eoa, eof;
    int is_asked; /* for a place */
    uint32_t answers;
    struct h5_place place;
};

struct h5_places {
    char *path;
    struct looking *looking; /* HDF5's, as long as the file is open */
    hid_t file, dataset;
};

static H5FD_t *h5_places_driver_open(const char *path, unsigned flags, hid_t access, haddr_t most)
{
    status_t st = STATUS_OK;
    struct looking *looking = NULL;
    struct looking *opened = NULL;
    struct stat info;
    (void)flags;
    (void)access;
    (void)most;
    TRY(memory_zeroed(1, sizeof *looking, "a file", &looking));
    looking->fd = -1;
    TRY(memory_text(path, &looking->path));
    TRY(file_open_read(path, &looking->fd));
    REQUIRE(fstat(looking->fd, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    looking->eof = (haddr_t)info.st_size;
    opened = looking;
    looking = NULL;
out:
    if (looking) {
        file_close(looking->fd);
        free(looking->path);
    }
    free(looking);
    return opened ? &opened->driver : NULL;
}

static herr_t h5_places_driver_close(H5FD_t *driver)
{
    struct looking *looking = (struct looking *)driver;
    file_close(looking->fd);
    free(looking->path);
    free(looking);
    return 0;
}

static herr_t h5_places_driver_query(const H5FD_t *driver, unsigned long *flags)
{
    (void)driver;
    *flags = H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
}

static haddr_t h5_places_driver_get_eoa(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return ((const struct looking *)driver)->eoa;
}

static herr_t h5_places_driver_set_eoa(H5FD_t *driver, H5FD_mem_t type, haddr_t eoa)
{
    (void)type;
    ((struct looking *)driver)->eoa = eoa;
    return 0;
}

static haddr_t h5_places_driver_get_eof(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return ((const struct looking *)driver)->eof;
}

static herr_t h5_places_driver_get_handle(H5FD_t *driver, hid_t access, void **handle)
{
    (void)access;
    *handle = driver;
    return 0;
}

static herr_t h5_places_driver_read(H5FD_t *driver, H5FD_mem_t type, hid_t transfer, haddr_t at,
                                    size_t bytes, void *out)
{
    struct looking *looking = (struct looking *)driver;
    (void)transfer;
    if (looking->is_asked && type == H5FD_MEM_DRAW) {
        looking->place = (struct h5_place){.offset = at, .bytes = bytes};
        looking->answers++;
        return 0;
    }
    uint64_t there = at < looking->eof ? min_u64(bytes, looking->eof - at) : 0;
    memset((char *)out + there, 0, bytes - there);
    return file_read(looking->fd, looking->path, at, out, there) == STATUS_OK ? 0 : -1;
}

/* HDF5 wants one, though nobody writes. */
static herr_t h5_places_driver_write(H5FD_t *driver, H5FD_mem_t type, hid_t transfer, haddr_t at,
                                     size_t bytes, const void *data)
{
    (void)driver;
    (void)type;
    (void)transfer;
    (void)at;
    (void)bytes;
    (void)data;
    return -1;
}

static const H5FD_class_t looking_class = {
    .name = "voltmill places",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = h5_places_driver_open,
    .close = h5_places_driver_close,
    .query = h5_places_driver_query,
    .get_eoa = h5_places_driver_get_eoa,
    .set_eoa = h5_places_driver_set_eoa,
    .get_eof = h5_places_driver_get_eof,
    .get_handle = h5_places_driver_get_handle,
    .read = h5_places_driver_read,
    .write = h5_places_driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

status_t h5_places_open(const char *path, haddr_t address, h5_places_t **out)
{
    status_t st = STATUS_OK;
    h5_places_t *places = NULL;
    void *handle = NULL;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t driver = h5_register_driver(&looking_class);
    TRY(memory_zeroed(1, sizeof *places, "places of chunks", &places));
    places->file = places->dataset = -1;
    TRY(memory_text(path, &places->path));
    H5_TRY(driver, "%s cannot be opened", path);
    H5_TRY(H5Pset_driver(access, driver, NULL), "%s cannot be opened", path);
    h5_allow_cut(access);
    places->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5_TRY(places->file, "%s cannot be opened", path);
    H5_TRY(H5Fget_vfd_handle(places->file, H5P_DEFAULT, &handle), "%s cannot be opened", path);
    places->looking = handle;
    places->dataset = h5_open_address(places->file, address);
    H5_TRY(places->dataset, "%s: its dataset cannot be opened", path);
    *out = places;
    places = NULL;
out:
    if (driver >= 0) {
        H5FDunregister(driver);
    }
    h5_close(access);
    h5_places_close(places);
    return st;
}

void h5_places_close(h5_places_t *places)
{
    if (!places) {
        return;
    }
    h5_close(places->dataset);
    h5_close(places->file);
    free(places->path);
    free(places);
}

status_t h5_places_find(h5_places_t *places, const hsize_t *chunk, struct h5_place *out)
{
    status_t st = STATUS_OK;
    struct looking *looking = places->looking;
    uint32_t mask = 0;
    char nothing = 0;
    looking->answers = 0;
    looking->is_asked = 1;
    herr_t status = h5_read_chunk(places->dataset, chunk, &mask, &nothing, SIZE_MAX);
    looking->is_asked = 0;
    *out = (struct h5_place){0, 0, 0};
    if (status < 0 && looking->answers == 0 && h5_failed_for("chunk address isn't defined")) {
        goto out;
    }
    H5_TRY(status, "it cannot be looked up");
    REQUIRE(looking->answers == 1, STATUS_DATA, "it lies in %u pieces", looking->answers);
    *out = looking->place;
    out->mask = mask;
out:
    return st;
}
