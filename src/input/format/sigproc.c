/* SIGPROC filterbanks (.fil): a header of keywords and values in binary, little-endian, and after
 * it [time][if][channel] of 1, 2, 4, 8 or 16 bits, unsigned, or 32-bit floating point. Packed
 * numbers begin in a byte's low bits, and spectra follow each other bit by bit. */
#include "input/format/sigproc_words.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/filterbank.h"
#include "input/format/recorder.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tables of frequencies make long headers: 20 bytes for each channel. */
enum { USUAL_HEADER = 64 << 10, MOST_HEADER = 32 << 20 };

static const char first_word[] = "\14\0\0\0HEADER_START";
static const char last_word[] = "\12\0\0\0HEADER_END";
static const double most_days = 4e5; /* the year 2953; Julian Dates lie beyond */

static status_t sigproc_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    TRY(recorder_head(path, sizeof first_word - 1, &head));
    *is_it = head.length == sizeof first_word - 1 &&
             memcmp(head.data, first_word, sizeof first_word - 1) == 0;
out:
    text_free(&head);
    return st;
}

/* hhmmss.s and ddmmss.s; zeros stand for no position. */
static int sigproc_unpack_sixtieths(double value, double most, double *out)
{
    double whole = floor(fabs(value) / 1e4);
    double minutes = floor((fabs(value) - whole * 1e4) / 100);
    double seconds = fabs(value) - whole * 1e4 - minutes * 100;
    double number = whole + minutes / 60 + seconds / 3600;
    *out = copysign(number, value);
    return isfinite(value) && minutes < 60 && seconds < 60 && number <= most;
}

static status_t sigproc_settle_position(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double raj = words->said[SIGPROC_SRC_RAJ].number;
    double dej = words->said[SIGPROC_SRC_DEJ].number;
    int is_one = sigproc_unpack_sixtieths(raj, 24, &fbh5->head.raj_hours) &&
                 sigproc_unpack_sixtieths(dej, 90, &fbh5->head.dej_degrees) && raj >= 0;
    if (!is_one) {
        fbh5->head.raj_hours = fbh5->head.dej_degrees = 0;
        TRY(assume(&fbh5->assumed,
                   "position unknown: src_raj %.12g, src_dej %.12g are not hhmmss.s and ddmmss.s",
                   raj, dej));
    }
    fbh5->head.has_position =
        fbh5->head.raj_hours > 0 || fbh5->head.dej_degrees < 0 || fbh5->head.dej_degrees > 0;
out:
    return st;
}

/* Keywords without which there are no axes. */
static status_t sigproc_check_needed(const struct sigproc_words *words, const char *path)
{
    static const enum sigproc_word needed[] = {SIGPROC_NBITS, SIGPROC_TSAMP, SIGPROC_NCHANS,
                                               SIGPROC_FCH1, SIGPROC_FOFF};
    enum { ALWAYS = 2, WITHOUT_TABLE = 5 };
    status_t st = STATUS_OK;
    int is_one = words->said[SIGPROC_NCHANS].number == 1;
    int count = words->nmhz > 0 ? ALWAYS : is_one ? WITHOUT_TABLE - 1 : WITHOUT_TABLE;
    for (int i = 0; i < count; i++) {
        REQUIRE(words->said[needed[i]].is_said, STATUS_DATA, "%s: its SIGPROC header has no %s",
                path, sigproc_name(needed[i]));
    }
out:
    return st;
}

/* fch1 and foff beside a table of frequencies: zeros, or the same. */
static status_t sigproc_compare_band(const struct sigproc_words *words, const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double tenth = fmax(0.1 * fabs(fbh5->foff_mhz), 1e-9 * fabs(fbh5->fch1_mhz));
    double first = words->said[SIGPROC_FCH1].number;
    double step = words->said[SIGPROC_FOFF].number;
    REQUIRE(first == 0 || fabs(first - fbh5->fch1_mhz) <= tenth, STATUS_DATA,
            "%s: fch1 is %.12g MHz, but the table FREQUENCY_START begins with %.12g MHz",
            fbh5->path, first, fbh5->fch1_mhz);
    REQUIRE(step == 0 || fabs(step - fbh5->foff_mhz) * (double)words->nmhz <= tenth, STATUS_DATA,
            "%s: foff is %.12g MHz, but the table FREQUENCY_START has steps of %.12g MHz",
            fbh5->path, step, fbh5->foff_mhz);
out:
    return st;
}

/* The table's frequencies, which need not be evenly spaced. */
static status_t sigproc_take_table(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
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
    TRY(sigproc_compare_band(words, fbh5));
out:
    return st;
}

/* Counts and axes. */
static status_t sigproc_settle_shape(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct sigproc_value *said = words->said;
    TRY(sigproc_check_needed(words, fbh5->path));
    double nifs = said[SIGPROC_NIFS].is_said ? said[SIGPROC_NIFS].number : 1;
    double nchans = words->nmhz > 0 ? (double)words->nmhz : said[SIGPROC_NCHANS].number;
    double nbits = said[SIGPROC_NBITS].number;
    REQUIRE(nchans > 0 && nifs > 0 && nbits > 0 && fmax(nchans, fmax(nifs, nbits)) <= INT32_MAX,
            STATUS_DATA, "%s: nchans %.0f, nifs %.0f, nbits %.0f, expected more than 0", fbh5->path,
            nchans, nifs, nbits);
    TRY(said[SIGPROC_NIFS].is_said ? STATUS_OK
                                   : assume(&fbh5->assumed, "nifs is not said: 1 is used"));
    fbh5->nchannels = (uint32_t)nchans;
    fbh5->nifs = (uint32_t)nifs;
    fbh5->table.bits = (uint32_t)nbits;
    fbh5->fch1_mhz = said[SIGPROC_FCH1].number;
    fbh5->foff_mhz = said[SIGPROC_FOFF].number;
    fbh5->time.step = said[SIGPROC_TSAMP].number;
    TRY(words->nmhz > 0 ? sigproc_take_table(words, fbh5) : STATUS_OK);
    /* SIGPROC writes 1 or -1. */
    fbh5->table.is_signed = said[SIGPROC_SIGNED].number > 0 && nbits >= 8;
    TRY(said[SIGPROC_SIGNED].number < 0 || (said[SIGPROC_SIGNED].number > 0 && nbits < 8)
            ? assume(&fbh5->assumed, "signed is %.0f, nbits %.0f: numbers are read as unsigned",
                     said[SIGPROC_SIGNED].number, nbits)
            : STATUS_OK);
    TRY(filterbank_finish(fbh5));
    TRY(fbh5_note_band(fbh5, words->nmhz > 0 ? "FREQUENCY_START" : "fch1 and foff"));
out:
    return st;
}

/* Spectra at the end that may be filling of the last byte, in which a true one begins or ends. */
static uint64_t sigproc_filling(uint64_t bytes, uint64_t bits)
{
    uint64_t least = 8 * (bytes - 1) / bits + 1;
    return bytes * 8 / bits > least ? bytes * 8 / bits - least : 0;
}

/* How many spectra there are: those that the file holds, but for filling, which nsamples tells. */
static status_t sigproc_count_rows(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double stated = words->said[SIGPROC_NSAMPLES].number;
    uint64_t bits = (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5->table.bits;
    uint64_t held = fbh5->file_bytes - words->bytes;
    fbh5->rows = held < UINT64_MAX / 8 ? held * 8 / bits : 0;
    REQUIRE(fbh5->rows > 0, STATUS_DATA,
            "%s holds %" PRIu64 " bytes after its header, but one spectrum has %" PRIu64,
            fbh5->path, held, ceil_div_u64(bits, 8));
    if (held * 8 - fbh5->rows * bits >= 8) {
        report_warn("%s ends within a spectrum: the rest of it is ignored", fbh5->path);
    }
    uint64_t filling = sigproc_filling(held, bits);
    double more = (double)fbh5->rows - stated;
    if (stated > 0 && more >= 0 && more <= (double)filling) {
        fbh5->rows = (uint64_t)stated;
    } else if (stated != 0) {
        TRY(assume(&fbh5->assumed,
                   "nsamples is %.0f, the file holds %" PRIu64 " spectra: all of these are read",
                   stated, fbh5->rows));
    } else if (filling > 0) {
        TRY(assume(&fbh5->assumed,
                   "nsamples is not said: the last %" PRIu64 " spectra may be filling of a byte",
                   filling));
    }
    fbh5->table.rows_each = fbh5->rows;
    fbh5->table.row_bytes = held;
out:
    return st;
}

/* Facts that change what the numbers mean, which nothing here undoes. */
static status_t sigproc_note_doubts(const struct sigproc_words *words, char **assumed)
{
    status_t st = STATUS_OK;
    const struct sigproc_value *said = words->said;
    double type = said[SIGPROC_DATA_TYPE].number;
    double refdm = said[SIGPROC_REFDM].number;
    TRY(type != 0 && type != 1
            ? assume(assumed, "data_type is %.0f, not that of a filterbank (1): read as one", type)
            : STATUS_OK);
    TRY(refdm != 0
            ? assume(assumed, "refdm is %.12g: channels are read as if they were not shifted to it",
                     refdm)
            : STATUS_OK);
    for (int i = SIGPROC_BARYCENTRIC; i <= SIGPROC_PULSARCENTRIC; i++) {
        TRY(said[i].number != 0
                ? assume(assumed, "%s is %.0f: its times are used as if they were the telescope's",
                         sigproc_name((enum sigproc_word)i), said[i].number)
                : STATUS_OK);
    }
out:
    return st;
}

static status_t sigproc_settle_start(const struct sigproc_words *words, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct sigproc_value *tstart = &words->said[SIGPROC_TSTART];
    fbh5->time.has_start = tstart->number > 0 && tstart->number < most_days;
    TRY(fbh5->time.has_start ? STATUS_OK
        : tstart->is_said
            ? assume(&fbh5->assumed, "tstart is %.12g: the start is unknown", tstart->number)
            : assume(&fbh5->assumed, "tstart is not said: the start is unknown"));
    fbh5->time.tstart_mjd = fbh5->time.has_start ? tstart->number : 0;
    fbh5->time.start = utc_of_mjd(fbh5->time.tstart_mjd);
    fbh5->time.first = fbh5->time.step / 2;
out:
    return st;
}

/* The header, for all of the program. */
static status_t sigproc_settle(struct sigproc_words *words, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
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
    TRY(memory_text(words->said[SIGPROC_SOURCE_NAME].text, &fbh5->head.source));
    TRY(memory_text(words->said[SIGPROC_RAWDATAFILE].text, &fbh5->head.rawdatafile));
    TRY(memory_zeroed(1, sizeof *table->first, "spectra", &table->first));
    table->count = 1;
    table->offset = words->bytes;
    fbh5->is_plain = table->bits >= 8 && (!table->is_signed || table->bits == 32);
    fbh5->data_offset = words->bytes;
out:
    return st;
}

/* Another file follows in this one: where nsamples ends, or where the file is some equal ones. */
static status_t sigproc_check_alone(const struct sigproc_words *words, const struct fbh5 *fbh5,
                                    int fd)
{
    enum { MOST_EQUAL = 16 };
    status_t st = STATUS_OK;
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
out:
    return st;
}

/* As many bytes as the header may have. */
static status_t sigproc_read_head(const char *path, struct text *head)
{
    status_t st = STATUS_OK;
    TRY(recorder_head(path, USUAL_HEADER, head));
    if (!memmem(head->data, head->length, last_word, sizeof last_word - 1)) {
        text_free(head);
        TRY(recorder_head(path, MOST_HEADER, head));
    }
out:
    return st;
}

static status_t sigproc_open(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct text head = {0};
    struct sigproc_words words = {.nmhz = 0};
    int fd = -1;
    TRY(filterbank_begin(path, "SIGPROC", &fbh5, &fd));
    TRY(sigproc_read_head(path, &head));
    TRY(sigproc_read_words(path, &head, &words, &fbh5->assumed));
    TRY(sigproc_settle(&words, fbh5));
    TRY(sigproc_check_alone(&words, fbh5, fd));
    *out = fbh5;
    fbh5 = NULL;
out:
    sigproc_words_free(&words);
    text_free(&head);
    file_close(fd);
    fbh5_destroy(fbh5);
    return st;
}

const struct format sigproc_format = {.name = "sigproc",
                                      .title = "a SIGPROC filterbank",
                                      .expected = "a SIGPROC filterbank",
                                      .is_no_product = 1,
                                      .recognise = sigproc_recognise,
                                      .open_filterbank = sigproc_open};
