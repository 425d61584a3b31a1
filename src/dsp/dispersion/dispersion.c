/* Delays rounded to samples, their checks, and lists of DMs. */
#include "dsp/dispersion/dispersion.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No sample is further off than this. */
enum { MOST_ERROR = 1 };

static uint32_t subbands_group_end(const struct dispersion *delays, uint32_t group, uint32_t g)
{
    return (uint32_t)min_u64((uint64_t)(g + 1) * group, delays->nchannels);
}

static const uint32_t *subbands_row_of(const struct dispersion *delays, uint32_t dm)
{
    return delays->table + (size_t)dm * delays->nchannels;
}

/* The delay of a group at one DM that suits the delays within it best, and how far samples are off
 * then. It never leads beyond the first or the largest delay. */
static uint32_t subbands_settle(const struct dispersion *delays, const uint32_t *row,
                                const uint32_t *inner, uint32_t from, uint32_t to, int64_t *error)
{
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    int64_t room = INT64_MAX;
    for (uint32_t c = from; c < to; c++) {
        int64_t wanted = (int64_t)row[c] - inner[c];
        least = wanted < least ? wanted : least;
        most = wanted > most ? wanted : most;
        room =
            (int64_t)delays->largest - inner[c] < room ? (int64_t)delays->largest - inner[c] : room;
    }
    int64_t delay = least + (most - least) / 2;
    delay = delay < 0 ? 0 : delay > room ? room : delay;
    *error = most - delay > delay - least ? most - delay : delay - least;
    return (uint32_t)delay;
}

/* The delays within groups at a DM, from the earliest channel of each. */
static void subbands_take_inner(const struct dispersion *delays, uint32_t group, uint32_t dm,
                                uint32_t *inner)
{
    const uint32_t *row = subbands_row_of(delays, dm);
    for (uint32_t from = 0; from < delays->nchannels; from += group) {
        uint32_t to = subbands_group_end(delays, group, from / group);
        uint32_t least = UINT32_MAX;
        for (uint32_t c = from; c < to; c++) {
            least = row[c] < least ? row[c] : least;
        }
        for (uint32_t c = from; c < to; c++) {
            inner[c] = row[c] - least;
        }
    }
}

/* The largest error over all groups of a DM that uses `inner`; sets its outer delays. */
static int64_t subbands_fit(const struct dispersion *delays, uint32_t group, uint32_t dm,
                            const uint32_t *inner, uint32_t *outer)
{
    int64_t worst = 0;
    uint32_t ngroups = (uint32_t)ceil_div_u64(delays->nchannels, group);
    for (uint32_t g = 0; g < ngroups; g++) {
        int64_t error = 0;
        outer[g] = subbands_settle(delays, subbands_row_of(delays, dm), inner, g * group,
                                   subbands_group_end(delays, group, g), &error);
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* One step from DM `first` on: its inner delays are those of the furthest DM that still suit the
 * first one. Returns the first DM that it does not do. */
static uint32_t subbands_make_step(const struct dispersion *delays, struct subbands *steps,
                                   uint32_t first)
{
    uint32_t *inner = steps->inner + (size_t)steps->nsteps * delays->nchannels;
    uint32_t *outer = steps->outer + (size_t)first * steps->ngroups;
    uint32_t nominal = first;
    uint32_t next = first;
    for (; nominal + 1 < delays->ndms; nominal++) {
        subbands_take_inner(delays, steps->group, nominal + 1, inner);
        if (subbands_fit(delays, steps->group, first, inner, outer) > MOST_ERROR) {
            break;
        }
    }
    subbands_take_inner(delays, steps->group, nominal, inner);
    for (; next < delays->ndms; next++, outer += steps->ngroups) {
        int64_t error = subbands_fit(delays, steps->group, next, inner, outer);
        if (error > MOST_ERROR) {
            break;
        }
        steps->error = error > steps->error ? (uint32_t)error : steps->error;
    }
    return next;
}

status_t subbands_create(const struct dispersion *delays, uint32_t group, struct subbands *out)
{
    SCOPED(subbands_free) struct subbands steps = {.group = group > 0 ? group : SUBBANDS_GROUP};
    uint32_t *inner = NULL;
    steps.ngroups = (uint32_t)ceil_div_u64(delays->nchannels, steps.group);
    size_t outers = (size_t)delays->ndms * steps.ngroups;
    size_t inners = (size_t)delays->ndms * delays->nchannels;
    TRY(memory_zeroed(outers, sizeof *steps.outer, "delays", &steps.outer));
    TRY(memory_zeroed(inners, sizeof *steps.inner, "delays", &steps.inner));
    TRY(memory_zeroed((size_t)delays->ndms + 1, sizeof *steps.first, "delays", &steps.first));
    while (steps.first[steps.nsteps] < delays->ndms) {
        uint32_t next = subbands_make_step(delays, &steps, steps.first[steps.nsteps]);
        steps.first[++steps.nsteps] = next;
    }
    inner = realloc(steps.inner, (size_t)steps.nsteps * delays->nchannels * sizeof *inner);
    steps.inner = inner ? inner : steps.inner;
    steps.adds = (uint64_t)steps.nsteps * delays->nchannels + outers;
    *out = steps;
    steps = (struct subbands){0};
    return STATUS_OK;
}

void subbands_free(struct subbands *steps)
{
    MEMORY_FREE(steps->inner, steps->outer, steps->first);
    *steps = (struct subbands){0};
}

const double dispersion_default_constant = 1 / 2.41e-4;

int dispersion_constant(const char *text, double *out)
{
    static const struct {
        const char *name;
        double value;
    } known[] = {{"tempo", 1 / 2.41e-4},
                 {"handbook", 4148.808},
                 {"sigproc", 4148.741601},
                 {"codata", 4148.8064239}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(text, known[i].name) == 0) {
            *out = known[i].value;
            return 1;
        }
    }
    return units_parse_f64(text, out) && isfinite(*out) && *out > 0;
}

double dispersion_constant_of(double constant)
{
    return constant > 0 ? constant : dispersion_default_constant;
}

static double dispersion_highest(const struct dispersion_spec *spec)
{
    double most = 0;
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        most = fmax(most, spec->freq_hz[c]);
    }
    return most;
}

/* Returns 1 / f^2 in MHz^-2. */
static double dispersion_inverse_square(double hertz)
{
    double mhz = 1e-6 * hertz;
    return 1 / (mhz * mhz);
}

static status_t dispersion_check(const struct dispersion_spec *spec)
{
    REQUIRE(spec->nchannels > 0 && spec->ndms > 0, STATUS_USAGE,
            "dedispersion of %u channels to %u DMs: expected at least one of each", spec->nchannels,
            spec->ndms);
    REQUIRE(isfinite(spec->sample_seconds) && spec->sample_seconds > 0, STATUS_USAGE,
            "dedispersion: a sampling time of %g s, expected a positive one", spec->sample_seconds);
    REQUIRE(isfinite(spec->reference_hz) && spec->reference_hz >= 0, STATUS_USAGE,
            "dedispersion: a reference frequency of %g Hz, expected a positive one",
            spec->reference_hz);
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        REQUIRE(isfinite(spec->freq_hz[c]) && spec->freq_hz[c] > 0, STATUS_USAGE,
                "dedispersion: channel %u at %g Hz, expected a positive frequency", c,
                spec->freq_hz[c]);
    }
    for (uint32_t d = 0; d < spec->ndms; d++) {
        REQUIRE(isfinite(spec->dms[d]) && spec->dms[d] >= 0, STATUS_USAGE,
                "dedispersion: DM number %u is %g pc cm^-3, expected none below 0", d,
                spec->dms[d]);
    }
    return STATUS_OK;
}

/* As round(), of less than 2^31: the fraction is exact, and loops of it become vectors. */
static int32_t dispersion_round_away(double value)
{
    int32_t whole = (int32_t)value;
    double rest = value - whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* Computes the lines of every channel. Returns the channel of the steepest slope, or the first
 * whose slope is NaN. */
static uint32_t dispersion_make_lines(const struct dispersion_spec *spec,
                                      const struct dispersion *delays)
{
    uint32_t steepest = 0;
    double *slopes = delays->slopes;
    double reference = dispersion_inverse_square(spec->reference_hz > 0 ? spec->reference_hz
                                                                        : dispersion_highest(spec));
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        slopes[c] = dispersion_constant_of(spec->constant) *
                    (dispersion_inverse_square(spec->freq_hz[c]) - reference) /
                    spec->sample_seconds;
        if (isfinite(slopes[steepest]) && !(fabs(slopes[c]) <= fabs(slopes[steepest]))) {
            steepest = c;
        }
    }
    for (uint32_t c = 0; c < spec->nchannels && spec->delay_hz; c++) {
        delays->coherent[c] = spec->coherent_constant *
                              (dispersion_inverse_square(spec->delay_hz[c]) - reference) /
                              spec->sample_seconds;
    }
    return steepest;
}

/* Returns the delay of channel c in samples, not rounded. */
static double dispersion_line(const struct dispersion *delays, uint32_t c, double dm,
                              double coherent_dm)
{
    double slope = delays->slopes[c];
    return dm * slope + (delays->coherent ? coherent_dm * (delays->coherent[c] - slope) : 0);
}

/* Takes the extremes of channels at a DM. */
static void dispersion_widen(double delay, double *least, double *most)
{
    *least = fmin(*least, delay);
    *most = fmax(*most, delay);
}

/* Finds the minimum and maximum of all delays. Without coherent dedispersion, the delays of a DM
 * are extreme in the channels of minimum and maximum slope: tables may have 10^8 entries, so they
 * are not searched. Otherwise each channel's are extreme at the first or the last DM, as lines have
 * it. */
static void dispersion_find_range(const struct dispersion_spec *spec,
                                  const struct dispersion *delays, double *least, double *most)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (uint32_t d = 0; d < spec->ndms; d++) {
        low = fmin(low, spec->dms[d]);
        high = fmax(high, spec->dms[d]);
    }
    *least = INFINITY;
    *most = -INFINITY;
    for (uint32_t c = 0; c < spec->nchannels; c++) {
        dispersion_widen(dispersion_line(delays, c, low, spec->coherent_dm), least, most);
        dispersion_widen(dispersion_line(delays, c, high, spec->coherent_dm), least, most);
    }
}

/* Allocates the lines, and copies the DMs. */
static status_t dispersion_begin(const struct dispersion_spec *spec, struct dispersion *delays)
{
    delays->nchannels = spec->nchannels;
    delays->ndms = spec->ndms;
    TRY(memory_zeroed(spec->nchannels, sizeof(double), "delays", &delays->slopes));
    TRY(memory_zeroed(spec->ndms, sizeof(double), "DMs", &delays->dms));
    memcpy(delays->dms, spec->dms, spec->ndms * sizeof(double));
    if (spec->delay_hz) {
        TRY(memory_zeroed(spec->nchannels, sizeof(double), "delays", &delays->coherent));
        TRY(memory_zeroed(spec->ndms, sizeof(double), "DMs", &delays->coherent_dms));
        for (uint32_t d = 0; d < spec->ndms; d++) {
            delays->coherent_dms[d] = spec->coherent_dm;
        }
    }
    return STATUS_OK;
}

status_t dispersion_settle(const struct dispersion_spec *spec, struct dispersion *out)
{
    enum { LIMIT = 1 << 30 };
    SCOPED(dispersion_free) struct dispersion delays = {.table = NULL};
    double first = 0;
    double last = 0;
    TRY(dispersion_check(spec));
    TRY(dispersion_begin(spec, &delays));
    uint32_t steepest = dispersion_make_lines(spec, &delays);
    REQUIRE(isfinite(delays.slopes[steepest]), STATUS_USAGE,
            "dedispersion: between %g Hz and the reference of %g Hz delays are beyond all numbers",
            spec->freq_hz[steepest],
            spec->reference_hz > 0 ? spec->reference_hz : dispersion_highest(spec));
    for (uint32_t d = 0; d < spec->ndms; d++) {
        double delay = round(dispersion_line(&delays, steepest, spec->dms[d], spec->coherent_dm));
        REQUIRE(fabs(delay) <= LIMIT, STATUS_USAGE,
                "dedispersion: at %g Hz and DM %g a delay of %g samples, at most 2^30 can be "
                "handled",
                spec->freq_hz[steepest], spec->dms[d], delay);
    }
    dispersion_find_range(spec, &delays, &first, &last);
    REQUIRE(first >= -LIMIT && last <= LIMIT, STATUS_USAGE,
            "dedispersion: delays of %g to %g samples, at most 2^30 can be handled", first, last);
    delays.origin = dispersion_round_away(first);
    delays.largest = (uint32_t)(dispersion_round_away(last) - delays.origin);
    *out = delays;
    delays = (struct dispersion){.table = NULL};
    return STATUS_OK;
}

static void dispersion_fill_row(const struct dispersion *delays, uint32_t dm,
                                uint32_t *restrict row)
{
    const double *restrict slopes = delays->slopes;
    const double *restrict coherent = delays->coherent;
    double at = delays->dms[dm];
    int32_t least = (int32_t)delays->origin;
    if (!coherent) {
        for (uint32_t c = 0; c < delays->nchannels; c++) {
            row[c] = (uint32_t)(dispersion_round_away(at * slopes[c]) - least);
        }
        return;
    }
    double before = delays->coherent_dms[dm];
    for (uint32_t c = 0; c < delays->nchannels; c++) {
        double delay = at * slopes[c] + before * (coherent[c] - slopes[c]);
        row[c] = (uint32_t)(dispersion_round_away(delay) - least);
    }
}

void dispersion_rows(const struct dispersion *delays, uint32_t first, uint32_t count, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        dispersion_fill_row(delays, first + i, out + (size_t)i * delays->nchannels);
    }
}

uint32_t dispersion_delay(const struct dispersion *delays, uint32_t dm, uint32_t channel)
{
    double before = delays->coherent ? delays->coherent_dms[dm] : 0;
    double delay = dispersion_line(delays, channel, delays->dms[dm], before);
    return (uint32_t)(dispersion_round_away(delay) - delays->origin);
}

status_t dispersion_create(const struct dispersion_spec *spec, struct dispersion *out)
{
    SCOPED(dispersion_free) struct dispersion delays = {.table = NULL};
    TRY(dispersion_settle(spec, &delays));
    TRY(memory_zeroed((size_t)delays.ndms * delays.nchannels, sizeof *delays.table, "delays",
                      &delays.table));
    dispersion_rows(&delays, 0, delays.ndms, delays.table);
    *out = delays;
    delays = (struct dispersion){.table = NULL};
    return STATUS_OK;
}

void dispersion_free(struct dispersion *delays)
{
    MEMORY_FREE(delays->table, delays->dms, delays->slopes, delays->coherent, delays->coherent_dms);
    *delays = (struct dispersion){0};
}

status_t dispersion_linear(double start, double step, uint32_t count, double **out)
{
    double *dms = NULL;
    REQUIRE(isfinite(start) && start >= 0, STATUS_USAGE,
            "dedispersion: DMs from %g on, expected a start of at least 0", start);
    REQUIRE(count <= 1 || (isfinite(step) && step > 0), STATUS_USAGE,
            "dedispersion: DMs in steps of %g, expected a positive step", step);
    TRY(memory_zeroed(count, sizeof *dms, "a list of DMs", &dms));
    for (uint32_t i = 0; i < count; i++) {
        dms[i] = start + i * step;
    }
    *out = dms;
    return STATUS_OK;
}

status_t dispersion_smearing(const struct dispersion_spec *spec, double *channel, double *band)
{
    double top = dispersion_highest(spec);
    double bottom = top;
    uint32_t n = spec->nchannels;
    for (uint32_t c = 0; c < n; c++) {
        bottom = fmin(bottom, spec->freq_hz[c]);
    }
    REQUIRE(n > 1 && bottom > 0 && top > bottom, STATUS_USAGE,
            "dedispersion: a list of DMs by tolerance takes a band of at least two frequencies");
    double width = 1e-6 * (top - bottom) / (n - 1);
    double centre = 1e-6 * (top + bottom) / 2;
    double a = 2 * dispersion_constant_of(spec->constant) * width / (centre * centre * centre);
    double b = a * n / 4;
    *channel = a * a;
    *band = b * b;
    return STATUS_OK;
}

status_t dispersion_tolerant(const struct dispersion_spec *spec, double start, double end,
                             double width_seconds, double tolerance, uint32_t most, double **out,
                             uint32_t *count)
{
    SCOPED(free_at) double *dms = NULL;
    double a2 = 0;
    double b2 = 0;
    uint32_t n = 0;
    REQUIRE(isfinite(start) && start >= 0 && isfinite(end) && end >= start, STATUS_USAGE,
            "dedispersion: DMs from %g to %g, expected 0 <= start <= end", start, end);
    REQUIRE(isfinite(tolerance) && tolerance > 1, STATUS_USAGE,
            "dedispersion: a tolerance of %g, expected more than 1", tolerance);
    TRY(dispersion_smearing(spec, &a2, &b2));
    TRY(memory_zeroed(most, sizeof *dms, "a list of DMs", &dms));
    double fixed = spec->sample_seconds * spec->sample_seconds + width_seconds * width_seconds;
    double tolerance2 = tolerance * tolerance;
    for (double dm = start; n == 0 || dms[n - 1] < end; n++) {
        REQUIRE(n < most, STATUS_USAGE,
                "dedispersion: DMs from %g to %g with a tolerance of %g are more than %u", start,
                end, tolerance, most);
        dms[n] = dm;
        double k = fixed * (tolerance2 - 1) + tolerance2 * a2 * dm * dm;
        dm = (b2 * dm + sqrt((a2 + b2) * k - a2 * b2 * dm * dm)) / (a2 + b2);
    }
    *out = dms;
    *count = n;
    dms = NULL;
    return STATUS_OK;
}

/* Divides DMs among coherent ones, and counts the delays of all from one origin. */

/* Returns the number of DMs that are nearer to coherent DM `which` or a lower one than to the
 * next. */
static uint32_t grid_count_up_to(const struct dispersion_grid *grid, uint32_t which,
                                 const double *dms, uint32_t ndms)
{
    uint32_t count = 0;
    if (which + 1 >= grid->count) {
        return ndms;
    }
    while (count < ndms &&
           dms[count] - grid->coherent[which] <= grid->coherent[which + 1] - dms[count]) {
        count++;
    }
    return count;
}

struct dispersion_share dispersion_grid_share(const struct dispersion_grid *grid, uint32_t which,
                                              const double *dms, uint32_t ndms)
{
    uint32_t first = which > 0 ? grid_count_up_to(grid, which - 1, dms, ndms) : 0;
    return (struct dispersion_share){first, grid_count_up_to(grid, which, dms, ndms) - first};
}

/* The delays of all shares, one after the other. */
struct grid_delays {
    struct dispersion all; /* of the shares that are wanted */
    int64_t end;           /* the maximum delay of all shares */
};

/* Adds the delays of one share to those of all shares. */
static status_t grid_add(const struct dispersion_grid *grid, uint32_t which, int is_wanted,
                         const struct dispersion_spec *spec, struct grid_delays *to)
{
    SCOPED(dispersion_free) struct dispersion mine = {0};
    struct dispersion *all = &to->all;
    struct dispersion_spec share = *spec;
    struct dispersion_share part = dispersion_grid_share(grid, which, spec->dms, spec->ndms);
    if (part.count == 0) {
        return STATUS_OK;
    }
    share.dms += part.first;
    share.ndms = part.count;
    share.coherent_dm = grid->coherent[which];
    TRY(dispersion_settle(&share, &mine));
    all->origin = mine.origin < all->origin ? mine.origin : all->origin;
    to->end = mine.origin + mine.largest > to->end ? mine.origin + mine.largest : to->end;
    for (uint32_t i = 0; i < part.count && is_wanted; i++) {
        all->dms[all->ndms] = mine.dms[i];
        all->coherent_dms[all->ndms++] = share.coherent_dm;
    }
    if (!all->slopes) {
        all->slopes = mine.slopes;
        all->coherent = mine.coherent;
        mine.slopes = mine.coherent = NULL;
    }
    return STATUS_OK;
}

SCOPED_CALLS(grid_delays_free, struct grid_delays, dispersion_free(&at->all))

status_t dispersion_grid_settle(const struct dispersion_grid *grid, uint32_t only,
                                const struct dispersion_spec *spec, struct dispersion *out)
{
    SCOPED(grid_delays_free)
    struct grid_delays delays = {.all = {.nchannels = spec->nchannels, .origin = INT64_MAX},
                                 .end = INT64_MIN};
    TRY(memory_zeroed(spec->ndms, sizeof *delays.all.dms, "DMs", &delays.all.dms));
    TRY(memory_zeroed(spec->ndms, sizeof *delays.all.dms, "DMs", &delays.all.coherent_dms));
    for (uint32_t i = 0; i < grid->count; i++) {
        TRY(grid_add(grid, i, only == grid->count || only == i, spec, &delays));
    }
    delays.all.largest = (uint32_t)(delays.end - delays.all.origin);
    *out = delays.all;
    delays.all = (struct dispersion){0};
    return STATUS_OK;
}
