/* SIGPROC filterbanks (.fil): a header of keywords and values in binary, little-endian, and after
 * it [time][if][channel] of 1, 2, 4, 8 or 16 bits, unsigned, or 32-bit floating point. Packed
 * numbers begin in a byte's low bits, and spectra follow each other bit by bit. */
#include "base/byte_order.h"
#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "input/fbh5/fbh5_header.h"
#include "input/format/recorder.h"
#include "io/file.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keywords of SIGPROC headers: each a text (int32 length, letters) with its value after it, up to
 * HEADER_END (SIGPROC's read_header.c). Writers add keywords of their own, and store some numbers
 * in more bytes than SIGPROC does. */

/* Keywords with a value of their own. */
/* clang-format off */
#define SIGPROC_KEYWORDS(row) \
    row(SIGPROC_SOURCE_NAME, "source_name", KIND_TEXT) \
    row(SIGPROC_RAWDATAFILE, "rawdatafile", KIND_TEXT) \
    row(SIGPROC_MACHINE_ID, "machine_id", KIND_WHOLE) \
    row(SIGPROC_TELESCOPE_ID, "telescope_id", KIND_WHOLE) \
    row(SIGPROC_DATA_TYPE, "data_type", KIND_WHOLE) \
    row(SIGPROC_NCHANS, "nchans", KIND_WHOLE) \
    row(SIGPROC_NBITS, "nbits", KIND_WHOLE) \
    row(SIGPROC_NIFS, "nifs", KIND_WHOLE) \
    row(SIGPROC_NBEAMS, "nbeams", KIND_WHOLE) \
    row(SIGPROC_IBEAM, "ibeam", KIND_WHOLE) \
    row(SIGPROC_NSAMPLES, "nsamples", KIND_WHOLE) \
    row(SIGPROC_BARYCENTRIC, "barycentric", KIND_WHOLE) \
    row(SIGPROC_PULSARCENTRIC, "pulsarcentric", KIND_WHOLE) \
    row(SIGPROC_NBINS, "nbins", KIND_WHOLE) \
    row(SIGPROC_NPULS, "npuls", KIND_WHOLE) \
    row(SIGPROC_SIGNED, "signed", KIND_SIGN) \
    row(SIGPROC_FCH1, "fch1", KIND_REAL) \
    row(SIGPROC_FOFF, "foff", KIND_REAL) \
    row(SIGPROC_TSAMP, "tsamp", KIND_REAL) \
    row(SIGPROC_TSTART, "tstart", KIND_REAL) \
    row(SIGPROC_AZ_START, "az_start", KIND_REAL) \
    row(SIGPROC_ZA_START, "za_start", KIND_REAL) \
    row(SIGPROC_SRC_RAJ, "src_raj", KIND_REAL) \
    row(SIGPROC_SRC_DEJ, "src_dej", KIND_REAL) \
    row(SIGPROC_REFDM, "refdm", KIND_REAL) \
    row(SIGPROC_PERIOD, "period", KIND_REAL)
/* clang-format on */

#define SIGPROC_NUMBER(word, name, kind) word,
enum sigproc_word { SIGPROC_KEYWORDS(SIGPROC_NUMBER) SIGPROC_WORDS };

struct sigproc_value {
    int is_said;
    double number; /* 0 of what is not said */
    char *text;    /* of texts; NULL when empty */
};

struct sigproc_words {
    struct sigproc_value said[SIGPROC_WORDS];
    double *mhz; /* [nmhz] frequencies between FREQUENCY_START and FREQUENCY_END */
    size_t nmhz;
    size_t bytes; /* of the header */
};

enum { MOST_WORD = 80, MOST_TEXT = 4096, PREFIX = 4, LISTED = 8 };

/* Marks have no value; `fchannel` is a number of the table of frequencies. */
enum words_kind { KIND_TEXT, KIND_WHOLE, KIND_SIGN, KIND_REAL, KIND_ENTRY, KIND_MARK, KIND_END };

#define SIGPROC_ROW(word, name, kind) {name, kind},
static const struct {
    const char *name;
    enum words_kind kind;
} words_known[] = {SIGPROC_KEYWORDS(SIGPROC_ROW){"fchannel", KIND_ENTRY},
                   {"FREQUENCY_START", KIND_MARK},
                   {"FREQUENCY_END", KIND_MARK},
                   {"HEADER_START", KIND_MARK},
                   {"HEADER_END", KIND_END}};
enum { KNOWN = sizeof words_known / sizeof *words_known };

struct words_reader {
    const char *path;
    const struct text *head;
    size_t at;
    struct sigproc_words *words;
    struct text skipped; /* the first unknown keywords, for the note */
    size_t nskipped, skipped_bytes;
};

static size_t words_left(const struct words_reader *r, size_t at)
{
    return at < r->head->length ? r->head->length - at : 0;
}

/* The bytes of the text at `at`, length included: 0 if there is none of these lengths. */
static size_t words_text_bytes(const struct words_reader *r, size_t at, int32_t least, int32_t most)
{
    int32_t length = 0;
    if (words_left(r, at) < PREFIX) {
        return 0;
    }
    memcpy(&length, r->head->data + at, PREFIX);
    return length >= least && length <= most && words_left(r, at + PREFIX) >= (size_t)length
               ? PREFIX + (size_t)length
               : 0;
}

/* Finds likewise a keyword, which is printable, and copies it to `word`. */
static size_t words_peek(const struct words_reader *r, size_t at, char word[MOST_WORD + 1])
{
    size_t bytes = words_text_bytes(r, at, 1, MOST_WORD);
    for (size_t i = PREFIX; i < bytes; i++) {
        unsigned char letter = (unsigned char)r->head->data[at + i];
        if (letter < ' ' || letter > '~') {
            return 0;
        }
        word[i - PREFIX] = (char)letter;
    }
    word[bytes ? bytes - PREFIX : 0] = '\0';
    return bytes;
}

static size_t words_find(const char *word)
{
    size_t i = 0;
    while (i < KNOWN && strcmp(word, words_known[i].name) != 0) {
        i++;
    }
    return i;
}

static int words_is_word(const struct words_reader *r, size_t at)
{
    char word[MOST_WORD + 1];
    return words_peek(r, at, word) > 0;
}

/* Bytes of a value of this kind at `at`. Whole numbers of 8 bytes (SIGPROC's npuls is a long) and
 * signs of 4 are told by the keyword after them. 0: none fits before the header's end. */
static size_t words_value_bytes(const struct words_reader *r, size_t at, enum words_kind kind)
{
    size_t usual = kind == KIND_SIGN ? 1 : kind == KIND_WHOLE ? 4 : 8;
    size_t other = kind == KIND_SIGN ? 4 : 8;
    if (kind == KIND_TEXT) {
        return words_text_bytes(r, at, 0, MOST_TEXT);
    }
    usual = !words_is_word(r, at + usual) && words_is_word(r, at + other) ? other : usual;
    return words_left(r, at) >= usual ? usual : 0;
}

/* Whether a known keyword at `at` is one, and no letters of a value: another keyword comes after
 * what would be its value. */
static int words_is_known(const struct words_reader *r, size_t at)
{
    char word[MOST_WORD + 1];
    size_t bytes = words_peek(r, at, word);
    size_t index = bytes > 0 ? words_find(word) : KNOWN;
    if (index == KNOWN) {
        return 0;
    }
    enum words_kind kind = words_known[index].kind;
    size_t value = kind < KIND_MARK ? words_value_bytes(r, at + bytes, kind) : 0;
    return kind == KIND_END ||
           ((kind == KIND_MARK || value > 0) && words_is_word(r, at + bytes + value));
}

static int words_is_name(const char *word)
{
    int is_name = isalpha((unsigned char)word[0]);
    for (const char *at = word; *at && is_name; at++) {
        is_name = isalnum((unsigned char)*at) || *at == '_';
    }
    return is_name;
}

static status_t words_list(struct words_reader *r, const char *word)
{
    if (r->nskipped++ < LISTED) {
        TRY(text_add(&r->skipped, "%s%s", r->skipped.length > 0 ? ", " : "", word));
    }
    return STATUS_OK;
}

/* Continues at the next known keyword. Further names on the way are listed, but for those right
 * after a name, which are its text. */
static status_t words_skip(struct words_reader *r, const char *word)
{
    char found[MOST_WORD + 1];
    size_t at = r->at;
    size_t text = at; /* where the last name's text would be */
    TRY(words_list(r, word));
    while (words_left(r, at) > PREFIX && !words_is_known(r, at)) {
        size_t bytes = words_peek(r, at, found);
        int is_name = bytes > PREFIX + 1 && words_is_name(found);
        if (is_name && at != text) {
            TRY(words_list(r, found));
            text = at + bytes;
        }
        at += is_name ? bytes : 1;
    }
    REQUIRE(words_left(r, at) > PREFIX, STATUS_DATA,
            "%s: no keyword that is known follows %s in its SIGPROC header, expected HEADER_END",
            r->path, word);
    r->skipped_bytes += PREFIX + strlen(word) + at - r->at;
    r->at = at;
    return STATUS_OK;
}

static double words_number(const char *at, size_t bytes, enum words_kind kind)
{
    double real = 0;
    if (kind == KIND_REAL || kind == KIND_ENTRY) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    return bytes == 1   ? (int8_t)*at
           : bytes == 4 ? (int32_t)load_u32(at, 0)
                        : (double)(int64_t)load_u64(at, 0);
}

/* Notes the value of a keyword. Fails with DATA where it had another before. */
static status_t words_note(const struct words_reader *r, size_t index, const char *at, size_t bytes)
{
    struct sigproc_value *said = &r->words->said[index];
    enum words_kind kind = words_known[index].kind;
    SCOPED(text_free) struct text text = {0};
    if (kind == KIND_TEXT) {
        size_t length = bytes - PREFIX;
        TRY(text_add(&text, "%.*s", (int)length, at + PREFIX));
        REQUIRE(!said->is_said ||
                    strcmp(said->text ? said->text : "", text.data ? text.data : "") == 0,
                STATUS_DATA, "%s: its SIGPROC header says %s twice: \"%s\" and \"%s\"", r->path,
                words_known[index].name, said->text ? said->text : "", text.data ? text.data : "");
        free(said->text);
        said->text = text.length > 0 ? text.data : NULL;
        text.data = text.length > 0 ? NULL : text.data;
    } else {
        double number = words_number(at, bytes, kind);
        REQUIRE(!said->is_said || memcmp(&number, &said->number, sizeof number) == 0, STATUS_DATA,
                "%s: its SIGPROC header says %s twice: %.12g and %.12g", r->path,
                words_known[index].name, said->number, number);
        said->number = number;
    }
    said->is_said = 1;
    return STATUS_OK;
}

static status_t words_take_value(struct words_reader *r, size_t index)
{
    enum words_kind kind = words_known[index].kind;
    const char *at = r->head->data + r->at;
    if (kind >= KIND_MARK) {
        return STATUS_OK;
    }
    size_t bytes = words_value_bytes(r, r->at, kind);
    REQUIRE(bytes > 0, STATUS_DATA,
            "%s: no value of %s at byte %zu of its SIGPROC header, expected %s", r->path,
            words_known[index].name, r->at,
            kind == KIND_TEXT ? "a text of 0 to 4096 bytes" : "a number");
    r->at += bytes;
    if (kind == KIND_ENTRY) {
        struct sigproc_words *words = r->words;
        TRY(memory_grow(words->nmhz, sizeof *words->mhz, "a table of frequencies", &words->mhz));
        words->mhz[words->nmhz++] = words_number(at, bytes, kind);
    } else {
        TRY(words_note(r, index, at, bytes));
    }
    return STATUS_OK;
}

SCOPED_CALLS(words_reader_free, struct words_reader, text_free(&at->skipped))

/* Reads a header that begins at byte 0 of `head`. Unknown keywords, whose values may have any
 * length, are skipped up to the next known one, and noted in *assumed. Fails with DATA: a header
 * that does not end, a keyword with two values. sigproc_words_free() in any case. */
static status_t sigproc_read_words(const char *path, const struct text *head,
                                   struct sigproc_words *out, char **assumed)
{
    SCOPED(words_reader_free) struct words_reader r = {.path = path, .head = head, .words = out};
    enum words_kind kind = KIND_MARK;
    while (kind != KIND_END) {
        char word[MOST_WORD + 1];
        size_t bytes = words_peek(&r, r.at, word);
        REQUIRE(bytes > 0, STATUS_DATA,
                "%s: no keyword at byte %zu of its SIGPROC header, expected a text of 1 to %d "
                "letters, or HEADER_END before",
                path, r.at, MOST_WORD);
        size_t index = words_find(word);
        r.at += bytes;
        kind = index < KNOWN ? words_known[index].kind : KIND_MARK;
        TRY(index < KNOWN ? words_take_value(&r, index) : words_skip(&r, word));
    }
    out->bytes = r.at;
    return assume_unless(r.nskipped == 0, assumed,
                         "unknown keywords of the header are skipped, %zu bytes: %s%s",
                         r.skipped_bytes, r.skipped.data, r.nskipped > LISTED ? " ..." : "");
}

/* Tables of frequencies make long headers: 20 bytes for each channel. */
enum { USUAL_HEADER = 64 << 10, MOST_HEADER = 32 << 20 };

static const char first_word[] = "\14\0\0\0HEADER_START";
static const char last_word[] = "\12\0\0\0HEADER_END";
static const double most_days = 4e5; /* the year 2953; Julian Dates are beyond */

static int sigproc_begins(const struct text *begin)
{
    return begin->length == sizeof first_word - 1 &&
           memcmp(begin->data, first_word, sizeof first_word - 1) == 0;
}

/* Zeros stand for no position. */
static status_t sigproc_settle_position(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    double raj = words->said[SIGPROC_SRC_RAJ].number;
    double dej = words->said[SIGPROC_SRC_DEJ].number;
    int is_one = fbh5_unpack_sixtieths(raj, 24, &fbh5->head.raj_hours) &&
                 fbh5_unpack_sixtieths(dej, 90, &fbh5->head.dej_degrees) && raj >= 0;
    if (!is_one) {
        fbh5->head.raj_hours = fbh5->head.dej_degrees = 0;
        TRY(assume(&fbh5->assumed,
                   "position unknown: src_raj %.12g, src_dej %.12g are not hhmmss.s and ddmmss.s",
                   raj, dej));
    }
    fbh5_settle_position(fbh5);
    return STATUS_OK;
}

/* Keywords without which there are no axes. */
static status_t sigproc_check_needed(const struct sigproc_words *words, const char *path)
{
    static const enum sigproc_word needed[] = {SIGPROC_NBITS, SIGPROC_TSAMP, SIGPROC_NCHANS,
                                               SIGPROC_FCH1, SIGPROC_FOFF};
    enum { ALWAYS = 2, WITHOUT_TABLE = 5 };
    int is_one = words->said[SIGPROC_NCHANS].number == 1;
    int count = words->nmhz > 0 ? ALWAYS : is_one ? WITHOUT_TABLE - 1 : WITHOUT_TABLE;
    for (int i = 0; i < count; i++) {
        REQUIRE(words->said[needed[i]].is_said, STATUS_DATA, "%s: its SIGPROC header has no %s",
                path, words_known[needed[i]].name);
    }
    return STATUS_OK;
}

/* Checks fch1 and foff beside a table of frequencies: zeros, or the same band. */
static status_t sigproc_compare_band(const struct sigproc_words *words, const struct fbh5 *fbh5)
{
    double tenth = fmax(0.1 * fabs(fbh5->foff_mhz), 1e-9 * fabs(fbh5->fch1_mhz));
    double first = words->said[SIGPROC_FCH1].number;
    double step = words->said[SIGPROC_FOFF].number;
    REQUIRE(first == 0 || fabs(first - fbh5->fch1_mhz) <= tenth, STATUS_DATA,
            "%s: fch1 is %.12g MHz, but the table FREQUENCY_START begins with %.12g MHz",
            fbh5->path, first, fbh5->fch1_mhz);
    return REQUIRED(step == 0 || fabs(step - fbh5->foff_mhz) * (double)words->nmhz <= tenth,
                    STATUS_DATA,
                    "%s: foff is %.12g MHz, but the table FREQUENCY_START has steps of %.12g MHz",
                    fbh5->path, step, fbh5->foff_mhz);
}

/* Takes the frequencies of the header's table, which need not be evenly spaced. */
static status_t sigproc_take_table(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    const struct sigproc_value *nchans = &words->said[SIGPROC_NCHANS];
    size_t count = words->nmhz;
    REQUIRE(!nchans->is_said || nchans->number == (double)count, STATUS_DATA,
            "%s: nchans is %.0f, but the table FREQUENCY_START has %zu channels", fbh5->path,
            nchans->number, count);
    TRY(memory_zeroed(count, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    for (size_t i = 0; i < count; i++) {
        REQUIRE(isfinite(words->mhz[i]), STATUS_DATA,
                "%s: its table FREQUENCY_START says %g MHz, expected a frequency", fbh5->path,
                words->mhz[i]);
        fbh5->freq_hz[i] = 1e6 * words->mhz[i];
    }
    fbh5->nchannels = (uint32_t)count;
    fbh5->fch1_mhz = words->mhz[0];
    fbh5->foff_mhz = count > 1 ? (words->mhz[count - 1] - words->mhz[0]) / (double)(count - 1)
                               : words->said[SIGPROC_FOFF].number;
    return sigproc_compare_band(words, fbh5);
}

/* Counts and axes. */
static status_t sigproc_settle_shape(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    const struct sigproc_value *said = words->said;
    TRY(sigproc_check_needed(words, fbh5->path));
    double nifs = said[SIGPROC_NIFS].is_said ? said[SIGPROC_NIFS].number : 1;
    double nchans = words->nmhz > 0 ? (double)words->nmhz : said[SIGPROC_NCHANS].number;
    double nbits = said[SIGPROC_NBITS].number;
    REQUIRE(nchans > 0 && nifs > 0 && nbits > 0 && fmax(nchans, fmax(nifs, nbits)) <= INT32_MAX,
            STATUS_DATA, "%s: nchans %.0f, nifs %.0f, nbits %.0f, expected more than 0", fbh5->path,
            nchans, nifs, nbits);
    TRY(assume_unless(said[SIGPROC_NIFS].is_said, &fbh5->assumed, "nifs is not said: 1 is used"));
    fbh5->nchannels = (uint32_t)nchans;
    fbh5->nifs = (uint32_t)nifs;
    fbh5->table.bits = (uint32_t)nbits;
    fbh5->fch1_mhz = said[SIGPROC_FCH1].number;
    fbh5->foff_mhz = said[SIGPROC_FOFF].number;
    fbh5->time.step = said[SIGPROC_TSAMP].number;
    TRY(words->nmhz > 0 ? sigproc_take_table(words, fbh5) : STATUS_OK);
    /* SIGPROC writes 1 or -1. */
    fbh5->table.is_signed = said[SIGPROC_SIGNED].number > 0 && nbits >= 8;
    TRY(assume_if(said[SIGPROC_SIGNED].number < 0 || (said[SIGPROC_SIGNED].number > 0 && nbits < 8),
                  &fbh5->assumed, "signed is %.0f, nbits %.0f: numbers are read as unsigned",
                  said[SIGPROC_SIGNED].number, nbits));
    TRY(filterbank_finish(fbh5));
    return fbh5_note_band(fbh5, words->nmhz > 0 ? "FREQUENCY_START" : "fch1 and foff");
}

/* Counts the spectra that the file contains, without padding, which nsamples reveals. */
static status_t sigproc_count_rows(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    double stated = words->said[SIGPROC_NSAMPLES].number;
    uint64_t bits = (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5->table.bits;
    uint64_t held = fbh5->file_bytes - words->bytes;
    fbh5->rows = held < UINT64_MAX / 8 ? held * 8 / bits : 0;
    REQUIRE(fbh5->rows > 0, STATUS_DATA,
            "%s contains %" PRIu64 " bytes after its header, but one spectrum has %" PRIu64,
            fbh5->path, held, ceil_div_u64(bits, 8));
    if (held * 8 - fbh5->rows * bits >= 8) {
        report_warn("%s ends within a spectrum: the rest of it is ignored", fbh5->path);
    }
    /* Spectra at the end that may be filling of the last byte, in which a true one begins or ends.
     */
    uint64_t least = 8 * (held - 1) / bits + 1;
    uint64_t filling = held * 8 / bits > least ? held * 8 / bits - least : 0;
    double more = (double)fbh5->rows - stated;
    if (stated > 0 && more >= 0 && more <= (double)filling) {
        fbh5->rows = (uint64_t)stated;
    } else {
        TRY(assume_if(stated != 0, &fbh5->assumed,
                      "nsamples is %.0f, the file holds %" PRIu64 " spectra: all of these are read",
                      stated, fbh5->rows));
        TRY(assume_if(stated == 0 && filling > 0, &fbh5->assumed,
                      "nsamples is not said: the last %" PRIu64 " spectra may be filling of a byte",
                      filling));
    }
    fbh5->table.rows_each = fbh5->rows;
    fbh5->table.row_bytes = held;
    return STATUS_OK;
}

/* Facts that change what the numbers mean, which nothing here undoes. */
static status_t sigproc_note_doubts(const struct sigproc_words *words, char **assumed)
{
    const struct sigproc_value *said = words->said;
    double type = said[SIGPROC_DATA_TYPE].number;
    TRY(assume_if(type != 0 && type != 1, assumed,
                  "data_type is %.0f, not that of a filterbank (1): read as one", type));
    return fbh5_note_moved(said[SIGPROC_REFDM].number, said[SIGPROC_BARYCENTRIC].number,
                           said[SIGPROC_PULSARCENTRIC].number, assumed);
}

static status_t sigproc_settle_start(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    const struct sigproc_value *tstart = &words->said[SIGPROC_TSTART];
    fbh5->sky.has_start = tstart->number > 0 && tstart->number < most_days;
    TRY(fbh5->sky.has_start ? STATUS_OK
        : tstart->is_said
            ? assume(&fbh5->assumed, "tstart is %.12g: the start is unknown", tstart->number)
            : assume(&fbh5->assumed, "tstart is not said: the start is unknown"));
    fbh5->time.tstart_mjd = fbh5->sky.has_start ? tstart->number : 0;
    fbh5->time.first = fbh5->time.step / 2;
    return start_of_header(fbh5->time.tstart_mjd, &fbh5->sky.start, &fbh5->assumed);
}

/* Fills the filterbank from the header's keywords. */
static status_t sigproc_settle(struct sigproc_words *words, struct fbh5 *fbh5)
{
    struct fbh5_table *table = &fbh5->table;
    const struct {
        enum sigproc_word word;
        int32_t *value;
    } whole[] = {{SIGPROC_MACHINE_ID, &fbh5->head.machine_id},
                 {SIGPROC_TELESCOPE_ID, &fbh5->head.telescope_id},
                 {SIGPROC_NBEAMS, &fbh5->head.nbeams},
                 {SIGPROC_IBEAM, &fbh5->head.ibeam}};
    TRY(sigproc_settle_shape(words, fbh5));
    TRY(sigproc_count_rows(words, fbh5));
    TRY(sigproc_settle_start(words, fbh5));
    TRY(sigproc_settle_position(words, fbh5));
    TRY(sigproc_note_doubts(words, &fbh5->assumed));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        const struct sigproc_value *said = &words->said[whole[i].word];
        *whole[i].value = said->is_said && fabs(said->number) <= INT32_MAX ? (int32_t)said->number
                                                                           : *whole[i].value;
    }
    fbh5->head.az_start = words->said[SIGPROC_AZ_START].number;
    fbh5->head.za_start = words->said[SIGPROC_ZA_START].number;
    TRY(memory_text(words->said[SIGPROC_SOURCE_NAME].text, &fbh5->sky.source));
    TRY(memory_text(words->said[SIGPROC_RAWDATAFILE].text, &fbh5->head.rawdatafile));
    TRY(memory_zeroed(1, sizeof *table->first, "spectra", &table->first));
    table->count = 1;
    table->offset = words->bytes;
    fbh5->reach =
        table->bits >= 8 && (!table->is_signed || table->bits == 32) ? REACH_PIECES : REACH_TABLE;
    fbh5->data_offset = words->bytes;
    return STATUS_OK;
}

/* Another file follows in this one: where nsamples ends, or where the file is some equal ones. */
static status_t sigproc_check_alone(const struct sigproc_words *words, const struct fbh5 *fbh5,
                                    int fd)
{
    enum { MOST_EQUAL = 16 };
    char bytes[sizeof first_word - 1];
    double stated = words->said[SIGPROC_NSAMPLES].number;
    double bits = (double)fbh5->nifs * fbh5->nchannels * fbh5->table.bits;
    double end = (double)words->bytes + ceil(fmax(stated, 0) * bits / 8);
    for (uint64_t files = 1; files <= MOST_EQUAL; files++) {
        uint64_t at = files > 1 ? fbh5->file_bytes / files : (uint64_t)fmin(end, 0x1p62);
        if (at + sizeof bytes > fbh5->file_bytes || (files > 1 && fbh5->file_bytes % files != 0)) {
            continue;
        }
        TRY(file_read(fd, fbh5->path, at, bytes, sizeof bytes));
        REQUIRE(memcmp(bytes, first_word, sizeof bytes) != 0, STATUS_DATA,
                "%s: another SIGPROC header (HEADER_START) begins at byte %" PRIu64
                ": expected one file, not several one after the other",
                fbh5->path, at);
    }
    return STATUS_OK;
}

/* Floats of another kind of numbers (integers of 32 bits, or the other order of bytes) are often
 * tiny or huge, as measured at the begin. */
static status_t sigproc_check_floats(struct fbh5 *fbh5, int fd)
{
    enum { MEASURED = 1 << 14 };
    static const double huge = 1e30;
    const size_t count = (size_t)min_u64(MEASURED, (fbh5->file_bytes - fbh5->data_offset) / 4);
    SCOPED(free_at) float *numbers = NULL;
    size_t used = 0;
    size_t odd = 0;
    float example = 0;
    if (fbh5->table.bits != 32) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(count, sizeof *numbers, "numbers", &numbers));
    TRY(file_read(fd, fbh5->path, fbh5->data_offset, numbers, count * sizeof *numbers));
    for (size_t i = 0; i < count; i++) {
        double size = fabs((double)numbers[i]);
        int is_odd = size > huge || (size > 0 && size < 1 / huge);
        used += size > 0;
        odd += (size_t)is_odd;
        example = is_odd ? numbers[i] : example;
    }
    return assume_if(odd > used / 8, &fbh5->assumed,
                     "numbers of 32 bits such as %g are no usual floats, are these integers, or "
                     "big-endian? They are read as little-endian floats",
                     (double)example);
}

/* Mean difference of numbers that follow each other, of 8 or 16 bits, in another meaning, too. */
static double sigproc_roughness(const unsigned char *bytes, size_t count, uint32_t bits,
                                int is_signed, int is_swapped)
{
    double sum = 0;
    double last = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = bits == 8 ? bytes[i] : load_u16(bytes + 2 * i, is_swapped);
        const int is_below = is_signed && number >> (bits - 1);
        const double value = (double)number - (is_below ? 1 << bits : 0);
        sum += i > 0 ? fabs(value - last) : 0;
        last = value;
    }
    return sum;
}

/* No header tells the order of bytes, and hardly one the sign. Numbers jump about in the wrong
 * meaning: as unsigned ones where they fall below 0, by their low byte where bytes are swapped. */
static status_t sigproc_check_whole(struct fbh5 *fbh5, int fd)
{
    static const double rougher = 2;
    enum { MEASURED = 1 << 15 };
    unsigned char bytes[MEASURED];
    const uint32_t bits = fbh5->table.bits;
    const int is_signed = fbh5->table.is_signed;
    const size_t held = (size_t)min_u64(MEASURED, fbh5->file_bytes - fbh5->data_offset);
    if (bits != 8 && bits != 16) {
        return STATUS_OK;
    }
    TRY(file_read(fd, fbh5->path, fbh5->data_offset, bytes, held));
    const size_t count = held / (bits / 8);
    const double read = sigproc_roughness(bytes, count, bits, is_signed, 0);
    int is_other = 0;
    for (int i = 0; i < (bits == 8 ? 2 : 4); i++) {
        is_other |= read > rougher * sigproc_roughness(bytes, count, bits, i % 2, i / 2);
    }
    return assume_if(is_other, &fbh5->assumed,
                     "numbers of %u bits jump about: are they %s%s? They are read as %ssigned%s",
                     bits, is_signed ? "unsigned" : "signed", bits == 8 ? "" : ", or big-endian",
                     is_signed ? "" : "un", bits == 8 ? "" : " and little-endian");
}

static void sigproc_words_free(struct sigproc_words *words)
{
    for (int i = 0; i < SIGPROC_WORDS; i++) {
        free(words->said[i].text);
    }
    free(words->mhz);
}

static status_t sigproc_open(const char *path, struct fbh5 **out)
{
    SCOPED(text_free) struct text head = {0};
    SCOPED(sigproc_words_free) struct sigproc_words words = {.nmhz = 0};
    SCOPED(file_close_at) int fd = -1;
    TRY(filterbank_begin(path, "SIGPROC", out, &fd));
    struct fbh5 *fbh5 = *out;
    TRY(recorder_head(path, USUAL_HEADER, &head));
    if (!memmem(head.data, head.length, last_word, sizeof last_word - 1)) {
        text_free(&head);
        TRY(recorder_head(path, MOST_HEADER, &head));
    }
    TRY(sigproc_read_words(path, &head, &words, &fbh5->assumed));
    TRY(sigproc_settle(&words, fbh5));
    TRY(sigproc_check_alone(&words, fbh5, fd));
    TRY(sigproc_check_floats(fbh5, fd));
    return sigproc_check_whole(fbh5, fd);
}

const struct format sigproc_format = {.name = "sigproc",
                                      .title = "a SIGPROC filterbank",
                                      .is_no_product = 1,
                                      .begins = sigproc_begins,
                                      .begin_bytes = sizeof first_word - 1,
                                      .open_filterbank = sigproc_open};
