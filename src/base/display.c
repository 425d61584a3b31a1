/* A printf() that reads its own formats: only what is put in is escaped. */
#include "base/display.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 16384, SPEC_BYTES = 32, NUMBER_BYTES = 512 };

/* Text written so far, and the bytes left in the buffer. */
struct display {
    char *out;
    size_t bytes, length;
};

/* One conversion of a format: "%-13.5s". */
struct spec {
    char flags[8];
    int width, precision; /* -1: none */
    char size[3];         /* hh, h, l, ll, z, j, t, L */
    char what;
};

static void display_add(struct display *d, const char *text, size_t length)
{
    size_t room = d->bytes - 1 - d->length;
    size_t count = length < room ? length : room;
    memcpy(d->out + d->length, text, count);
    d->length += count;
    d->out[d->length] = '\0';
}

size_t display_character(const char *at, size_t left)
{
    const unsigned char *text = (const unsigned char *)at;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = text[0];
    size_t count = first < 0x80             ? 1
                   : (first & 0xe0) == 0xc0 ? 2
                   : (first & 0xf0) == 0xe0 ? 3
                   : (first & 0xf8) == 0xf0 ? 4
                                            : 0;
    if (count == 0 || count > left) {
        return 0;
    }
    uint32_t code = count == 1 ? first : first & (0x7fU >> count);
    for (size_t i = 1; i < count; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (text[i] & 0x3fU);
    }
    int steers = code < 0x20 || (code >= 0x7f && code < 0xa0);
    int is_none = code < least[count] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    return steers || is_none ? 0 : count;
}

/* Writes one byte as an escape sequence of C; returns its length. */
static int display_escape(unsigned char byte, char out[8])
{
    static const char named[] = "\a\b\t\n\v\f\r";
    static const char letters[] = "abtnvfr";
    const char *found = byte ? strchr(named, byte) : NULL;
    return found ? snprintf(out, 8, "\\%c", letters[found - named])
                 : snprintf(out, 8, "\\x%02x", byte);
}

static void display_text(struct display *d, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        char escaped[8];
        size_t count = display_character(text + at, length - at);
        if (count > 0) {
            display_add(d, text + at, count);
            at += count;
        } else {
            int bytes = display_escape((unsigned char)text[at], escaped);
            display_add(d, escaped, (size_t)bytes);
            at++;
        }
    }
}

static void display_blanks(struct display *d, size_t from, int width)
{
    for (; width > 0 && from < (size_t)width; from++) {
        display_add(d, " ", 1);
    }
}

static void display_string(struct display *d, const struct spec *spec, const char *text)
{
    const char *there = text ? text : "(null)";
    size_t length = spec->precision < 0 ? strlen(there) : strnlen(there, (size_t)spec->precision);
    int is_left = strchr(spec->flags, '-') != NULL;
    display_blanks(d, length, is_left ? 0 : spec->width);
    display_text(d, there, length);
    display_blanks(d, length, is_left ? spec->width : 0);
}

/* A place in a format, and the arguments that are left. */
struct reading {
    const char *at;
    va_list args;
};

static int display_read_number(struct reading *in)
{
    int number = 0;
    if (*in->at == '*') {
        in->at++;
        return va_arg(in->args, int);
    }
    for (; *in->at >= '0' && *in->at <= '9'; in->at++) {
        number = number < LINE_BYTES ? number * 10 + (*in->at - '0') : number;
    }
    return number;
}

/* Reads a conversion's flags, width, precision and size, after the '%'. */
static void display_read_spec(struct reading *in, struct spec *out)
{
    *out = (struct spec){.width = 0, .precision = -1};
    for (size_t n = 0; *in->at && strchr("-+ #0", *in->at) && n + 1 < sizeof out->flags;) {
        out->flags[n++] = *in->at++;
    }
    out->width = display_read_number(in);
    if (*in->at == '.') {
        in->at++;
        out->precision = display_read_number(in);
    }
    for (size_t n = 0; *in->at && strchr("hlzjtL", *in->at) && n + 1 < sizeof out->size;) {
        out->size[n++] = *in->at++;
    }
    out->what = *in->at;
    in->at += *in->at != '\0';
}

/* Any integer as the widest: its size was only how it was handed over. */
static intmax_t display_take_integer(struct reading *in, const struct spec *spec)
{
    int is_signed = spec->what == 'd' || spec->what == 'i';
    switch (spec->size[0]) {
    case 'l':
        return spec->size[1] == 'l' ? va_arg(in->args, long long) : va_arg(in->args, long);
    case 'z':
    case 't':
        return va_arg(in->args, ptrdiff_t);
    case 'j':
        return va_arg(in->args, intmax_t);
    default:
        return is_signed ? va_arg(in->args, int) : (intmax_t)va_arg(in->args, unsigned);
    }
}

static void display_number(struct display *d, const struct spec *spec, struct reading *in)
{
    char format[SPEC_BYTES];
    char out[NUMBER_BYTES];
    int is_real = strchr("aAeEfFgG", spec->what) != NULL;
    snprintf(format, sizeof format, "%%%s*.*%s%c", spec->flags, is_real ? "" : "j", spec->what);
    if (is_real) {
        snprintf(out, sizeof out, format, spec->width, spec->precision, va_arg(in->args, double));
    } else {
        snprintf(out, sizeof out, format, spec->width, spec->precision,
                 display_take_integer(in, spec));
    }
    display_add(d, out, strlen(out));
}

static void display_spec(struct display *d, struct reading *in)
{
    struct spec spec;
    display_read_spec(in, &spec);
    if (spec.what == '%') {
        display_add(d, "%", 1);
    } else if (spec.what == 's') {
        display_string(d, &spec, va_arg(in->args, const char *));
    } else if (spec.what == 'c') {
        char one = (char)va_arg(in->args, int);
        display_text(d, &one, 1);
    } else if (spec.what != '\0') {
        display_number(d, &spec, in);
    }
}

/* Escapes all texts that are put in, newlines too. */
static void display_fill(char *out, size_t bytes, const char *format, va_list args)
{
    struct display d = {.out = out, .bytes = bytes};
    struct reading in = {.at = format};
    out[0] = '\0';
    va_copy(in.args, args);
    while (*in.at) {
        size_t plain = strcspn(in.at, "%");
        display_add(&d, in.at, plain);
        in.at += plain;
        if (*in.at == '%') {
            in.at++;
            display_spec(&d, &in);
        }
    }
    va_end(in.args);
}

void display_format_list(char *out, size_t bytes, const char *format, va_list args)
{
    struct display d = {.out = out, .bytes = bytes};
    out[0] = '\0';
    if (strcmp(format, "%s") != 0) {
        display_fill(out, bytes, format, args);
        return;
    }
    /* Line ends stay in a message that was composed before. */
    for (const char *text = va_arg(args, const char *); *text;) {
        size_t length = strcspn(text, "\n");
        display_text(&d, text, length);
        display_add(&d, "\n", text[length] == '\n');
        text += length + (text[length] == '\n');
    }
}

void display_format(char *out, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    display_format_list(out, bytes, format, args);
    va_end(args);
}

static void (*copy_to)(const char *line);

void display_copy(void (*copy)(const char *line))
{
    copy_to = copy;
}

static void display_line(const char *line)
{
    fputs(line, stdout);
    if (copy_to) {
        copy_to(line);
    }
}

void display_print(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    display_format_list(line, sizeof line, format, args);
    va_end(args);
    display_line(line);
}

void display_row(const char *name, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    int used = snprintf(line, sizeof line, "  %-13s ", name);
    va_start(args, format);
    display_fill(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    display_line(strcat(line, "\n"));
}
