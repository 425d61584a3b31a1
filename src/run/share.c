/* Rank 0 reads the job and opens the archive; then one backend is found for all. */
#include "run/share.h"

#include "base/clock.h"
#include "base/pool.h"
#include "dsp/dispersion/ddplan.h"
#include "input/array_job.h"
#include "input/coefficients.h"
#include "input/open.h"
#include "io/machine.h"
#include "job/yaml/yaml_file.h"
#include "plan/dedisperse_plan.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

#include <inttypes.h>
#include <math.h>

/* The options that a backend was opened with. */
struct wish {
    enum backend_kind kind;
    char *device;
    struct backend_options options; /* of which `device` is the one above */
};

/* One backend, waiting to be taken, and the thread that opens it. */
struct opened {
    int keeps;
    int rank, size; /* among the ranks of this machine */
    pool_worker_t *worker;
    int has_begun; /* the thread may be at work: what follows is its own until it is waited for */
    struct wish wish;   /* of what is being opened, or waits */
    backend_t *waiting; /* opened ahead, or given back */
};

static status_t wish_make(const struct opened *opened, const struct job *job,
                          enum backend_kind kind, struct wish *out)
{
    *out = (struct wish){.kind = kind};
    TRY(memory_text(job->device, &out->device));
    out->options = (struct backend_options){.device = out->device,
                                            .device_memory = job->device_memory,
                                            .local_rank = (uint32_t)opened->rank,
                                            .local_size = (uint32_t)opened->size,
                                            .keeps = opened->keeps};
    return STATUS_OK;
}

static int wish_is_same(const struct wish *a, const struct wish *b)
{
    return a->kind == b->kind && a->options.device_memory == b->options.device_memory &&
           a->options.local_rank == b->options.local_rank &&
           a->options.local_size == b->options.local_size &&
           strcmp(a->device ? a->device : "", b->device ? b->device : "") == 0;
}

static void wish_free(struct wish *wish)
{
    free(wish->device);
    *wish = (struct wish){.device = NULL};
}

/* Closes the backend that waits to be used. */
static void opened_drop(opened_t *opened)
{
    backend_close(memory_move(&opened->waiting));
    wish_free(&opened->wish);
}

status_t opened_create_all(MPI_Comm comm, int keeps, opened_t **out)
{
    status_t st = STATUS_OK;
    opened_t *opened = NULL;
    int rank;
    int size;
    local_ranks_all(comm, &rank, &size);
    TRY_OUT(memory_zeroed(1, sizeof *opened, "a backend", &opened));
    opened->keeps = keeps;
    opened->rank = rank;
    opened->size = size;
    TRY_OUT(pool_worker_create("opener", &opened->worker));
    *out = memory_move(&opened);
out:
    opened_destroy(opened);
    return agree_all(comm, st);
}

void opened_destroy(opened_t *opened)
{
    if (opened) {
        pool_worker_destroy(opened->worker);
        opened_drop(opened);
        free(opened);
    }
}

/* Opens the backend that was wished for, in a thread of its own. */
static void opened_open(void *context)
{
    opened_t *opened = context;
    struct wish *wish = &opened->wish;
    if (wish->kind == BACKEND_AUTO) {
        wish->kind = backend_automatic(backend_has_gpu());
    }
    if (!backend_abilities(wish->kind)->has_device ||
        backend_open(wish->kind, &wish->options, &opened->waiting) != STATUS_OK) {
        report_clear();
        opened->waiting = NULL;
    }
}

/* Begins, in a thread, to open what the job's first pass will want, if that is a device of any
 * kind, and none was begun or kept; what goes wrong there is said by who takes it. Takes NULL. Not
 * collective: where the run before ended early, a rank's thread may still be at work. */
static void opened_begin(opened_t *opened, const struct job *job)
{
    struct wish wish;
    enum backend_kind kind = job_reads_voltages(job) ? job->backend : job->dedisperse[0].backend;
    int is_device = kind == BACKEND_AUTO || backend_abilities(kind)->has_device;
    if (!opened || opened->has_begun || opened->waiting || !is_device) {
        return;
    }
    if (wish_make(opened, job, kind, &wish) != STATUS_OK) {
        report_clear();
        wish_free(&wish);
        return;
    }
    wish_free(&opened->wish);
    opened->wish = wish;
    opened->has_begun = 1;
    backend_see_one(&opened->wish.options); /* here: the thread must not change the environment */
    pool_worker_begin(opened->worker, opened_open, opened);
}

/* Devices of two kinds could round differently, and the product would depend on the ranks. */
static status_t opened_check_same_all(MPI_Comm comm, const backend_t *backend)
{
    status_t st = STATUS_OK;
    char first[256];
    snprintf(first, sizeof first, "%s", backend_device(backend));
    share_bytes_all(comm, first, sizeof first);
    if (strcmp(first, backend_device(backend)) != 0) {
        st = report_fail(STATUS_DEVICE,
                         "this rank's device is %s, but that of rank 0 is %s: run.device names one "
                         "kind for all",
                         backend_device(backend), first);
    }
    return agree_all(comm, st);
}

status_t opened_take_all(MPI_Comm comm, opened_t *opened, const struct job *job,
                         enum backend_kind kind, backend_t **out)
{
    status_t st = STATUS_OK;
    SCOPED(wish_free) struct wish wish = {.device = NULL};
    backend_t *backend = NULL;
    TRY(agree_all(comm, wish_make(opened, job, kind, &wish)));
    pool_worker_wait(opened->worker);
    opened->has_begun = 0;
    if (opened->waiting && wish_is_same(&opened->wish, &wish)) {
        backend = memory_move(&opened->waiting);
    } else {
        opened_drop(opened); /* first: it has memory of the device */
        st = backend_open(kind, &wish.options, &backend);
    }
    *out = backend;
    TRY(agree_all(comm, st));
    wish_free(&opened->wish);
    opened->wish = wish;
    wish.device = NULL;
    return opened_check_same_all(comm, backend);
}

void opened_give_back(opened_t *opened, backend_t *backend, status_t st)
{
    int is_good = st == STATUS_OK || st == STATUS_HOLES || st == STATUS_STOPPED;
    if (backend && opened && opened->keeps && is_good && !opened->waiting &&
        backend_which(backend) == opened->wish.kind &&
        backend_abilities(opened->wish.kind)->has_device) {
        opened->waiting = backend;
        return;
    }
    backend_close(backend);
}

/* `dm: {..., downsample: auto}`: ranges of DMs into which the job's filterbanks divide.
 *
 * Reads the filterbank of each dedispersion that is to be divided. */
_Static_assert((int)DDPLAN_RANGES <= (int)JOB_DEDISPERSE, "a job has room for all ranges");

/* Frequencies and times of what dedispersion `number` reads. */
static status_t ranges_open_filterbank(const struct job *job, uint32_t number,
                                       const struct channelise_plan *work, struct fbh5 **out)
{
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    TRY(work ? dedisperse_plan_foresee(work, job->dedisperse[number].input, &fbh5)
             : fbh5_open(job_filterbank(job, number), FBH5_BAND, &fbh5));
    TRY(fbh5_check_dispersed(fbh5));
    REQUIRE(!fbh5->coherent.delay_hz, STATUS_USAGE,
            "%s: dedisperse.%u.dm.downsample: is auto, which assumes that DMs smear within "
            "channels, but %s was dedispersed coherently: expected downsample beside dm",
            job->path, number, fbh5->path);
    *out = memory_move(&fbh5);
    return STATUS_OK;
}

/* The first and the last DM of a range's series, and how many times these will have: 0 where delays
 * are longer than the observation. */
struct range_series {
    double first, last;
    uint64_t times;
};

static status_t ranges_look(const struct job_dedisperse *what, const struct fbh5 *fbh5,
                            const struct dispersion_spec *band, const struct job_dm_range *range,
                            struct range_series *out)
{
    struct dispersion_spec spec = *band;
    SCOPED(dispersion_free) struct dispersion delays = {.ndms = 0};
    SCOPED(free_at) double *dms = NULL;
    uint32_t count = 0;
    uint64_t samples = fbh5->rows / range->downsample;
    spec.sample_seconds *= (double)range->downsample;
    spec.reference_hz = what->reference_hz;
    TRY(dispersion_tolerant(&spec, range->start, range->end, what->dm.width, what->dm.tolerance,
                            JOB_DMS, &dms, &count));
    spec.dms = dms;
    spec.ndms = count;
    TRY(dispersion_settle(&spec, &delays));
    *out = (struct range_series){dms[0], dms[count - 1],
                                 samples > delays.largest ? samples - delays.largest : 0};
    return STATUS_OK;
}

/* Ranges whose series are too short to tell their noise are not searched, and not made when nothing
 * else was wanted of them; when then nothing is left, the first one's own plan refuses. The higher
 * the DMs, the shorter series are. */
static status_t ranges_leave_out(const struct job *job, uint32_t number, const struct fbh5 *fbh5,
                                 const struct dispersion_spec *band, struct job_division *division)
{
    const struct job_dedisperse *what = &job->dedisperse[number];
    struct job_dm_range *ranges = division->ranges[number];
    uint64_t least = max_u64(BOXES_LEAST_TIMES, 2 * (uint64_t)what->search.widths);
    uint32_t kept = 0;
    for (uint32_t r = 0; what->search.file && r < division->count[number]; r++) {
        struct range_series series = {.times = 0};
        TRY(ranges_look(what, fbh5, band, &ranges[r], &series));
        if (series.times >= least || (r == 0 && !what->file)) {
            kept = r + 1;
            continue;
        }
        ranges[r].is_unsearched = 1;
        report_warn("dedisperse.%u.search: DMs %g to %g are not searched: each has only %" PRIu64
                    " times, of %" PRIu64
                    " samples: to measure noise, boxes of %u need at least %" PRIu64,
                    number, series.first, series.last, series.times, ranges[r].downsample,
                    what->search.widths, least);
        kept = what->file ? r + 1 : kept;
    }
    division->count[number] = what->search.file ? kept : division->count[number];
    return STATUS_OK;
}

static status_t ranges_divide(const struct job *job, uint32_t number,
                              const struct channelise_plan *work, struct job_division *division)
{
    const struct job_dedisperse *what = &job->dedisperse[number];
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    struct ddplan_range ranges[DDPLAN_RANGES];
    double constant = dispersion_default_constant;
    TRY(ranges_open_filterbank(job, number, work, &fbh5));
    if (what->constant && !dispersion_constant(what->constant, &constant)) {
        return STATUS_OK; /* each range's own plan says so */
    }
    const struct dispersion_spec spec = {.freq_hz = fbh5->freq_hz,
                                         .nchannels = fbh5->nchannels,
                                         .constant = constant,
                                         .sample_seconds = fbh5->time.step};
    TRY(ddplan_make(&spec, what->dm.start, what->dm.end, what->dm.width, what->dm.tolerance,
                    JOB_DMS, ranges, &division->count[number]));
    for (uint32_t r = 0; r < division->count[number]; r++) {
        division->ranges[number][r] =
            (struct job_dm_range){ranges[r].start, ranges[r].end, ranges[r].downsample, 0};
    }
    return ranges_leave_out(job, number, fbh5, &spec, division);
}

/* Channels of a bank that are `width_hz` apart, as nearly as may be, in a band. */
static uint32_t rate_channels(const struct job_bank *bank, double band_hz)
{
    const double most = 1 << 30;
    uint32_t pairs = (uint32_t)fmin(fmax(rint(band_hz / bank->width_hz / 2), 1), most / 2);
    return bank->is_oversampled ? oversampled_channels(bank->oversample, 2 * pairs) : 2 * pairs;
}

/* Whether FFT libraries have kernels for all prime factors of a length. */
static int rate_is_fast(uint32_t length)
{
    for (uint32_t factor = 2; factor <= 13; factor++) {
        while (length % factor == 0) {
            length /= factor;
        }
    }
    return length == 1;
}

/* Suggests the nearest number of channels whose transform is fast. */
static void rate_note_faster(const struct job_bank *bank, uint32_t channels, double band_hz)
{
    for (uint32_t apart = 0; apart < channels / 4 && !rate_is_fast(channels); apart++) {
        uint32_t near = apart % 2 ? channels - apart - 1 : channels + apart;
        int suits = !bank->is_oversampled || oversampled_channels(bank->oversample, near) == near;
        if (suits && rate_is_fast(near)) {
            report_note("%" PRIu32 " channels have a prime factor above 13: channels: %" PRIu32
                        " (%s) is transformed several times faster",
                        channels, near, units_hertz(band_hz / near));
            break;
        }
    }
}

/* Numbers of channels and spectra that the job gives as a width and a time, by the rate of the
 * samples that the filters leave. Coefficients of filters are read already. */
static status_t rate_resolve(const struct job *job, const struct archive *archive,
                             struct job_division *out)
{
    SCOPED(filter_plan_destroy_at) struct filter_plan *filters = NULL;
    uint32_t channels[JOB_BANKS] = {0};
    TRY(filter_plan_create(job, archive, backend_settle(job->backend), 1, NULL, &filters));
    const struct archive *seen = filters ? filter_plan_seen(filters) : archive;
    const double band_hz = archive_chan_width_hz(seen);
    for (uint32_t i = 0; i < job->nbanks; i++) {
        const struct job_bank *bank = &job->banks[i];
        channels[i] = bank->channels;
        if (bank->width_hz > 0) {
            channels[i] = out->channels[i] = rate_channels(bank, band_hz);
            report_note("channelise.%u.width %s: %" PRIu32 " channels of %s", i,
                        units_hertz(bank->width_hz), channels[i],
                        units_hertz(band_hz / channels[i]));
            rate_note_faster(bank, channels[i], band_hz);
        }
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        const struct job_product *product = &job->products[i];
        const struct job_bank *bank = &job->banks[product->bank];
        if (product->integrate_s > 0 && product->bank < job->nbanks) {
            const double seconds = channels[product->bank] / band_hz *
                                   (bank->is_oversampled ? bank->oversample.den : 1) /
                                   (bank->is_oversampled ? bank->oversample.num : 1);
            out->integrate[i] =
                (uint64_t)fmin(fmax(rint(product->integrate_s / seconds), 1), 0x1p40);
            report_note("products.%u.integrate %s: %" PRIu64 " %s, %s", i,
                        units_seconds(product->integrate_s), out->integrate[i],
                        units_plural(out->integrate[i], "spectrum", "spectra"),
                        units_seconds((double)out->integrate[i] * seconds));
        }
    }
    return STATUS_OK;
}

/* Ranges of every dedispersion of the job that is to be divided; filterbanks of the job's own are
 * foreseen (`archive`; NULL: the input is a filterbank). Coefficients of filters are read already.
 * Fails with USAGE: more dedispersions than a job may have, a filterbank that was dedispersed
 * coherently; with DATA, DEVICE, STOPPED (while a child process opens it). */
static status_t ranges_find(const struct job *job, const struct archive *archive,
                            struct job_division *out)
{
    SCOPED(channelise_plan_destroy_at) struct channelise_plan *work = NULL;
    uint32_t all = 0;
    if (archive) {
        /* One thread: the memory of threads does not matter here. */
        TRY(channelise_plan_create(job, archive,
                                   channelise_plan_backend(job, backend_settle(job->backend)), 1,
                                   NULL, &work));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(job->dedisperse[i].dm.is_divided ? ranges_divide(job, i, work, out) : STATUS_OK);
        all += out->count[i] > 0 ? out->count[i] : 1;
    }
    return REQUIRED(
        all <= JOB_DEDISPERSE, STATUS_USAGE,
        "%s: dedisperse: one for each range of DMs of downsample: auto makes %u, expected at "
        "most %d in one job",
        job->path, all, JOB_DEDISPERSE);
}

status_t share_struct_all(MPI_Comm comm, status_t st, const struct pack_type *type,
                          const char *what, void *out)
{
    void *object = NULL;
    SCOPED(text_free) struct text packed = {0};
    int rank = agree_rank(comm);
    memcpy(&object, out, sizeof object);
    TRY(agree_all(comm, st == STATUS_OK && rank == 0 ? pack_struct(&packed, object, type) : st));
    TRY(share_text_all(comm, &packed));
    if (rank != 0) {
        struct unpack in = {.data = packed.data, .length = packed.length};
        st = unpack_new(&in, type, what, &object);
        memcpy(out, &object, sizeof object);
    }
    return agree_all(comm, st);
}

/* Opens the archive on rank 0, and broadcasts it. */
static status_t share_archive_all(MPI_Comm comm, const struct job *job, struct archive **out)
{
    status_t st = agree_rank(comm) == 0 ? archive_open(job, out) : STATUS_OK;
    if (*out) {
        assumed_say((*out)->parts[0].path, (*out)->assumed);
    }
    return share_struct_all(comm, st, &archive_type, "an archive", out);
}

static const struct pack_field filter_fields[] = {
    PACK_LIST(struct job_synthesise, coeff, ncoeff, &pack_numbers),
    PACK_FIELD(struct job_synthesise, made_taps),
    PACK_FIELD(struct job_synthesise, bank_taps),
    PACK_FIELD(struct job_synthesise, first),
    PACK_FIELD(struct job_synthesise, error_db),
    PACK_FIELD(struct job_synthesise, noise),
};

static const struct pack_type filter_type = PACK_TYPE(struct job_synthesise, filter_fields);

/* Packs and unpacks the filter of job->synthesise, for other ranks. synthesis_filter_pack() fails
 * with DEVICE (memory), synthesis_filter_unpack() as unpack_check(). */
static status_t synthesis_filter_pack(const struct job *job, struct text *out)
{
    return job->is_synthesised ? pack_struct(out, &job->synthesise, &filter_type) : STATUS_OK;
}

static status_t synthesis_filter_unpack(struct unpack *in, struct job *job)
{
    if (!job->is_synthesised) {
        return STATUS_OK;
    }
    pack_free(&job->synthesise, &filter_type);
    unpack_struct(in, &job->synthesise, &filter_type);
    return unpack_check(in, "a synthesis filter");
}

/* The same of the files that filters' coefficients are in, of the filter of a synthesis, and of the
 * table of an array's stations. */
static status_t share_coefficients_all(MPI_Comm comm, struct archive *archive, struct job *job)
{
    SCOPED(text_free) struct text packed = {0};
    status_t st = STATUS_OK;
    int rank = agree_rank(comm);
    if (rank == 0) {
        st = coefficients_read(job);
        st = st == STATUS_OK ? coefficients_pack(job, &packed) : st;
        st = st == STATUS_OK ? synthesis_filter_make(job, archive) : st;
        st = st == STATUS_OK ? synthesis_filter_pack(job, &packed) : st;
        st = st == STATUS_OK ? array_job_read(job, archive) : st;
        assumed_say(archive->parts[0].path, archive->assumed);
        st = st == STATUS_OK ? array_job_pack(job, &packed) : st;
    }
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, &packed));
    if (rank != 0) {
        struct unpack in = {.data = packed.data, .length = packed.length};
        st = coefficients_unpack(&in, job);
        st = st == STATUS_OK ? synthesis_filter_unpack(&in, job) : st;
        st = st == STATUS_OK ? array_job_unpack(&in, job) : st;
    }
    return agree_all(comm, st);
}

/* Reads the job once more, with the numbers that `find` (rate_resolve() or ranges_find()) takes
 * from the input on rank 0, beside those that are known. Collective. */
static status_t share_divided_all(MPI_Comm comm, const char *path, const struct text *text,
                                  const char *const *sets, uint32_t nsets,
                                  const struct job_each *each, struct archive *archive,
                                  status_t (*find)(const struct job *, const struct archive *,
                                                   struct job_division *),
                                  struct job_division *known, struct job **job)
{
    struct job_division division = *known;
    SCOPED(job_destroy_at) struct job *divided = NULL;
    TRY(agree_all(comm, agree_rank(comm) == 0 ? find(*job, archive, &division) : STATUS_OK));
    share_bytes_all(comm, &division, sizeof division);
    TRY(agree_all(comm, job_parse_divided(path, text->data, text->length, sets, nsets, each,
                                          &division, &divided)));
    TRY(archive ? share_coefficients_all(comm, archive, divided) : STATUS_OK);
    job_take_memory(divided, (*job)->memory);
    job_destroy(*job);
    *job = divided;
    *known = division;
    divided = NULL;
    return STATUS_OK;
}

/* Sets the memory of each rank for `run.memory: auto`: the minimum of all ranks, so that all plan
 * the same. */
static void share_memory_all(MPI_Comm comm, struct job *job)
{
    int rank;
    int ranks;
    if (!job->is_memory_auto) {
        return;
    }
    local_ranks_all(comm, &rank, &ranks);
    uint64_t left = machine_memory_left("");
    uint64_t share = left > 0 ? job_share_memory(left, (uint32_t)ranks) : JOB_MEMORY;
    job_take_memory(job, least_u64_all(comm, share));
}

/* Whether any dedispersion of the job is still to be divided. */
static int job_is_divided(const struct job *job)
{
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (job->dedisperse[i].dm.is_divided) {
            return 1;
        }
    }
    return 0;
}

status_t share_job_all(MPI_Comm comm, status_t st, const char *path, struct text *text,
                       const char *const *sets, uint32_t nsets, const struct job_each *each,
                       opened_t *opened, struct job **out_job, struct archive **out_archive)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    struct job_division division = {.count = {0}};
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, text));
    TRY(agree_all(comm, job_parse_each(path, text->data, text->length, sets, nsets, each, &job)));
    share_memory_all(comm, job);
    opened_begin(opened, job);
    if (job_reads_voltages(job)) {
        TRY(share_archive_all(comm, job, out_archive));
        TRY(share_coefficients_all(comm, *out_archive, job));
    }
    struct archive *archive = job_reads_voltages(job) ? *out_archive : NULL;
    TRY(job_needs_rate(job) ? share_divided_all(comm, path, text, sets, nsets, each, archive,
                                                rate_resolve, &division, &job)
                            : STATUS_OK);
    TRY(job_is_divided(job) ? share_divided_all(comm, path, text, sets, nsets, each, archive,
                                                ranges_find, &division, &job)
                            : STATUS_OK);
    *out_job = memory_move(&job);
    return STATUS_OK;
}

status_t share_read_job(const char *path, const struct text *given, double patience,
                        struct text *out)
{
    watchdog_t *watchdog = NULL;
    if (given) {
        return text_add_bytes(out, given->data, given->length);
    }
    TRY(watchdog_begin_file(patience < 0 ? CLOCK_STALL : patience, 0, path, "read", &watchdog));
    status_t st = text_read_file(out, path, YAML_FILE_BYTES, "a job file (YAML)");
    watchdog_end(watchdog);
    return st;
}

status_t share_load_job(const char *path, const struct text *given, const char *const *sets,
                        uint32_t nsets, struct job **out)
{
    SCOPED(text_free) struct text text = {0};
    SCOPED(job_destroy_at) struct job *job = NULL;
    SCOPED(archive_destroy_at) struct archive *archive = NULL;
    TRY(share_read_job(path, given, CLOCK_STALL, &text));
    TRY(job_parse(path, text.data, text.length, sets, nsets, &job));
    share_memory_all(MPI_COMM_NULL, job);
    if (job_is_divided(job) || job_needs_rate(job)) {
        job_destroy(memory_move(&job));
        TRY(share_job_all(MPI_COMM_NULL, STATUS_OK, path, &text, sets, nsets, NULL, NULL, &job,
                          &archive));
    }
    *out = memory_move(&job);
    return STATUS_OK;
}

enum backend_kind share_settle_backend_all(MPI_Comm comm, enum backend_kind wanted)
{
    uint32_t lacks_gpu = wanted == BACKEND_AUTO && !backend_has_gpu();
    uint32_t any_lacks = most_u32_all(comm, lacks_gpu);
    return wanted != BACKEND_AUTO ? wanted : backend_automatic(!any_lacks);
}
