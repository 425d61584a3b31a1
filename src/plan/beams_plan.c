/* Directions of beams become phases relative to the array's centre. */
#include "plan/beams_plan.h"

#include <math.h>

void beams_plan_destroy(struct beams_plan *plan)
{
    if (plan) {
        free(plan->factors);
        for (uint32_t i = 0; i < JOB_BANKS; i++) {
            free(plan->weights[i]);
        }
        MEMORY_FREE(plan->selected, plan->names, plan);
    }
}

status_t beams_plan_create(const struct channelise_plan *work, struct beams_plan **out)
{
    const struct job *job = work->job;
    const struct archive *seen = work->seen;
    SCOPED(beams_plan_destroy_at) struct beams_plan *plan = NULL;
    int has_names = 0;
    *out = NULL;
    if (job->nbeams == 0) {
        return STATUS_OK;
    }
    REQUIRE(work->array && seen->present[AXIS_STATION] && seen->nselected[AXIS_BEAM] == 1,
            STATUS_USAGE,
            "%s: beams are made of stations: expected `array`, and an archive with stations and at "
            "most one beam selected",
            job->path);
    TRY(memory_zeroed(1, sizeof *plan, "beams", &plan));
    plan->beams = job->nbeams;
    TRY(memory_zeroed(plan->beams, sizeof *plan->selected, "beams", &plan->selected));
    TRY(memory_zeroed(plan->beams, sizeof *plan->names, "beams", &plan->names));
    for (uint32_t i = 0; i < plan->beams; i++) {
        plan->selected[i] = i;
        plan->names[i] = job->beams[i].name;
        has_names += plan->names[i] != NULL;
    }
    REQUIRE(has_names == 0 || has_names == (int)plan->beams, STATUS_USAGE,
            "%s: %d of %u beams have a name, expected all or none", job->path, has_names,
            plan->beams);
    plan->formed = *seen;
    plan->formed.count[AXIS_STATION] = 1;
    plan->formed.present[AXIS_STATION] = 0;
    plan->formed.nselected[AXIS_STATION] = 1;
    plan->formed.selected[AXIS_STATION] = plan->selected; /* the first: 0 */
    plan->formed.names[AXIS_STATION] = NULL;
    plan->formed.count[AXIS_BEAM] = plan->beams;
    plan->formed.present[AXIS_BEAM] = 1;
    plan->formed.nselected[AXIS_BEAM] = plan->beams;
    plan->formed.selected[AXIS_BEAM] = plan->selected;
    plan->formed.names[AXIS_BEAM] = has_names > 0 ? plan->names : NULL;
    plan->formed.nstreams = plan->beams * seen->nselected[AXIS_POL] * seen->nselected[AXIS_CHAN];
    if (plan->beams == 1 && job->beams[0].kind == DIRECTION_RADEC) {
        plan->formed.sky.has_position = 1;
        plan->formed.sky.ra_deg = job->beams[0].lon_deg;
        plan->formed.sky.dec_deg = job->beams[0].lat_deg;
    }
    *out = memory_move(&plan);
    return STATUS_OK;
}

/* Seconds after sample 0 of the middle of spectra first .. first + count - 1 of a bank. */
static void beams_time(const struct channelise_plan *work, uint32_t bank, uint64_t first,
                       uint64_t count, double seconds[2])
{
    const struct channelise_plan_bank *b = &work->banks[bank];
    array_plan_time(work, work->seen->first_sample + first * b->hop,
                    b->samples_per_spectrum * b->channelise.taps - 1 + (count - 1) * b->hop,
                    seconds);
}

/* Returns the delay of a station in the direction of a beam, less that towards the centre. */
static double beams_delay(const struct channelise_plan *work, uint32_t beam, uint32_t station,
                          const double seconds[2])
{
    return array_plan_beam_delay(work, beam, station, seconds) -
           array_plan_delay(work->array, station, seconds);
}

/* Spectra in which no phase of a beam turns by more than about 1e-5 from the middle of a cell: a
 * power of two, at most a grain. */
static uint32_t beams_cell(const struct beams_plan *plan, const struct channelise_plan *work,
                           uint32_t bank)
{
    enum { TIMES = 16, MOST = CHUNK_GRAIN };
    static const double most_turns = 1e-5;
    const struct archive *seen = work->seen;
    const struct channelise_plan_bank *b = &work->banks[bank];
    const uint64_t last = seen->selected[AXIS_CHAN][seen->nselected[AXIS_CHAN] - 1];
    const double hz = fabs(seen->freq_hz[last]) + seen->sample_rate_hz;
    double rate = 0;
    uint32_t cell = MOST;
    for (uint32_t i = 0; i < TIMES; i++) {
        double seconds[2];
        beams_time(work, bank, b->spectra * i / TIMES, 1, seconds);
        for (uint32_t beam = 0; beam < plan->beams; beam++) {
            for (uint32_t station = 0; station < work->array->stations; station++) {
                const double later[2] = {seconds[0] + 1, seconds[1]};
                rate = fmax(rate, fabs(beams_delay(work, beam, station, later) -
                                       beams_delay(work, beam, station, seconds)));
            }
        }
    }
    const double turns = rate * hz * (double)b->hop / seen->sample_rate_hz; /* of a spectrum */
    while (cell > 1 && turns * cell / 2 > most_turns) {
        cell /= 2;
    }
    return cell;
}

/* Whether all weights of a file for a station in a beam are 0. */
static int beams_is_none(const struct beam_file *file, uint32_t beam, uint32_t station)
{
    const uint64_t each = 2 * (uint64_t)file->npols * file->nfreqs;
    const uint64_t line = (file->sets > 1 ? beam : 0) * (uint64_t)file->nstations + station;
    const double *of = file->weights + line * each;
    uint64_t i = 0;
    while (i < each && of[i] == 0) {
        i++;
    }
    return i == each;
}

/* Returns the weight of a place in `weights`, at a frequency where they have frequencies
 * (interpolated linearly, real and imaginary part; beyond the outermost that of the nearest one),
 * else of channel k of `channels`, of which the file has one for each, or for equal parts. */
static void beam_file_weight(const struct beam_file *file, uint32_t set, uint32_t station,
                             uint32_t pol, double freq_hz, uint64_t k, uint64_t channels,
                             double out[2])
{
    const uint64_t line =
        ((uint64_t)set * file->nstations + station) * file->npols + (file->npols > 1 ? pol : 0);
    const double *of = file->weights + 2 * line * file->nfreqs;
    uint64_t low = k * file->nfreqs / channels;
    uint64_t high = low;
    double share = 0;
    if (file->nfreq_hz > 0) {
        uint64_t end = file->nfreqs;
        for (low = 0; low + 1 < end;) { /* the last one that is not above */
            const uint64_t middle = (low + end) / 2;
            *(file->freq_hz[middle] <= freq_hz ? &low : &end) = middle;
        }
        high = low + (low + 1 < file->nfreqs && freq_hz > file->freq_hz[low]);
        share = high > low
                    ? (freq_hz - file->freq_hz[low]) / (file->freq_hz[high] - file->freq_hz[low])
                    : 0;
    }
    for (int part = 0; part < 2; part++) {
        out[part] =
            (1 - share) * of[2 * low + (uint64_t)part] + share * of[2 * high + (uint64_t)part];
    }
}

/* Fills the weights of a bank's channels: those of a set in common are multiplied by the gains. */
static void beams_fill(const struct beam_file *file, const struct channelise_plan *work,
                       uint32_t bank, const uint32_t *stations, float *out)
{
    const struct archive *seen = work->seen;
    const uint64_t coarse = seen->nselected[AXIS_CHAN];
    const uint64_t each = work->banks[bank].channelise.nchannels;
    const float *gain = file->sets == 1 ? work->array->gains[bank] : NULL;
    const uint64_t pols = seen->nselected[AXIS_POL];
    for (uint64_t line = 0; line < file->sets * work->array->stations * pols * coarse; line++) {
        const struct array_band *band = &work->array->bands[bank][line % coarse];
        const uint64_t pol = seen->selected[AXIS_POL][line / coarse % pols];
        const uint64_t antenna = line / coarse / pols;
        for (uint64_t k = 0; k < each; k++, out += 2) {
            double w[2];
            beam_file_weight(file, (uint32_t)(antenna / work->array->stations),
                             stations[antenna % work->array->stations], (uint32_t)pol,
                             band->first_hz + (double)k * band->step_hz, line % coarse * each + k,
                             coarse * each, w);
            w[1] *= band->sign;
            out[0] = (float)(gain ? w[0] * gain[0] - w[1] * gain[1] : w[0]);
            out[1] = (float)(gain ? w[0] * gain[1] + w[1] * gain[0] : w[1]);
            gain += gain ? 2 : 0;
        }
    }
}

/* Finds the file's station for each station that the archive's selection has, by name, or by number
 * if one of them has no names: uint32_t [nselected]. Fails with DATA: a station that the file does
 * not have, another number of stations or polarisations. */
static status_t beam_file_match(const struct beam_file *file, const struct archive *archive,
                                uint32_t *out)
{
    char *const *names = file->nnamed ? archive->names[AXIS_STATION] : NULL;
    REQUIRE(names || archive->count[AXIS_STATION] == file->nstations, STATUS_DATA,
            "%s has %u stations, but the archive %llu, expected as many, or names in both",
            file->path, file->nstations, (unsigned long long)archive->count[AXIS_STATION]);
    REQUIRE(file->npols == 1 || archive->count[AXIS_POL] == file->npols, STATUS_DATA,
            "%s has %u polarisations, but the archive %llu, expected 1 or as many", file->path,
            file->npols, (unsigned long long)archive->count[AXIS_POL]);
    for (uint32_t i = 0; i < archive->nselected[AXIS_STATION]; i++) {
        const uint64_t station = archive->selected[AXIS_STATION][i];
        out[i] = names ? 0 : (uint32_t)station;
        while (names && out[i] < file->nstations &&
               strcmp(names[station], file->stations[out[i]]) != 0) {
            out[i]++;
        }
        REQUIRE(out[i] < file->nstations, STATUS_DATA,
                "%s has no station %s, which the archive has", file->path, names[station]);
    }
    return STATUS_OK;
}

/* Makes the weights of a file that the job names. */
static status_t beams_make_weights(struct beams_plan *plan, const struct channelise_plan *work)
{
    const struct beam_file *file = work->array->tables.beams;
    const uint32_t count = work->array->stations;
    const uint64_t coarse = work->seen->nselected[AXIS_CHAN];
    SCOPED(free_at) uint32_t *stations = NULL;
    if (!file) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(count, sizeof *stations, "stations", &stations));
    TRY(beam_file_match(file, work->seen, stations));
    TRY(memory_zeroed((size_t)plan->beams * count, 2 * sizeof *plan->factors, "weights",
                      &plan->factors));
    for (uint32_t beam = 0; beam < plan->beams; beam++) {
        float left = 0;
        for (uint32_t i = 0; i < count; i++) {
            const int is_in =
                !array_plan_is_flagged(work->array, i) && !beams_is_none(file, beam, stations[i]);
            left += plan->factors[2 * (beam * count + i)] = (float)is_in;
        }
        REQUIRE(left > 0, STATUS_USAGE,
                "%s: beam_weights: beam %u of %s has no station whose weight is not 0",
                work->job->path, beam, file->path);
    }
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const uint64_t each = work->banks[i].channelise.nchannels;
        const uint64_t lines = (uint64_t)file->sets * count * work->seen->nselected[AXIS_POL];
        REQUIRE(file->nfreq_hz > 0 || coarse * each % file->nfreqs == 0, STATUS_USAGE,
                "%s: beam_weights: %s has weights of %u channels, which does not divide the %llu "
                "that the filter bank makes, and no frequencies",
                work->job->path, file->path, file->nfreqs, (unsigned long long)(coarse * each));
        TRY(memory_zeroed((size_t)(lines * coarse), (size_t)each * 2 * sizeof **plan->weights,
                          "weights", &plan->weights[i]));
        beams_fill(file, work, i, stations, plan->weights[i]);
        for (uint64_t k = 0; k < lines * coarse * each && file->sets > 1; k++) {
            const uint64_t pair = k / (lines / file->sets / count * coarse * each);
            plan->weights[i][2 * k] *= plan->factors[2 * pair];
            plan->weights[i][2 * k + 1] *= plan->factors[2 * pair];
        }
    }
    return STATUS_OK;
}

status_t beams_plan_settle(struct beams_plan *plan, const struct channelise_plan *work)
{
    const struct archive *seen = work->seen;
    TRY(beams_make_weights(plan, work));
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const int has_own = plan->weights[i] && work->array->tables.beams->sets > 1;
        plan->spec[i] = (struct between_spec){
            .stations = seen->nselected[AXIS_STATION],
            .beams = plan->beams,
            .pols = seen->nselected[AXIS_POL],
            .coarse = seen->nselected[AXIS_CHAN],
            .nchannels = work->banks[i].channelise.nchannels,
            .cell = beams_cell(plan, work, i),
            .gains = plan->weights[i] && !has_own ? plan->weights[i] : work->array->gains[i],
            .weights = has_own ? plan->weights[i] : NULL,
            .factors = plan->factors ? plan->factors : work->array->factors};
    }
    return STATUS_OK;
}

struct beams_step beams_plan_group(const struct channelise_plan *work, uint32_t first_stream,
                                   uint32_t streams)
{
    const uint32_t each = work->formed->nstreams / work->beams->beams;
    return (struct beams_step){.first = first_stream / each, .beams = streams / each};
}

int beams_plan_between(const struct channelise_plan *work, uint32_t bank, enum between_stage stage,
                       uint32_t first_stream, uint32_t streams, uint64_t units,
                       struct between_spec *out)
{
    const struct channelise_plan_bank *b = &work->banks[bank];
    const uint32_t left = stage < BETWEEN_BEAMFORM ? channelise_plan_taken(work, streams) : streams;
    *out = (struct between_spec){.stations = left, .beams = left, .pols = 1, .coarse = 1};
    if (stage == BETWEEN_BEAMFORM && work->beams) {
        const struct beams_step group = beams_plan_group(work, first_stream, streams);
        *out = work->beams->spec[bank];
        const size_t pairs = (size_t)group.first * out->stations;
        out->beams = group.beams;
        out->factors += out->factors ? 2 * pairs : 0;
        out->weights += out->weights ? 2 * pairs * out->pols * out->coarse * out->nchannels : 0;
    }
    out->stage = stage;
    out->nchannels = b->channelise.nchannels;
    out->max_spectra = units * b->ratio;
    out->threads = work->threads;
    out->simd = b->channelise.simd;
    return b->between[stage];
}

void beams_plan_floats(const struct channelise_plan *work, uint32_t streams, uint64_t units,
                       uint64_t floats[2])
{
    uint64_t spectra = 0;
    floats[0] = floats[1] = 0;
    for (uint32_t i = 0; i < work->nbanks && work->array; i++) {
        spectra = max_u64(spectra, units * work->banks[i].ratio);
        floats[0] = 2 * spectra * work->array->stations * work->seen->nselected[AXIS_CHAN];
    }
    for (uint32_t i = 0; i < work->nbanks && work->beams; i++) {
        const struct between_spec *spec = &work->beams->spec[i];
        const uint64_t cells = spectra / spec->cell + 2;
        floats[1] = max_u64(floats[1], 2 * cells * beams_plan_group(work, 0, streams).beams *
                                           spec->stations * spec->coarse);
    }
}

status_t beams_plan_begin(const struct channelise_plan *work, uint32_t first_stream,
                          uint32_t streams, struct beams_step *step)
{
    free(step->delays);
    *step = beams_plan_group(work, first_stream, streams);
    return memory_zeroed((size_t)step->beams * work->array->stations, 2 * sizeof *step->delays,
                         "delays", &step->delays);
}

/* Goes to a step of the grid. The step after the last one begins where that ends. */
static void beams_go(const struct channelise_plan *work, uint32_t bank, uint64_t number,
                     uint64_t spectra, struct beams_step *step)
{
    const uint32_t stations = work->array->stations;
    const uint32_t pairs = step->beams * stations;
    const uint32_t is_next = step->next > 0 && step->next == number;
    if (is_next) {
        memcpy(step->delays, step->delays + pairs, pairs * sizeof *step->delays);
    }
    for (uint32_t i = is_next ? pairs : 0; i < 2 * pairs; i++) {
        double seconds[2];
        beams_time(work, bank, (number + i / pairs) * spectra, work->beams->spec[bank].cell,
                   seconds);
        step->delays[i] =
            beams_delay(work, step->first + i % pairs / stations, i % stations, seconds);
    }
    step->next = number + 1;
}

void beams_plan_turns(const struct channelise_plan *work, uint32_t bank, uint64_t first,
                      uint64_t count, struct beams_step *step, float *turns)
{
    const struct between_spec *spec = &work->beams->spec[bank];
    const uint32_t pairs = step->beams * spec->stations;
    const uint64_t grid = max_u64(work->array->grid[bank] / spec->cell, 1); /* cells */
    const uint64_t end = first / spec->cell + beamform_cells(spec, first, count);
    for (uint64_t cell = first / spec->cell; cell < end; cell++) {
        if (step->next != cell / grid + 1) {
            beams_go(work, bank, cell / grid, grid * spec->cell, step);
        }
        const double *ends = step->delays;
        const double place = (double)(cell % grid) / (double)grid;
        for (uint32_t i = 0; i < pairs; i++) {
            const double delay = ends[i] + (ends[i + pairs] - ends[i]) * place;
            for (uint32_t c = 0; c < spec->coarse; c++, turns += 2) {
                const struct array_band *band = &work->array->bands[bank][c];
                turns[0] = (float)(band->sign * array_plan_part(band->first_hz * delay));
                turns[1] = (float)(band->sign * band->step_hz * delay);
            }
        }
    }
}
