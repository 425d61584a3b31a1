/* Proposed frequencies, rate and start. Sky frequencies of coarse channels are listed, of one
 * channel, or counted from the first. */
#include "input/format/recorder.h"
#include "input/propose/propose_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A factor that makes Hz of a frequency: by its unit, or without one by its size. 0: open. */
static double propose_hz_factor(const struct propose_fact *fact)
{
    double value = fabs(fact->first);
    if (fact->is_unknown || !(value > 0) || !isfinite(value)) {
        return 0;
    }
    if (fact->unit != UNIT_NONE) {
        return job_unit_factor(fact->unit);
    }
    /* As kHz 1e7 were 10 GHz; as GHz 350 were no radio waves of any recorder. */
    return value >= 1e7 && value <= 1e15 ? 1 : value >= 350 && value < 3e4 ? 1e6 : 0;
}

static const char *freq_unit(double factor)
{
    return factor == 1 ? "Hz" : factor == 1e3 ? "kHz" : factor == 1e6 ? "MHz" : "GHz";
}

/* "???" with facts that do not decide it. */
static void freq_add_open(const struct proposal *p, const char *why)
{
    static const enum propose_meaning means[] = {MEANS_CENTRE, MEANS_FIRST, MEANS_STEP, MEANS_WIDTH,
                                                 MEANS_BAND};
    text_add(p->out, "    freq_hz: ???  # Hz, centre of each coarse channel%s", why);
    for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
        const struct propose_facts facts = propose_facts_of(p, means[k]);
        for (size_t i = 0; i < facts.count; i++) {
            text_add(p->out, ", %s", facts.all[i]->shown.data);
            if (facts.all[i]->count > 1) {
                text_add(p->out, " (%llu values)", (unsigned long long)facts.all[i]->count);
            }
        }
    }
    text_add(p->out, "\n");
}

/* Leads into the file. */
static void freq_add_stated(const struct proposal *p, const struct propose_fact *fact)
{
    double factor = propose_hz_factor(fact);
    if (fact->text) {
        text_add(p->out, "    freq_hz: %s  # %s\n", propose_number(fact->first * factor),
                 fact->shown.data);
        return;
    }
    text_add(p->out, "    freq_hz: {%s: %s", fact->is_attribute ? "attribute" : "from",
             fact->quoted.data);
    if (fact->member) {
        text_add(p->out, ", member: ");
        propose_add_path(p->out, fact->member);
    }
    text_add(p->out,
             fact->unit == UNIT_NONE ? ", unit: %s}  # assumed: %s, by its size\n"
                                     : ", unit: %s}\n",
             freq_unit(factor), freq_unit(factor));
}

/* The first of some facts with as many values as there are channels and a known unit; *differ: two
 * of them state different frequencies. */
static const struct propose_fact *freq_find(const struct proposal *p, enum propose_meaning means,
                                            uint64_t values, int *differ)
{
    const struct propose_facts facts = propose_facts_of(p, means);
    const struct propose_fact *first = NULL;
    double known = 0;
    for (size_t i = 0; i < facts.count; i++) {
        const struct propose_fact *fact = facts.all[i];
        double factor = propose_hz_factor(fact);
        if (fact->count != values || factor == 0) {
            continue;
        }
        double low = fact->first * factor;
        double high = fact->last * factor;
        if (!first) {
            first = fact;
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
    const struct propose_facts facts = propose_facts_of(p, MEANS_STEP);
    double step = 0;
    for (size_t i = 0; i < facts.count; i++) {
        const struct propose_fact *fact = facts.all[i];
        double factor =
            fact->unit != UNIT_NONE ? job_unit_factor(fact->unit) : propose_hz_factor(first);
        double one = fact->is_unknown || !isfinite(fact->first) ? 0 : fact->first * factor;
        step = i == 0 || one == step ? one : 0;
    }
    return step;
}

/* Counted from the first channel, or from the middle of the band, in steps of `step` Hz. */
static void freq_add_counted(const struct proposal *p, const struct propose_fact *fact, double step)
{
    double factor = propose_hz_factor(fact);
    int is_centre = fact->word.means == MEANS_CENTRE;
    double first = fact->first * factor - (is_centre ? step * (double)(p->axes.chans - 1) / 2 : 0);
    text_add(p->out, "    freq_hz: {start: %s, step: %s}  # %s%s%s\n", propose_number(first),
             propose_number(step), fact->shown.data,
             fact->unit == UNIT_NONE ? "; assumed: its unit, by its size" : "",
             is_centre ? "; assumed: this is the middle of the band" : "");
}

void propose_add_frequencies(const struct proposal *p)
{
    int differ = 0;
    uint64_t chans = p->axes.chans;
    const struct propose_fact *first = freq_find(p, MEANS_FIRST, 1, &differ);
    const struct propose_fact *listed = freq_find(p, MEANS_CENTRE, chans, &differ);
    const struct propose_fact *centre = chans > 1 ? freq_find(p, MEANS_CENTRE, 1, &differ) : listed;
    const struct propose_fact *counted = first ? first : centre;
    const double step = counted ? freq_step(p, counted) : 0;
    struct propose_facts stated = propose_facts_of(p, MEANS_CENTRE);
    propose_facts_add(p, MEANS_FIRST, &stated);
    if (p->axes.is_open || differ) {
        freq_add_open(p, differ ? "; these differ" : "");
    } else if (listed || (chans == 1 && first)) {
        freq_add_stated(p, listed ? listed : first);
    } else if (counted && step != 0) {
        freq_add_counted(p, counted, step);
    } else if (chans > 1 || stated.count > 0) {
        freq_add_open(p, "");
    } else {
        text_add(p->out, "    # freq_hz: ???  # Hz, centre of the coarse channel, if known\n");
    }
}

/* Rates without a unit from here on are taken as Hz, and their periods as seconds. */
#define LEAST_PLAIN_HZ 1e4
#define MOST_HZ 1e15
/* By so much rates that are the same may differ: some are rounded to 32 bits. */
#define RATE_NEAR 1e-6
/* The same of the ratio of rate and width. */
#define RATIO_NEAR 1e-4
/* Limits of the ratio of a coarse channel's rate and width: rounded widths; the usual banks. */
#define LEAST_OVERSAMPLING 0.98
#define MOST_OVERSAMPLING 2.02

/* The sample rate: stated, by a period, or of a bandwidth. What disagrees stays open. */

/* Hz of a rate or period; 0: its unit is open, or it is none. */
static double rate_hz(const struct propose_fact *fact)
{
    double value = fact->first * job_unit_factor(fact->unit);
    double hz = fact->word.means == MEANS_PERIOD ? 1 / value : value;
    int is_rate = value > 0 && isfinite(hz) && hz <= MOST_HZ && !fact->is_unknown;
    return is_rate && (fact->unit != UNIT_NONE || hz >= LEAST_PLAIN_HZ) ? hz : 0;
}

/* Returns a width or bandwidth in Hz, without its sign; 0: unknown. */
static double rate_width(const struct propose_fact *fact)
{
    double hz = fabs(fact->first * job_unit_factor(fact->unit));
    int is_known = isfinite(hz) && !fact->is_unknown;
    return is_known && (fact->unit != UNIT_NONE || hz >= LEAST_PLAIN_HZ) ? hz : 0;
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
    uint64_t stated = propose_count_of(p, MEANS_CHANS);
    uint64_t chans = stated > 0 ? stated : p->axes.chans;
    for (size_t k = 0; k < 3; k++) {
        const struct propose_facts facts = propose_facts_of(p, means[k]);
        for (size_t i = 0; i < facts.count; i++) {
            double hz = rate_width(facts.all[i]);
            uint64_t parts = means[k] == MEANS_BAND ? chans : 1;
            if (hz > 0 && !(p->axes.is_open && means[k] == MEANS_BAND && stated == 0)) {
                return (struct rate_width){facts.all[i], hz / (double)parts, parts};
            }
        }
    }
    /* Centres that are listed are as far apart as channels are wide, or farther. */
    const struct propose_facts facts = propose_facts_of(p, MEANS_CENTRE);
    for (size_t i = 0; i < facts.count; i++) {
        const struct propose_fact *fact = facts.all[i];
        double factor = propose_hz_factor(fact);
        if (fact->count > 1 && fact->count == p->axes.chans && factor > 0) {
            double band = fabs(fact->last - fact->first) * factor;
            return (struct rate_width){fact, band / (double)(fact->count - 1), 0};
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

static void rate_add_open(const struct proposal *p, const struct propose_facts *facts,
                          const char *why)
{
    text_add(p->out, "    sample_rate_hz: ???  # Hz, of one stream");
    propose_add_facts(p->out, "; ", facts);
    text_add(p->out, "%s\n", facts->count > 0 ? why : "");
}

static void rate_add_stated(const struct proposal *p, const struct propose_fact *fact, double hz)
{
    static const char *const units[] = {[UNIT_KHZ] = "kHz", [UNIT_MHZ] = "MHz", [UNIT_GHZ] = "GHz",
                                        [UNIT_MS] = "ms",   [UNIT_US] = "us",   [UNIT_NS] = "ns"};
    int is_period = fact->word.means == MEANS_PERIOD;
    const char *unit = (size_t)fact->unit < sizeof units / sizeof *units ? units[fact->unit] : NULL;
    text_add(p->out, "    %s: ", is_period ? "sample_period_s" : "sample_rate_hz");
    if (fact->is_attribute && !fact->text) {
        text_add(p->out, "{attribute: %s%s%s}\n", fact->quoted.data, unit ? ", unit: " : "",
                 unit ? unit : "");
    } else {
        double value = fact->first * job_unit_factor(fact->unit);
        text_add(p->out, "%s  # %s\n", propose_number(is_period ? value : hz), fact->shown.data);
    }
}

/* The channels' width, critically sampled. */
static void rate_add_width(const struct proposal *p, const struct rate_width *width)
{
    text_add(p->out, "    sample_rate_hz: %s  # assumed: critically sampled, %s",
             propose_number(width->hz * (p->axes.is_real ? 2 : 1)), width->fact->shown.data);
    if (width->parts > 1) {
        text_add(p->out, " of %llu channels", (unsigned long long)width->parts);
    }
    text_add(p->out, "\n");
}

/* Coarse channels that are closer together than their rate: the ratio, if it is that of small
 * numbers. */
static void rate_add_oversampling(struct proposal *p, double hz, const struct rate_width *width)
{
    double ratio = width->fact && width->hz > 0 ? hz / width->hz : 1;
    struct ratio found = {1, 1};
    if (p->axes.chans == 1 || p->axes.is_real || ratio < 1 + RATIO_NEAR) {
        return;
    }
    if (spacing_ratio(ratio, RATIO_NEAR, &found)) {
        text_add(p->out, "    oversampling: %u/%u  # assumed: ", found.num, found.den);
    } else {
        text_add(p->out, "    oversampling: ???  # a ratio; ");
    }
    p->multiple = found.num;
    text_add(p->out, "rate %.9g Hz of channels %.9g Hz apart, %s\n", hz, width->hz,
             width->fact->shown.data);
}

void propose_add_rate(struct proposal *p)
{
    struct propose_facts facts = propose_facts_of(p, MEANS_RATE);
    propose_facts_add(p, MEANS_PERIOD, &facts);
    const struct rate_width width = rate_find_width(p);
    const struct propose_fact *first = NULL;
    double hz = 0;
    int are_same = 1;
    for (size_t i = 0; i < facts.count; i++) {
        double one = rate_hz(facts.all[i]);
        are_same = are_same && (one == 0 || !first || fabs(one - hz) <= RATE_NEAR * fmax(one, hz));
        hz = one > 0 && !first ? one : hz;
        first = one > 0 && !first ? facts.all[i] : first;
    }
    if (!first && facts.count == 0 && width.fact && width.parts > 0) {
        rate_add_width(p, &width);
    } else if (!first) {
        rate_add_open(p, &facts, ": the unit is not stated");
    } else if (!are_same) {
        rate_add_open(p, &facts, ": these differ");
    } else if (!rate_fits(p, hz, &width)) {
        facts = (struct propose_facts){2, {first, width.fact}};
        rate_add_open(p, &facts, ": these are not of one stream");
    } else {
        rate_add_stated(p, first, hz);
        rate_add_oversampling(p, hz, &width);
    }
}

enum { DAY_SECONDS = 86400 };

/* A statement of the start. */
struct start {
    const struct propose_fact *fact;
    struct utc utc;
    double fine;      /* seconds of its last digit */
    char text[40];    /* as a job has it */
    int is_guess;     /* its unit is, by its size */
    int is_direct;    /* an attribute that input.layout can name */
    const char *unit; /* then; NULL: a text */
};

/* When the first sample was taken: of several statements the finest, if all agree. */

/* Writes a UTC with nanoseconds, without zeros at the end. */
static void start_write(struct utc utc, char out[40])
{
    char text[UNITS_TEXT];
    double whole = floor(utc.second);
    int digits = 0;
    int nano = (int)fmin(floor((utc.second - whole) * 1e9 + 0.5), 999999999);
    units_utc_in((struct utc){utc.mjd_day, whole}, text);
    text[strcspn(text, ".")] = '\0';
    snprintf(out, 40, "%.20s.%09d%n", text, nano, &digits);
    while (digits > 0 && (out[digits - 1] == '0' || out[digits - 1] == '.')) {
        int is_point = out[--digits] == '.';
        out[digits] = '\0';
        if (is_point) {
            break;
        }
    }
}

/* Dates as recorders write them: "2024-01-31-12:34:56.5", "2024/01/31 12:34:56 UTC". */
static int start_read_text(const char *text, struct start *out)
{
    char *copy = out->text;
    snprintf(copy, sizeof out->text, "%.39s", text);
    size_t length = strlen(copy);
    static const char *const zones[] = {" UTC", "+00:00", "+0000", "Z"};
    out->is_direct = units_parse_utc(text, &out->utc);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        size_t zone = strlen(zones[i]);
        if (length > zone && strcmp(copy + length - zone, zones[i]) == 0) {
            copy[length -= zone] = '\0';
        }
    }
    if (length > 10 && strchr("-/ T_", copy[10])) {
        copy[10] = 'T';
    }
    for (size_t i = 0; i < 10 && i < length; i++) {
        copy[i] = copy[i] == '/' ? '-' : copy[i];
    }
    const char *point = strchr(copy, '.');
    int has_seconds = length >= 19 && isdigit((unsigned char)copy[18]);
    out->fine = point         ? pow(10, -(double)(strlen(point) - 1))
                : has_seconds ? 1
                : length > 15 ? 60
                              : DAY_SECONDS;
    return length >= 10 && copy[strspn(copy, "0123456789-:.T")] == '\0' &&
           units_parse_utc(copy, &out->utc);
}

/* Numbers: Unix time of any unit, or MJD, by the name or by the size. */
static int start_read_number(const struct propose_fact *fact, struct start *out)
{
    static const struct {
        double least, most, factor; /* years 1971 to 2120 */
        enum job_unit unit;
    } sizes[] = {{3e4, 1e5, 1, UNIT_MJD},
                 {3.2e7, 4.8e9, 1, UNIT_UNIX},
                 {3.2e10, 4.8e12, 1e-3, UNIT_UNIX},
                 {3.2e13, 4.8e15, 1e-6, UNIT_UNIX},
                 {3.2e16, 4.8e18, 1e-9, UNIT_UNIX}};
    double value = fact->first;
    int is_mjd = fact->unit == UNIT_MJD;
    double factor = fact->unit == UNIT_NONE ? 0 : job_unit_factor(fact->unit);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && factor == 0; i++) {
        if (value >= sizes[i].least && value <= sizes[i].most) {
            factor = sizes[i].factor;
            is_mjd = sizes[i].unit == UNIT_MJD;
        }
    }
    double unix = value * factor;
    if (factor == 0 || fact->is_unknown || !(value > 0) ||
        !(is_mjd ? value >= 3e4 && value <= 1e5 : unix >= 3.2e7 && unix <= 4.8e9)) {
        return 0;
    }
    out->utc = is_mjd ? utc_of_mjd(value) : utc_of_unix(unix);
    out->fine =
        is_mjd ? (value == floor(value) ? DAY_SECONDS : 2e-6) : (unix == floor(unix) ? 1 : 1e-6);
    out->is_guess = fact->unit == UNIT_NONE;
    out->is_direct = factor == 1;
    out->unit = is_mjd ? "mjd" : "unix";
    start_write(out->utc, out->text);
    return 1;
}

static int start_read(const struct propose_fact *fact, struct start *out)
{
    *out = (struct start){.fact = fact};
    int is_text = fact->text && isnan(fact->first);
    int ok = is_text ? start_read_text(fact->text, out) : start_read_number(fact, out);
    out->is_direct = out->is_direct && fact->is_attribute && (is_text || !fact->text);
    return ok;
}

/* Reads a start from a day and a second, as pulsar recorders state it. */
static int start_read_parts(const struct proposal *p, struct start *out)
{
    const struct propose_facts day = propose_facts_of(p, MEANS_DAY);
    const struct propose_facts second = propose_facts_of(p, MEANS_SECOND);
    const struct propose_facts rest = propose_facts_of(p, MEANS_FRACTION);
    double mjd = day.count == 1 ? day.all[0]->first : 0;
    double of_day = second.count == 1 ? second.all[0]->first : -1;
    of_day += second.count == 1 && rest.count == 1 ? rest.all[0]->first : 0;
    if (!(mjd >= 3e4 && mjd <= 1e5) || !(of_day >= 0 && of_day <= DAY_SECONDS)) {
        return 0;
    }
    *out = (struct start){.fact = day.all[0],
                          .fine = rest.count == 1 || of_day != floor(of_day) ? 1e-9 : 1,
                          .utc = {(int32_t)mjd, of_day}};
    start_write(out->utc, out->text);
    return 1;
}

/* The finest of all statements; *differ: they are of times that cannot be one. */
static int start_find(const struct proposal *p, const struct propose_facts *facts,
                      struct start *out, int *differ)
{
    struct start all[PROPOSE_FACTS + 1];
    size_t found = (size_t)start_read_parts(p, &all[0]);
    size_t best = 0;
    for (size_t i = 0; i < facts->count; i++) {
        found += (size_t)start_read(facts->all[i], &all[found]);
    }
    for (size_t i = 0; i < found; i++) {
        best = all[i].fine < all[best].fine ? i : best;
    }
    for (size_t i = 0; i < found; i++) {
        double apart = fabs(utc_difference(all[i].utc, all[best].utc));
        *differ |= apart > all[i].fine + all[best].fine + 1e-6;
    }
    if (found > 0) {
        *out = all[best];
    }
    return found > 0;
}

void propose_add_start(const struct proposal *p)
{
    const struct propose_facts facts = propose_facts_of(p, MEANS_START);
    struct start start = {.fact = NULL};
    int differ = 0;
    int is_found = start_find(p, &facts, &start, &differ);
    if (is_found && !differ && start.fine < DAY_SECONDS && start.is_direct) {
        text_add(p->out, "    start: {attribute: %s%s%s}%s\n", start.fact->quoted.data,
                 start.unit ? ", unit: " : "", start.unit ? start.unit : "",
                 start.is_guess ? "  # assumed: by its size" : "");
        return;
    }
    if (is_found && !differ && start.fine < DAY_SECONDS) {
        text_add(p->out, "    start: %s  # %s%s\n", start.text, start.fact->shown.data,
                 start.is_guess ? "; assumed: its unit, by its size" : "");
        return;
    }
    is_found = is_found || facts.count > 0;
    text_add(p->out, "    %sstart: ???  # UTC of the first sample%s", is_found ? "" : "# ",
             is_found ? "" : ", if known");
    propose_add_facts(p->out, "; ", &facts);
    text_add(p->out, "%s\n", differ ? ": these differ" : "");
}
