/* SIGPROC filterbanks (.fil): a header of keywords and values in binary, little-endian, and behind
 * it [time][if][channel] of 1, 2, 4, 8 or 16 bits, unsigned, or 32-bit floating point; what is
 * packed begins in a byte's low bits. */
#include "archive/format/filterbank/filterbank.h"
#include "archive/format/recorder/recorder.h"
#include "base/memory.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HEADER = 64 << 10, MOST_WORD = 80 };

static const char first_word[] = "HEADER_START";

struct sigproc {
    const char *path;
    const struct text *text;
    size_t at;
    int32_t bits, ifs, channels, type;
    double raj, dej;
};

static status_t sigproc_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    TRY(recorder_head(path, 4 + sizeof first_word - 1, &head));
    *is_it = head.length == 4 + sizeof first_word - 1 && memcmp(head.data, "\14\0\0\0", 4) == 0 &&
             memcmp(head.data + 4, first_word, sizeof first_word - 1) == 0;
out:
    text_free(&head);
    return st;
}

static status_t sigproc_take(struct sigproc *s, size_t bytes, const char *word, void *out)
{
    status_t st = STATUS_OK;
    REQUIRE(s->text->length - s->at >= bytes, STATUS_DATA,
            "%s: its SIGPROC header ends at byte %zu, behind %s, without HEADER_END", s->path,
            s->text->length, word);
    memcpy(out, s->text->data + s->at, bytes);
    s->at += bytes;
out:
    return st;
}

static status_t sigproc_take_text(struct sigproc *s, const char *behind, char out[MOST_WORD + 1])
{
    status_t st = STATUS_OK;
    int32_t length = 0;
    TRY(sigproc_take(s, sizeof length, behind, &length));
    REQUIRE(length >= 1 && length <= MOST_WORD, STATUS_DATA,
            "%s: a text of %d bytes at byte %zu of its SIGPROC header, behind %s, expected 1 to %d",
            s->path, length, s->at - sizeof length, behind, MOST_WORD);
    TRY(sigproc_take(s, (size_t)length, behind, out));
    out[length] = '\0';
out:
    return st;
}

/* The value of a keyword, to where it belongs, if anywhere. */
static status_t sigproc_take_value(struct sigproc *s, const char *word, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    int32_t other = 0;
    double number = 0;
    char text[MOST_WORD + 1];
    char **name = strcmp(word, "source_name") == 0   ? &fbh5->source
                  : strcmp(word, "rawdatafile") == 0 ? &fbh5->rawdatafile
                                                     : NULL;
    const struct {
        const char *word;
        int32_t *value;
    } whole[] = {{"machine_id", &fbh5->machine_id},
                 {"telescope_id", &fbh5->telescope_id},
                 {"nbeams", &fbh5->nbeams},
                 {"ibeam", &fbh5->ibeam},
                 {"nbits", &s->bits},
                 {"nifs", &s->ifs},
                 {"nchans", &s->channels},
                 {"data_type", &s->type},
                 {"nsamples", &other},
                 {"barycentric", &other},
                 {"pulsarcentric", &other},
                 {"nbins", &other}};
    const struct {
        const char *word;
        double *value;
    } real[] = {{"fch1", &fbh5->fch1_mhz},
                {"foff", &fbh5->foff_mhz},
                {"tsamp", &fbh5->tsamp},
                {"tstart", &fbh5->tstart_mjd},
                {"az_start", &fbh5->az_start},
                {"za_start", &fbh5->za_start},
                {"src_raj", &s->raj},
                {"src_dej", &s->dej},
                {"refdm", &number},
                {"period", &number}};
    if (name) {
        TRY(sigproc_take_text(s, word, text));
        free(*name);
        *name = NULL;
        TRY(memory_text(text, name));
        goto out;
    }
    if (strcmp(word, "signed") == 0) {
        char is_signed = 0;
        TRY(sigproc_take(s, 1, word, &is_signed));
        fbh5->table.is_signed = is_signed != 0;
        goto out;
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (strcmp(word, whole[i].word) == 0) {
            TRY(sigproc_take(s, sizeof *whole[i].value, word, whole[i].value));
            goto out;
        }
    }
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        if (strcmp(word, real[i].word) == 0) {
            TRY(sigproc_take(s, sizeof *real[i].value, word, real[i].value));
            goto out;
        }
    }
    FAIL(STATUS_DATA,
         "%s: its SIGPROC header has a keyword %s, of which nobody knows how long its "
         "value is",
         s->path, word);
out:
    return st;
}

/* hhmmss.s and ddmmss.s. */
static double sigproc_unpack_sixtieths(double value)
{
    double whole = floor(fabs(value) / 1e4);
    double minutes = floor((fabs(value) - whole * 1e4) / 100);
    double seconds = fabs(value) - whole * 1e4 - minutes * 100;
    return copysign(whole + minutes / 60 + seconds / 3600, value);
}

/* What the header says, for all of the program. */
static status_t sigproc_settle(const struct sigproc *s, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct fbh5_table *table = &fbh5->table;
    REQUIRE(s->channels > 0 && s->ifs > 0 && s->bits > 0, STATUS_DATA,
            "%s: nchans %d, nifs %d, nbits %d, expected more than 0", s->path, s->channels, s->ifs,
            s->bits);
    fbh5->nchannels = (uint32_t)s->channels;
    fbh5->nifs = (uint32_t)s->ifs;
    table->bits = (uint32_t)s->bits;
    TRY(filterbank_finish(fbh5));
    uint64_t bytes = (uint64_t)fbh5->nifs * fbh5->nchannels * table->bits / 8;
    uint64_t held = fbh5->file_bytes - s->at;
    fbh5->rows = held / bytes;
    REQUIRE(fbh5->rows > 0, STATUS_DATA,
            "%s holds %" PRIu64 " bytes behind its header, but one spectrum has %" PRIu64, s->path,
            held, bytes);
    if (held % bytes != 0) {
        report_warn("%s ends within a spectrum: what is there of it is left out", s->path);
    }
    table->offset = s->at;
    table->rows_each = fbh5->rows;
    table->row_bytes = held;
    TRY(memory_zeroed(1, sizeof *table->first, "spectra", &table->first));
    table->count = 1;
    fbh5->is_plain = table->bits >= 8 && (!table->is_signed || table->bits == 32);
    fbh5->data_offset = s->at;
    fbh5->has_start = isfinite(fbh5->tstart_mjd) && fbh5->tstart_mjd > 0;
    fbh5->tstart_mjd = fbh5->has_start ? fbh5->tstart_mjd : 0;
    fbh5->start = utc_of_mjd(fbh5->tstart_mjd);
    fbh5->first_time = fbh5->tsamp / 2;
    fbh5->raj_hours = isfinite(s->raj) ? sigproc_unpack_sixtieths(s->raj) : 0;
    fbh5->dej_degrees = isfinite(s->dej) ? sigproc_unpack_sixtieths(s->dej) : 0;
    fbh5->has_position = fbh5->raj_hours > 0 || fbh5->dej_degrees < 0 || fbh5->dej_degrees > 0;
out:
    return st;
}

static status_t sigproc_read_header(struct sigproc *s, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    char word[MOST_WORD + 1] = "its first word";
    char before[MOST_WORD + 1];
    do {
        memcpy(before, word, sizeof before);
        TRY(sigproc_take_text(s, before, word));
        if (strcmp(word, first_word) != 0 && strcmp(word, "HEADER_END") != 0) {
            TRY(sigproc_take_value(s, word, fbh5));
        }
    } while (strcmp(word, "HEADER_END") != 0);
    TRY(sigproc_settle(s, fbh5));
out:
    return st;
}

static status_t sigproc_open(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct text head = {0};
    int fd = -1;
    TRY(filterbank_begin(path, "SIGPROC", &fbh5, &fd));
    TRY(recorder_head(path, MOST_HEADER, &head));
    struct sigproc s = {.path = path, .text = &head, .ifs = 1};
    TRY(sigproc_read_header(&s, fbh5));
    *out = fbh5;
    fbh5 = NULL;
out:
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
