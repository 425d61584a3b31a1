/* Growing texts, whole files as texts, and the natural order of names. */
#include "base/text.h"

#include "base/display.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SHOWN_BYTES = 16384 };

static status_t text_reserve(struct text *text, size_t more)
{
    status_t st = text->status;
    size_t needed = text->length + more + 1;
    if (st == STATUS_OK && needed > text->capacity) {
        size_t capacity = text->capacity * 2 > needed ? text->capacity * 2 : needed + 64;
        char *data = realloc(text->data, capacity);
        REQUIRE_OUT(data, STATUS_DEVICE, "out of memory: a text of %zu bytes", capacity);
        text->data = data;
        text->capacity = capacity;
    }
out:
    text->status = st;
    return st;
}

status_t text_add_bytes(struct text *text, const char *bytes, size_t count)
{
    TRY(text_reserve(text, count));
    if (count > 0) {
        memcpy(text->data + text->length, bytes, count);
    }
    text->length += count;
    text->data[text->length] = '\0';
    return STATUS_OK;
}

status_t text_add(struct text *text, const char *format, ...)
{
    status_t st = STATUS_OK;
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int count = vsnprintf(NULL, 0, format, args);
    REQUIRE_OUT(count >= 0, STATUS_DEVICE, "a text cannot be formatted: %s", format);
    TRY_OUT(text_reserve(text, (size_t)count));
    vsnprintf(text->data + text->length, (size_t)count + 1, format, again);
    text->length += (size_t)count;
out:
    va_end(args);
    va_end(again);
    text->status = st;
    return st;
}

status_t text_add_shown(struct text *text, const char *format, ...)
{
    char shown[SHOWN_BYTES];
    va_list args;
    va_start(args, format);
    display_format_list(shown, sizeof shown, format, args);
    va_end(args);
    return text_add_bytes(text, shown, strlen(shown));
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

static int text_is_nameless_pipe(int fd, const struct stat *info)
{
    enum { PIPEFS = 0x50495045 };
    struct statfs system;
    return S_ISFIFO(info->st_mode) && fstatfs(fd, &system) == 0 && system.f_type == PIPEFS;
}

/* Skips the UTF-8 byte order mark with which editors of Windows begin a file. */
static void text_skip_byte_order_mark(FILE *file)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    int found = 0;
    int c = getc(file);
    while (found < 3 && c == mark[found]) {
        found++;
        c = found < 3 ? getc(file) : c;
    }
    if (found == 3) {
        return;
    }
    (void)ungetc(c, file);
    while (found > 0) {
        (void)ungetc(mark[--found], file);
    }
}

SCOPED_CALLS(fd_close, int, (void)(*at >= 0 && close(*at)))

status_t text_open(const char *path, const char *what, int takes_pipe, FILE **out)
{
    struct stat info;
    /* A named pipe would wait for a writer. */
    SCOPED(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    REQUIRE(fd >= 0 && fstat(fd, &info) == 0,
            errno == EMFILE || errno == ENFILE || errno == ENOMEM ? STATUS_DEVICE : STATUS_DATA,
            "cannot read %s%s: %s", what, path, strerror(errno));
    REQUIRE(S_ISREG(info.st_mode) || (takes_pipe && text_is_nameless_pipe(fd, &info)), STATUS_DATA,
            "cannot read %s%s: expected a file, it is a %s", what, path,
            S_ISFIFO(info.st_mode)  ? "named pipe"
            : S_ISDIR(info.st_mode) ? "folder"
                                    : "device");
    REQUIRE(fcntl(fd, F_SETFL, O_RDONLY) == 0, STATUS_DATA, "cannot read %s%s: %s", what, path,
            strerror(errno));
    *out = fdopen(fd, "r");
    REQUIRE(*out, STATUS_DEVICE, "out of memory: %s%s", what, path);
    fd = -1;
    text_skip_byte_order_mark(*out);
    return STATUS_OK;
}

void text_close(FILE *file)
{
    if (file) {
        fclose(file);
    }
}

void text_free_list(char **list, size_t count)
{
    for (size_t i = 0; list && i < count; i++) {
        free(list[i]);
    }
    free(list);
}

status_t text_read_file(struct text *text, const char *path, size_t limit, const char *expected)
{
    static const unsigned char hdf5[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    SCOPED(text_close_at) FILE *file = NULL;
    TRY(text_open(path, "", 1, &file));
    char block[65536];
    for (;;) {
        size_t count = fread(block, 1, sizeof block, file);
        REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", path, strerror(errno));
        if (count == 0) {
            break;
        }
        int is_hdf5 =
            text->length == 0 && count >= sizeof hdf5 && !memcmp(block, hdf5, sizeof hdf5);
        REQUIRE(!is_hdf5, STATUS_USAGE, "%s is an HDF5 file, expected %s", path, expected);
        REQUIRE(text->length + count <= limit, STATUS_DATA,
                "%s is larger than %zu bytes, expected %s", path, limit, expected);
        TRY(text_add_bytes(text, block, count));
    }
    return text_add_bytes(text, "", 0);
}

size_t text_line_of_nul(const char *text, size_t length)
{
    const char *nul = length > 0 ? memchr(text, '\0', length) : NULL;
    size_t line = nul ? 1 : 0;
    for (const char *c = text; nul && c < nul; c++) {
        line += *c == '\n';
    }
    return line;
}

static int text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compares the numbers at which both stand, of any length, and goes after them. */
static int text_compare_numbers(const char **a, const char **b)
{
    size_t digits[2] = {0, 0};
    const char *at[2] = {*a, *b};
    for (int i = 0; i < 2; i++) {
        while (*at[i] == '0') {
            at[i]++;
        }
        while (text_is_digit(at[i][digits[i]])) {
            digits[i]++;
        }
    }
    *a = at[0] + digits[0];
    *b = at[1] + digits[1];
    return digits[0] != digits[1] ? (digits[0] < digits[1] ? -1 : 1)
                                  : strncmp(at[0], at[1], digits[0]);
}

int text_compare_natural(const void *left, const void *right)
{
    const char *a = *(char *const *)left;
    const char *b = *(char *const *)right;
    while (*a && *b) {
        int order = (unsigned char)*a - (unsigned char)*b;
        if (text_is_digit(*a) && text_is_digit(*b)) {
            order = text_compare_numbers(&a, &b);
        } else {
            a++;
            b++;
        }
        if (order) {
            return order;
        }
    }
    /* The shorter one first; numbers may differ by zeros in front alone. */
    return *a || *b ? (*a ? 1 : -1) : strcmp(*(char *const *)left, *(char *const *)right);
}

/* Returns the number of characters to change, insert, delete or swap with their neighbour to turn
 * `a` into `b`. Returns LONGEST if a text is longer than that: such names are not mistyped
 * words. */
static size_t text_distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    size_t na = strlen(a);
    size_t nb = strlen(b);
    size_t d[LONGEST + 1][LONGEST + 1];
    if (na > LONGEST || nb > LONGEST) {
        return LONGEST;
    }
    for (size_t i = 0; i <= na; i++) {
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
            least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                least = d[i - 2][j - 2] + 1 < least ? d[i - 2][j - 2] + 1 : least;
            }
            d[i][j] = least;
        }
    }
    return d[na][nb];
}

/* Our words, and those that other programs have for them. */
static const char *const text_synonyms[][2] = {
    {"sample_rate_hz", "sample_rate|samp_rate|fs"},
    {"sample_period_s", "tsamp"},
    {"freq_hz", "frequency|freq|center_freq"},
    {"channelise", "channelize|channelizer"},
    {"channels", "nchan|nchans|nfft|fft_size"},
    {"taps", "ntaps"},
    {"hann", "hanning"},
    {"rect", "none|boxcar"},
    {"polarisation", "polarization|stokes"},
    {"integrate", "tint"},
    {"file", "output|filename|path"},
    {"bits", "nbits"},
    {"source", "source_name"},
    {"re", "real"},
    {"im", "imag|imaginary"},
    {"threads", "nthreads"},
    {"opencl", "cuda|gpu"},
    {"--version", "-v|version"},
};

static int text_is_synonym(const char *typed, const char *word)
{
    char lower[16] = "";
    int is = strcasecmp(typed, word) == 0;
    for (size_t i = 0; typed[i] && i + 1 < sizeof lower; i++) {
        lower[i] = (char)tolower((unsigned char)typed[i]);
    }
    for (size_t i = 0; i < sizeof text_synonyms / sizeof *text_synonyms; i++) {
        is |= strcmp(word, text_synonyms[i][0]) == 0 && strlen(typed) < sizeof lower &&
              text_place(text_synonyms[i][1], lower, strlen(lower)) >= 0;
    }
    return is;
}

int text_guess(struct text_guess *guess, const char *word)
{
    enum { MOST = 2 };
    size_t far = text_is_synonym(guess->typed, word) ? 0 : text_distance(guess->typed, word);
    /* At least half of a short word must be right for it to be meant. */
    int is_near = far <= MOST && 2 * far <= strlen(word) && (!guess->meant || far < guess->far);
    guess->meant = is_near ? word : guess->meant;
    guess->far = is_near ? far : guess->far;
    return is_near;
}

status_t text_add_path(struct text *text, const char *path, int *ok)
{
    int is_home = *path == '~' && (path[1] == '/' || path[1] == '\0');
    const char *home = is_home ? getenv("HOME") : "";
    *ok = home && (*home || !is_home);
    return text_add(text, "%s%s", home ? home : "", path + is_home);
}

status_t text_add_line(struct text *lines, const char *name)
{
    text_add(lines, "%s", lines->length > 0 ? "\n" : "");
    size_t first = lines->length;
    text_add(lines, "%s", name);
    for (size_t i = first; i < lines->length; i++) {
        lines->data[i] = lines->data[i] == '\n' ? '?' : lines->data[i];
    }
    return lines->status;
}

const char *text_line(const char *lines, size_t at, size_t *length)
{
    while (lines && at > 0) {
        lines = strchr(lines, '\n');
        lines = lines ? lines + 1 : NULL;
        at--;
    }
    *length = lines ? strcspn(lines, "\n") : 0;
    return lines;
}

const char *text_next_line(const char **rest, size_t *length)
{
    const char *line = *rest;
    if (!line || !*line) {
        return NULL;
    }
    *length = strcspn(line, "\n");
    *rest = line + *length + (line[*length] == '\n');
    return line;
}

int text_is_among(const char *const *names, size_t count, const char *name)
{
    int is = 0;
    for (size_t i = 0; i < count; i++) {
        is |= strcmp(names[i], name) == 0;
    }
    return is;
}

int text_place(const char *alternatives, const char *word, size_t length)
{
    int place = 0;
    for (const char *at = alternatives; at && *at && length > 0; place++) {
        size_t here = strcspn(at, "|");
        if (here == length && memcmp(at, word, length) == 0) {
            return place;
        }
        at += here + (at[here] == '|');
    }
    return -1;
}

int text_ends(const char *name, const char *ending)
{
    size_t length = strlen(name);
    size_t letters = strlen(ending);
    return length > letters && strcmp(name + length - letters, ending) == 0;
}

const char *text_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
