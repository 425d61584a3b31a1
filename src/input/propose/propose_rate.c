/* The sample rate: stated, by a period, or of a bandwidth. What disagrees stays open. */
#include "input/propose/propose_parts.h"

#include <math.h>
#include <string.h>

/* Rates without a unit from here on are taken as Hz, and their periods as seconds. */
#define LEAST_PLAIN_HZ 1e4
#define MOST_HZ 1e15
/* By so much rates that are the same may differ: some are rounded to 32 bits. */
#define RATE_NEAR 1e-6
/* The same of the ratio of rate and width. */
#define RATIO_NEAR 1e-4
/* Tolerances of a coarse channel's rate and width: rounded widths; the usual oversampling. */
#define LEAST_OVERSAMPLING 0.98
#define MOST_OVERSAMPLING 2.02

/* Hz of a rate or period; 0: its unit is open, or it is none. */
static double rate_hz(const struct propose_fact *fact)
{
    double value = fact->first * job_unit_factor(fact->unit);
    double hz = fact->word->means == MEANS_PERIOD ? 1 / value : value;
    int is_rate = value > 0 && isfinite(hz) && hz <= MOST_HZ && !fact->is_unknown;
    return is_rate && (fact->unit != UNIT_NONE || hz >= LEAST_PLAIN_HZ) ? hz : 0;
}

/* Hz of a width or bandwidth, without its sign; 0: open. */
static double rate_width(const struct propose_fact *fact)
{
    double hz = fabs(fact->first * job_unit_factor(fact->unit));
    int is_known = isfinite(hz) && !fact->is_unknown;
    return is_known && (fact->unit != UNIT_NONE || hz >= LEAST_PLAIN_HZ) ? hz : 0;
}

static int rate_is_near(double a, double b, double near)
{
    return fabs(a - b) <= near * fmax(fabs(a), fabs(b));
}

/* Width that the file states of a coarse channel; NULL: nothing, or in no known unit. */
struct rate_width {
    const struct propose_fact *fact;
    double hz;
    uint64_t parts; /* of a whole band; 1: it is a channel's */
};

static struct rate_width rate_find_width(const struct proposal *p)
{
    static const enum propose_meaning means[] = {MEANS_WIDTH, MEANS_STEP, MEANS_BAND};
    const struct propose_fact *facts[PROPOSE_FACTS];
    uint64_t stated = propose_count_of(p, MEANS_CHANS);
    uint64_t chans = stated > 0 ? stated : p->axes.chans;
    for (size_t k = 0; k < 3; k++) {
        size_t count = propose_facts_of(p, means[k], facts);
        for (size_t i = 0; i < count; i++) {
            double hz = rate_width(facts[i]);
            uint64_t parts = means[k] == MEANS_BAND ? chans : 1;
            if (hz > 0 && !(p->axes.is_open && means[k] == MEANS_BAND && stated == 0)) {
                return (struct rate_width){facts[i], hz / (double)parts, parts};
            }
        }
    }
    /* Centres that are listed are as far apart as channels are wide, or farther. */
    size_t count = propose_facts_of(p, MEANS_CENTRE, facts);
    for (size_t i = 0; i < count; i++) {
        int is_guess = 0;
        double factor = propose_hz_factor(facts[i], &is_guess);
        if (facts[i]->count > 1 && facts[i]->count == p->axes.chans && factor > 0) {
            double steps = (double)(facts[i]->count - 1);
            return (struct rate_width){facts[i],
                                       fabs(facts[i]->last - facts[i]->first) * factor / steps, 0};
        }
    }
    return (struct rate_width){NULL, 0, 0};
}

/* Whether a rate is that of a channel so wide. One channel alone may be filtered more narrowly. */
static int rate_fits(const struct proposal *p, double hz, const struct rate_width *width)
{
    double ratio = hz / width->hz / (p->axes.is_real ? 2 : 1);
    int is_list = width->parts == 0;
    int is_narrow = ratio <= MOST_OVERSAMPLING || (p->axes.chans == 1 && width->parts == 1);
    return !width->fact || width->hz == 0 ||
           (is_narrow && (is_list || ratio >= LEAST_OVERSAMPLING));
}

static status_t rate_add_open(const struct proposal *p, const struct propose_fact *const *facts,
                              size_t count, const char *why)
{
    status_t st = STATUS_OK;
    TRY(text_add(p->out, "    sample_rate_hz: ???  # Hz, of one stream"));
    for (size_t i = 0; i < count; i++) {
        TRY(text_add(p->out, i == 0 ? "; " : ", "));
        TRY(propose_add_fact(p->out, facts[i]));
    }
    TRY(text_add(p->out, "%s\n", count > 0 ? why : ""));
out:
    return st;
}

static status_t rate_add_stated(const struct proposal *p, const struct propose_fact *fact,
                                double hz)
{
    static const char *const units[] = {[UNIT_KHZ] = "kHz", [UNIT_MHZ] = "MHz", [UNIT_GHZ] = "GHz",
                                        [UNIT_MS] = "ms",   [UNIT_US] = "us",   [UNIT_NS] = "ns"};
    status_t st = STATUS_OK;
    int is_period = fact->word->means == MEANS_PERIOD;
    const char *unit = (size_t)fact->unit < sizeof units / sizeof *units ? units[fact->unit] : NULL;
    TRY(text_add(p->out, "    %s: ", is_period ? "sample_period_s" : "sample_rate_hz"));
    if (fact->is_attribute && !fact->text) {
        TRY(text_add(p->out, "{attribute: "));
        TRY(propose_add_quoted(p->out, fact->where));
        TRY(unit ? text_add(p->out, ", unit: %s", unit) : STATUS_OK);
        TRY(text_add(p->out, "}\n"));
    } else {
        double value = fact->first * job_unit_factor(fact->unit);
        TRY(propose_add_number(p->out, is_period ? value : hz));
        TRY(text_add(p->out, "  # "));
        TRY(propose_add_fact(p->out, fact));
        TRY(text_add(p->out, "\n"));
    }
out:
    return st;
}

/* The channels' width, critically sampled. */
static status_t rate_add_width(const struct proposal *p, const struct rate_width *width)
{
    status_t st = STATUS_OK;
    TRY(text_add(p->out, "    sample_rate_hz: "));
    TRY(propose_add_number(p->out, width->hz * (p->axes.is_real ? 2 : 1)));
    TRY(text_add(p->out, "  # assumed: critically sampled, "));
    TRY(propose_add_fact(p->out, width->fact));
    TRY(width->parts > 1 ? text_add(p->out, " of %llu channels", (unsigned long long)width->parts)
                         : STATUS_OK);
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

/* Coarse channels that are closer together than their rate: the ratio, if it is that of small
 * numbers. */
static status_t rate_add_oversampling(struct proposal *p, double hz, const struct rate_width *width)
{
    enum { MOST_DEN = 64 };
    status_t st = STATUS_OK;
    double ratio = width->fact && width->hz > 0 ? hz / width->hz : 1;
    int den = 1;
    if (p->axes.chans == 1 || p->axes.is_real || ratio < 1 + RATIO_NEAR) {
        goto out;
    }
    while (den < MOST_DEN && fabs(ratio * den - round(ratio * den)) > RATIO_NEAR * den) {
        den++;
    }
    p->oversampling_num = den < MOST_DEN ? (uint64_t)round(ratio * den) : 1;
    TRY(den < MOST_DEN
            ? text_add(p->out, "    oversampling: %.0f/%d  # assumed: ", round(ratio * den), den)
            : text_add(p->out, "    oversampling: ???  # a ratio; "));
    TRY(text_add(p->out, "rate %.9g Hz of channels %.9g Hz apart, ", hz, width->hz));
    TRY(propose_add_fact(p->out, width->fact));
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

status_t propose_add_rate(struct proposal *p)
{
    status_t st = STATUS_OK;
    const struct propose_fact *facts[2 * PROPOSE_FACTS];
    size_t count = propose_facts_of(p, MEANS_RATE, facts);
    count += propose_facts_of(p, MEANS_PERIOD, facts + count);
    const struct rate_width width = rate_find_width(p);
    const struct propose_fact *first = NULL;
    double hz = 0;
    int are_same = 1;
    for (size_t i = 0; i < count; i++) {
        double one = rate_hz(facts[i]);
        are_same = are_same && (one == 0 || !first || rate_is_near(one, hz, RATE_NEAR));
        hz = one > 0 && !first ? one : hz;
        first = one > 0 && !first ? facts[i] : first;
    }
    if (!first && count == 0 && width.fact && width.parts > 0) {
        TRY(rate_add_width(p, &width));
    } else if (!first) {
        TRY(rate_add_open(p, facts, count, ": the unit is not stated"));
    } else if (!are_same) {
        TRY(rate_add_open(p, facts, count, ": these differ"));
    } else if (!rate_fits(p, hz, &width)) {
        const struct propose_fact *both[] = {first, width.fact};
        TRY(rate_add_open(p, both, 2, ": these are not of one stream"));
    } else {
        TRY(rate_add_stated(p, first, hz));
        TRY(rate_add_oversampling(p, hz, &width));
    }
out:
    return st;
}
