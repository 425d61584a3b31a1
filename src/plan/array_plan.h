/* Delays of an array's stations: as whole samples and phases, for the stages that take them, and as
 * lines of `voltmill plan`: baselines, delays and losses. */
#ifndef VOLTMILL_PLAN_ARRAY_PLAN_H
#define VOLTMILL_PLAN_ARRAY_PLAN_H

#include "input/array_job.h"
#include "plan/channelise_plan.h"

struct array_lines {
    const struct array_table *table;
    const uint32_t *stations; /* [nstations] numbers in the table */
    uint32_t nstations;
    const delay_model_t *delays; /* of these stations; NULL: no directions */
    uint32_t ndirections;
    uint32_t first;      /* direction that is told: 1 where there is no centre */
    double from_s, to_s; /* of the observation */
    double left_s;       /* largest delay left within a channel: half a sample that is shifted */
    double channel_hz;   /* width of a channel, sky frequency of the highest one, Hz */
    double top_hz;
    double spectrum_s; /* time of the samples of one spectrum */
};

/* Appends lines " NAME TEXT" of `voltmill plan`: the baselines of two or more stations. With delays
 * also, for each direction below 8, from lines->first on: the delays of the stations at both ends
 * of the observation and the largest drift; and the losses of amplitude, 1 - sinc(x), by the delay
 * that is left across a channel and by the drift of the phase within a spectrum. Fails with DEVICE
 * (memory); `out` may have a part of it then. */
status_t array_lines_add(const struct array_lines *lines, struct text *out);

/* Frequencies of a bank's channels on the sky, in one coarse channel. */
struct array_band {
    double zero_hz;  /* sky frequency of frequency 0 of the samples */
    double first_hz; /* of the first channel that is kept, */
    double step_hz;  /* and to the next */
    double sign;     /* -1: the spectra are the conjugates of the sky's */
};

struct array_plan {
    struct array_tables tables;
    const struct array_table *table;
    uint32_t *station_of;          /* [stations] places in the table */
    const struct calc_table *calc; /* delays in the place of the geometry; NULL: none */
    uint32_t *sources;             /* [1 + beams] its sources; NULL likewise */
    struct observer observer;
    struct direction centre;
    int is_steered;        /* there is a centre; else delays are those of cables and clocks */
    delay_model_t *delays; /* directions: the centre, and the beams of the job */
    uint32_t stations;
    uint32_t streams; /* of a station */
    double rate_hz;   /* of the archive's samples */
    int is_shifted;   /* by whole samples; else all of the delay is left to the phases */
    uint64_t cell;    /* units with the same whole samples; a multiple of CHUNK_GRAIN */
    /* Smallest and largest of the whole samples of all stations and times: samples of the
     * observation before -least, and the last `most`, begin or end no spectrum. */
    int64_t least, most;
    struct array_band *bands[JOB_BANKS]; /* [coarse] */
    /* Spectra between two times at which delays are computed, counted from spectrum 0; those
     * between are interpolated. */
    uint64_t grid[JOB_BANKS];
    int has_swaps;           /* a station's two polarisations are exchanged */
    float *gains[JOB_BANKS]; /* complex, [stations][pols][coarse][channels][2]; NULL: all 1 */
    float *factors;          /* [beams][stations][2]: 0 for flagged stations; NULL: none is */
};

/* Plans the delays of a job with `array`; *out = NULL for others, and on failure. The archive is
 * work->archive, and the filters of `work` are known. The plan points into work->job, which must
 * outlive it. Fails with DATA: stations that the table or its delays lack; packed files of the
 * array that are damaged; with USAGE: an archive without stations, or without a start where delays
 * change with time; a source that the file of delays lacks, or a file that does not cover the
 * observation; dates, or more than 2^20 intervals of delays; only flagged stations for beams;
 * delays that are longer than the observation; with DEVICE (memory). */
status_t array_plan_create(const struct channelise_plan *work, struct array_plan **out);
/* Settles cells, bands, gains and grids, when units, hops and kept channels of the banks of `work`
 * are known. Fails with USAGE: an order of channels whose frequencies do not ascend; filter banks
 * whose cells would differ; with DEVICE (memory). The plan is for array_plan_destroy() alone then.
 */
status_t array_plan_settle(struct array_plan *plan, const struct channelise_plan *work);
/* Frees a plan of array_plan_create(). Takes NULL. */
void array_plan_destroy(struct array_plan *plan);
SCOPED_END(array_plan_destroy, struct array_plan *)

/* Computes the time (more / 2) samples after sample `at` of the filter banks' input; `at` is
 * numbered as in the observation, from 0. seconds[2] after sample 0 of the observation: two doubles
 * whose sum is the time (delay_at()). */
void array_plan_time(const struct channelise_plan *work, uint64_t at, uint64_t more,
                     double seconds[2]);

/* Returns turns without whole ones: -0.5 .. 0.5, for turns of less than 2^51 to either side. */
static inline double array_plan_part(double turns)
{
    return turns - ((turns + 0x1.8p52) - 0x1.8p52);
}

/* Returns the delay in seconds of a station towards the array's centre at a time of
 * array_plan_time(): geometry, cable and clock together. Without a centre, that of cable and clock
 * alone. `station` is its number, from 0, among the selected ones. */
double array_plan_delay(const struct array_plan *plan, uint32_t station, const double seconds[2]);

/* Returns the delay in seconds of a station towards beam `beam`, from 0, of the job at a time of
 * array_plan_time(): geometry, cable and clock together. Numbers after the last beam are the
 * centres of the products, in their order. A beam or product without a direction of its own has the
 * array's centre. `station` is its number, from 0, among the selected ones. */
double array_plan_beam_delay(const struct channelise_plan *work, uint32_t beam, uint32_t station,
                             const double seconds[2]);

/* Appends the lines of `voltmill plan` about an array (array_lines_add()), and how whole samples
 * and phases are renewed. `work` is complete, and has an array. Fails with DEVICE (memory); `out`
 * may have a part of it then. */
status_t array_plan_words(const struct channelise_plan *work, struct text *out);

/* Appends notes for the user, a line each and at most 4: which of the centre, the beams and the
 * products' centres are below the horizon in the whole observation. With a file of delays (calc),
 * or without positions of stations, only the centre is checked. `work` has an array. Fails with
 * USAGE (dates), DEVICE (memory). */
status_t array_plan_notes(const struct channelise_plan *work, struct text *out);

/* Returns how many more samples of each stream a block reads than each stream of it needs, since
 * delays differ; 0 for `plan` NULL. */
uint64_t array_plan_spread(const struct array_plan *plan);

/* Returns the number of the first unit after the cell (units with the same whole samples) of unit
 * `from`, from 0; UINT64_MAX for `plan` NULL. */
uint64_t array_plan_cell_end(const struct array_plan *plan, uint64_t from);

/* Computes the whole samples by which streams first_stream .. first_stream + streams - 1, of the
 * selected ones from 0, are shifted, for units from `from` to the end of their cell. They are
 * counted from plan->least: sample n of stream first_stream + i is the archive's sample n + least +
 * shifts[i]. All 0 with filters. Cannot fail.
 *
 *   shifts   uint64 [streams] */
void array_plan_shifts(const struct array_plan *plan, const struct channelise_plan *work,
                       uint64_t from, uint32_t first_stream, uint32_t streams, uint64_t *shifts);

/* Returns the selected stream, from 0, whose samples count as those of `stream`: the other
 * polarisation of a station whose two are exchanged, else `stream` itself, also for `plan` NULL. */
uint32_t array_plan_stream(const struct array_plan *plan, const struct channelise_plan *work,
                           uint32_t stream);

/* Returns whether a station, by its number from 0 among the selected ones, is flagged; 0 for `plan`
 * NULL. */
int array_plan_is_flagged(const struct array_plan *plan, uint32_t station);

/* Computes the phases, in turns, of spectra first .. first + count - 1, from 0, of bank `bank`,
 * from 0, all in one cell. `direction` is 0 for the array's centre, or 1 + a beam of
 * array_plan_beam_delay(). Cannot fail.
 *
 *   turns   float [count][stations][coarse][2]: of the first channel that is kept, in -0.5 .. 0.5,
 *           and the difference from one channel to the next
 *
 * so that a plane wave from the array's direction has the same phase in all stations. Follows
 * array_plan_settle(). */
void array_plan_turns(const struct array_plan *plan, const struct channelise_plan *work,
                      uint32_t bank, uint32_t direction, uint64_t first, uint64_t count,
                      float *turns);

#endif
