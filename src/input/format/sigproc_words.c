/* Keywords of SIGPROC headers: each a text (int32 length, letters) with its value after it, up to
 * HEADER_END (SIGPROC's read_header.c). Writers add keywords of their own, and store some numbers
 * in more bytes than SIGPROC does. */
#include "input/format/sigproc_words.h"

#include "base/memory.h"
#include "input/assumed.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORD = 80, MOST_TEXT = 4096, PREFIX = 4, LISTED = 8 };

/* Marks have no value; `fchannel` is a number of the table of frequencies. */
enum words_kind { KIND_TEXT, KIND_WHOLE, KIND_SIGN, KIND_REAL, KIND_ENTRY, KIND_MARK, KIND_END };

static const struct {
    const char *name;
    enum words_kind kind;
} words_known[] = {[SIGPROC_SOURCE_NAME] = {"source_name", KIND_TEXT},
                   [SIGPROC_RAWDATAFILE] = {"rawdatafile", KIND_TEXT},
                   [SIGPROC_MACHINE_ID] = {"machine_id", KIND_WHOLE},
                   [SIGPROC_TELESCOPE_ID] = {"telescope_id", KIND_WHOLE},
                   [SIGPROC_DATA_TYPE] = {"data_type", KIND_WHOLE},
                   [SIGPROC_NCHANS] = {"nchans", KIND_WHOLE},
                   [SIGPROC_NBITS] = {"nbits", KIND_WHOLE},
                   [SIGPROC_NIFS] = {"nifs", KIND_WHOLE},
                   [SIGPROC_NBEAMS] = {"nbeams", KIND_WHOLE},
                   [SIGPROC_IBEAM] = {"ibeam", KIND_WHOLE},
                   [SIGPROC_NSAMPLES] = {"nsamples", KIND_WHOLE},
                   [SIGPROC_BARYCENTRIC] = {"barycentric", KIND_WHOLE},
                   [SIGPROC_PULSARCENTRIC] = {"pulsarcentric", KIND_WHOLE},
                   [SIGPROC_NBINS] = {"nbins", KIND_WHOLE},
                   [SIGPROC_NPULS] = {"npuls", KIND_WHOLE},
                   [SIGPROC_SIGNED] = {"signed", KIND_SIGN},
                   [SIGPROC_FCH1] = {"fch1", KIND_REAL},
                   [SIGPROC_FOFF] = {"foff", KIND_REAL},
                   [SIGPROC_TSAMP] = {"tsamp", KIND_REAL},
                   [SIGPROC_TSTART] = {"tstart", KIND_REAL},
                   [SIGPROC_AZ_START] = {"az_start", KIND_REAL},
                   [SIGPROC_ZA_START] = {"za_start", KIND_REAL},
                   [SIGPROC_SRC_RAJ] = {"src_raj", KIND_REAL},
                   [SIGPROC_SRC_DEJ] = {"src_dej", KIND_REAL},
                   [SIGPROC_REFDM] = {"refdm", KIND_REAL},
                   [SIGPROC_PERIOD] = {"period", KIND_REAL},
                   {"fchannel", KIND_ENTRY},
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

const char *sigproc_name(enum sigproc_word word)
{
    return words_known[word].name;
}

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

/* The same of a keyword, which is printable; copied to `word`. */
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
    status_t st = STATUS_OK;
    if (r->nskipped++ < LISTED) {
        TRY(text_add(&r->skipped, "%s%s", r->skipped.length > 0 ? ", " : "", word));
    }
out:
    return st;
}

/* Continues at the next known keyword. Further names on the way are listed, but for those right
 * after a name, which are its text. */
static status_t words_skip(struct words_reader *r, const char *word)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

static double words_number(const char *at, size_t bytes, enum words_kind kind)
{
    int8_t byte = 0;
    int32_t half = 0;
    int64_t whole = 0;
    double real = 0;
    if (kind == KIND_REAL || kind == KIND_ENTRY) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    memcpy(&byte, at, sizeof byte);
    memcpy(&half, at, bytes < sizeof half ? bytes : sizeof half);
    memcpy(&whole, at, bytes < sizeof whole ? bytes : sizeof whole);
    return bytes == 1 ? byte : bytes == 4 ? half : (double)whole;
}

static status_t words_add_frequency(struct sigproc_words *words, double mhz)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&words->mhz, words->nmhz, sizeof *words->mhz, "a table of frequencies"));
    words->mhz[words->nmhz++] = mhz;
out:
    return st;
}

/* Notes the value of a keyword. Fails with DATA where it had another before. */
static status_t words_note(const struct words_reader *r, size_t index, const char *at, size_t bytes)
{
    status_t st = STATUS_OK;
    struct sigproc_value *said = &r->words->said[index];
    enum words_kind kind = words_known[index].kind;
    struct text text = {0};
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
out:
    text_free(&text);
    return st;
}

static status_t words_take_value(struct words_reader *r, size_t index)
{
    status_t st = STATUS_OK;
    enum words_kind kind = words_known[index].kind;
    const char *at = r->head->data + r->at;
    if (kind >= KIND_MARK) {
        goto out;
    }
    size_t bytes = words_value_bytes(r, r->at, kind);
    REQUIRE(bytes > 0, STATUS_DATA,
            "%s: no value of %s at byte %zu of its SIGPROC header, expected %s", r->path,
            words_known[index].name, r->at,
            kind == KIND_TEXT ? "a text of 0 to 4096 bytes" : "a number");
    r->at += bytes;
    TRY(kind == KIND_ENTRY ? words_add_frequency(r->words, words_number(at, bytes, kind))
                           : words_note(r, index, at, bytes));
out:
    return st;
}

static status_t words_note_skipped(const struct words_reader *r, char **assumed)
{
    return r->nskipped == 0
               ? STATUS_OK
               : assume(assumed, "unknown keywords of the header are skipped, %zu bytes: %s%s",
                        r->skipped_bytes, r->skipped.data, r->nskipped > LISTED ? " ..." : "");
}

status_t sigproc_read_words(const char *path, const struct text *head, struct sigproc_words *out,
                            char **assumed)
{
    status_t st = STATUS_OK;
    struct words_reader r = {.path = path, .head = head, .words = out};
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
    TRY(words_note_skipped(&r, assumed));
out:
    text_free(&r.skipped);
    return st;
}

void sigproc_words_free(struct sigproc_words *words)
{
    for (int i = 0; i < SIGPROC_WORDS; i++) {
        free(words->said[i].text);
    }
    free(words->mhz);
}
