/* Delays become whole samples and phases; and baselines, delays and losses of an array as text. */
#include "plan/array_plan.h"

#include "plan/beams_plan.h"

#include <inttypes.h>
#include <math.h>

enum { SHOWN_DIRECTIONS = 8 };

static const char *array_station_name(const struct array_lines *lines, uint32_t i)
{
    return lines->table->stations[lines->stations[i]].name;
}

static status_t array_add_baselines(const struct array_lines *lines, struct text *out)
{
    uint32_t pair[2][2] = {{0}}; /* stations of the shortest and the longest baseline */
    double length_m[2] = {INFINITY, -INFINITY};
    for (uint32_t i = 0; i < lines->nstations; i++) {
        for (uint32_t j = i + 1; j < lines->nstations; j++) {
            const double *a = lines->table->stations[lines->stations[i]].itrf_m;
            const double *b = lines->table->stations[lines->stations[j]].itrf_m;
            const double m = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
            for (int k = 0; k < 2; k++) {
                if (k ? m > length_m[k] : m < length_m[k]) {
                    length_m[k] = m;
                    pair[k][0] = i;
                    pair[k][1] = j;
                }
            }
        }
    }
    if (lines->nstations > 1) {
        TRY(text_add_shown(out, "  baselines     %.6g m (%s-%s) to %.6g m (%s-%s), %u stations\n",
                           length_m[0], array_station_name(lines, pair[0][0]),
                           array_station_name(lines, pair[0][1]), length_m[1],
                           array_station_name(lines, pair[1][0]),
                           array_station_name(lines, pair[1][1]), (unsigned)lines->nstations));
    }
    return STATUS_OK;
}

/* Appends the smallest and the largest delay of the stations at a time, and those stations. */
static status_t array_add_delays(const struct array_lines *lines, uint32_t direction, double at_s,
                                 struct text *out)
{
    const double time[2] = {at_s, 0};
    uint32_t ends[2] = {0, 0};
    double delay_s[2];
    delay_s[0] = delay_s[1] = delay_at(lines->delays, direction, 0, time);
    for (uint32_t i = 1; i < lines->nstations; i++) {
        const double d = delay_at(lines->delays, direction, i, time);
        for (int k = 0; k < 2; k++) {
            if (k ? d > delay_s[k] : d < delay_s[k]) {
                delay_s[k] = d;
                ends[k] = i;
            }
        }
    }
    return text_add_shown(out, "%s (%s) to %s (%s)", units_seconds(delay_s[0]),
                          array_station_name(lines, ends[0]), units_seconds(delay_s[1]),
                          array_station_name(lines, ends[1]));
}

/* Returns the largest drift of a delay against another station's, s/s. */
static double array_find_drift(const struct array_lines *lines, uint32_t direction)
{
    double drift = 0;
    for (int step = 0; step <= 8; step++) {
        const double time[2] = {lines->from_s + step * (lines->to_s - lines->from_s) / 8, 0};
        double low = INFINITY;
        double high = -INFINITY;
        for (uint32_t i = 0; i < lines->nstations; i++) {
            const double rate = delay_rate(lines->delays, direction, i, time);
            low = fmin(low, rate);
            high = fmax(high, rate);
        }
        drift = fmax(drift, high - low);
    }
    return drift;
}

/* Returns the share of amplitude lost by a phase that turns evenly `turns` times, of which the mean
 * is taken. */
static double array_loss(double turns)
{
    const double x = 3.14159265358979323846 * turns;
    return fabs(x) < 1e-3 ? x * x / 6 : 1 - fabs(sin(x) / x);
}

status_t array_lines_add(const struct array_lines *lines, struct text *out)
{
    double drift = 0;
    TRY(array_add_baselines(lines, out));
    for (uint32_t d = lines->first; lines->delays && d < lines->ndirections; d++) {
        const double one = array_find_drift(lines, d);
        drift = fmax(drift, one);
        if (d < SHOWN_DIRECTIONS) {
            TRY(text_add(out, "  direction %-3u ", (unsigned)d));
            TRY(array_add_delays(lines, d, lines->from_s, out));
            TRY(text_add(out, ", at the end "));
            TRY(array_add_delays(lines, d, lines->to_s, out));
            TRY(text_add(out, ", drift %.3g ns/s\n", one * 1e9));
        }
    }
    if (lines->delays) {
        TRY(text_add(out,
                     "  losses        %.2g by delays left within a channel, %.2g by drift within "
                     "a spectrum\n",
                     array_loss(lines->channel_hz * lines->left_s),
                     array_loss(lines->top_hz * drift * lines->spectrum_s)));
    }
    return STATUS_OK;
}

void array_plan_destroy(struct array_plan *plan)
{
    if (plan) {
        delay_model_destroy(plan->delays);
        array_job_drop(&plan->tables);
        MEMORY_FREE(plan->sources, plan->station_of);
        for (uint32_t i = 0; i < JOB_BANKS; i++) {
            MEMORY_FREE(plan->bands[i], plan->gains[i]);
        }
        MEMORY_FREE(plan->factors, plan);
    }
}

static const double rad_per_deg = 3.14159265358979323846 / 180;

static struct direction array_direction(const struct job_direction *job)
{
    const int is_azel = job->kind != DIRECTION_RADEC;
    return (struct direction){.is_azel = is_azel,
                              .lon_rad = rad_per_deg * (is_azel ? job->azimuth_deg : job->lon_deg),
                              .lat_rad =
                                  rad_per_deg * (is_azel ? job->elevation_deg : job->lat_deg)};
}

/* Direction i of the model of delays: the array's centre, all beams, those of the products. */
static const struct job_direction *array_job_direction(const struct job *job, uint32_t i)
{
    return i == 0             ? &job->array.centre
           : i <= job->nbeams ? &job->beams[i - 1]
                              : &job->products[i - 1 - job->nbeams].centre;
}

/* Computes the delays of all stations in these directions. */
static status_t array_make_delays(const struct channelise_plan *work, struct array_plan *plan)
{
    const struct job *job = work->job;
    const struct archive *archive = work->archive;
    const double rate = archive->sample_rate_hz;
    SCOPED(free_at) struct direction *directions = NULL;
    struct array_aim aim = {.earth = plan->observer.earth,
                            .stations = plan->station_of,
                            .nstations = plan->stations,
                            .ndirections = 1 + job->nbeams + job->nproducts,
                            .start = archive->sky.start,
                            .from_s = (double)archive->first_sample / rate,
                            .to_s = (double)(archive->first_sample + archive->samples) / rate};
    TRY(memory_zeroed(aim.ndirections, sizeof *directions, "directions", &directions));
    directions[0] = plan->centre;
    for (uint32_t i = 1; i < aim.ndirections; i++) {
        directions[i] = array_direction(array_job_direction(job, i));
    }
    aim.directions = directions;
    TRY(array_table_delays(plan->table, &aim, plan->calc, plan->sources, &plan->delays));
    for (uint32_t i = 0; i < plan->stations && plan->is_shifted; i++) {
        double range[2];
        delay_range(plan->delays, plan->is_steered ? 0 : DELAY_CLOCK_ALONE, i, aim.from_s, aim.to_s,
                    range);
        REQUIRE(
            fmax(fabs(range[0]), fabs(range[1])) * rate < (double)archive->samples, STATUS_USAGE,
            "%s: array: station %s is late by %.6g to %.6g s, more than the observation's %.6g s",
            job->path, plan->table->stations[plan->station_of[i]].name, range[0], range[1],
            (double)archive->samples / rate);
        plan->least = (int64_t)fmin((double)plan->least, floor(range[0] * rate));
        plan->most = (int64_t)fmax((double)plan->most, ceil(range[1] * rate));
    }
    return STATUS_OK;
}

/* Finds the sources of the table of delays for the centre and the beams, by name. A centre without
 * a name is the table's first source. */
static status_t array_find_sources(const struct channelise_plan *work, struct array_plan *plan)
{
    const struct job *job = work->job;
    const uint32_t count = 1 + job->nbeams + job->nproducts;
    TRY(memory_zeroed(count, sizeof *plan->sources, "sources", &plan->sources));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = array_job_direction(job, i)->name;
        uint32_t at = 0;
        if (!job->array.delays ||
            (i > job->nbeams && !name)) { /* a file of beams has their order */
            plan->sources[i] = i > 0 && i <= job->nbeams && !job->array.delays ? i - 1 : 0;
            continue;
        }
        while (name && at < plan->calc->table.ndirections &&
               strcmp(plan->calc->directions[at], name) != 0) {
            at++;
        }
        REQUIRE(at < plan->calc->table.ndirections && (name || i == 0), STATUS_USAGE,
                "%s: %s: %s%s, expected the name of a source of %s, such as %s", job->path,
                i == 0             ? "array.centre"
                : i <= job->nbeams ? "beams"
                                   : "products",
                name ? "there is no source " : "no name", name ? name : "", job->array.delays,
                plan->calc->directions[0]);
        plan->sources[i] = at;
    }
    return STATUS_OK;
}

/* Makes the weights of stations in beams: 0 for those that the table flags. */
static status_t array_make_factors(const struct job *job, struct array_plan *plan)
{
    uint32_t flagged = 0;
    for (uint32_t i = 0; i < plan->stations; i++) {
        flagged += (uint32_t)array_plan_is_flagged(plan, i);
        plan->has_swaps |= plan->table->stations[plan->station_of[i]].is_swapped;
    }
    if (flagged == 0 || job->nbeams == 0) {
        return STATUS_OK;
    }
    REQUIRE(flagged < plan->stations, STATUS_USAGE,
            "%s: beams: all %u stations are flagged in the array's table", job->path, flagged);
    TRY(memory_zeroed((size_t)job->nbeams * plan->stations * 2, sizeof *plan->factors, "weights",
                      &plan->factors));
    for (uint32_t i = 0; i < job->nbeams * plan->stations; i++) {
        plan->factors[2 * i] = array_plan_is_flagged(plan, i % plan->stations) ? 0 : 1;
    }
    return STATUS_OK;
}

int array_plan_is_flagged(const struct array_plan *plan, uint32_t station)
{
    return plan && plan->table->stations[plan->station_of[station]].is_flagged;
}

uint32_t array_plan_stream(const struct array_plan *plan, const struct channelise_plan *work,
                           uint32_t stream)
{
    const uint32_t coarse = work->seen->nselected[AXIS_CHAN];
    if (!plan || !plan->has_swaps || work->seen->nselected[AXIS_POL] != 2 ||
        !plan->table->stations[plan->station_of[stream / plan->streams]].is_swapped) {
        return stream;
    }
    return stream / coarse % 2 == 0 ? stream + coarse : stream - coarse;
}

status_t array_plan_create(const struct channelise_plan *work, struct array_plan **out)
{
    const struct job *job = work->job;
    const struct archive *archive = work->archive;
    static const double rad_per_arcsec = rad_per_deg / 3600;
    SCOPED(array_plan_destroy_at) struct array_plan *plan = NULL;
    *out = NULL;
    if (!job->is_array) {
        return STATUS_OK;
    }
    REQUIRE(archive->present[AXIS_STATION], STATUS_USAGE,
            "%s: array: %s has no stations that it tells apart", job->path, archive->parts[0].path);
    TRY(memory_zeroed(1, sizeof *plan, "the array", &plan));
    TRY(array_job_tables(job, &plan->tables));
    const struct beam_file *file = plan->tables.beams;
    plan->table = plan->tables.table;
    plan->calc = file && file->ncalc ? file->calc : plan->tables.calc;
    plan->stations = archive->nselected[AXIS_STATION];
    plan->streams = archive->nstreams / plan->stations;
    plan->rate_hz = archive->sample_rate_hz;
    plan->is_shifted = !work->filters;
    TRY(memory_zeroed(plan->stations, sizeof *plan->station_of, "stations", &plan->station_of));
    TRY(array_table_match(plan->table, archive, plan->station_of));
    plan->observer =
        (struct observer){.place = plan->table->reference,
                          .earth = {.ut1_utc_s = job->array.ut1_utc_s,
                                    .polar_x_rad = job->array.polar_motion[0] * rad_per_arcsec,
                                    .polar_y_rad = job->array.polar_motion[1] * rad_per_arcsec,
                                    .mjd_day = (int32_t)archive->sky.start.mjd_day}};
    const struct job_direction *centre = &job->array.centre;
    plan->is_steered = centre->kind != DIRECTION_NONE;
    plan->centre = array_direction(centre);
    plan->centre.is_azel |= !plan->is_steered;
    int on_sky = !plan->centre.is_azel || plan->table->has_epoch || plan->calc;
    for (uint32_t i = 1; i <= job->nbeams + job->nproducts; i++) {
        on_sky |= array_job_direction(job, i)->kind == DIRECTION_RADEC;
    }
    REQUIRE(archive->sky.has_start || !on_sky, STATUS_USAGE,
            "%s: array: delays towards the sky, and those of a table with an epoch, change with "
            "time, but the archive does not say when it starts (input.layout.start sets it)",
            job->path);
    TRY(plan->calc ? array_find_sources(work, plan) : STATUS_OK);
    TRY(array_make_delays(work, plan));
    TRY(array_make_factors(job, plan));
    *out = memory_move(&plan);
    return STATUS_OK;
}

void array_plan_time(const struct channelise_plan *work, uint64_t at, uint64_t more,
                     double seconds[2])
{
    delay_split_time(at, work->seen->sample_rate_hz, seconds);
    seconds[1] += (double)more / 2 / work->seen->sample_rate_hz + work->seen->offset_seconds;
}

/* Samples of a unit. */
static uint64_t array_unit(const struct channelise_plan *work)
{
    return work->banks[0].ratio * work->banks[0].hop;
}

/* Seconds after sample 0 of the middle of the cell of unit `from`. */
static void array_cell_time(const struct array_plan *plan, const struct channelise_plan *work,
                            uint64_t from, double seconds[2])
{
    const uint64_t first = from / plan->cell * plan->cell * array_unit(work);
    const uint64_t count = min_u64(plan->cell * array_unit(work), work->seen->samples - first);
    array_plan_time(work, work->seen->first_sample + first, count, seconds);
}

double array_plan_delay(const struct array_plan *plan, uint32_t station, const double seconds[2])
{
    return plan->is_steered ? delay_at(plan->delays, 0, station, seconds)
                            : delay_clock_at(plan->delays, station, seconds);
}

double array_plan_beam_delay(const struct channelise_plan *work, uint32_t beam, uint32_t station,
                             const double seconds[2])
{
    const struct array_plan *plan = work->array;
    const struct job_direction *job = array_job_direction(work->job, 1 + beam);
    const int is_named = beam < work->job->nbeams || job->name;
    return job->kind == DIRECTION_NONE && !(plan->calc && is_named)
               ? array_plan_delay(plan, station, seconds)
               : delay_at(plan->delays, 1 + beam, station, seconds);
}

static int64_t array_shift(const struct array_plan *plan, uint32_t station, const double seconds[2])
{
    if (!plan->is_shifted) {
        return 0;
    }
    const int64_t shift = llround(array_plan_delay(plan, station, seconds) * plan->rate_hz);
    return shift < plan->least ? plan->least : shift > plan->most ? plan->most : shift;
}

uint64_t array_plan_spread(const struct array_plan *plan)
{
    return plan ? (uint64_t)(plan->most - plan->least) : 0;
}

uint64_t array_plan_cell_end(const struct array_plan *plan, uint64_t from)
{
    return plan ? (from / plan->cell + 1) * plan->cell : UINT64_MAX;
}

/* Samples in which no delay changes by more than a sample. */
static double array_longest(const struct array_plan *plan, const struct channelise_plan *work)
{
    enum { TIMES = 64 };
    const double step_s = 1e-3;
    const uint64_t all = work->seen->samples;
    double most = 0; /* samples a sample */
    for (uint32_t i = 0; i < TIMES; i++) {
        double seconds[2];
        array_plan_time(work, work->seen->first_sample + all / TIMES * i, 0, seconds);
        const double later[2] = {seconds[0] + step_s, seconds[1]};
        for (uint32_t station = 0; station < plan->stations && plan->is_shifted; station++) {
            const double change =
                array_plan_delay(plan, station, later) - array_plan_delay(plan, station, seconds);
            most = fmax(most, fabs(change) / step_s);
        }
    }
    return most > 0 ? 1 / most : INFINITY;
}

/* Counts units of `unit` samples whose delays in whole samples are alike: half a sample is left
 * in the middle of a cell at most, and half of one more at its ends. */
static uint64_t array_cell(const struct channelise_plan *work, double longest, uint64_t unit)
{
    const uint64_t all = ceil_div_u64(work->seen->samples, unit);
    uint64_t cell = ceil_div_u64(all, CHUNK_GRAIN) * CHUNK_GRAIN;
    if (longest < (double)work->seen->samples) {
        for (cell = CHUNK_GRAIN; (double)cell * 2 * (double)unit <= longest; cell *= 2) {
        }
    }
    return cell;
}

/* Fails with USAGE if what a bank makes depended on the others of the job. */
static status_t array_settle_cell(struct array_plan *plan, const struct channelise_plan *work)
{
    const double longest = array_longest(plan, work);
    plan->cell = array_cell(work, longest, array_unit(work));
    for (uint32_t i = 0; i < work->nbanks && longest < (double)work->seen->samples; i++) {
        const uint64_t hop = work->banks[i].hop;
        REQUIRE(array_cell(work, longest, hop) * hop == plan->cell * array_unit(work), STATUS_USAGE,
                "%s: channelise: a delay changes by a sample within %.4g samples, but filter banks "
                "beside each other renew whole samples every %" PRIu64
                ": expected a job for each, or channels that are powers of two",
                work->job->path, longest, plan->cell * array_unit(work));
    }
    return STATUS_OK;
}

/* Real samples of sideband -1 are the conjugates of the sky's signal. The bank conjugates them
 * again where it turns the band round to ascending order. */
static struct array_band array_band(const struct channelise_plan *work, uint32_t bank,
                                    uint32_t coarse)
{
    const struct archive *seen = work->seen;
    const struct channelise_plan_bank *b = &work->banks[bank];
    const double centre = seen->freq_hz[seen->selected[AXIS_CHAN][coarse]];
    double hz[2];
    for (uint32_t i = 0; i < 2; i++) {
        hz[i] =
            axes_channel_hz(centre, seen->sample_rate_hz, seen->is_complex, seen->sideband,
                            b->job->order, b->channelise.channels, b->channelise.first_channel + i);
    }
    const int is_conjugate = !seen->is_complex && seen->sideband < 0 && b->job->order == ORDER_FFT;
    return (struct array_band){
        .zero_hz = seen->is_complex ? centre : centre - seen->sideband * seen->sample_rate_hz / 4,
        .first_hz = hz[0],
        .step_hz = hz[1] - hz[0],
        .sign = is_conjugate ? -1 : 1};
}

/* The complex gains of all stations at the channels of a bank, where the table has any. */
static status_t array_make_gains(struct array_plan *plan, const struct channelise_plan *work,
                                 uint32_t bank)
{
    const struct archive *seen = work->seen;
    const uint32_t pols = seen->nselected[AXIS_POL];
    const uint32_t coarse = seen->nselected[AXIS_CHAN];
    const uint32_t channels = work->banks[bank].channelise.nchannels;
    int has_gains = 0;
    for (uint32_t i = 0; i < plan->stations; i++) {
        has_gains |= plan->table->stations[plan->station_of[i]].ngains > 0;
    }
    if (!has_gains) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)plan->stations * pols * coarse, (size_t)channels * 2 * sizeof(float),
                      "gains", &plan->gains[bank]));
    float *out = plan->gains[bank];
    for (uint32_t line = 0; line < plan->stations * pols * coarse; line++) {
        const struct array_band *band = &plan->bands[bank][line % coarse];
        const uint32_t pol = line / coarse % pols;
        char **names = seen->names[AXIS_POL];
        for (uint32_t k = 0; k < channels; k++, out += 2) {
            double gain[2];
            array_gain_at(&plan->table->stations[plan->station_of[line / coarse / pols]],
                          names ? names[seen->selected[AXIS_POL][pol]] : NULL,
                          band->first_hz + k * band->step_hz, gain);
            out[0] = (float)gain[0];
            out[1] = (float)(band->sign * gain[1]);
        }
    }
    return STATUS_OK;
}

/* The largest error of a delay, in the direction of the centre or a beam, half-way between two
 * times `steps` spectra apart. */
static double array_bend(const struct array_plan *plan, const struct channelise_plan *work,
                         uint32_t bank, uint64_t steps)
{
    enum { TIMES = 16 };
    const struct channelise_plan_bank *b = &work->banks[bank];
    double most = 0;
    for (uint64_t i = 0; i < TIMES; i++) {
        double seconds[3][2];
        for (uint64_t k = 0; k < 3; k++) {
            array_plan_time(work,
                            work->seen->first_sample + b->spectra * i / TIMES * b->hop +
                                steps * b->hop * k / 2,
                            0, seconds[k]);
        }
        for (uint32_t station = 0; station < plan->stations; station++) {
            double delay[3];
            for (uint64_t k = 0; k < 3; k++) {
                delay[k] = array_plan_delay(plan, station, seconds[k]);
            }
            most = fmax(most, fabs(delay[1] - (delay[0] + delay[2]) / 2));
            for (uint32_t beam = 0; beam < work->job->nbeams + work->job->nproducts; beam++) {
                for (uint64_t k = 0; k < 3; k++) {
                    delay[k] = array_plan_beam_delay(work, beam, station, seconds[k]);
                }
                most = fmax(most, fabs(delay[1] - (delay[0] + delay[2]) / 2));
            }
        }
    }
    return most;
}

/* Spectra between two times at which delays are computed: a power of two, at most 0.05 s, so few
 * that no phase is wrong by more than 1e-6 turns. */
static uint64_t array_grid(const struct array_plan *plan, const struct channelise_plan *work,
                           uint32_t bank)
{
    enum { MOST = 4096 };
    static const double most_seconds = 0.05;
    static const double most_turns = 1e-6;
    const struct archive *seen = work->seen;
    const uint64_t last = seen->selected[AXIS_CHAN][seen->nselected[AXIS_CHAN] - 1];
    const double hz = fabs(seen->freq_hz[last]) + seen->sample_rate_hz;
    const double one = (double)work->banks[bank].hop / seen->sample_rate_hz;
    uint64_t steps = MOST;
    while (steps > 1 && ((double)steps * one > most_seconds ||
                         array_bend(plan, work, bank, steps) * hz > most_turns)) {
        steps /= 2;
    }
    return steps;
}

status_t array_plan_settle(struct array_plan *plan, const struct channelise_plan *work)
{
    const uint32_t coarse = work->seen->nselected[AXIS_CHAN];
    TRY(array_settle_cell(plan, work));
    for (uint32_t i = 0; i < work->nbanks; i++) {
        REQUIRE(work->banks[i].job->order == ORDER_ASCENDING || !work->seen->is_complex,
                STATUS_USAGE,
                "%s: channelise.order is fft, whose frequencies jump in the middle: expected "
                "ascending with `array`",
                work->job->path);
        TRY(memory_zeroed(coarse, sizeof *plan->bands[i], "bands", &plan->bands[i]));
        for (uint32_t c = 0; c < coarse; c++) {
            plan->bands[i][c] = array_band(work, i, c);
        }
        TRY(array_make_gains(plan, work, i));
        plan->grid[i] = array_grid(plan, work, i);
    }
    return STATUS_OK;
}

void array_plan_shifts(const struct array_plan *plan, const struct channelise_plan *work,
                       uint64_t from, uint32_t first_stream, uint32_t streams, uint64_t *shifts)
{
    double seconds[2];
    int64_t shift = 0;
    array_cell_time(plan, work, from, seconds);
    for (uint32_t i = 0; i < streams; i++) {
        if (i == 0 || (first_stream + i) % plan->streams == 0) {
            shift = array_shift(plan, (first_stream + i) / plan->streams, seconds);
        }
        shifts[i] = (uint64_t)(shift - plan->least);
    }
}

/* With f0 = zero_hz, and `rest` of the delay left after whole samples, frequency f is turned by
 * f0 delay + (f - f0) rest. */
void array_plan_turns(const struct array_plan *plan, const struct channelise_plan *work,
                      uint32_t bank, uint32_t direction, uint64_t first, uint64_t count,
                      float *turns)
{
    const struct channelise_plan_bank *b = &work->banks[bank];
    const uint32_t coarse = work->seen->nselected[AXIS_CHAN];
    const uint64_t more = b->samples_per_spectrum * b->channelise.taps - 1;
    const uint64_t grid = plan->grid[bank];
    double middle[2];
    array_cell_time(plan, work, first / b->ratio, middle);
    for (uint32_t station = 0; station < plan->stations; station++) {
        const double whole = (double)array_shift(plan, station, middle) / plan->rate_hz;
        double ends[2] = {0, 0}; /* delays at both ends of a step of the grid */
        for (uint64_t s = first; s < first + count; s++) {
            float *out = turns + ((s - first) * plan->stations + station) * coarse * 2;
            for (uint64_t end = 0; end < 2 && (s == first || s % grid == 0); end++) {
                double seconds[2];
                const uint64_t at = (s / grid + end) * grid;
                array_plan_time(work, work->seen->first_sample + at * b->hop, more, seconds);
                ends[end] = direction > 0
                                ? array_plan_beam_delay(work, direction - 1, station, seconds)
                                : array_plan_delay(plan, station, seconds);
            }
            const double delay = ends[0] + (ends[1] - ends[0]) * (double)(s % grid) / (double)grid;
            for (uint32_t c = 0; c < coarse; c++) {
                const struct array_band *band = &plan->bands[bank][c];
                const double turn =
                    band->zero_hz * delay + (band->first_hz - band->zero_hz) * (delay - whole);
                out[2 * c] = (float)(band->sign * array_plan_part(turn));
                out[2 * c + 1] = (float)(band->sign * band->step_hz * (delay - whole));
            }
        }
    }
}

/* Returns the largest delay that is left to phases at both ends of the observation: of beams with
 * that relative to the centre. */
static double array_plan_left(const struct channelise_plan *work)
{
    const struct array_plan *plan = work->array;
    const uint64_t ends[2] = {work->seen->first_sample,
                              work->seen->first_sample + work->seen->samples};
    double most = 0;
    for (uint32_t end = 0; end < 2; end++) {
        double seconds[2];
        array_plan_time(work, ends[end], 0, seconds);
        for (uint32_t station = 0; station < plan->stations; station++) {
            const double delay = array_plan_delay(plan, station, seconds);
            double left = 0;
            for (uint32_t beam = 0; beam < work->job->nbeams + work->job->nproducts; beam++) {
                left =
                    fmax(left, fabs(array_plan_beam_delay(work, beam, station, seconds) - delay));
            }
            most = fmax(most, left + (plan->is_shifted ? 1 / plan->rate_hz : fabs(delay)));
        }
    }
    return most;
}

/* Computes the largest elevation of a direction in the observation, in degrees. */
static status_t array_highest(const struct channelise_plan *work, const struct direction *direction,
                              double *out)
{
    enum { TIMES = 16 };
    const struct array_plan *plan = work->array;
    double axes[3][3];
    double vector[3];
    *out = direction->lat_rad / rad_per_deg;
    earth_place_axes(&plan->observer.place, axes);
    for (uint64_t i = 0; i <= TIMES && !direction->is_azel; i++) {
        double seconds[2];
        array_plan_time(work, work->seen->first_sample + work->seen->samples * i / TIMES, 0,
                        seconds);
        const struct utc utc = utc_add(work->archive->sky.start, seconds[0] + seconds[1]);
        TRY(geometry_vectors(&plan->observer, moment_of_utc(utc), direction, 1, &vector));
        const double up = axes[2][0] * vector[0] + axes[2][1] * vector[1] + axes[2][2] * vector[2];
        *out = fmax(i > 0 ? *out : -90, asin(fmin(fmax(up, -1), 1)) / rad_per_deg);
    }
    return STATUS_OK;
}

status_t array_plan_notes(const struct channelise_plan *work, struct text *out)
{
    enum { MOST_NOTES = 4 };
    const struct job *job = work->job;
    const struct array_plan *plan = work->array;
    const uint32_t last = plan->calc || plan->table->is_nowhere ? 0 : job->nbeams + job->nproducts;
    int shown = 0;
    for (uint32_t i = plan->is_steered ? 0 : 1; i <= last && shown < MOST_NOTES; i++) {
        const struct direction direction = array_direction(array_job_direction(job, i));
        double degrees = 0;
        TRY(array_highest(work, &direction, &degrees));
        if (degrees < 0) {
            shown++;
            TRY(i == 0             ? text_add(out, "array.centre")
                : i <= job->nbeams ? text_add(out, "beams.%u", i - 1)
                                   : text_add(out, "products.%u.centre", i - 1 - job->nbeams));
            TRY(text_add(out,
                         " is below the horizon all the time, at most %.1f deg high: check its "
                         "direction, the stations' positions and the start\n",
                         degrees));
        }
    }
    return STATUS_OK;
}

status_t array_plan_words(const struct channelise_plan *work, struct text *out)
{
    const struct array_plan *plan = work->array;
    const struct archive *seen = work->seen;
    const struct channelise_plan_bank *bank = &work->banks[0];
    const int has_directions =
        (plan->is_steered || work->job->nbeams > 0) && !plan->table->is_nowhere;
    const struct array_lines lines = {
        .table = plan->table,
        .stations = plan->station_of,
        .nstations = plan->stations,
        .delays = has_directions ? plan->delays : NULL,
        .ndirections = 1 + work->job->nbeams,
        .first = plan->is_steered ? 0 : 1,
        .from_s = (double)seen->first_sample / seen->sample_rate_hz,
        .to_s = (double)(seen->first_sample + seen->samples) / seen->sample_rate_hz,
        .left_s = array_plan_left(work),
        .channel_hz = seen->sample_rate_hz / (double)bank->samples_per_spectrum,
        .top_hz = seen->freq_hz[seen->selected[AXIS_CHAN][seen->nselected[AXIS_CHAN] - 1]],
        .spectrum_s =
            (double)bank->samples_per_spectrum * bank->channelise.taps / seen->sample_rate_hz};
    TRY(array_lines_add(&lines, out));
    TRY(plan->is_shifted ? text_add(out, "  whole samples renewed every %s %s\n",
                                    units_count(plan->cell), work->nbanks > 1 ? "units" : "spectra")
                         : text_add(out, "  whole samples none: phases take all delays out\n"));
    if (work->beams) {
        const uint32_t together = work->chunking.group_streams / plan->streams;
        TRY(text_add(out, "  beams         %u, phases renewed every %u %s\n", work->beams->beams,
                     work->beams->spec[0].cell,
                     units_plural(work->beams->spec[0].cell, "spectrum", "spectra")));
        TRY(together < work->beams->beams
                ? text_add(out,
                           "  beams         %u at a time fit the memory: all stations are read for "
                           "each of these groups\n",
                           together)
                : STATUS_OK);
    }
    return STATUS_OK;
}
