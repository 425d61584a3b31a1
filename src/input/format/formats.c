/* The table of formats, asked row by row. */
#include "input/format/formats.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "input/format/dada.h"
#include "input/format/fields.h"
#include "input/format/gather.h"
#include "input/format/recorder.h"
#include "input/format/vdif_first.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/mark.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* Files that no format recognises, by their first bytes. */

enum {
    HEAD = 512 << 10, /* bytes: two frames of Mark 4 with 64 tracks, and what comes before */
    LEAST_HEADER = 16,
    FIRST_BYTES = 4096
};

struct unread_file {
    const char *path;
    const char *bytes; /* the first ones */
    size_t length;
};

/* Bytes that show a format alone, and the clause about it. */
struct unread_row {
    size_t at;
    const char *bytes;
    size_t count;
    const char *clause;
};
#define BYTES(text) text, sizeof(text) - 1
static const struct unread_row unread_rows[] = {
    {0, BYTES("\xed\xde\xad\xab"),
     "looks like Mark 5B (sync word 0xABADDEED), which is not read: convert it to VDIF"},
    {40, BYTES("\xfe\xca\xed\xfe"),
     "looks like CODIF (sync word 0xFEEDCAFE), which is not read: convert it to VDIF (codif2vdif)"},
    {20, BYTES("\xed\xfe\xab\xac"),
     "looks like VDIF (sync word 0xACABFEED), but no frame follows at the distance that the first "
     "header states"},
    {0, BYTES("\xde\xc0\xde\x5c"),
     "looks like LWA packets (sync word 0xDEC0DE5C), but has no whole DRX packet of 4128 or 8224 "
     "bytes with a beam and a decimation; TBN and TBW are not read"},
    {0, BYTES("\x66\x66\xed\xfe"),
     "looks like one of the files among which a Mark 6 scattered a recording (sync word "
     "0xFEED6666), with every Nth block: gather them first (mk6gather, m6sg_gather)"},
    {0, BYTES("\xd4\xc3\xb2\xa1"),
     "is a capture of a network (pcap): extract the payload of its packets first"},
    {0, BYTES("\x4d\x3c\xb2\xa1"),
     "is a capture of a network (pcap): extract the payload of its packets first"},
    {0, BYTES("\x0a\x0d\x0d\x0a"),
     "is a capture of a network (pcapng): extract the payload of its packets first"},
    {0, BYTES("\x1f\x8b"), "is compressed with gzip: uncompress it first (gunzip)"},
    {0, BYTES("BZh"), "is compressed with bzip2: uncompress it first (bunzip2)"},
    {0, BYTES("\3757zXZ"), "is compressed with xz: uncompress it first (unxz)"},
    {0, BYTES("\x28\xb5\x2f\xfd"), "is compressed with zstd: uncompress it first (unzstd)"},
    {0, BYTES("\x04\x22\x4d\x18"), "is compressed with lz4: uncompress it first (unlz4)"},
    {0, BYTES("PK\3\4"), "is a zip archive: unpack it first (unzip)"},
    {257, BYTES("ustar"), "is a tar archive without SigMF metadata: unpack it first (tar xf)"},
    {0, BYTES("\x89HDF"),
     "has a damaged signature of HDF5, as by a transfer in text mode: transfer it again"},
};
enum { UNREAD_ROWS = sizeof unread_rows / sizeof *unread_rows };

static status_t unread_signature(const struct unread_file *file, struct text *out)
{
    for (size_t i = 0; i < UNREAD_ROWS; i++) {
        const struct unread_row *row = &unread_rows[i];
        if (row->at + row->count <= file->length &&
            memcmp(file->bytes + row->at, row->bytes, row->count) == 0) {
            return text_add(out, "%s", row->clause);
        }
    }
    return STATUS_OK;
}

/* Describes what is wrong with a file that contains HEADER_START. SIGPROC files begin with 12, as a
 * little-endian int32, and this word. */
static status_t unread_sigproc(const struct unread_file *file, struct text *out)
{
    static const char word[] = "HEADER_START";
    enum { PREFIX = 4, LENGTH = sizeof word - 1 };
    const size_t searched = min_u64(file->length, FIRST_BYTES);
    const char *found = searched > 0 ? memmem(file->bytes, searched, word, LENGTH) : NULL;
    size_t at = found ? (size_t)(found - file->bytes) : 0;
    uint32_t length = at >= PREFIX ? load_u32(found - PREFIX, 0) : 0;
    if (!found) {
        return STATUS_OK;
    }
    if (length == (uint32_t)LENGTH << 24) {
        return text_add(out, "looks like a SIGPROC file of a big-endian machine: its header begins "
                             "with the bytes 0 0 0 12, expected 12 0 0 0: swap the bytes of its "
                             "header and its samples first");
    }
    return text_add(out,
                    "looks like a damaged SIGPROC file: HEADER_START is at byte %zu after the "
                    "length %u, expected at byte 4 after the length 12",
                    at, length);
}

static status_t unread_fits(const struct unread_file *file, struct text *out)
{
    char value[ASCII_VALUE];
    const struct ascii header = {file->path, 0, file->bytes, min_u64(file->length, FIRST_BYTES), 1};
    if (file->length < ASCII_CARD || memcmp(file->bytes, "SIMPLE  =", 9) != 0) {
        return STATUS_OK;
    }
    return text_add(out, "is FITS, but no search-mode PSRFITS: FITSTYPE is %s, expected PSRFITS",
                    ascii_find(&header, "FITSTYPE", value) ? value : "missing");
}

/* Explains a header whose cards end before END, in bytes that are no card. */
static status_t unread_cards(const struct unread_file *file, struct text *out)
{
    struct ascii header = {file->path, 0, file->bytes, 0, 1};
    size_t without = 0;
    size_t with = 0;
    int ends = 0;
    while (header.length + ASCII_CARD <= file->length && ends == 0) {
        ends = ascii_end_of_cards(file->bytes + header.length, ASCII_CARD, &without, &with);
        header.length += ends == 0 ? ASCII_CARD : 0;
    }
    if (ends <= 0 &&
        (ascii_find(&header, "BLOCSIZE", NULL) || ascii_find(&header, "OBSNCHAN", NULL))) {
        return text_add(
            out,
            "looks like GUPPI RAW, but its first header has no END before byte %zu, which "
            "begins no card of %d characters",
            header.length, ASCII_CARD);
    }
    const char *card =
        file->length > 0 ? memmem(file->bytes, file->length, "BLOCSIZE= ", 10) : NULL;
    if (card) {
        TRY(text_add(out,
                     "looks like GUPPI RAW, but does not begin with a header (BLOCSIZE is at byte "
                     "%zu)",
                     (size_t)(card - file->bytes)));
    }
    return STATUS_OK;
}

/* Lines of PSRDADA's keys without those that show it alone. */
static status_t unread_lines(const struct unread_file *file, struct text *out)
{
    static const char *const keys[] = {"HDR_SIZE", "HDR_VERSION", "NBIT",  "NCHAN",     "UTC_START",
                                       "NDIM",     "NPOL",        "TSAMP", "OBS_OFFSET"};
    enum { KEYS = sizeof keys / sizeof *keys, SIZES = 2, ENOUGH = 2 };
    SCOPED(text_free) struct text head = {0};
    int found = 0;
    int has_size = 0;
    TRY(dada_head(file->path, DADA_HEADER, &head, NULL));
    const struct ascii header = {file->path, 0, head.data, head.length, 0};
    for (int i = 0; i < KEYS; i++) {
        int is_there = ascii_find(&header, keys[i], NULL);
        found += is_there;
        has_size += is_there && i < SIZES;
    }
    if (found >= ENOUGH || has_size > 0) {
        TRY(text_add(out, "looks like PSRDADA, but its header has %s",
                     has_size > 0 ? "none of NBIT, NCHAN and UTC_START"
                                  : "neither HDR_SIZE nor HDR_VERSION"));
    }
    return STATUS_OK;
}

/* VDIF of numbers that are not read: headers follow each other as the first one states. */
static status_t unread_vdif(const struct unread_file *file, struct text *out)
{
    enum { VERSION_AT = 11, VERSION_SHIFT = 5 };
    struct identity identity;
    struct vdif_header first;
    uint64_t invalid = 0;
    int is_followed = 0;
    SCOPED(file_close_at) int fd = -1;
    TRY(recorder_open_begin(file->path, &fd, &identity));
    if (fd < 0 || file->length < VDIF_BYTES) {
        return STATUS_OK;
    }
    const unsigned char *bytes = (const unsigned char *)file->bytes;
    vdif_header_read(bytes, &first);
    const struct packets_seek seek = {.fd = fd, .path = file->path, .bytes = identity.bytes};
    TRY(vdif_is_possible(&first) ? vdif_is_followed(&seek, 0, &first, &is_followed)
                                 : vdif_count_invalid(&seek, &invalid));
    if (invalid > 0) {
        TRY(text_add(out,
                     "looks like VDIF, but its first %s frames are flagged invalid, and no "
                     "valid one begins in its first 16 MiB: input.layout {format: vdif} looks "
                     "further",
                     units_count(invalid)));
    }
    if (is_followed) {
        TRY(text_add(out,
                     "looks like VDIF (version %u, numbers of %u bits), expected version 0 or 1 "
                     "and 1, 2, 4, 8, 16 or 32 bits",
                     (unsigned)bytes[VERSION_AT] >> VERSION_SHIFT, first.bits));
    }
    return STATUS_OK;
}

/* Mark 4: 160 bits of header for each track side by side, of which the third 32 are ones, every
 * 2500 bytes of each track. */
static status_t unread_mark4(const struct unread_file *file, struct text *out)
{
    enum { TRACKS = 3, FRAME = 2500, SYNC = 4 /* bytes of each track */, LEAST_RUN = 64 };
    static const size_t tracks[TRACKS] = {16, 32, 64};
    size_t run = 0;
    for (size_t end = 1; end <= file->length; end++) {
        run = file->bytes[end - 1] == '\xff' ? run + 1 : 0;
        for (size_t i = 0; i < TRACKS && run >= LEAST_RUN; i++) {
            size_t next = end - run + FRAME * tracks[i];
            if (run == SYNC * tracks[i] && end < file->length && file->bytes[end] != '\xff' &&
                next + run <= file->length &&
                memcmp(file->bytes + end - run, file->bytes + next, run) == 0) {
                return text_add(out,
                                "looks like Mark 4 of %zu tracks, which is not read: convert it to "
                                "VDIF",
                                tracks[i]);
            }
        }
    }
    return STATUS_OK;
}

/* Files of a few bytes, or that begin with a hole. */
static status_t unread_empty(const struct unread_file *file, struct text *out)
{
    if (file->length < LEAST_HEADER) {
        return text_add(out, "is shorter than any header");
    }
    for (size_t i = 0; i < FIRST_BYTES && i < file->length; i++) {
        if (file->bytes[i] != '\0') {
            return STATUS_OK;
        }
    }
    return text_add(out, "begins with zeros where its header should be");
}

/* Appends a clause such as "looks like Mark 5B (...): convert it to VDIF"; nothing where the first
 * bytes show nothing. Fails with DATA: it cannot be read. */
static status_t unread_describe(const char *path, struct text *out)
{
    static status_t (*const looks[])(const struct unread_file *, struct text *) = {
        unread_vdif,  unread_signature, unread_sigproc, unread_fits,
        unread_cards, unread_lines,     unread_mark4,   unread_empty};
    SCOPED(text_free) struct text head = {0};
    size_t before = out->length;
    TRY(recorder_head(path, HEAD, &head));
    const struct unread_file file = {path, head.data, head.length};
    for (size_t i = 0; i < sizeof looks / sizeof *looks && out->length == before; i++) {
        TRY(looks[i](&file, out));
    }
    return STATUS_OK;
}

#define FORMAT_ROW(name) &(name),
static const struct format *const rows[] = {FORMATS(FORMAT_ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

/* Formats of HDF5 files would say of all others only that these are not HDF5. What cannot be looked
 * at is left to them. */
static status_t formats_check_hdf5(const char *path)
{
    struct stat info;
    SCOPED(text_free) struct text names = {0};
    SCOPED(text_free) struct text looks = {0};
    if (stat(path, &info) != 0) {
        return STATUS_OK;
    }
    REQUIRE(!S_ISDIR(info.st_mode), STATUS_DATA,
            "%s is not a file, but a folder without a recording of Digital RF: expected a file, a "
            "list of files, or a pattern as '%s/*.raw'",
            path, path);
    if (!S_ISREG(info.st_mode) || h5_is_hdf5(path) != 0) {
        return STATUS_OK;
    }
    REQUIRE(info.st_size > 0, STATUS_DATA, "%s is not an HDF5 file (0 bytes): it is empty", path);
    TRY(unread_describe(path, &looks));
    REQUIRE(looks.length == 0, STATUS_DATA, "%s is not an HDF5 file (%" PRIu64 " bytes): it %s",
            path, (uint64_t)info.st_size, looks.data);
    for (size_t i = 0; i < ROWS; i++) {
        const char *comma = names.length > 0 ? ", " : "";
        TRY(rows[i]->is_no_product && (rows[i]->recognise || rows[i]->begins)
                ? text_add(&names, "%s%s", comma, rows[i]->name)
                : STATUS_OK);
    }
    return report_fail(
        STATUS_DATA,
        "%s is not an HDF5 file (%" PRIu64
        " bytes), and shows no other format (%s): `layout: {format: NAME}` reads it as one of "
        "them (vdif: also after other bytes); other numbers: `layout: {format: raw, type: "
        "ci16_le, skip: BYTES, axes: \"time,pol:2\", sample_rate_hz: HZ, freq_hz: HZ, start: "
        "UTC}` under input of a job, or --layout '{...}'; `voltmill info --layout '{format: "
        "raw}' FILE` measures them as each type",
        path, (uint64_t)info.st_size, names.data);
}

/* Whether what is at `path` is of this format. Fails with DATA. */
static status_t formats_is(const struct format *format, const char *path, int *is_it)
{
    SCOPED(text_free) struct text begin = {0};
    *is_it = 0;
    if (format->begins) {
        TRY(recorder_head(path, format->begin_bytes, &begin));
        *is_it = begin.length > 0 && format->begins(&begin);
    } else if (format->recognise) {
        TRY(format->recognise(path, is_it));
    } else if (format->shows[0]) {
        TRY(fields_have(path, format->shows, is_it));
    }
    return STATUS_OK;
}

status_t formats_recognise(const char *path, const struct format **out)
{
    int is_it = 0;
    *out = NULL;
    apart_at("%s", path);
    TRY(mark_refuse(-1, path));
    for (size_t i = 0; i < ROWS && !is_it; i++) {
        TRY(rows[i] == &native_format ? formats_check_hdf5(path) : STATUS_OK);
        TRY(formats_is(rows[i], path, &is_it));
        *out = is_it ? rows[i] : NULL;
    }
    return STATUS_OK;
}

status_t formats_find_other(const char *path, const struct format **out)
{
    int is_asked = h5_is_hdf5(path) == 0 && mark_of(path) == MARK_NONE;
    *out = NULL;
    for (size_t i = 0; i < ROWS && is_asked && !*out; i++) {
        int is_it = 0;
        TRY(rows[i]->is_no_product ? formats_is(rows[i], path, &is_it) : STATUS_OK);
        *out = is_it ? rows[i] : NULL;
    }
    return STATUS_OK;
}

status_t formats_expect(const char *path, const char *expected)
{
    const struct format *format = NULL;
    TRY(formats_find_other(path, &format));
    return REQUIRED(!format, STATUS_USAGE, "%s is %s (%s), expected %s", path,
                    format->open_filterbank ? "a filterbank" : "an archive", format->name,
                    expected);
}

/* Adds the names of the formats of voltages. */
static status_t formats_add_names(struct text *out)
{
    for (size_t i = 0; i < ROWS; i++) {
        const char *comma = out->length > 0 ? ", " : "";
        TRY(!rows[i]->open_filterbank ? text_add(out, "%s%s", comma, rows[i]->name) : STATUS_OK);
    }
    return STATUS_OK;
}

/* Finds the format that the job names. */
static status_t formats_find(const char *name, const struct format **out)
{
    SCOPED(text_free) struct text names = {0};
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i]->open_filterbank && strcmp(rows[i]->name, name) == 0) {
            *out = rows[i];
            return STATUS_OK;
        }
    }
    TRY(formats_add_names(&names));
    return report_fail(STATUS_USAGE, "input.layout.format is %s, expected one of %s", name,
                       names.data);
}

/* Removes an impossible position, so that products do not inherit it. Warns of it. */
static void formats_check_position(const char *path, struct archive *archive)
{
    if (archive->sky.has_position &&
        !(fabs(archive->sky.ra_deg) <= 360 && fabs(archive->sky.dec_deg) <= 90)) {
        report_warn("%s: RA %.10g, Dec %.10g degrees cannot be: its position is taken as unknown",
                    path, archive->sky.ra_deg, archive->sky.dec_deg);
        archive->sky.has_position = 0;
        archive->sky.ra_deg = archive->sky.dec_deg = 0;
    }
}

/* A start of a file outside 1950 to 2100 was never set, or is damaged. */
static status_t formats_check_start(int is_said, struct sky *sky, char **assumed)
{
    enum { FIRST_DAY = 33282, LAST_DAY = 88069 /* MJD */ };
    const struct utc *start = &sky->start;
    if (!is_said && sky->has_start && (start->mjd_day < FIRST_DAY || start->mjd_day >= LAST_DAY)) {
        sky->has_start = 0;
        TRY(assume(assumed, "a start at MJD %d (%s) is outside 1950 to 2100: the start is unknown",
                   start->mjd_day, units_utc(*start)));
    }
    return STATUS_OK;
}

/* Keys that are of files without a container. */
static status_t formats_check_described(const struct format_input *input,
                                        const struct format *format)
{
    const struct job_layout *layout = input->layout;
    int is_raw = format == &raw_format;
    const char *key = layout->axes && !format->takes_axes && format != &described_format ? "axes"
                      : layout->numbers.type.bits > 0 && !is_raw                         ? "type"
                      : layout->has_skip && !is_raw                                      ? "skip"
                                                                                         : NULL;
    return REQUIRED(!key, STATUS_USAGE, "input.layout.%s is of %s, but %s is read as format %s",
                    key,
                    strcmp(key, "axes") == 0 ? "formats raw, npy, sigmf and wav" : "format raw",
                    input->paths[0], format->name);
}

status_t formats_open(const struct format_input *input, struct archive **out)
{
    const struct format *format = &described_format;
    SCOPED(text_free) struct text expected = {0};
    SCOPED(h5_close_at) hid_t file = -1;
    SCOPED(free_at) char *kind = NULL;
    enum product_kind known = PRODUCT_POWER;
    int has_kind = 0;
    for (size_t i = 0; i < input->npaths; i++) {
        apart_at("%s", input->paths[i]);
        TRY(mark_refuse(-1, input->paths[i]));
    }
    TRY(input->layout->format      ? formats_find(input->layout->format, &format)
        : input->layout->automatic ? formats_recognise(input->paths[0], &format)
                                   : STATUS_OK);
    REQUIRE(!format || !format->open_filterbank, STATUS_DATA,
            "%s is %s: it contains powers, but channelise expects voltages: a job of input and "
            "dedisperse alone reads it (docs/job-file.md); if another dataset of it contains "
            "voltages, input.layout describes them",
            input->paths[0], format->title);
    if (!format) {
        TRY(h5_open_cut_file(input->paths[0], &file));
        TRY(h5_find_text(file, input->paths[0], "format", &kind, &has_kind));
        REQUIRE(!has_kind || !product_kind_named(kind, &known), STATUS_DATA,
                "%s is a product of kind %s, expected voltages", input->paths[0], kind);
        TRY(formats_add_names(&expected));
        return report_fail(STATUS_DATA,
                           "%s is not %s, nor of another known format (%s): describe it under "
                           "input.layout, see docs/archives.md",
                           input->paths[0], NATIVE_EXPECTED, expected.data);
    }
    REQUIRE(!input->layout->has_dropped || format == &guppi_format, STATUS_USAGE,
            "input.layout.dropped is of GUPPI RAW, whose headers count lost packets, but %s is not",
            input->paths[0]);
    TRY(formats_check_described(input, format));
    TRY(format->open ? format->open(input, out) : gather_files(input, format, out));
    formats_check_position(input->paths[0], *out);
    return formats_check_start(input->layout->time.has_start, &(*out)->sky, &(*out)->assumed);
}

status_t formats_open_filterbank(const char *path, struct fbh5 **out)
{
    const struct format *format = NULL;
    TRY(formats_recognise(path, &format));
    REQUIRE(
        !format || format->open_filterbank || !format->is_no_product, STATUS_DATA,
        "%s is an archive (%s), expected a filterbank: `voltmill run JOB` makes one, where JOB has "
        "a product of kind power",
        path, format->name);
    /* A file that shows no format is opened as the commonest, which says what it lacks. */
    format = format && format->open_filterbank ? format : &fbh5_format;
    TRY(format->open_filterbank(path, out));
    TRY(formats_check_start((*out)->is_ours, &(*out)->sky, &(*out)->assumed));
    (*out)->time.tstart_mjd = (*out)->sky.has_start ? (*out)->time.tstart_mjd : 0;
    return STATUS_OK;
}

status_t formats_add_titles(struct text *out)
{
    SCOPED(text_free) struct text names = {0};
    TRY(formats_add_names(&names));
    return text_add(out, "%s nor %s, nor of another known format (%s)", native_format.title,
                    fbh5_format.title, names.data);
}
