/* Attributes, datasets and errors of HDF5, with our messages. */
#include "io/hdf5/h5.h"

#include "base/byte_order.h"
#include "base/display.h"
#include "base/memory.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/hdf5/h5_versions.h"
#include "io/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    H5_REASON = 512,
    MOST_TEXT_BYTES = 1 << 28 /* of names */
};

/* HDF5's error messages: addresses and senseless numbers are taken out. */

/* Characters of a number that says nothing, or 0. */
static size_t reason_number(const char *at)
{
    static const char most[] = "9223372036854775807";
    enum { MOST_DIGITS = sizeof most - 1 };
    if (at[0] == '0' && at[1] == 'x') {
        return 2 + strspn(at + 2, "0123456789abcdefABCDEF");
    }
    size_t digits = strspn(at, "0123456789");
    int is_too_large =
        digits > MOST_DIGITS || (digits == MOST_DIGITS && strncmp(at, most, MOST_DIGITS) > 0);
    return is_too_large ? digits : 0;
}

static char *reason_join(char *from, const char *to)
{
    memmove(from, to, strlen(to) + 1);
    return from;
}

/* Takes out the number at `at`; gives where to go on. */
static char *reason_drop(char *reason, char *at, size_t length)
{
    char *from = at;
    char *to = at + length;
    while (from > reason && from[-1] == ' ') {
        from--;
    }
    if (from == reason || from[-1] != '=') {
        *at = '?';
        return reason_join(at + 1, to);
    }
    while (from > reason && !strchr(",:(", from[-1])) {
        from--;
    }
    if (from > reason && from[-1] == ',') {
        return reason_join(from - 1, to);
    }
    from += strspn(from, " ");
    to += *to == ',';
    to += strspn(to, " ");
    return reason_join(from, to);
}

void h5_reason_clean(char *reason)
{
    int begins = 1; /* a word */
    for (char *end = strchr(reason, '\n'); end; end = strchr(end, '\n')) {
        *end = ' ';
    }
    for (char *at = reason; *at;) {
        const char *quoted = *at == '\'' && begins ? strchr(at + 1, '\'') : NULL;
        size_t length = begins ? reason_number(at) : 0;
        if (length > 0) {
            at = reason_drop(reason, at, length);
            begins = 0;
        } else {
            begins = !quoted && (*at == ' ' || *at == '=' || *at == '(');
            at += quoted ? quoted - at + 1 : 1;
        }
    }
}

/* H5Ewalk2 goes from the outermost frame inwards: the last one kept is the reason. */
static herr_t h5_keep_innermost(unsigned depth, const H5E_error2_t *frame, void *out)
{
    (void)depth;
    snprintf(out, H5_REASON, "%s", frame->desc ? frame->desc : "");
    return 0;
}

status_t h5_fail(const char *format, ...)
{
    char context[1024];
    char reason[H5_REASON] = "";
    va_list args;
    va_start(args, format);
    display_format_list(context, sizeof context, format, args);
    va_end(args);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, h5_keep_innermost, reason);
    h5_reason_clean(reason);
    /* Failed writes come with strerror(). */
    int is_full = strstr(reason, strerror(ENOSPC)) || strstr(reason, strerror(EDQUOT)) ||
                  strstr(reason, strerror(EFBIG));
    int is_memory = strstr(reason, "memory allocation failed") ||
                    strstr(reason, strerror(EMFILE)) || strstr(reason, strerror(ENFILE)) ||
                    strstr(reason, strerror(ENOMEM));
    status_t st = is_full ? STATUS_NO_SPACE : is_memory ? STATUS_DEVICE : STATUS_DATA;
    report_fail(st, "%s (HDF5: %s)", context, reason[0] ? reason : "no reason");
    /* A write that failed in our own driver (io/hdf5/h5_file.h) has told the cause. */
    return report_cause_status();
}

int h5_failed_for(const char *words)
{
    char reason[H5_REASON] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, h5_keep_innermost, reason);
    return strstr(reason, words) != NULL;
}

void h5_begin(void)
{
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1); /* it would collide with our own lock */
    /* Everything is closed where it belongs; HDF5's own tidying up at exit crashes when a file
     * could not be closed, on a full disk for example. */
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void h5_close(hid_t id)
{
    if (id < 0) {
        return;
    }
    const H5I_type_t type = H5Iget_type(id);
    if (type == H5I_DATASET) {
        H5Dclose(id); /* closed even if that fails */
    } else if (type == H5I_FILE) {
        h5_close_file(id);
    } else {
        H5Idec_ref(id);
    }
}

hid_t h5_move(hid_t *id)
{
    const hid_t moved = *id;
    *id = -1;
    return moved;
}

void h5_close_two(hid_t (*two)[2])
{
    h5_close((*two)[1]);
    h5_close((*two)[0]);
}

herr_t h5_close_file(hid_t file)
{
    /* HDF5 frees a driver that nothing else uses, and then reads where its function is that closes
     * the file. This list uses it until then. */
    hid_t access = H5Fget_access_plist(file);
    herr_t closed = H5Fclose(file);
    h5_close(access);
    return closed;
}

void h5_allow_cut(hid_t access)
{
    const hbool_t yes = 1;
    /* h5clear uses this property; if HDF5 does not have it, such files are not opened. */
    if (H5Pexist(access, "skip_eof_check") > 0) {
        H5Pset(access, "skip_eof_check", &yes);
    }
}

int h5_is_cut(hid_t file, uint64_t bytes)
{
    hsize_t declared = 0;
    return H5Fget_filesize(file, &declared) >= 0 && declared > bytes;
}

uint64_t h5_end(const char *path, uint64_t bytes)
{
    enum { VERSION = 8, OFFSET_BYTES = 9, END = 28, HEAD = 36 };
    unsigned char head[HEAD];
    SCOPED(file_close_at) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || pread(fd, head, HEAD, 0) != HEAD || head[VERSION] < 2 || head[VERSION] > 3 ||
        head[OFFSET_BYTES] != 8) {
        return bytes;
    }
    return min_u64(bytes, load_u64(head + END, 0));
}

/* At 0, 512, 1024, 2048, ... bytes: what comes before is the user's (HDF5 file format 2.0, II.A).
 */
static int h5_has_signature(int fd)
{
    enum { FIRST_USER_BLOCK = 512 };
    char found[MARK_BYTES];
    struct stat info;
    int is_hdf5 = 0;
    if (fd < 0 || fstat(fd, &info) != 0) {
        is_hdf5 = -1;
    } else if (S_ISREG(info.st_mode)) {
        off_t at = 0;
        while (is_hdf5 == 0 && at + (off_t)sizeof found <= info.st_size) {
            ssize_t got = pread(fd, found, sizeof found, at);
            is_hdf5 =
                got < 0 ? -1
                        : got == sizeof found && !memcmp(found, mark_hdf5_signature, sizeof found);
            at = at ? 2 * at : FIRST_USER_BLOCK;
        }
    }
    return is_hdf5;
}

int h5_is_hdf5(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is_hdf5 = h5_has_signature(fd);
    file_close(fd);
    return is_hdf5;
}

static status_t h5_open(const char *path, int may_be_cut, hid_t *out)
{
    struct stat info;
    SCOPED(h5_close_at) hid_t access = -1;
    SCOPED(h5_close_at) hid_t root = -1;
    SCOPED(h5_close_at) hid_t file = -1;
    SCOPED(file_close_at) int fd = -1;
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    REQUIRE(S_ISREG(info.st_mode), STATUS_DATA, "%s is not a file", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    REQUIRE(fd >= 0, reason_is_out_of(errno) ? STATUS_DEVICE : STATUS_DATA, "%s cannot be read: %s",
            path, strerror(errno));
    apart_at("%s", path);
    TRY(mark_refuse(fd, path));
    int is_hdf5 = h5_has_signature(fd);
    REQUIRE(is_hdf5 >= 0, STATUS_DATA, "%s cannot be read: %s", path, strerror(errno));
    REQUIRE(is_hdf5 > 0, STATUS_DATA, "%s is not an HDF5 file (%llu bytes)", path,
            (unsigned long long)info.st_size);
    file_close(fd); /* some systems drop the locks of a file with any of its descriptors */
    fd = -1;
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0 && may_be_cut) {
        access = H5Pcreate(H5P_FILE_ACCESS);
        h5_allow_cut(access);
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
        if (file >= 0 && h5_is_cut(file, (uint64_t)info.st_size)) {
            root = H5Gopen2(file, "/", H5P_DEFAULT);
            H5_TRY(root, "%s is truncated: it ends after %llu bytes, before its first group", path,
                   (unsigned long long)info.st_size);
            report_warn("%s is truncated: it ends after %llu bytes, and declares more", path,
                        (unsigned long long)info.st_size);
        }
    }
    /* HDF5 compares the end that the file declares with its size: the usual fate of a copy that
     * broke off. */
    H5_TRY(file, "%s cannot be opened, is it truncated? It contains %llu bytes", path,
           (unsigned long long)info.st_size);
    *out = h5_move(&file);
    return STATUS_OK;
}

status_t h5_open_file(const char *path, hid_t *out)
{
    return h5_open(path, 0, out);
}

status_t h5_open_cut_file(const char *path, hid_t *out)
{
    return h5_open(path, 1, out);
}

static status_t h5_make_dataset(hid_t file, const char *name, hid_t type, int rank,
                                const hsize_t *dims, H5D_alloc_time_t when, hid_t *out)
{
    SCOPED(h5_close_at) hid_t space = H5Screate_simple(rank, dims, NULL);
    SCOPED(h5_close_at) hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5_TRY(H5Pset_layout(plist, H5D_CONTIGUOUS), "dataset %s cannot be planned", name);
    H5_TRY(H5Pset_alloc_time(plist, when), "dataset %s cannot be planned", name);
    H5_TRY(H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER), "dataset %s cannot be planned", name);
    H5_TRY(H5Pset_obj_track_times(plist, 0), "dataset %s cannot be planned", name);
    *out = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    return H5_TRIED(*out, "dataset %s cannot be made", name);
}

status_t h5_create_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                           hid_t *out)
{
    return h5_make_dataset(file, name, type, rank, dims, H5D_ALLOC_TIME_EARLY, out);
}

status_t h5_create_placeless(hid_t file, const char *name, hid_t type, int rank,
                             const hsize_t *dims, hid_t *out)
{
    return h5_make_dataset(file, name, type, rank, dims, H5D_ALLOC_TIME_LATE, out);
}

status_t h5_place_last(hid_t file, const char *name)
{
    static const hsize_t first[H5S_MAX_RANK] = {0};
    static const uint64_t nothing[4] = {0}; /* a number, or two */
    SCOPED(h5_close_at) hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    SCOPED(h5_close_at) hid_t from = H5Dget_space(dataset);
    SCOPED(h5_close_at) hid_t type = H5Dget_type(dataset);
    SCOPED(h5_close_at) hid_t to = H5Screate(H5S_SCALAR);
    H5_TRY(dataset, "dataset %s cannot be opened", name);
    H5_TRY(H5Fflush(file, H5F_SCOPE_GLOBAL), "a file cannot be written");
    H5_TRY(H5Sselect_elements(from, H5S_SELECT_SET, 1, first), "dataset %s has no elements", name);
    /* The first write gives a dataset its place. */
    REQUIRE(H5Tget_size(type) <= sizeof nothing, STATUS_DATA, "dataset %s is of large elements",
            name);
    return H5_TRIED(H5Dwrite(dataset, type, to, from, H5P_DEFAULT, nothing),
                    "dataset %s gets no place", name);
}

haddr_t h5_offset(hid_t dataset)
{
    haddr_t at = H5Dget_offset(dataset);
    hid_t plist = at != HADDR_UNDEF ? H5Dget_create_plist(dataset) : -1;
    /* To no place at all, and to that of external files, HDF5 adds the file's user block. */
    int is_there =
        plist >= 0 && H5Pget_external_count(plist) == 0 && H5Dget_storage_size(dataset) > 0;
    h5_close(plist);
    return is_there ? at : HADDR_UNDEF;
}

status_t h5_refuse_external(hid_t dataset, const char *where, const char *name)
{
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", where, name);
    return REQUIRED(H5Pget_external_count(plist) <= 0, STATUS_DATA,
                    "%s: the values of %s are in external files, expected them in the file itself",
                    where, name);
}

status_t h5_has(hid_t at, const char *where, const char *name, int *out)
{
    SCOPED(free_at) char *way = NULL;
    htri_t exists = 1;
    TRY(memory_text(name, &way));
    /* To HDF5 it is an error when one on the way is not there. */
    for (char *end = way + strspn(way, "/"); *end && exists > 0; end += strspn(end, "/")) {
        end += strcspn(end, "/");
        char was = *end;
        *end = '\0';
        exists = H5Lexists(at, way, H5P_DEFAULT);
        H5_TRY(exists, "%s: %s cannot be looked up", where, way);
        *end = was;
    }
    *out = exists > 0;
    return STATUS_OK;
}

status_t h5_has_attribute(hid_t object, const char *where, const char *name, int *out)
{
    apart_at("%s: attribute %s", where, name);
    htri_t exists = H5Aexists(object, name);
    H5_TRY(exists, "%s: attribute %s cannot be looked up", where, name);
    *out = exists > 0;
    return STATUS_OK;
}

status_t h5_dataset_of(hid_t id, const char *where, struct h5_dataset *out)
{
    int is_attribute = H5Iget_type(id) == H5I_ATTR;
    const char *what = is_attribute ? "an attribute" : "a dataset";
    *out = (struct h5_dataset){.id = id};
    out->type = is_attribute ? H5Aget_type(id) : H5Dget_type(id);
    out->space = is_attribute ? H5Aget_space(id) : H5Dget_space(id);
    H5_TRY(out->type, "%s: the type of %s cannot be read", where, what);
    H5_TRY(out->space, "%s: the shape of %s cannot be read", where, what);
    out->rank = H5Sget_simple_extent_dims(out->space, out->dims, NULL);
    H5_TRY(out->rank, "%s: the shape of %s cannot be read", where, what);
    hssize_t points = H5Sget_simple_extent_npoints(out->space);
    out->count = points > 0 ? (uint64_t)points : 0;
    return STATUS_OK;
}

status_t h5_dataset_open(hid_t at, const char *where, const char *name, struct h5_dataset *out)
{
    apart_at("%s: %s", where, name);
    hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
    H5_TRY(dataset, "%s: %s cannot be opened", where, name);
    return h5_dataset_of(dataset, where, out);
}

status_t h5_attribute_open(hid_t object, const char *where, const char *name,
                           struct h5_dataset *out)
{
    int is_there = 0;
    TRY(h5_has_attribute(object, where, name, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    H5_TRY(attribute, "%s: attribute %s cannot be opened", where, name);
    return h5_dataset_of(attribute, where, out);
}

void h5_dataset_close(struct h5_dataset *dataset)
{
    const hid_t ids[] = {dataset->space, dataset->type, dataset->id};
    for (int i = 0; i < 3; i++) {
        h5_close(ids[i] > 0 ? ids[i] : -1);
    }
    *dataset = (struct h5_dataset){0};
}

herr_t h5_values_read(const struct h5_dataset *values, hid_t type, void *out)
{
    return H5Iget_type(values->id) == H5I_ATTR
               ? H5Aread(values->id, type, out)
               : H5Dread(values->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

/* Fails where a number has a fraction, which HDF5 would leave out, or is none, if floating point is
 * read as integers of 8 bytes. `raw` has room for all of them. */
static status_t h5_require_whole(const struct h5_dataset *values, const char *where,
                                 const char *name, hid_t type, void *raw)
{
    if (H5Tget_class(values->type) != H5T_FLOAT || H5Tget_class(type) != H5T_INTEGER ||
        H5Tget_size(type) != sizeof(double)) {
        return STATUS_OK;
    }
    H5_TRY(h5_values_read(values, H5T_NATIVE_DOUBLE, raw), "%s: %s cannot be read", where, name);
    for (uint64_t i = 0; i < values->count; i++) {
        double number = 0;
        memcpy(&number, (const char *)raw + i * sizeof number, sizeof number);
        REQUIRE(fabs(number) < 0x1p63 && number <= floor(number), STATUS_DATA,
                "%s: %s%s is %.17g, expected a whole number", where,
                H5Iget_type(values->id) == H5I_ATTR ? "attribute " : "", name, number);
    }
    return STATUS_OK;
}

status_t h5_dataset_read(const struct h5_dataset *dataset, const char *where, const char *name,
                         hid_t type, uint64_t count, void *out)
{
    REQUIRE(dataset->count == count, STATUS_DATA, "%s: %s contains %llu values, expected %llu",
            where, name, (unsigned long long)dataset->count, (unsigned long long)count);
    TRY(h5_refuse_external(dataset->id, where, name));
    TRY(h5_require_whole(dataset, where, name, type, out));
    return H5_TRIED(h5_values_read(dataset, type, out), "%s: %s cannot be read", where, name);
}

status_t h5_type_as(hid_t memory, const char *where, const char *member, hid_t *out)
{
    *out = member ? H5Tcreate(H5T_COMPOUND, H5Tget_size(memory)) : H5Tcopy(memory);
    H5_TRY(*out, "%s: a type cannot be made", where);
    return H5_TRIED(member ? H5Tinsert(*out, member, 0, memory) : 0, "%s: a type cannot be made",
                    where);
}

/* HDF5 crashes on members that are outside of their compound. */
status_t h5_number_type(hid_t stored, const char *where, const char *member, hid_t number,
                        hid_t *out)
{
    SCOPED(h5_close_at) hid_t of = -1;
    int index =
        member && H5Tget_class(stored) == H5T_COMPOUND ? H5Tget_member_index(stored, member) : -1;
    REQUIRE(!member || index >= 0, STATUS_DATA, "%s has no member %s", where, member);
    of = member ? H5Tget_member_type(stored, (unsigned)index) : H5Tcopy(stored);
    H5_TRY(of, "%s: its type cannot be read", where);
    H5T_class_t class = H5Tget_class(of);
    REQUIRE(class == H5T_INTEGER || class == H5T_FLOAT, STATUS_DATA,
            "%s%s%s does not contain numbers", where, member ? ": " : "", member ? member : "");
    if (member) {
        size_t at = H5Tget_member_offset(stored, (unsigned)index);
        size_t bytes = H5Tget_size(stored);
        REQUIRE(at <= bytes && H5Tget_size(of) <= bytes - at, STATUS_DATA,
                "%s: its member %s is outside of it", where, member);
    }
    return h5_type_as(number, where, member, out);
}

/* Whether a file holds all values of a dataset, in one piece: then it states no absurd number. */
static int h5_is_stored(const struct h5_dataset *values)
{
    hsize_t bytes = 0;
    hid_t file = H5Iget_type(values->id) == H5I_DATASET ? H5Iget_file_id(values->id) : -1;
    int is_stored = file > 0 && h5_offset(values->id) != HADDR_UNDEF &&
                    H5Fget_filesize(file, &bytes) >= 0 &&
                    values->count <= bytes / H5Tget_size(values->type);
    h5_close(file);
    return is_stored;
}

/* Fails where there are none, or absurdly many. */
static status_t h5_check_count(const struct h5_dataset *values, const char *where, const char *name)
{
    enum { MOST = 1 << 27 };
    return REQUIRED(values->count >= 1 && (values->count <= MOST || h5_is_stored(values)),
                    STATUS_DATA, "%s: %s contains %llu values", where, name,
                    (unsigned long long)values->count);
}

/* Turns the texts that HDF5 read (fixed length, or variable length pointers) into our own. */
static status_t h5_copy_texts(const char *raw, size_t size, int variable, size_t count, char **out)
{
    for (size_t i = 0; i < count; i++) {
        const char *from = raw + i * size;
        size_t length = variable ? 0 : strnlen(from, size);
        if (variable) {
            memcpy(&from, raw + i * size, sizeof from);
            length = from ? strlen(from) : 0;
        }
        /* Fixed texts may be padded with blanks. */
        while (length > 0 && from[length - 1] == ' ') {
            length--;
        }
        TRY(memory_zeroed(length + 1, 1, "a text", &out[i]));
        if (length > 0) {
            memcpy(out[i], from, length);
        }
    }
    return STATUS_OK;
}

void h5_names_free(struct h5_names *names)
{
    text_free_list(names->names, names->count);
    *names = (struct h5_names){NULL, 0};
}

static status_t h5_read_text_list(const struct h5_dataset *from, const char *where,
                                  const char *name, char ***out, size_t *out_count)
{
    status_t st = STATUS_OK;
    char *raw = NULL;
    char **texts = NULL;
    size_t count = (size_t)from->count;
    REQUIRE_OUT(H5Tget_class(from->type) == H5T_STRING, STATUS_DATA, "%s: %s is not text", where,
                name);
    TRY_OUT(h5_check_count(from, where, name));
    int variable = H5Tis_variable_str(from->type) > 0;
    size_t size = variable ? sizeof(char *) : H5Tget_size(from->type);
    /* A damaged file may state any number. */
    REQUIRE_OUT(size > 0 && count <= MOST_TEXT_BYTES / size, STATUS_DATA,
                "%s: %s contains %zu texts of %zu bytes: too much for names", where, name, count,
                size);
    TRY_OUT(memory_zeroed(count, size, name, &raw));
    H5_TRY_OUT(h5_values_read(from, from->type, raw), "%s: %s cannot be read", where, name);
    TRY_OUT(memory_zeroed(count, sizeof *texts, name, &texts));
    TRY_OUT(h5_copy_texts(raw, size, variable, count, texts));
    *out = texts;
    *out_count = count;
    texts = NULL;
out:
    if (raw && H5Tis_variable_str(from->type) > 0) {
        h5_reclaim(from->type, from->space, raw);
    }
    text_free_list(texts, count);
    free(raw);
    return st;
}

status_t h5_get_texts(hid_t object, const char *where, const char *name, int any_kind, char ***out,
                      size_t *count)
{
    SCOPED(h5_dataset_close) struct h5_dataset attribute = {0};
    *count = 0;
    TRY(h5_attribute_open(object, where, name, &attribute));
    if (attribute.id > 0 &&
        (!any_kind || (H5Tget_class(attribute.type) == H5T_STRING && attribute.count > 0))) {
        TRY(h5_read_text_list(&attribute, where, name, out, count));
    }
    return STATUS_OK;
}

static status_t h5_get_a_text(hid_t object, const char *where, const char *name, int any_kind,
                              char **value, int *found)
{
    SCOPED(h5_names_free) struct h5_names texts = {0};
    *found = 0;
    TRY(h5_get_texts(object, where, name, any_kind, &texts.names, &texts.count));
    if (texts.count > 0) {
        *value = memory_move(&texts.names[0]);
    }
    *found = texts.count > 0;
    return STATUS_OK;
}

status_t h5_get_text(hid_t object, const char *where, const char *name, char **value, int *found)
{
    return h5_get_a_text(object, where, name, 0, value, found);
}

status_t h5_find_text(hid_t object, const char *where, const char *name, char **value, int *found)
{
    return h5_get_a_text(object, where, name, 1, value, found);
}

status_t h5_says(hid_t object, const char *where, const char *name, const char *word, int *out)
{
    char *text = NULL;
    int found = 0;
    TRY(h5_find_text(object, where, name, &text, &found));
    *out = found && strcmp(text, word) == 0;
    free(text);
    return STATUS_OK;
}

/* Reads the number of an attribute as `memory_type`, of 8 bytes; an array must have one value. */
static status_t h5_get_number(hid_t object, const char *where, const char *name, hid_t memory_type,
                              void *value, int *found)
{
    SCOPED(h5_dataset_close) struct h5_dataset attribute = {0};
    SCOPED(free_at) char *raw = NULL;
    size_t size = H5Tget_size(memory_type);
    *found = 0;
    TRY(h5_attribute_open(object, where, name, &attribute));
    if (attribute.id > 0) {
        H5T_class_t class = H5Tget_class(attribute.type);
        REQUIRE(class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM, STATUS_DATA,
                "%s: attribute %s is not a number", where, name);
        TRY(h5_check_count(&attribute, where, name));
        TRY(memory_zeroed((size_t)attribute.count, size, name, &raw));
        TRY(h5_require_whole(&attribute, where, name, memory_type, raw));
        H5_TRY(h5_values_read(&attribute, memory_type, raw), "%s: attribute %s cannot be read",
               where, name);
        for (uint64_t i = 1; i < attribute.count; i++) {
            REQUIRE(memcmp(raw, raw + i * size, size) == 0, STATUS_DATA,
                    "%s: attribute %s contains %" PRIu64 " different values, expected one", where,
                    name, attribute.count);
        }
        memcpy(value, raw, size);
        *found = 1;
    }
    return STATUS_OK;
}

status_t h5_get_f64(hid_t object, const char *where, const char *name, double *value, int *found)
{
    return h5_get_number(object, where, name, H5T_NATIVE_DOUBLE, value, found);
}

status_t h5_get_i64(hid_t object, const char *where, const char *name, int64_t *value, int *found)
{
    return h5_get_number(object, where, name, H5T_NATIVE_INT64, value, found);
}

/* Writes one attribute, a scalar. */
status_t h5_put_number(hid_t object, const char *name, hid_t type, const void *value)
{
    SCOPED(h5_close_at) hid_t attribute = -1;
    SCOPED(h5_close_at) hid_t space = H5Screate(H5S_SCALAR);
    H5_TRY(space, "attribute %s cannot be made", name);
    if (H5Aexists(object, name) > 0) {
        attribute = H5Aopen(object, name, H5P_DEFAULT);
    } else {
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5_TRY(attribute, "attribute %s cannot be made", name);
    return H5_TRIED(H5Awrite(attribute, type, value), "attribute %s cannot be written", name);
}

status_t h5_put_text(hid_t object, const char *name, const char *value)
{
    if (!value) {
        return STATUS_OK;
    }
    SCOPED(h5_close_at) hid_t type = H5Tcopy(H5T_C_S1);
    H5_TRY(H5Tset_size(type, strlen(value) + 1), "attribute %s cannot be made", name);
    H5_TRY(H5Tset_cset(type, H5T_CSET_UTF8), "attribute %s cannot be made", name);
    return h5_put_number(object, name, type, value);
}

status_t h5_put_f64(hid_t object, const char *name, double value)
{
    return h5_put_number(object, name, H5T_NATIVE_DOUBLE, &value);
}

status_t h5_put_i32(hid_t object, const char *name, int32_t value)
{
    return h5_put_number(object, name, H5T_NATIVE_INT32, &value);
}

status_t h5_put_u64(hid_t object, const char *name, uint64_t value)
{
    return h5_put_number(object, name, H5T_NATIVE_UINT64, &value);
}

status_t h5_read_texts(hid_t file, const char *where, const char *name, char ***out, size_t *count)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    TRY(h5_dataset_open(file, where, name, &dataset));
    TRY(h5_refuse_external(dataset.id, where, name));
    return h5_read_text_list(&dataset, where, name, out, count);
}

status_t h5_read_f64s(hid_t file, const char *where, const char *name, double **out, size_t *count)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    TRY(h5_dataset_open(file, where, name, &dataset));
    TRY(h5_refuse_external(dataset.id, where, name));
    TRY(h5_check_count(&dataset, where, name));
    TRY(memory_zeroed((size_t)dataset.count, sizeof **out, name, out));
    H5_TRY(h5_values_read(&dataset, H5T_NATIVE_DOUBLE, *out), "%s: %s cannot be read as numbers",
           where, name);
    *count = (size_t)dataset.count;
    return STATUS_OK;
}
