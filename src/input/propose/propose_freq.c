/* Sky frequencies of coarse channels: listed, of one channel, or counted from the first. */
#include "input/propose/propose_parts.h"

#include <math.h>
#include <string.h>

double propose_hz_factor(const struct propose_fact *fact, int *is_guess)
{
    double value = fabs(fact->first);
    *is_guess = fact->unit == UNIT_NONE;
    if (fact->is_unknown || !(value > 0) || !isfinite(value)) {
        return 0;
    }
    if (!*is_guess) {
        return job_unit_factor(fact->unit);
    }
    /* As kHz 1e7 were 10 GHz; as GHz 350 were no radio waves of any recorder. */
    return value >= 1e7 && value <= 1e15 ? 1 : value >= 350 && value < 3e4 ? 1e6 : 0;
}

static const char *freq_unit(double factor)
{
    return factor == 1 ? "Hz" : factor == 1e3 ? "kHz" : factor == 1e6 ? "MHz" : "GHz";
}

static status_t freq_add_size(const struct proposal *p, int is_guess, double factor)
{
    return is_guess ? text_add(p->out, "  # assumed: %s, by its size", freq_unit(factor))
                    : STATUS_OK;
}

/* "???" with facts that do not decide it. */
static status_t freq_add_open(const struct proposal *p, const char *why)
{
    static const enum propose_meaning means[] = {MEANS_CENTRE, MEANS_FIRST, MEANS_STEP, MEANS_WIDTH,
                                                 MEANS_BAND};
    status_t st = STATUS_OK;
    const struct propose_fact *facts[PROPOSE_FACTS];
    TRY(text_add(p->out, "    freq_hz: ???  # Hz, centre of each coarse channel%s", why));
    for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
        size_t count = propose_facts_of(p, means[k], facts);
        for (size_t i = 0; i < count; i++) {
            TRY(text_add(p->out, ", "));
            TRY(propose_add_fact(p->out, facts[i]));
            TRY(facts[i]->count > 1
                    ? text_add(p->out, " (%llu values)", (unsigned long long)facts[i]->count)
                    : STATUS_OK);
        }
    }
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

/* Leads into the file. */
static status_t freq_add_stated(const struct proposal *p, const struct propose_fact *fact)
{
    status_t st = STATUS_OK;
    int is_guess = 0;
    double factor = propose_hz_factor(fact, &is_guess);
    if (fact->text) {
        TRY(text_add(p->out, "    freq_hz: "));
        TRY(propose_add_number(p->out, fact->first * factor));
        TRY(text_add(p->out, "  # "));
        TRY(propose_add_fact(p->out, fact));
    } else {
        TRY(text_add(p->out, "    freq_hz: {%s: ", fact->is_attribute ? "attribute" : "from"));
        TRY(fact->is_attribute ? propose_add_quoted(p->out, fact->where)
                               : propose_add_path(p->out, fact->where));
        if (fact->member) {
            TRY(text_add(p->out, ", member: "));
            TRY(propose_add_path(p->out, fact->member));
        }
        TRY(text_add(p->out, ", unit: %s}", freq_unit(factor)));
        TRY(freq_add_size(p, is_guess, factor));
    }
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

/* The first of some facts with as many values as there are channels and a known unit; *differ: two
 * of them state different frequencies. */
static const struct propose_fact *freq_find(const struct proposal *p, enum propose_meaning means,
                                            uint64_t values, int *differ)
{
    const struct propose_fact *facts[PROPOSE_FACTS];
    const struct propose_fact *first = NULL;
    size_t count = propose_facts_of(p, means, facts);
    double known = 0;
    for (size_t i = 0; i < count; i++) {
        int is_guess = 0;
        double factor = propose_hz_factor(facts[i], &is_guess);
        if (facts[i]->count != values || factor == 0) {
            continue;
        }
        double low = facts[i]->first * factor;
        double high = facts[i]->last * factor;
        if (!first) {
            first = facts[i];
            known = factor;
        } else if (fabs(low - first->first * known) > 1 || fabs(high - first->last * known) > 1) {
            *differ = 1;
        }
    }
    return first;
}

/* Hz from one channel to the next, with its sign; without a unit, in that of the first frequency.
 * 0: open. */
static double freq_step(const struct proposal *p, const struct propose_fact *first)
{
    const struct propose_fact *facts[PROPOSE_FACTS];
    size_t count = propose_facts_of(p, MEANS_STEP, facts);
    int is_guess = 0;
    double step = 0;
    for (size_t i = 0; i < count; i++) {
        double factor = facts[i]->unit != UNIT_NONE ? job_unit_factor(facts[i]->unit)
                                                    : propose_hz_factor(first, &is_guess);
        double one =
            facts[i]->is_unknown || !isfinite(facts[i]->first) ? 0 : facts[i]->first * factor;
        step = i == 0 || one == step ? one : 0;
    }
    return step;
}

/* Counted from the first channel, or from the middle of the band. */
static status_t freq_add_counted(const struct proposal *p, const struct propose_fact *fact,
                                 double step, int *is_done)
{
    status_t st = STATUS_OK;
    int is_guess = 0;
    double factor = propose_hz_factor(fact, &is_guess);
    int is_centre = fact->word->means == MEANS_CENTRE;
    double first = fact->first * factor - (is_centre ? step * (double)(p->axes.chans - 1) / 2 : 0);
    *is_done = step != 0;
    if (!*is_done) {
        goto out;
    }
    TRY(text_add(p->out, "    freq_hz: {start: "));
    TRY(propose_add_number(p->out, first));
    TRY(text_add(p->out, ", step: "));
    TRY(propose_add_number(p->out, step));
    TRY(text_add(p->out, "}  # "));
    TRY(propose_add_fact(p->out, fact));
    TRY(text_add(p->out, "%s%s\n", is_guess ? "; assumed: its unit, by its size" : "",
                 is_centre ? "; assumed: this is the middle of the band" : ""));
out:
    return st;
}

status_t propose_add_frequencies(const struct proposal *p)
{
    status_t st = STATUS_OK;
    const struct propose_fact *facts[PROPOSE_FACTS];
    int differ = 0;
    int is_done = 0;
    uint64_t chans = p->axes.chans;
    const struct propose_fact *first = freq_find(p, MEANS_FIRST, 1, &differ);
    const struct propose_fact *listed = freq_find(p, MEANS_CENTRE, chans, &differ);
    const struct propose_fact *centre = chans > 1 ? freq_find(p, MEANS_CENTRE, 1, &differ) : listed;
    size_t stated = propose_facts_of(p, MEANS_CENTRE, facts);
    stated += propose_facts_of(p, MEANS_FIRST, facts);
    if (p->axes.is_open || differ) {
        TRY(freq_add_open(p, differ ? "; these differ" : ""));
    } else if (listed || (chans == 1 && first)) {
        TRY(freq_add_stated(p, listed ? listed : first));
    } else if (first || centre) {
        TRY(freq_add_counted(p, first ? first : centre, freq_step(p, first ? first : centre),
                             &is_done));
        TRY(is_done ? STATUS_OK : freq_add_open(p, ""));
    } else if (chans > 1 || stated > 0) {
        TRY(freq_add_open(p, ""));
    } else {
        TRY(text_add(p->out, "    # freq_hz: ???  # Hz, centre of the coarse channel, if known\n"));
    }
out:
    return st;
}
