/* Word by word, so that mistakes have lines. */
#include "plan/products/sum_factors.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the numbers of a line. */
static status_t sum_factors_take(const char *path, size_t line, char *text, uint32_t count,
                                 double *out, uint32_t *found)
{
    status_t st = STATUS_OK;
    static const char blanks[] = " \t\r\n\v\f,";
    char *rest = NULL;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest)) {
        double value = 0;
        REQUIRE(units_parse_f64(word, &value) && value >= 0 && isfinite(value), STATUS_DATA,
                "%s, line %zu: '%.40s' is no weight, expected a number of at least 0", path, line,
                word);
        if (*found < count) {
            out[*found] = value;
        }
        (*found)++;
    }
out:
    return st;
}

status_t sum_factors_read(const char *path, uint32_t count, const char *whose, double **out)
{
    status_t st = STATUS_OK;
    FILE *file = NULL;
    char *text = NULL;
    size_t room = 0;
    double *weights = NULL;
    double sum = 0;
    uint32_t found = 0;
    TRY(text_open(path, "the weights of sums in ", 0, &file));
    TRY(memory_zeroed(count, sizeof *weights, "weights of sums", &weights));
    for (size_t line = 1; getline(&text, &room, file) >= 0; line++) {
        TRY(sum_factors_take(path, line, text, count, weights, &found));
    }
    REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", path, strerror(errno));
    REQUIRE(found == count, STATUS_DATA, "%s has %u weights, but %u %s are added up", path, found,
            count, whose);
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    REQUIRE(sum > 0 && isfinite(sum), STATUS_DATA, "%s: the sum of its weights is %g", path, sum);
    *out = weights;
    weights = NULL;
out:
    if (file) {
        fclose(file);
    }
    free(text);
    free(weights);
    return st;
}
