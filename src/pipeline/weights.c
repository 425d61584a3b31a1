/* Missing samples of each stream, and the energies that its spectra lose by them. */
#include "dsp/fir/energy.h"
#include "pipeline/channelise_parts.h"
#include "pipeline/runs.h"
#include "plan/plan_products.h"
#include "plan/visibilities_plan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Energies lost of spectra, summed to the dumps of one product; and what these make of its rows.
 * For the writer thread. */
typedef struct dumps dumps_t;

/* Energy lost of a spectrum is counted in 1 / (ENERGY_WHOLE LOST_WHOLE) = 2^-60, that of a dump of
 * up to 2^40 spectra needs more than 64 bits. */
__extension__ typedef unsigned __int128 wide;

/* The loss of a stream's dump. */
struct lost {
    wide all;
    wide unread; /* that it would not have lost if all had been read */
};

struct dumps {
    const struct product_spec *spec;
    uint64_t integrate;    /* spectra of a row as the backend makes it, */
    size_t stream_floats;  /* and its numbers of a stream */
    uint64_t first, count; /* spectra of the block */
    uint32_t streams;      /* of the block */
    struct lost *open;     /* [streams] of dumps that no block has completed yet */
    int is_open;           /* some of them have lost something */
    float *weights;        /* [rows][streams] */
    char *is_unread; /* [rows][streams] 1: below the least weight, but not if all had been read */
    char *holes;     /* [rows] */
    int has_less;    /* some weight is below 1 */
    uint64_t blanked;
};

static void dumps_destroy(dumps_t *dumps)
{
    if (!dumps) {
        return;
    }
    MEMORY_FREE(dumps->open, dumps->weights, dumps->is_unread, dumps->holes, dumps);
}
SCOPED_END(dumps_destroy, dumps_t *)

/* Dumps of a product and at most `streams` streams, or pairs of them, for blocks of up to
 * `block_units` units; `work` must outlive it. Fails with DEVICE (memory). */
static status_t dumps_create(const struct channelise_plan *work, uint32_t product, uint32_t streams,
                             uint64_t block_units, dumps_t **out)
{
    size_t rows = (size_t)channelise_plan_rows(work, product, block_units);
    SCOPED(dumps_destroy_at) dumps_t *dumps = NULL;
    TRY(memory_zeroed(1, sizeof *dumps, "weights", &dumps));
    dumps->spec = &work->products[product].spec;
    dumps->integrate = plan_ifs_output(&work->job->products[product]).integrate;
    dumps->stream_floats = (size_t)(plan_products_made_bytes(work, product, 1) / sizeof(float));
    TRY(memory_zeroed(streams, sizeof *dumps->open, "weights", &dumps->open));
    TRY(memory_zeroed(rows * streams, sizeof *dumps->weights, "weights", &dumps->weights));
    TRY(memory_zeroed(rows * streams, 1, "weights", &dumps->is_unread));
    TRY(memory_zeroed(rows, 1, "holes", &dumps->holes));
    *out = memory_move(&dumps);
    return STATUS_OK;
}

/* Begins a block of spectra: as if it lacked nothing. Dumps that an earlier block has begun go on,
 * unless it is the first of a chunk; returns whether they have lost something. */
static int dumps_begin(dumps_t *dumps, int is_first, uint64_t first, uint64_t count,
                       uint32_t streams)
{
    uint64_t integrate = dumps->integrate;
    uint64_t rows = (first + count) / integrate - first / integrate;
    int is_open = !is_first && dumps->is_open;
    if (is_first) {
        memset(dumps->open, 0, streams * sizeof *dumps->open);
    }
    dumps->first = first;
    dumps->count = count;
    dumps->streams = streams;
    dumps->is_open = 0;
    dumps->has_less = 0;
    memset(dumps->is_unread, 0, (size_t)(rows * streams));
    for (uint64_t i = 0; i < rows * streams; i++) {
        dumps->weights[i] = 1;
    }
    return is_open;
}

/* Returns the weight of a dump; 1 only if it has lost nothing. */
static float dumps_weight(wide lost, uint64_t integrate)
{
    static const float almost = 1 - FLT_EPSILON / 2;
    float weight = (float)(1 - (double)lost / (0x1p60 * (double)integrate));
    return lost > 0 && weight > almost ? almost : weight;
}

/* Whether a dump of this weight is NaN. */
static int dumps_is_blank(const dumps_t *dumps, float weight)
{
    return (double)weight < dumps->spec->weights.least ||
           (weight == 0 && (dumps->spec->weights.divide || dumps->spec->flag.is_on));
}

static void dumps_weigh(dumps_t *dumps, size_t at, struct lost lost)
{
    uint64_t integrate = dumps->integrate;
    float weight = dumps_weight(lost.all, integrate);
    dumps->weights[at] = weight;
    dumps->has_less |= weight < 1 || lost.unread > 0;
    dumps->is_unread[at] =
        dumps->spec->weights.are_kept
            ? dumps_is_blank(dumps, weight) &&
                  !dumps_is_blank(dumps, dumps_weight(lost.all - lost.unread, integrate))
            : lost.unread > 0;
}

/* Adds the losses of the block's spectra of a stream, of its first one on: [count], in 2^-60 of a
 * spectrum's energy: all; the part that they would not have lost if all had been read. */
static void dumps_add(dumps_t *dumps, uint32_t stream, uint64_t *const lost[2])
{
    uint64_t integrate = dumps->integrate;
    struct lost sum = dumps->open[stream];
    uint64_t row = 0;
    for (uint64_t at = 0; at < dumps->count;) {
        uint64_t left = integrate - (dumps->first + at) % integrate;
        uint64_t end = at + min_u64(left, dumps->count - at);
        int is_whole = end - at == left;
        for (; at < end; at++) {
            sum.all += lost[0][at];
            sum.unread += lost[1][at];
        }
        if (is_whole) {
            dumps_weigh(dumps, (size_t)(row++ * dumps->streams + stream), sum);
            sum = (struct lost){0, 0};
        }
    }
    dumps->open[stream] = sum;
    dumps->is_open |= sum.all > 0;
}

/* Corrects a stream's part of a row for lost samples: sets it to NaN if too many are missing, or
 * divides it by its weight if the job wants that. Returns whether it is NaN. */
static int dumps_mend(const dumps_t *dumps, size_t at, float *data)
{
    float weight = dumps->weights[at];
    int is_blank =
        dumps->is_unread[at] || (dumps->spec->weights.are_kept && dumps_is_blank(dumps, weight));
    if (is_blank) {
        for (size_t k = 0; k < dumps->stream_floats; k++) {
            data[k] = NAN;
        }
    } else if (weight < 1 && dumps->spec->weights.divide) {
        for (size_t k = 0; k < dumps->stream_floats; k++) {
            data[k] = data[k] / weight;
        }
    }
    return is_blank;
}

/* Whether some channel of a coarse one is kept. */
static int dumps_keeps(const dumps_t *dumps, uint64_t coarse)
{
    const struct product_spec *spec = dumps->spec;
    const uint64_t first = coarse * spec->bank.nchannels;
    return first < spec->first_frequency + spec->frequencies * spec->average &&
           first + spec->bank.nchannels > spec->first_frequency;
}

/* Gives the weights of the block's dumps. Returns whether any dump has lost energy.
 *
 *   weights   float [rows][streams]
 *   unread    char [rows][streams] 1: below the least weight, but not if all had been read */
static int dumps_lost(const dumps_t *dumps, const float **weights, const char **unread)
{
    *weights = dumps->weights;
    *unread = dumps->is_unread;
    return dumps->has_less;
}

/* Missing samples of a stream: all of them; those beside what could not be read. */
struct lacks {
    struct runs known, declared;
};

static void lacks_free(struct lacks *lacks)
{
    runs_free(&lacks->known);
    runs_free(&lacks->declared);
}

/* Adds the missing samples of another stream. */
static status_t lacks_add(struct lacks *lacks, const struct lacks *more)
{
    TRY(runs_add_all(&lacks->known, &more->known));
    TRY(runs_add_all(&lacks->declared, &more->declared));
    runs_join(&lacks->known);
    runs_join(&lacks->declared);
    return STATUS_OK;
}

static status_t lacks_copy(struct lacks *lacks, const struct lacks *from)
{
    lacks->known.count = lacks->declared.count = 0;
    return lacks_add(lacks, from);
}

struct weights {
    const struct channelise_plan *work;
    const struct channelise_plan_bank *bank;
    uint32_t number; /* of the bank */
    struct runs_scan scan;
    struct energy energy; /* of the filter bank */
    filtered_t *filtered; /* NULL: no filters */
    uint64_t *lost[2];    /* [block] of spectra of a stream: all; what was not there to be read */
    struct lacks lacks;   /* of a stream, or of a pair */
    struct runs more, found[RUNS_TILE];
    int is_partial;                  /* samples may lack some of their packets: */
    struct shares partial;           /* those of a stream, or of a pair */
    struct shares shares;            /* all that is lost of them */
    dumps_t *products[MOST_OUTPUTS]; /* NULL: not of the bank */
    dumps_t *pairs[MOST_OUTPUTS]; /* of what polarisations have together, where products say it */
    /* [pol_inner] what the first polarisation lacks, until the second's is known; NULL: there are
     * no pairs. */
    struct lacks *first;
    struct lacks *streams; /* [nstreams] of each of all stations; NULL: there are neither
                              visibilities nor beams */
    uint32_t nstreams;
    uint64_t *sums[2];  /* [block] lost of spectra of beams, as `lost` */
    uint32_t pol_inner; /* streams from one polarisation to the other */
    struct combine_weights combined;
    struct weights_block block;
    struct overlap_rows needs[FILTER_PLAN_ROWS];
};

void weights_destroy(weights_t *weights)
{
    if (!weights) {
        return;
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        dumps_destroy(weights->products[i]);
        dumps_destroy(weights->pairs[i]);
    }
    for (uint32_t i = 0; weights->first && i < weights->pol_inner; i++) {
        lacks_free(&weights->first[i]);
    }
    free(weights->first);
    for (uint32_t i = 0; weights->streams && i < weights->nstreams; i++) {
        lacks_free(&weights->streams[i]);
    }
    MEMORY_FREE(weights->streams, weights->sums[0], weights->sums[1]);
    for (uint32_t i = 0; i < RUNS_TILE; i++) {
        runs_free(&weights->found[i]);
    }
    lacks_free(&weights->lacks);
    runs_free(&weights->more);
    shares_free(&weights->partial);
    shares_free(&weights->shares);
    energy_free(&weights->energy);
    filtered_destroy(weights->filtered);
    MEMORY_FREE(weights->lost[0], weights->lost[1], weights);
}

/* Creates the weights of product i: of its streams, and of pairs of streams if it combines
 * polarisations. */
static status_t weights_create_product(weights_t *weights, uint32_t i, uint64_t block_units)
{
    const struct channelise_plan *work = weights->work;
    uint32_t streams = channelise_plan_made(work, i, work->chunking.group_streams);
    uint32_t inner = channelise_plan_coarse(work);
    if (work->products[i].visibilities) {
        uint64_t lines = visibilities_lines(work->products[i].visibilities);
        REQUIRE(lines <= UINT32_MAX, STATUS_USAGE, "%s: too many pairs of streams: %llu",
                work->job->path, (unsigned long long)lines);
        return dumps_create(work, i, (uint32_t)lines, block_units, &weights->products[i]);
    }
    TRY(dumps_create(work, i, streams, block_units, &weights->products[i]));
    if (work->products[i].spec.combine.polarisation == POLARISATION_SEPARATE) {
        return STATUS_OK;
    }
    TRY(dumps_create(work, i, streams / 2, block_units, &weights->pairs[i]));
    if (!weights->first && (!work->beams || channelise_plan_is_apart(work, i))) {
        TRY(memory_zeroed(inner, sizeof *weights->first, "weights", &weights->first));
        weights->pol_inner = inner;
    }
    return STATUS_OK;
}

static status_t weights_create_bank(weights_t *weights, uint64_t block_units)
{
    const struct channelise_plan *work = weights->work;
    uint64_t spectra = block_units * weights->bank->ratio;
    int has_visibilities = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        has_visibilities |= work->products[i].visibilities != NULL;
        TRY(work->job->products[i].bank == weights->number
                ? weights_create_product(weights, i, block_units)
                : STATUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        TRY(memory_zeroed((size_t)spectra, sizeof *weights->lost[i], "weights", &weights->lost[i]));
        TRY(work->beams ? memory_zeroed((size_t)spectra, sizeof *weights->sums[i], "weights",
                                        &weights->sums[i])
                        : STATUS_OK);
    }
    if (has_visibilities || work->beams) {
        weights->nstreams = work->seen->nstreams;
        TRY(memory_zeroed(weights->nstreams, sizeof *weights->streams, "weights",
                          &weights->streams));
    }
    /* Without weights, all samples that were not read count alike. */
    const struct channelise_plan_bank *bank = weights->bank;
    weights->energy.count = bank->samples_per_spectrum * bank->channelise.taps;
    TRY(bank->has_weights
            ? energy_create(bank->coeff, weights->energy.count, 1, 0, &weights->energy)
            : STATUS_OK);
    return work->filters
               ? filtered_create(work->filters, channelise_plan_most_samples(work, block_units),
                                 &weights->filtered)
               : STATUS_OK;
}

status_t weights_create(const struct channelise_plan *work, uint32_t bank, uint64_t block_units,
                        weights_t **out)
{
    SCOPED(weights_destroy_at) weights_t *weights = NULL;
    *out = NULL;
    if (!work->banks[bank].has_weights && !work->shows_missing && !work->archive->losses.may_lack &&
        work->job->on_bad != ON_BAD_NAN) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *weights, "weights", &weights));
    weights->work = work;
    weights->bank = &work->banks[bank];
    weights->number = bank;
    weights->is_partial = archive_count_partial(work->archive) > 0;
    weights->scan.coding = work->filters ? *filter_plan_coding(work->filters)
                                         : channelise_coding(&weights->bank->channelise);
    TRY(work->is_bank ? weights_create_bank(weights, block_units) : STATUS_OK);
    *out = memory_move(&weights);
    return STATUS_OK;
}

/* Adds `level` (of LOST_WHOLE) of the energies that weigh samples first .. end - 1, as the bank
 * sees them, to the spectra of the block. */
static void weights_add_run(const weights_t *weights, struct run run, uint64_t level,
                            uint64_t *lost)
{
    const struct channelise_plan *work = weights->work;
    int64_t period = (int64_t)weights->bank->hop;
    int64_t length = (int64_t)weights->energy.count;
    int64_t origin = (int64_t)work->seen->first_sample + (int64_t)weights->block.first * period;
    int64_t end = (int64_t)weights->block.count;
    run.first -= origin;
    run.end -= origin;
    int64_t first = run.first >= length ? (run.first - length) / period + 1 : 0;
    for (int64_t i = first; i < end && i * period < run.end; i++) {
        lost[i] +=
            level * energy_between(&weights->energy, run.first - i * period, run.end - i * period);
    }
}

/* Adds likewise the losses of rows after filters, by ranges of equal loss. */
static void weights_add_rows(const weights_t *weights, const uint32_t *rows, uint64_t *lost)
{
    struct overlap_rows of = weights->needs[weights->work->filters->count];
    int64_t count = of.end - of.first;
    for (int64_t at = 0, next; at < count; at = next) {
        for (next = at + 1; next < count && rows[next] == rows[at]; next++) {
        }
        if (rows[at] > 0) {
            weights_add_run(weights, (struct run){of.first + at, of.first + next}, rows[at], lost);
        }
    }
}

/* Loss of a stream's spectra by these runs, and by samples that lack packets. */
static status_t weights_lose(weights_t *weights, uint32_t stream, const struct runs *runs,
                             uint64_t *lost)
{
    const struct shares *shares = &weights->shares;
    memset(lost, 0, (size_t)weights->block.count * sizeof *lost);
    TRY(shares_unite(runs, &weights->partial, &weights->more, &weights->shares));
    if (weights->filtered && shares->count > 0) {
        weights_add_rows(weights,
                         filtered_lost(weights->filtered,
                                       stream_set_at(&weights->block.streams, stream),
                                       weights->needs, shares),
                         lost);
        return STATUS_OK;
    }
    for (size_t i = 0; i < shares->count; i++) {
        weights_add_run(weights, shares->items[i].run, shares->items[i].lost, lost);
    }
    return STATUS_OK;
}

/* Finds the samples of the block that lack packets in either of two streams; of different files,
 * whose losses are independent. */
static status_t weights_find_partial(weights_t *weights, uint32_t one, uint32_t other)
{
    const struct archive *archive = weights->work->archive;
    int64_t begin = (int64_t)archive->first_sample;
    int64_t end = begin + (int64_t)archive->samples;
    begin = weights->needs[0].first > begin ? weights->needs[0].first : begin;
    end = weights->needs[0].end < end ? weights->needs[0].end : end;
    weights->partial.count = 0;
    for (uint64_t at = (uint64_t)begin, next[2]; weights->is_partial && (int64_t)at < end;
         at = min_u64(next[0], next[1])) {
        uint64_t lost = archive_partial_at(archive, one, at, &next[0]);
        uint64_t more = archive_partial_at(archive, other, at, &next[1]);
        if (archive_are_together(archive, one, other)) {
            more = 0;
        }
        lost += more - (lost * more >> LOST_BITS);
        next[0] = min_u64(next[0], (uint64_t)end);
        if (lost > 0) {
            struct run run = {(int64_t)at, (int64_t)min_u64(next[0], next[1])};
            TRY(shares_add(&weights->partial, run, (uint32_t)lost));
        }
    }
    return STATUS_OK;
}

/* Losses of a stream: its own, items at .. end - 1 of the list, and those of all, at its end. */
struct mine {
    size_t at, end, common;
};

static int weights_by_stream(const void *left, const void *right)
{
    const struct loss *a = left;
    const struct loss *b = right;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static struct mine mine_begin(struct losses *losses)
{
    struct mine mine = {0, 0, losses->count};
    if (losses->count > 1) {
        qsort(losses->items, losses->count, sizeof *losses->items, weights_by_stream);
    }
    while (mine.common > 0 && losses->items[mine.common - 1].stream == LOSS_OF_ALL) {
        mine.common--;
    }
    return mine;
}

/* Streams come in ascending order. */
static void mine_find(const struct losses *losses, uint32_t stream, struct mine *mine)
{
    for (mine->at = mine->end; mine->at < mine->common && losses->items[mine->at].stream < stream;
         mine->at++) {
    }
    for (mine->end = mine->at;
         mine->end < mine->common && losses->items[mine->end].stream == stream; mine->end++) {
    }
}

/* Items at .. end - 1; `later`: samples by which they come earlier, after the station's delay. */
static status_t weights_add_items(const struct losses *losses, size_t at, size_t end, int64_t later,
                                  struct runs *out)
{
    for (; at < end; at++) {
        const struct loss *loss = &losses->items[at];
        const int64_t first = (int64_t)loss->first - later;
        TRY(runs_add(out, (struct run){first, first + (int64_t)loss->count}));
    }
    return STATUS_OK;
}

static status_t weights_add_losses(const struct losses *losses, const struct mine *mine,
                                   int64_t later, struct runs *out)
{
    TRY(weights_add_items(losses, mine->at, mine->end, later, out));
    return weights_add_items(losses, mine->common, losses->count, later, out);
}

/* Puts together what a stream lacks: all of it into `known`; into `declared` what it lacks beside
 * what could not be read. `mine`: of losses, of what could not be read. Counts what only numbers
 * show. */
static status_t weights_gather(weights_t *weights, uint32_t stream, const struct mine *mine,
                               const struct runs *found, uint64_t *missing)
{
    const struct archive *archive = weights->work->archive;
    const struct weights_block *block = &weights->block;
    struct runs *known = &weights->lacks.known;
    struct runs *declared = &weights->lacks.declared;
    const int64_t later = block->shifts ? (int64_t)block->shifts[stream] - block->shift : 0;
    known->count = 0;
    TRY(weights_add_losses(block->losses, &mine[0], later, known));
    declared->count = 0;
    TRY(runs_add_all(declared, known));
    runs_join(declared);
    if (archive->losses.may_lack) { /* samples that the archive had not declared missing */
        const struct overlap_rows counted = block->counted;
        uint64_t count = runs_count(declared, counted.first, counted.end);
        uint64_t gap = archive_gap_of(archive, stream_set_at(&block->streams, stream),
                                      (uint64_t)(counted.first + later),
                                      (uint64_t)(counted.end - counted.first));
        *missing += count - min_u64(count, gap);
    }
    TRY(weights_add_losses(block->unread, &mine[1], later, known));
    runs_join(known);
    TRY(runs_subtract(found, known, &weights->more));
    *missing += runs_count(&weights->more, block->counted.first, block->counted.end);
    TRY(runs_add_all(known, &weights->more));
    TRY(runs_add_all(declared, &weights->more));
    runs_join(known);
    runs_join(declared);
    return STATUS_OK;
}

/* Computes what the spectra of a stream lose by `known`, and the part of it that is unreadable. */
static status_t weights_lose_all(weights_t *weights, uint32_t stream)
{
    const struct weights_block *block = &weights->block;
    int has_unread = block->unread->count > 0;
    TRY(weights_lose(weights, stream, &weights->lacks.known, weights->lost[0]));
    TRY(has_unread ? weights_lose(weights, stream, &weights->lacks.declared, weights->lost[1])
                   : STATUS_OK);
    for (uint64_t i = 0; i < block->count; i++) {
        weights->lost[1][i] = has_unread ? weights->lost[0][i] - weights->lost[1][i] : 0;
    }
    return STATUS_OK;
}

/* Whether lines of a product are those of the streams that are read. */
static int weights_are_of_stations(const struct channelise_plan *work, uint32_t i)
{
    return !work->beams || channelise_plan_is_apart(work, i);
}

/* Adds the losses of a pair: a sample is missing if either polarisation lacks it. */
static status_t weights_add_pair(weights_t *weights, uint32_t stream)
{
    const struct weights_block *block = &weights->block;
    uint32_t inner = weights->pol_inner;
    struct lacks *first = &weights->first[stream % inner];
    if (stream / inner % 2 == 0) {
        return lacks_copy(first, &weights->lacks);
    }
    TRY(lacks_add(&weights->lacks, first));
    TRY(weights_find_partial(weights, stream_set_at(&block->streams, stream - inner),
                             stream_set_at(&block->streams, stream)));
    TRY(weights_lose_all(weights, stream));
    for (uint32_t i = 0; i < weights->work->job->nproducts; i++) {
        if (weights->pairs[i] && weights_are_of_stations(weights->work, i)) {
            dumps_add(weights->pairs[i], stream / (2 * inner) * inner + stream % inner,
                      weights->lost);
        }
    }
    return STATUS_OK;
}

static status_t weights_add_stream(weights_t *weights, uint32_t stream, const struct mine *mine,
                                   const struct runs *found, uint64_t *missing)
{
    const struct channelise_plan *work = weights->work;
    const struct weights_block *block = &weights->block;
    const uint32_t number = stream_set_at(&block->streams, stream);
    const uint32_t line =
        stream_set_find(&block->streams, array_plan_stream(work->array, work, number));
    TRY(weights_gather(weights, stream, mine, found, missing));
    if (!work->is_bank) {
        return STATUS_OK;
    }
    TRY(weights_find_partial(weights, number, number));
    TRY(weights_lose_all(weights, stream));
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        if (weights->products[i] && !work->products[i].visibilities &&
            weights_are_of_stations(work, i)) {
            dumps_add(weights->products[i], line, weights->lost);
        }
    }
    TRY(weights->streams ? lacks_copy(&weights->streams[line], &weights->lacks) : STATUS_OK);
    return weights->first ? weights_add_pair(weights, stream) : STATUS_OK;
}

/* Computes the losses of spectra by samples that either of two streams lacks, if there may be any,
 * which sets *out, or if that is set. */
static status_t weights_lose_both(weights_t *weights, uint32_t a, uint32_t b, int *out)
{
    const struct channelise_plan *work = weights->work;
    const struct lacks *streams = weights->streams;
    const uint32_t first = weights->block.streams.first;
    *out |= streams[a].known.count + streams[b].known.count > 0 || weights->is_partial;
    if (*out) {
        TRY(lacks_copy(&weights->lacks, &streams[a]));
        TRY(lacks_add(&weights->lacks, &streams[b]));
        TRY(weights_find_partial(weights, array_plan_stream(work->array, work, first + a),
                                 array_plan_stream(work->array, work, first + b)));
        TRY(weights_lose_all(weights, a));
    }
    return STATUS_OK;
}

/* Sums what the stations of a beam lose on a line. Beams of the same stations have the same sums.
 */
static status_t weights_sum_beam(weights_t *weights, uint32_t beam, uint32_t line, int is_joint,
                                 int *is_less)
{
    const uint64_t count = weights->block.count;
    const struct between_spec *spec = &weights->work->beams->spec[weights->number];
    const float *factors = spec->factors ? spec->factors + 2 * (size_t)beam * spec->stations : NULL;
    uint32_t active = 0;
    for (uint32_t i = 0; i < spec->stations; i++) {
        active += !factors || factors[2 * i] != 0;
    }
    uint32_t left = active; /* after the one at hand: rounded so that whole losses sum to one */
    *is_less = 0;
    memset(weights->sums[0], 0, (size_t)count * sizeof *weights->sums[0]);
    memset(weights->sums[1], 0, (size_t)count * sizeof *weights->sums[1]);
    for (uint32_t i = 0; i < spec->stations; i++) {
        const uint32_t a = i * spec->pols * spec->coarse + line;
        int loses = 0;
        if (!factors || factors[2 * i] != 0) {
            left--;
            TRY(weights_lose_both(weights, a, is_joint ? a + spec->coarse : a, &loses));
        }
        for (uint64_t k = 0; k < 2 * count && loses; k++) {
            weights->sums[k % 2][k / 2] += (weights->lost[k % 2][k / 2] + left) / active;
        }
        *is_less |= loses;
    }
    return STATUS_OK;
}

/* Lines of beams: all stations of a beam count alike. `dumps` are of single polarisations, or of
 * two together. */
static status_t weights_add_beams(weights_t *weights, dumps_t *dumps, int is_joint)
{
    const struct between_spec *spec = &weights->work->beams->spec[weights->number];
    const struct beams_step *group = &weights->block.beams;
    const uint32_t lines = (is_joint ? 1 : spec->pols) * spec->coarse;
    const size_t row = 2 * (size_t)spec->stations;
    for (uint32_t line = 0; line < lines; line++) {
        int is_less = 0;
        for (uint32_t i = 0; i < group->beams; i++) {
            const uint32_t beam = group->first + i;
            const float *factors = spec->factors ? spec->factors + row * beam : NULL;
            if (i == 0 || (factors && memcmp(factors, factors - row, row * sizeof *factors) != 0)) {
                TRY(weights_sum_beam(weights, beam, line, is_joint, &is_less));
            }
            if (is_less || dumps->open[i * lines + line].all > 0) {
                dumps_add(dumps, i * lines + line, weights->sums);
            }
        }
    }
    return STATUS_OK;
}

/* Adds the lost energies of each line of a product of visibilities. A sample is missing if either
 * of the line's two streams lacks it. */
static status_t weights_add_lines(weights_t *weights, uint32_t product)
{
    const struct visibilities_plan *plan = weights->work->products[product].visibilities;
    const struct correlate_spec *spec = &plan->spec;
    const uint32_t lines = (uint32_t)visibilities_lines(plan);
    dumps_t *dumps = weights->products[product];
    for (uint32_t line = 0; line < lines; line++) {
        const uint32_t q = line % plan->products;
        const uint32_t coarse = line / plan->products % spec->coarse;
        const uint32_t *pair = plan->pairs[line / plan->products / spec->coarse];
        uint32_t streams[2];
        int loses = dumps->open[line].all > 0;
        for (int i = 0; i < 2; i++) {
            streams[i] =
                (pair[i] * spec->pols + visibilities_pol(spec->pols, q, i)) * spec->coarse + coarse;
        }
        TRY(weights_lose_both(weights, streams[0], streams[1], &loses));
        if (loses) {
            dumps_add(dumps, line, weights->lost);
        }
    }
    return STATUS_OK;
}

static status_t weights_add_streams(weights_t *weights, uint64_t *missing)
{
    const struct weights_block *block = &weights->block;
    struct mine mine[2] = {mine_begin(block->losses), mine_begin(block->unread)};
    for (uint32_t first = 0; first < block->streams.count; first += RUNS_TILE) {
        uint32_t tile = (uint32_t)min_u64(RUNS_TILE, block->streams.count - first);
        for (uint32_t s = 0; s < tile; s++) {
            weights->found[s].count = 0;
        }
        TRY(runs_find(&weights->scan, first, tile, weights->found));
        for (uint32_t s = 0; s < tile; s++) {
            uint32_t stream = stream_set_at(&block->streams, first + s);
            mine_find(block->losses, stream, &mine[0]);
            mine_find(block->unread, stream, &mine[1]);
            TRY(weights_add_stream(weights, first + s, mine, &weights->found[s], missing));
        }
    }
    return STATUS_OK;
}

status_t weights_begin(weights_t *weights, const struct weights_block *block, uint64_t *missing)
{
    weights->block = *block;
    weights->scan.samples = block->samples;
    weights->scan.first = block->first_sample;
    weights->scan.count = block->nsamples;
    weights->scan.input = block->input;
    *missing = 0;
    int is_open = 0;
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        const struct visibilities_plan *plan =
            weights->products[i] ? weights->work->products[i].visibilities : NULL;
        const uint32_t streams =
            weights->products[i] ? channelise_plan_made(weights->work, i, block->made) : 0;
        const uint32_t lines = plan ? (uint32_t)visibilities_lines(plan) : streams;
        is_open |= weights->products[i] && dumps_begin(weights->products[i], block->is_first,
                                                       block->first, block->count, lines);
        is_open |= weights->pairs[i] && dumps_begin(weights->pairs[i], block->is_first,
                                                    block->first, block->count, streams / 2);
    }
    if (is_open || weights->is_partial || block->nsamples > 0 || block->losses->count > 0 ||
        block->unread->count > 0) {
        TRY(channelise_plan_samples_of(weights->work, weights->number, block->first, block->count,
                                       weights->needs));
        TRY(weights_add_streams(weights, missing));
        /* Products of several stations, when all streams are known. */
        for (uint32_t i = 0; i < MOST_OUTPUTS && weights->streams; i++) {
            if (weights->products[i] && weights->work->products[i].visibilities) {
                TRY(weights_add_lines(weights, i));
            } else if (weights->products[i] && !weights_are_of_stations(weights->work, i)) {
                TRY(weights_add_beams(weights, weights->products[i], 0));
                TRY(weights->pairs[i] ? weights_add_beams(weights, weights->pairs[i], 1)
                                      : STATUS_OK);
            }
        }
    }
    return STATUS_OK;
}

const float *weights_apply(weights_t *weights, uint32_t i, uint64_t rows, void *data,
                           const char **holes)
{
    dumps_t *dumps = weights->products[i];
    int has_holes = 0;
    for (uint64_t row = 0; row < rows && dumps->has_less; row++) {
        dumps->holes[row] = 0;
        for (uint32_t s = 0; s < dumps->streams; s++) {
            size_t at = (size_t)row * dumps->streams + s;
            int is_blank = dumps_mend(dumps, at, (float *)data + at * dumps->stream_floats);
            const uint32_t coarse = stream_set_at(&weights->block.streams, s) %
                                    dumps->spec->archive->nselected[AXIS_CHAN];
            dumps->holes[row] |= dumps->is_unread[at] && dumps_keeps(dumps, coarse);
            dumps->blanked += is_blank && !dumps->is_unread[at];
        }
        has_holes |= dumps->holes[row];
    }
    *holes = has_holes ? dumps->holes : NULL;
    return dumps->weights;
}

const struct combine_weights *weights_lost(weights_t *weights, uint32_t i)
{
    struct combine_weights *out = &weights->combined;
    int has_less = dumps_lost(weights->products[i], &out->streams, &out->unread);
    out->joint = NULL;
    if (weights->pairs[i]) {
        has_less |= dumps_lost(weights->pairs[i], &out->joint, &out->unread);
    }
    return has_less ? out : NULL;
}

void weights_note_blank(weights_t *weights, uint32_t i, uint64_t lines)
{
    weights->products[i]->blanked += lines;
}

uint64_t weights_blanked(const weights_t *weights, uint32_t i)
{
    return weights && weights->products[i] ? weights->products[i]->blanked : 0;
}
