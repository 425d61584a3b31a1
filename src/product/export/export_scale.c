/* Scaling of floats to few bits: what is measured first, the rule for each channel, what is
 * clipped. */
#include "product/export/export_scale.h"

#include "base/memory.h"
#include "base/units.h"
#include "dsp/steps.h"

#include <math.h>

static double scale_largest(uint32_t bits)
{
    return bits == 8 ? UINT8_MAX : UINT16_MAX;
}

status_t scale_begin(const struct scale_options *options, uint32_t bits, uint64_t nlines,
                     struct scale *out)
{
    struct scale scale = {.options = *options, .bits = bits, .low = INFINITY, .high = -INFINITY};
    if (options->kind == SCALE_CHANNELS) {
        scale.nlines = nlines;
        TRY(memory_zeroed((size_t)nlines, sizeof *scale.lines, "means of channels", &scale.lines));
    }
    *out = scale;
    return STATUS_OK;
}

int scale_must_measure(const struct scale *scale)
{
    return scale->options.kind == SCALE_RANGE || scale->options.kind == SCALE_CHANNELS;
}

void scale_measure(struct scale *scale, const float *values, uint64_t count, uint64_t line)
{
    for (uint64_t i = 0; i < count; i++) {
        double value = values[i];
        if (!isfinite(value)) {
            continue;
        }
        scale->low = value < scale->low ? value : scale->low;
        scale->high = value > scale->high ? value : scale->high;
        struct scale_line *of = scale->lines ? &scale->lines[line + i] : NULL;
        if (of) {
            of->first = of->count == 0 ? value : of->first;
            of->sum += value - of->first;
            of->squares += (value - of->first) * (value - of->first);
            of->count++;
        }
    }
}

status_t scale_settle(struct scale *scale, const char *path)
{
    if (scale_must_measure(scale)) {
        REQUIRE(scale->low <= scale->high, STATUS_DATA,
                "%s contains no finite number: there is nothing to scale", path);
    } else {
        scale->low = scale->options.low;
        scale->high = scale->options.high;
    }
    return STATUS_OK;
}

struct rule {
    double centre, mean, gain, blank;
};

/* Returns the rule that encodes channel `line`. */
static struct rule scale_rule_of(const struct scale *scale, uint64_t line)
{
    double steps = scale_largest(scale->bits) + 1;
    double centre = steps_centre(scale->bits);
    if (scale->options.kind == SCALE_NONE) {
        return (struct rule){0, 0, 1, 0};
    }
    if (scale->options.kind != SCALE_CHANNELS) {
        double width = scale->high - scale->low;
        return (struct rule){0, scale->low, width > 0 ? (steps - 1) / width : 0, 0};
    }
    const struct scale_line *known = &scale->lines[line];
    double count = known->count > 0 ? (double)known->count : 1;
    double mean = known->sum / count;
    double rms = sqrt(fmax(known->squares / count - mean * mean, 0));
    return (struct rule){centre, known->first + mean, rms > 0 ? steps_a_rms(scale->bits) / rms : 0,
                         centre};
}

void scale_undo(const struct scale *scale, uint64_t line, double *zero, double *step)
{
    struct rule rule = scale_rule_of(scale, line);
    *step = rule.gain > 0 ? 1 / rule.gain : 1;
    *zero = rule.mean - rule.centre * *step;
}

static double scale_encode_one(struct scale *scale, const struct rule *rule, double value)
{
    if (isnan(value)) {
        scale->blanks++;
        return rule->blank;
    }
    /* Infinity times a gain of 0 would be NaN. */
    double number = rule->gain > 0 ? rule->centre + (value - rule->mean) * rule->gain
                    : value > rule->mean && isinf(value) ? INFINITY
                    : isinf(value)                       ? -INFINITY
                                                         : rule->centre;
    number = rint(number);
    if (number < 0 || number > scale_largest(scale->bits)) {
        scale->clipped++;
        return number < 0 ? 0 : scale_largest(scale->bits);
    }
    return number;
}

void scale_encode(struct scale *scale, const float *values, uint64_t count, uint64_t line,
                  void *out)
{
    struct rule rule = scale_rule_of(scale, line);
    for (uint64_t i = 0; i < count; i++) {
        if (scale->lines) {
            rule = scale_rule_of(scale, line + i);
        }
        double number = scale_encode_one(scale, &rule, values[i]);
        if (scale->bits == 8) {
            ((uint8_t *)out)[i] = (uint8_t)number;
        } else {
            ((uint16_t *)out)[i] = (uint16_t)number;
        }
    }
}

status_t scale_say(const struct scale *scale, struct text *out)
{
    double top = scale_largest(scale->bits);
    double centre = steps_centre(scale->bits);
    double rms = steps_a_rms(scale->bits);
    if (scale->options.kind == SCALE_CHANNELS) {
        text_add(out,
                 "scaling: each channel's mean becomes %g and its rms %g steps, so that 0 to "
                 "%g are %g to %g rms",
                 centre, rms, top, -centre / rms, (top + 1 - centre) / rms);
    } else {
        text_add(out, "scaling: 0 stands for %.9g, %g for %.9g, a step for %.9g", scale->low, top,
                 scale->high, (scale->high - scale->low) / top);
    }
    text_add(out, "; %llu %s outside and clipped\n", (unsigned long long)scale->clipped,
             units_plural(scale->clipped, "sample lay", "samples lay"));
    return out->status;
}
