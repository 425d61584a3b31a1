/* HDF5 calls that differ between its versions. */
#include "io/hdf5/h5_versions.h"

/* HDF5 1.12 replaced addresses by tokens, and with them the second version of these calls. */
#if H5_VERSION_GE(1, 12, 0)
#define HAS_TOKENS 1
#define object_info H5O_info2_t
#define link_info H5L_info2_t
#define object_get_info H5Oget_info3
#define object_get_info_by_name H5Oget_info_by_name3
#define link_get_info H5Lget_info2
#define link_iterate H5Literate2
#else
#define HAS_TOKENS 0
#define object_info H5O_info_t
#define link_info H5L_info_t
#define object_get_info H5Oget_info2
#define object_get_info_by_name H5Oget_info_by_name2
#define link_get_info H5Lget_info
#define link_iterate H5Literate
#endif

static herr_t h5_address_of(hid_t at, const object_info *info, haddr_t *out)
{
#if HAS_TOKENS
    return H5VLnative_token_to_addr(at, info->token, out);
#else
    (void)at;
    *out = info->addr;
    return 0;
#endif
}

herr_t h5_object_read(hid_t at, const char *name, struct h5_object *out)
{
    object_info info;
    haddr_t address = HADDR_UNDEF;
    herr_t status = object_get_info_by_name(at, name, &info, H5O_INFO_BASIC, H5P_DEFAULT);
    status = status < 0 ? status : h5_address_of(at, &info, &address);
    if (status >= 0) {
        *out = (struct h5_object){info.type, info.rc, address};
    }
    return status;
}

herr_t h5_address(hid_t object, haddr_t *out)
{
    object_info info;
    herr_t status = object_get_info(object, &info, H5O_INFO_BASIC);
    return status < 0 ? status : h5_address_of(object, &info, out);
}

hid_t h5_open_address(hid_t file, haddr_t address)
{
#if HAS_TOKENS
    H5O_token_t token = H5O_TOKEN_UNDEF;
    return H5VLnative_addr_to_token(file, address, &token) < 0 ? -1 : H5Oopen_by_token(file, token);
#else
    return H5Oopen_by_addr(file, address);
#endif
}

int h5_share_file(hid_t one, hid_t other)
{
    object_info first;
    object_info second;
    if (object_get_info(one, &first, H5O_INFO_BASIC) < 0 ||
        object_get_info(other, &second, H5O_INFO_BASIC) < 0) {
        return -1;
    }
    return first.fileno == second.fileno;
}

herr_t h5_link_read(hid_t at, const char *name, struct h5_link *out)
{
    link_info info;
    herr_t status = link_get_info(at, name, &info, H5P_DEFAULT);
    if (status >= 0) {
        *out = (struct h5_link){info.type, info.type == H5L_TYPE_HARD ? 0 : info.u.val_size};
    }
    return status;
}

struct taker {
    h5_take_t take;
    void *context;
};

static herr_t h5_take_link(hid_t group, const char *name, const link_info *info, void *context)
{
    const struct taker *taker = context;
    (void)group;
    return taker->take(name, info->type, taker->context);
}

herr_t h5_iterate_links(hid_t group, h5_take_t take, void *context)
{
    struct taker taker = {take, context};
    return link_iterate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, h5_take_link, &taker);
}

void h5_reclaim(hid_t type, hid_t space, void *values)
{
#if HAS_TOKENS
    H5Treclaim(type, space, H5P_DEFAULT, values);
#else
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
#endif
}

hid_t h5_register_driver(const H5FD_class_t *driver)
{
    H5FD_class_t registered = *driver;
#ifdef H5FD_CLASS_VERSION
    /* Above the numbers that the HDF Group gives out, and those for tests; it is not looked up. */
    enum { NUMBER = 512 };
    registered.version = H5FD_CLASS_VERSION;
    registered.value = NUMBER;
#endif
    return H5FDregister(&registered);
}

herr_t h5_read_chunk(hid_t dataset, const hsize_t *chunk, uint32_t *mask, void *out, size_t bytes)
{
#if H5_VERSION_GE(2, 0, 0)
    return H5Dread_chunk2(dataset, H5P_DEFAULT, chunk, mask, out, &bytes);
#else
    (void)bytes;
    return H5Dread_chunk(dataset, H5P_DEFAULT, chunk, mask, out);
#endif
}
