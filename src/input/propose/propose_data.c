/* Which datasets hold the samples. */
#include "input/propose/propose_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Names of real and imaginary parts, as words of a path: "/real", "data_re", "voltI". */
static const char *const pairs[][2] = {{"real", "imag"}, {"real", "imaginary"},     {"re", "im"},
                                       {"i", "q"},       {"inphase", "quadrature"}, {"r", "i"}};

/* Whether a word of this length is at `at`: no letters of another word touch it. */
static int data_is_word(const char *path, size_t at, size_t length)
{
    int begins = at == 0 || !isalpha((unsigned char)path[at - 1]) ||
                 (isupper((unsigned char)path[at]) && islower((unsigned char)path[at - 1]));
    char last = path[at + length - 1];
    char next = path[at + length];
    int ends = !isalpha((unsigned char)next) ||
               (isupper((unsigned char)next) && islower((unsigned char)last));
    return begins && ends;
}

/* The path with the word of `length` letters at `at` replaced, in the same case of letters. */
static void data_replace(const char *path, size_t at, size_t length, const char *by, char *out,
                         size_t size)
{
    int is_first_upper = isupper((unsigned char)path[at]) != 0;
    int is_upper = is_first_upper && (length == 1 || isupper((unsigned char)path[at + 1]));
    char word[16] = "";
    for (size_t i = 0; by[i] && i < sizeof word - 1; i++) {
        int is_large = i == 0 ? is_first_upper : is_upper;
        word[i] = (char)(is_large ? toupper((unsigned char)by[i]) : by[i]);
    }
    snprintf(out, size, "%.*s%s%s", (int)at, path, word, path + at + length);
}

static int data_are_alike(const struct propose_data *a, const struct propose_data *b)
{
    return !a->is_compound && !b->is_compound && a->class == b->class && a->bytes == b->bytes &&
           a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static const struct propose_data *data_find(const struct proposal *p, const char *path)
{
    for (size_t i = 0; i < p->ndata; i++) {
        if (strcmp(p->data[i].path, path) == 0) {
            return &p->data[i];
        }
    }
    return NULL;
}

/* The dataset of the imaginary parts to these real ones; NULL: they are none. */
static const struct propose_data *data_partner(const struct proposal *p,
                                               const struct propose_data *re)
{
    char other[1024];
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        size_t length = strlen(pairs[k][0]);
        size_t end = strlen(re->path);
        for (size_t at = 0; at + length <= end && end < sizeof other - 16; at++) {
            if (strncasecmp(re->path + at, pairs[k][0], length) != 0 ||
                !data_is_word(re->path, at, length)) {
                continue;
            }
            data_replace(re->path, at, length, pairs[k][1], other, sizeof other);
            const struct propose_data *im = data_find(p, other);
            if (im && im != re && data_are_alike(re, im)) {
                return im;
            }
        }
    }
    return NULL;
}

void propose_choose(struct proposal *p)
{
    uint64_t most = 0;
    for (size_t i = 0; i < p->ndata; i++) {
        if (p->data[i].numbers > most) {
            most = p->data[i].numbers;
            p->re = &p->data[i];
        }
    }
    /* Two parts count as both; of datasets as large, they come first. */
    for (size_t i = 0; i < p->ndata && !p->im; i++) {
        if (p->data[i].numbers >= (most + 1) / 2) {
            p->im = data_partner(p, &p->data[i]);
            p->re = p->im ? &p->data[i] : p->re;
        }
    }
}
