/* Reads the text axis by axis, and says what is wrong with it. */
#include "job/axes_text.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Larger sizes are typing errors; products of all axes still fit. */
static const uint64_t largest_size = (uint64_t)1 << 40;

static const char *axes_skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Reads the name of an axis; returns 0 when there is none. */
static int axes_parse_name(const char **at, enum axis *axis, char *message)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strspn(*at, letters);
    for (int i = 0; i < AXIS_KINDS; i++) {
        const char *name = axis_name((enum axis)i);
        if (strlen(name) == length && strncmp(*at, name, length) == 0) {
            *at += length;
            *axis = (enum axis)i;
            return 1;
        }
    }
    if (length == 0) {
        snprintf(message, AXES_TEXT_MESSAGE,
                 **at ? "expected an axis before \"%.20s\"" : "expected an axis at the end%s", *at);
    } else {
        snprintf(message, AXES_TEXT_MESSAGE,
                 "no axis is called %.*s, expected time, station, beam, pol, chan or reim",
                 (int)(length < 40 ? length : 40), *at);
    }
    return 0;
}

/* Reads ":SIZE" if it is there; *size = 0 if not. */
static int axes_parse_size(const char **at, uint64_t *size, char *message)
{
    *size = 0;
    *at = axes_skip_blanks(*at);
    if (**at != ':') {
        return 1;
    }
    *at = axes_skip_blanks(*at + 1);
    size_t digits = strspn(*at, "0123456789");
    for (size_t i = 0; i < digits && *size <= largest_size; i++) {
        *size = 10 * *size + (uint64_t)((*at)[i] - '0');
    }
    if (*size == 0 || *size > largest_size) {
        snprintf(message, AXES_TEXT_MESSAGE, "expected a size from 1 to 1099511627776 behind ':'");
        return 0;
    }
    *at = axes_skip_blanks(*at + digits);
    return 1;
}

/* Reads one dimension: axes joined by '*'. */
static int axes_parse_dimension(const char **at, uint32_t dim, struct axes_text *out,
                                unsigned *seen, char *message)
{
    uint32_t left_out = 0;
    for (;;) {
        enum axis axis;
        uint64_t size;
        *at = axes_skip_blanks(*at);
        if (!axes_parse_name(at, &axis, message) || !axes_parse_size(at, &size, message)) {
            return 0;
        }
        /* Time comes in pieces: twice at most, and outermost. */
        int is_piece = axis == AXIS_TIME && dim > 0 && out->dim[0].part[0] == AXIS_TIME &&
                       !(*seen & 1U << AXIS_KINDS);
        if (*seen & 1U << axis && !is_piece) {
            snprintf(message, AXES_TEXT_MESSAGE, "the axis %s stands there twice%s",
                     axis_name(axis), axis == AXIS_TIME ? ", and not outermost" : "");
            return 0;
        }
        *seen |= is_piece ? 1U << AXIS_KINDS : 0;
        *seen |= 1U << axis;
        left_out += size == 0;
        out->dim[dim].part[out->dim[dim].nparts] = axis;
        out->dim[dim].size[out->dim[dim].nparts++] = size;
        if (**at != '*') {
            break;
        }
        ++*at;
    }
    if (left_out > 1) {
        snprintf(message, AXES_TEXT_MESSAGE,
                 "of axes joined by '*', all but one need a size, such as chan:2*pol");
        return 0;
    }
    return 1;
}

/* Checks axes for errors that no single dimension shows. */
static int axes_check_whole(const struct axes_text *axes, char *message)
{
    uint64_t product = 1;
    if (!axes_text_has(axes, AXIS_TIME)) {
        snprintf(message, AXES_TEXT_MESSAGE, "the axis time is missing");
        return 0;
    }
    for (uint32_t i = 0; i < axes->ndims; i++) {
        for (uint32_t k = 0; k < axes->dim[i].nparts; k++) {
            enum axis axis = axes->dim[i].part[k];
            uint64_t size = axes->dim[i].size[k];
            if (axis == AXIS_TIME && axes->dim[i].nparts > 1) {
                snprintf(message, AXES_TEXT_MESSAGE, "the axis time cannot be joined with others");
                return 0;
            }
            if (axis == AXIS_REIM && size != 0 && size != 2) {
                snprintf(message, AXES_TEXT_MESSAGE, "the axis reim has size 2");
                return 0;
            }
            if (!multiply_u64(product, size ? size : 1, &product)) {
                snprintf(message, AXES_TEXT_MESSAGE, "the sizes are absurdly large together");
                return 0;
            }
        }
    }
    return 1;
}

int axes_text_parse(const char *text, struct axes_text *out, char message[AXES_TEXT_MESSAGE])
{
    const char *at = text;
    unsigned seen = 0;
    memset(out, 0, sizeof *out);
    for (;;) {
        /* No axis but time may stand there twice, so that no text has more dimensions: one more
         * fails in axes_parse_dimension(), before it is stored. */
        uint32_t dim = out->ndims < AXES_TEXT_DIMS ? out->ndims++ : AXES_TEXT_DIMS - 1;
        if (!axes_parse_dimension(&at, dim, out, &seen, message)) {
            return 0;
        }
        if (*at != ',') {
            break;
        }
        at++;
    }
    if (*at != '\0') {
        snprintf(message, AXES_TEXT_MESSAGE, "expected ',' or the end before \"%.20s\"", at);
        return 0;
    }
    return axes_check_whole(out, message);
}

int axes_text_has(const struct axes_text *axes, enum axis axis)
{
    for (uint32_t i = 0; i < axes->ndims; i++) {
        for (uint32_t k = 0; k < axes->dim[i].nparts; k++) {
            if (axes->dim[i].part[k] == axis) {
                return 1;
            }
        }
    }
    return 0;
}

int axes_text_in_pieces(const struct axes_text *axes)
{
    int times = 0;
    for (uint32_t i = 0; i < axes->ndims; i++) {
        times += axes->dim[i].part[0] == AXIS_TIME;
    }
    return times > 1;
}
