/* voltmill synth SPEC */
#include "base/clock.h"
#include "base/display.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/values.h"
#include "dsp/delay_model.h"
#include "input/array_table.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/mark.h"
#include "plan/channelise_plan.h"
#include "product/export/export_file.h"
#include "ranks/agree.h"
#include "ranks/driver.h"
#include "run/share.h"
#include "synth/signal.h"
#include "synth/synth_spec.h"

#include <math.h>

enum {
    CHUNK_BYTES = 16 << 20,
    LEAST_SAMPLES = 4096, /* of a stream in a chunk */
    MOST_SPEC_BYTES = 1 << 20
};

struct synthesis {
    int rank;
    struct text text;
    struct synth_spec *spec;
    struct array_table *array; /* NULL: none */
    delay_model_t *delays;
    double *chan_hz;
    signal_t *signal;
    uint32_t antennas; /* stations x beams x polarisations */
    uint64_t chunk_samples;
    uint32_t threads;
    char *part;
    int fd;
    struct before before;
    struct claim_mark mark;
    struct voltages_place place;
    char *bytes;   /* [chunk_samples][antennas][chans] samples as stored */
    float *floats; /* [threads][chunk_samples][2] */
};

static void synthesis_abandon(void *context)
{
    before_abandon(&((struct synthesis *)context)->before);
}

static void synthesis_end(struct synthesis *s)
{
    before_end(&s->before);
    file_close(s->fd);
    signal_destroy(s->signal);
    delay_model_destroy(s->delays);
    array_table_destroy(s->array);
    synth_spec_destroy(s->spec);
    text_free(&s->text);
    MEMORY_FREE(s->chan_hz, s->part, s->bytes, s->floats);
}

/* Reads the array's table for all ranks. */
static status_t synthesis_share_array_all(struct synthesis *s)
{
    if (!s->spec->array.file) {
        return STATUS_OK;
    }
    status_t st = s->rank == 0 ? array_table_read(s->spec->array.file, &s->array) : STATUS_OK;
    TRY(share_struct_all(MPI_COMM_WORLD, st, &array_table_type, "a table of stations", &s->array));
    return REQUIRED(s->array->nstations == s->spec->stations, STATUS_USAGE,
                    "%s: streams.stations is %u, expected the %u stations of %s", s->spec->path,
                    (unsigned)s->spec->stations, (unsigned)s->array->nstations, s->array->path);
}

/* Positions of the array's stations, [stations][3], for free(). */
static status_t synthesis_positions(const struct synthesis *s, double (**out)[3])
{
    TRY(memory_zeroed(s->spec->stations, sizeof **out, "positions of stations", out));
    for (uint32_t i = 0; i < s->spec->stations; i++) {
        memcpy((*out)[i], s->array->stations[i].itrf_m, sizeof **out);
    }
    return STATUS_OK;
}

/* Computes the delays of the array towards each source of noise. */
static status_t synthesis_make_delays(struct synthesis *s)
{
    const double degree = 0.01745329251994329577;
    const double second = degree / 3600;
    const struct synth_spec *spec = s->spec;
    SCOPED(free_at) struct direction *directions = NULL;
    TRY(memory_zeroed(spec->nnoise_sources, sizeof *directions, "directions", &directions));
    for (uint32_t i = 0; i < spec->nnoise_sources; i++) {
        const struct synth_noise_source *source = &spec->noise_sources[i];
        directions[i] = (struct direction){source->direction == SYNTH_AZEL,
                                           source->lon_deg * degree, source->lat_deg * degree};
    }
    const struct array_aim aim = {
        .earth = {spec->array.ut1_utc_s, spec->array.polar_x_arcsec * second,
                  spec->array.polar_y_arcsec * second, spec->start.mjd_day},
        .nstations = spec->stations,
        .directions = directions,
        .ndirections = spec->nnoise_sources,
        .start = spec->start,
        .to_s = (double)spec->samples / spec->sample_rate_hz};
    TRY(array_table_delays(s->array, &aim, NULL, NULL, &s->delays));
    s->spec->array.delays = s->delays;
    return STATUS_OK;
}

static status_t synthesis_make_signal(struct synthesis *s)
{
    TRY(s->array ? synthesis_make_delays(s) : STATUS_OK);
    TRY(memory_zeroed(s->spec->chans, sizeof(double), "frequencies", &s->chan_hz));
    for (uint32_t i = 0; i < s->spec->chans; i++) {
        s->chan_hz[i] = synth_spec_chan_hz(s->spec, i);
    }
    return signal_create(s->spec, &s->signal);
}

struct synthesis_names {
    char **list;
    size_t count;
};
SCOPED_CALLS(synthesis_names_free, struct synthesis_names, text_free_list(at->list, at->count))

/* Names polarisations as the specification does, else by numbers; stations as the array's table,
 * else "S000" ... */
static status_t synthesis_name(const struct synthesis *s, enum axis axis, uint32_t count,
                               struct synthesis_names *out)
{
    TRY(memory_zeroed(count, sizeof *out->list, "names", &out->list));
    out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const char *said = axis == AXIS_POL ? synth_spec_pol_name(s->spec, i)
                           : s->array       ? s->array->stations[i].name
                                            : NULL;
        TRY(said ? memory_text(said, &out->list[i])
                 : memory_format(&out->list[i], axis == AXIS_POL ? "%u" : "S%03u", i));
    }
    return STATUS_OK;
}

/* Rank 0: the file, its samples still missing; or one in memory to compare with what is there. */
static status_t synthesis_make_file(struct synthesis *s, int force)
{
    SCOPED(guard_free) struct guard reads = {0};
    const struct synth_spec *spec = s->spec;
    SCOPED(synthesis_names_free) struct synthesis_names pols = {0};
    SCOPED(synthesis_names_free) struct synthesis_names stations = {0};
    SCOPED(free_at) double(*itrf_m)[3] = NULL;
    SCOPED(voltages_gaps_free) struct voltages_gaps gaps = {.count = 0};
    int fd = -1;
    TRY(synth_gaps_list(spec, &gaps));
    TRY(synthesis_name(s, AXIS_POL, spec->pols, &pols));
    if (spec->stations > 1 || s->array) {
        TRY(synthesis_name(s, AXIS_STATION, spec->stations, &stations));
    }
    TRY(s->array ? synthesis_positions(s, &itrf_m) : STATUS_OK);
    struct voltages_spec native = {
        .samples = spec->samples,
        .axes = {[AXIS_STATION] = {spec->stations, stations.list != NULL, stations.list},
                 [AXIS_BEAM] = {spec->beams, spec->beams > 1, NULL},
                 [AXIS_POL] = {spec->pols, 1, pols.list},
                 [AXIS_CHAN] = {spec->chans, 1, NULL}},
        .format = spec->format,
        .gaps = gaps,
        .scale = 1,
        .sideband = spec->sideband,
        .is_complex = spec->is_complex,
        .sample_rate_hz = spec->sample_rate_hz,
        .freq_hz = s->chan_hz,
        .itrf_m = (const double(*)[3])itrf_m,
        .reference_m = s->array ? s->array->reference.xyz_m : NULL,
        .sky = {.telescope = spec->names.telescope,
                .source = spec->names.source,
                .has_start = 1,
                .start = spec->start}};
    TRY(guard_add(&reads, "its specification", spec->path));
    TRY(s->array ? guard_add(&reads, "the table of stations", s->array->path) : STATUS_OK);
    TRY(guard_check_part(&reads, "observation", spec->file));
    TRY(before_claim(&s->before, force));
    TRY(s->before.is_ours ? claim_mark_of(s->before.claim_fd, s->part, &s->mark) : STATUS_OK);
    TRY(before_make(&s->before, &fd));
    TRY(voltages_create(fd, s->part, &native, &s->place));
    TRY(before_check_size(&s->before, &s->place));
    return s->before.is_ours ? file_reserve(s->before.claim_fd, s->part, s->place.file_bytes)
                             : STATUS_OK;
}

/* Chunks are cut by size alone, so that nothing depends on the ranks. */
static status_t synthesis_make_buffers(struct synthesis *s)
{
    uint64_t step = s->place.step_bytes;
    s->chunk_samples = min_u64(max_u64(CHUNK_BYTES / step, LEAST_SAMPLES), s->spec->samples);
    TRY(memory_aligned((size_t)s->chunk_samples, (size_t)step, "samples", &s->bytes));
    TRY(memory_aligned((size_t)s->chunk_samples * s->threads, 2 * sizeof(float), "samples",
                       &s->floats));
    return s->before.kind == BEFORE_NOTHING ? claim_open(s->part, &s->mark, &s->fd)
                                            : file_open_read(before_path(&s->before), &s->fd);
}

static float synthesis_clip(float value, float limit)
{
    return rintf(fminf(fmaxf(value, -limit), limit));
}

/* Stores one number, rounded to nearest and clipped. */
static void synthesis_store(enum sample_format format, float value, char *out)
{
    if (format == SAMPLE_I8) {
        *(int8_t *)out = (int8_t)synthesis_clip(value, 127);
    } else if (format == SAMPLE_I16) {
        int16_t stored = (int16_t)synthesis_clip(value, 32767);
        memcpy(out, &stored, sizeof stored);
    } else {
        memcpy(out, &value, sizeof value);
    }
}

/* Puts the samples of one stream to their places among the others. */
static void synthesis_interleave(const struct synthesis *s, const float *from, uint64_t count,
                                 uint64_t stream)
{
    const struct synth_spec *spec = s->spec;
    uint64_t bytes = sample_bytes(spec->format, spec->is_complex);
    char *to = s->bytes + stream * bytes;
    size_t parts = spec->is_complex ? 2 : 1;
    for (uint64_t i = 0; i < count; i++, to += s->place.step_bytes) {
        if (spec->format == SAMPLE_I4) {
            int re = (int)synthesis_clip(from[2 * i], 7);
            int im = (int)synthesis_clip(from[2 * i + 1], 7);
            *to = (char)((re & 15) << 4 | (im & 15));
            continue;
        }
        for (size_t part = 0; part < parts; part++) {
            synthesis_store(spec->format, from[parts * i + part], to + part * bytes / parts);
        }
    }
}

struct making {
    const struct synthesis *s;
    uint64_t first, count;
};

static status_t synthesis_make(void *context, uint32_t thread, uint64_t stream)
{
    struct making *making = context;
    const struct synthesis *s = making->s;
    float *floats = s->floats + (size_t)thread * 2 * s->chunk_samples;
    uint32_t antenna = (uint32_t)(stream / s->spec->chans);
    uint32_t chan = (uint32_t)(stream % s->spec->chans);
    TRY(signal_make(s->signal, antenna, chan, making->first, making->count, floats));
    synthesis_interleave(s, floats, making->count, stream);
    return STATUS_OK;
}

static status_t synthesis_process(void *context, driver_t *driver, uint64_t index)
{
    struct synthesis *s = context;
    uint64_t first = index * s->chunk_samples;
    uint64_t count = min_u64(s->chunk_samples, s->spec->samples - first);
    struct making making = {s, first, count};
    (void)driver;
    TRY(pool_try_each(s->threads, (uint64_t)s->antennas * s->spec->chans, synthesis_make, &making));
    return before_put(&s->before, s->fd, s->place.data_offset + first * s->place.step_bytes,
                      s->bytes, count * s->place.step_bytes);
}

static status_t synthesis_prepare_all(struct synthesis *s, const struct shared *options)
{
    TRY(agree_all(MPI_COMM_WORLD, s->rank == 0
                                      ? text_read_file(&s->text, options->operand, MOST_SPEC_BYTES,
                                                       "a specification (YAML)")
                                      : STATUS_OK));
    TRY(share_text_all(MPI_COMM_WORLD, &s->text));
    TRY(agree_all(MPI_COMM_WORLD,
                  synth_spec_parse(options->operand, s->text.data, s->text.length,
                                   options->sets.items, options->sets.count, &s->spec)));
    TRY(synthesis_share_array_all(s));
    s->antennas = s->spec->stations * s->spec->beams * s->spec->pols;
    int local_rank;
    int local_size;
    local_ranks_all(MPI_COMM_WORLD, &local_rank, &local_size);
    struct job job = {0};
    s->threads = channelise_plan_threads(&job, local_size);
    status_t st = synthesis_make_signal(s);
    if (st == STATUS_OK) {
        st = file_part_name(s->spec->file, &s->part);
    }
    s->before.file = s->spec->file;
    s->before.part = s->part;
    TRY(agree_all(MPI_COMM_WORLD, st));
    TRY(agree_all(MPI_COMM_WORLD,
                  s->rank == 0 ? synthesis_make_file(s, options->force) : STATUS_OK));
    share_bytes_all(MPI_COMM_WORLD, &s->place, sizeof s->place);
    share_bytes_all(MPI_COMM_WORLD, &s->before.kind, sizeof s->before.kind);
    share_bytes_all(MPI_COMM_WORLD, &s->mark, sizeof s->mark);
    return agree_all(MPI_COMM_WORLD, synthesis_make_buffers(s));
}

/* Gives the file its name, on rank 0, after all samples are on the disk. */
static status_t synthesis_publish(struct synthesis *s, int force)
{
    TRY(s->before.kind != BEFORE_NOTHING
            ? before_check_rest(&s->before, s->fd, &s->place)
            : file_cut_appended(s->before.claim_fd, s->part, s->place.file_bytes));
    s->before.is_ours = 0;
    if (s->before.kind != BEFORE_COMPLETE) {
        TRY(mark_hdf5(s->before.claim_fd, s->part, MARK_NONE));
        TRY(file_publish(s->before.claim_fd, s->part, s->spec->file, force));
    }
    return STATUS_OK;
}

/* Writes the archive of a specification. Its bytes are a pure function of that. Collective. Fails
 * with USAGE, DATA, NO_SPACE, DEVICE; a signal ends the process. */
static status_t synth_run_all(void *settings)
{
    const struct shared *options = settings;
    SCOPED(synthesis_end)
    struct synthesis s = {
        .rank = options->rank, .fd = -1, .before = {.expected_fd = -1, .claim_fd = -1}};
    double started = clock_now();
    TRY(synthesis_prepare_all(&s, options));
    struct driver_work work = {.chunks = ceil_div_u64(s.spec->samples, s.chunk_samples),
                               .context = &s,
                               .process = synthesis_process,
                               .abandon = synthesis_abandon};
    struct progress progress = {.every = options->progress,
                                .what = "chunks",
                                .total = work.chunks,
                                .out_bytes = s.place.file_bytes};
    TRY(driver_run_all(MPI_COMM_WORLD, &work, &progress));
    TRY(agree_all(MPI_COMM_WORLD,
                  s.before.kind == BEFORE_NOTHING ? file_sync(s.fd, s.part) : STATUS_OK));
    TRY(agree_all(MPI_COMM_WORLD, s.rank == 0 ? synthesis_publish(&s, options->force) : STATUS_OK));
    if (s.rank == 0 && s.before.kind == BEFORE_COMPLETE) {
        display_print("complete before: %s\n", s.spec->file);
    } else if (s.rank == 0) {
        double seconds = clock_now() - started;
        display_print("%s: %s, %.1f MB/s\n", s.spec->file, units_bytes(s.place.file_bytes),
                      (double)s.place.file_bytes / seconds / 1e6);
    }
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the specification, e.g. --set samples=1e9"},
    {.name = "force adopt stall-timeout progress"},
    {.name = NULL}};

const struct command cli_synth = {
    .name = "synth",
    .summary = "write a synthetic observation",
    .usage = "[OPTION]... SPEC",
    .about = "Writes a synthetic observation in the native layout, as the YAML file SPEC says "
             "(docs/synth.md): noise, tones, a dispersed pulsar, bursts. The bytes do not depend "
             "on the ranks.",
    .operand = "specification",
    .ends = "yaml",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct shared),
    .run = synth_run_all};
