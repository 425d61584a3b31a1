/* How work is cut so that it fits: groups of streams, chunks, blocks. */
#include "plan/channelise_cut.h"

#include "compute/device_side.h"
#include "plan/budget.h"
#include "plan/plan_products.h"

#include <math.h>

enum {
    PAGE = 4096,            /* chunk borders in products, so that network clients share no page;
                             * not this machine's, on which no job's chunks depend */
    CHUNK_BYTES = 64 << 20, /* in and out, where nothing else decides: a fraction of a second */
    BLOCKS_A_CHUNK = 8,     /* of a backend that prefers small blocks, so that ranks end together */
    SHORT_PIECE = 1024,     /* of a row: a call for less takes as long; */
    LEAST_CHUNKS = 64,      /* so that ranks have something to share; */
    MOST_CHUNKS = 1 << 22,  /* so that rank 0 keeps up with thousands of ranks */
    GRAINS_A_THREAD = 4,    /* of a block, at least: so that threads end together, */
    THREAD_BYTES = 2 << 20, /* and bytes, up to a chunk: what wakes them up for each block counts */
    OVERLAP_RATIO = 16,     /* a chunk is at least this many times its overlap; */
    LEAST_RATIO = 2,        /* after filters on a device at least this many times, */
    PINNING = 16            /* see cut_worth_ratio() */
};

enum { PROBLEM_TEXT = 512 };

/* "1024 channels with 8 taps and 65536 channels with 4 taps", "filters of up to 131072 samples
 * before 1024 channels with 8 taps". */
static const char *cut_problem(const struct channelise_plan *work, char text[PROBLEM_TEXT])
{
    int64_t longest = 0;
    size_t length = 0;
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        const struct overlap *reach = &work->filters->stages[i].base.reach;
        longest = reach->length > longest ? reach->length : longest;
    }
    if (longest > 1) {
        length = (size_t)snprintf(text, PROBLEM_TEXT, "filters of up to %lld samples%s",
                                  (long long)longest, work->is_bank ? " before " : "");
    }
    for (uint32_t i = 0; work->is_bank && i < work->nbanks && length < PROBLEM_TEXT; i++) {
        const struct channelise_spec *spec = &work->banks[i].channelise;
        length += (size_t)snprintf(text + length, PROBLEM_TEXT - length, "%s%u channels with %u %s",
                                   i > 0 ? " and " : "", spec->channels, spec->taps,
                                   units_plural(spec->taps, "tap", "taps"));
    }
    if (!work->is_bank && longest <= 1) {
        snprintf(text, PROBLEM_TEXT, "voltages of %u streams", work->seen->nstreams);
    }
    return text;
}

/* Cuts the work into groups of `streams` streams that follow each other, or (`coarse` not 0) that
 * are of `coarse` coarse channels. */
static void cut_set_groups(struct channelise_plan *work, uint32_t streams, uint32_t coarse)
{
    work->chunking.group_streams = streams;
    work->chunking.group_coarse = coarse;
    work->chunking.coarse = work->archive->nselected[AXIS_CHAN];
    for (uint32_t i = 0; i < work->nbanks; i++) {
        work->banks[i].channelise.pol_inner = channelise_plan_coarse(work);
    }
}

/* Cuts groups of less than `streams` streams: of fewer coarse channels, and of one size. Returns 0
 * if there are none. */
static int cut_coarse(struct channelise_plan *work, uint32_t streams)
{
    const uint32_t others = work->chunking.streams / work->archive->nselected[AXIS_CHAN];
    uint32_t coarse = channelise_plan_coarse(work);
    const uint32_t least = work->groups.coarse;
    while (least > 0 && coarse > least) {
        uint32_t factor = 2;
        while (coarse / least % factor > 0) {
            factor++;
        }
        coarse /= factor;
        if (others * coarse < streams) {
            cut_set_groups(work, others * coarse, coarse);
            return 1;
        }
    }
    return 0;
}

/* Cuts smaller groups: of half of the streams, or of what products take together of them; then of
 * fewer coarse channels; behind those, of streams again, if they can be fewer. Returns 0 if there
 * are none. */
static int cut_finer(struct channelise_plan *work)
{
    const uint32_t streams = work->chunking.group_streams;
    uint64_t half = ceil_div_u64((streams + 1) / 2, work->groups.quantum) * work->groups.quantum;
    if (work->chunking.group_coarse > 0 && cut_coarse(work, streams)) {
        return 1;
    }
    if (half < streams) {
        cut_set_groups(work, (uint32_t)half, 0);
        return 1;
    }
    return work->chunking.group_coarse == 0 && cut_coarse(work, streams);
}

/* The same, measured: of coarse channels at once where these read less than others of whose bytes
 * some are read twice. Fails with DEVICE; *found: whether there are any. */
static status_t cut_and_measure(struct channelise_plan *work, struct budget_group *group,
                                int *found)
{
    const uint32_t streams = work->chunking.group_streams;
    *found = cut_finer(work);
    TRY(*found ? budget_measure_group(work, group) : STATUS_OK);
    const struct chunking others = work->chunking;
    const struct budget_group of_others = *group;
    if (*found && others.group_coarse == 0 && group->reads_twice && cut_coarse(work, streams)) {
        TRY(budget_measure_group(work, group));
        if (group->read_bytes >= of_others.read_bytes) {
            cut_set_groups(work, others.group_streams, others.group_coarse);
            *group = of_others;
        }
    }
    return STATUS_OK;
}

/* Whether the smallest block of a group fits what is left for blocks. */
static int cut_fits(const struct channelise_plan *work, const struct budget_group *group,
                    uint64_t budget)
{
    return budget_block_bytes(work, group, budget_least(work)) <= budget;
}

/* Units' worth of samples that two neighbouring blocks both need. */
static uint64_t cut_shared(const struct channelise_plan *work)
{
    uint64_t step = channelise_plan_unit(work);
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        step *= work->filters->stages[i].spec.decimate;
    }
    const int makes_more = work->filters && work->filters->synthesis;
    const uint64_t rows = makes_more ? work->filters->synthesis->spec.hop : 1; /* of a spectrum */
    return ceil_div_u64(channelise_plan_shared(work) * rows, step);
}

/* Returns the minimum length of a block, in overlaps, if that takes much memory. Measured on an
 * H200's host: to pin a byte in all slots, before the first block, takes some PINNING times as long
 * as to read a byte again that another block has read. With n overlaps in all groups, blocks of r
 * of them take PINNING r + n / r, with a minimum at r = sqrt(n / PINNING). Short runs begin soon,
 * and have chunks for many ranks; long ones read little twice. */
static uint64_t cut_worth_ratio(const struct channelise_plan *work, uint32_t groups)
{
    double n = (double)work->chunking.spectra * groups / (double)max_u64(cut_shared(work), 1);
    return min_u64(max_u64((uint64_t)sqrt(n / PINNING), LEAST_RATIO), OVERLAP_RATIO);
}

/* Returns the minimum ratio of a block to its overlap. Long filters on a device always take much
 * memory, so cut_worth_ratio() decides. */
static uint64_t cut_overlap_ratio(const struct channelise_plan *work)
{
    int takes_much = work->filters && backend_abilities(work->backend)->has_device;
    return takes_much ? cut_worth_ratio(work, 1) : OVERLAP_RATIO;
}

/* Units of a block of `ratio` times what neighbours share; all, where these are not even two such
 * and ranks have groups to share. */
static uint64_t cut_long_block(const struct channelise_plan *work, uint64_t ratio)
{
    enum { LEAST_GROUPS = 16 };
    const uint64_t block = ratio * cut_shared(work);
    int are_few = work->chunking.spectra < 2 * max_u64(block, CHUNK_GRAIN);
    return are_few && chunk_groups(&work->chunking) >= LEAST_GROUPS ? work->chunking.spectra
                                                                    : block;
}

/* Whether blocks of `ratio` times what neighbours share fit: reading and filtering that twice costs
 * more than memory. */
static int cut_suits(const struct channelise_plan *work, const struct budget_group *group,
                     uint64_t ratio, uint64_t budget)
{
    uint64_t block = cut_long_block(work, ratio);
    block = ceil_div_u64(max_u64(block, 1), CHUNK_GRAIN) * CHUNK_GRAIN;
    block = min_u64(block, work->chunking.spectra);
    return budget_block_bytes(work, group, max_u64(block, budget_least(work))) <= budget;
}

/* Whether groups cost more than memory: they read what others read, too, or write short parts of
 * the rows of some product. */
static int cut_groups_cost(const struct channelise_plan *work, const struct budget_group *group)
{
    int costs = group->reads_twice;
    for (uint32_t i = 0; i < work->job->nproducts && work->is_bank; i++) {
        const struct channelise_plan_product *product = &work->products[i];
        const uint64_t all = product->spec.nifs * product->spec.frequencies;
        const uint64_t lines = plan_products_lines(work, i, work->chunking.group_streams);
        const uint32_t pieces = work->chunking.group_coarse > 0 ? product->spec.nifs : 1;
        costs |= product->row_bytes / all * (lines / pieces) < SHORT_PIECE;
    }
    return chunk_groups(&work->chunking) > 1 && costs;
}

/* Settles the number of streams of a group: as the run was begun, else all of them, or as many as
 * let blocks fit. Takes groups that cost more only if the smallest block fits in no others. If it
 * fits in none, takes the groups that need the least memory. */
static status_t cut_settle_groups(struct channelise_plan *work, uint64_t budget,
                                  const struct chunking *begun, struct budget_group *group)
{
    cut_set_groups(work, begun ? begun->group_streams : work->formed->nstreams,
                   begun ? begun->group_coarse : 0);
    TRY(budget_measure_group(work, group));
    struct chunking best = work->chunking;
    struct budget_group of_best = *group;
    uint64_t least = budget_block_bytes(work, group, budget_least(work));
    int fits = least <= budget && budget_fits_device(work, group);
    int found = !begun;
    while (found && !(fits && cut_suits(work, group, cut_overlap_ratio(work), budget))) {
        TRY(cut_and_measure(work, group, &found));
        const uint64_t bytes = budget_block_bytes(work, group, budget_least(work));
        int fits_now = bytes <= budget && budget_fits_device(work, group);
        if (!found || (fits && (!fits_now || cut_groups_cost(work, group)))) {
            break;
        }
        if (bytes <= max_u64(least, budget)) {
            best = work->chunking;
            of_best = *group;
            least = bytes;
        }
        fits = fits_now;
    }
    cut_set_groups(work, best.group_streams, best.group_coarse);
    *group = of_best;
    return STATUS_OK;
}

static status_t cut_refuse(const struct channelise_plan *work, const struct chunking *begun,
                           const struct budget_group *group)
{
    uint64_t bytes = budget_block_bytes(work, group, budget_least(work)) + budget_fixed_bytes(work);
    char given[JOB_MEMORY_TEXT];
    char problem[PROBLEM_TEXT];
    char chunks[96] = "";
    char together[96] = "";
    if (work->groups.quantum > 1) {
        snprintf(together, sizeof together, " for the %u streams that a product takes together",
                 group->streams);
    }
    if (budget_hdf5_bytes(work) > 0) {
        snprintf(chunks, sizeof chunks, " (%s of it to read the dataset's chunks)",
                 units_bytes(budget_hdf5_bytes(work)));
    }
    return report_fail(STATUS_USAGE, "%s: run.memory is %s, but %s need at least %s a rank%s%s%s",
                       work->job->path, job_memory_words(work->job, given),
                       cut_problem(work, problem), units_bytes(bytes), together, chunks,
                       begun ? ", as its products were begun; --restart begins anew" : "");
}

static uint64_t cut_round_up(uint64_t value, uint64_t quantum)
{
    return ceil_div_u64(value, quantum) * quantum;
}

/* A block that suits the backend, of at most `most` spectra: not so small that overlaps are read
 * too often, or threads have too few grains to share. */
static uint64_t cut_suiting_block(const struct channelise_plan *work,
                                  const struct budget_group *group, uint64_t most)
{
    uint64_t suits = backend_abilities(work->backend)->block_bytes;
    uint64_t overlaps = cut_overlap_ratio(work) * cut_shared(work);
    if (work->wanted_block > 0) {
        uint64_t wanted = max_u64(ceil_div_u64(work->wanted_block, group->streams), overlaps);
        return min_u64(most, cut_round_up(max_u64(wanted, 1), CHUNK_GRAIN));
    }
    uint64_t one = budget_slot_bytes(work, group, 2 * CHUNK_GRAIN, MEMORY_HOST) -
                   budget_slot_bytes(work, group, CHUNK_GRAIN, MEMORY_HOST);
    if (suits == 0) {
        return most;
    }
    /* Filters gain nothing by it: their overlaps make blocks long. */
    suits = work->filters ? suits : max_u64(suits, (uint64_t)THREAD_BYTES * work->threads);
    uint64_t spectra = suits / max_u64(one / CHUNK_GRAIN, 1);
    uint64_t shared =
        ceil_div_u64((uint64_t)GRAINS_A_THREAD * work->threads, group->streams) * CHUNK_GRAIN;
    spectra = max_u64(max_u64(spectra, overlaps), shared);
    return min_u64(most, cut_round_up(spectra, CHUNK_GRAIN));
}

/* Returns the largest block (a multiple of the grain) that fits. */
static uint64_t cut_largest_block(const struct channelise_plan *work,
                                  const struct budget_group *group, uint64_t budget)
{
    uint64_t low = 1;
    uint64_t high = ceil_div_u64(work->chunking.spectra, CHUNK_GRAIN);
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (budget_block_bytes(work, group, middle * CHUNK_GRAIN) <= budget) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low * CHUNK_GRAIN;
}

/* Returns the smallest number of units whose spectra are a multiple of `spectra`, each having
 * `ratio` of them. */
static uint64_t cut_units(uint64_t spectra, uint64_t ratio)
{
    return spectra / gcd_u64(spectra, ratio);
}

/* Chunks must hold whole dumps of every product (quantum), and whole blocks of those with a scale;
 * and should begin at such borders of every product (fine). 0 when such a number is absurd. */
static void cut_chunk_quanta(const struct channelise_plan *work, uint64_t border, uint64_t *quantum,
                             uint64_t *fine)
{
    *quantum = 1;
    *fine = 1;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t integrate = work->job->products[i].integrate;
        uint64_t ratio = channelise_plan_bank_of(work, i)->ratio;
        uint64_t together = max_u64(work->products[i].spec.steps.rows, 1);
        uint64_t rows = lcm_u64(chunk_row_quantum(work->products[i].row_bytes, border), together);
        uint64_t both = 0;
        if (!multiply_u64(together, integrate, &both)) {
            both = 0;
        }
        *quantum = *quantum && both ? lcm_u64(*quantum, cut_units(both, ratio)) : 0;
        if (!multiply_u64(rows, integrate, &both)) {
            both = 0;
        }
        *fine = *fine && both ? lcm_u64(*fine, cut_units(both, ratio)) : 0;
    }
}

/* Bytes of a block from which on it pays off that `threads` threads fill its pieces. */
static uint64_t cut_least_ingested(uint32_t threads)
{
    enum { PIECES = 2 /* of each */ };
    return (uint64_t)threads * PIECES * INGEST_PIECE;
}

/* Returns the factor by which chunks are longer if their samples go to the device while they are
 * read. They need no pinned memory (except with few threads, which must not change chunks), and the
 * ends of reads count. `most`: a chunk can have this many spectra. The factor is 1 if the rows need
 * as much memory, if chunks would be too small for all threads that can read them, or if most of
 * them would be in two files. */
static uint64_t cut_longer(const struct channelise_plan *work, const struct budget_group *group,
                           uint64_t most)
{
    enum { TIMES = 8, ROWS_RATIO = 4 /* samples to rows, at least */, PART_CHUNKS = 4 };
    /* Bytes of the second half of twice as many spectra: without what blocks share, or a first
     * row. */
    uint64_t all = budget_slot_bytes(work, group, 2 * most, MEMORY_HOST) -
                   budget_slot_bytes(work, group, most, MEMORY_HOST);
    uint64_t samples = group->step_bytes * (channelise_plan_most_samples(work, 2 * most) -
                                            channelise_plan_most_samples(work, most));
    uint64_t of_part = work->chunking.spectra / PART_CHUNKS / work->archive->nparts;
    uint64_t longest = channelise_plan_most_samples(work, min_u64(most, of_part));
    int is_longer = group->is_ingested && all - samples <= samples / ROWS_RATIO &&
                    group->step_bytes * longest >= cut_least_ingested(INGEST_MOST_THREADS);
    return is_longer ? TIMES : 1;
}

/* Spectra of a chunk when the job leaves it to us; `cost` bytes of memory for each spectrum. */
static uint64_t cut_automatic_chunk(const struct channelise_plan *work,
                                    const struct budget_group *group, uint64_t block,
                                    uint64_t quantum, uint64_t fine, uint64_t stripes,
                                    uint64_t cost)
{
    uint64_t suits = BLOCKS_A_CHUNK * backend_abilities(work->backend)->block_bytes;
    uint64_t most = ceil_div_u64(work->chunking.spectra, LEAST_CHUNKS);
    uint64_t longer = cut_longer(work, group, most);
    uint64_t spectra = max_u64(1, (suits > 0 ? suits : longer * CHUNK_BYTES) / max_u64(1, cost));
    if (work->wanted_block > 0) {
        spectra = ceil_div_u64(work->wanted_block, work->chunking.group_streams);
        spectra *= suits > 0 ? BLOCKS_A_CHUNK : 1;
    }
    spectra = min_u64(spectra, most);
    spectra = max_u64(spectra, group->overlaps);
    spectra = max_u64(min_u64(spectra, block), 1);
    uint64_t groups = ceil_div_u64(work->chunking.streams, work->chunking.group_streams);
    spectra = max_u64(spectra, ceil_div_u64(work->chunking.spectra * groups, MOST_CHUNKS));
    if (stripes && cut_round_up(spectra, stripes) <= max_u64(most, spectra)) {
        return cut_round_up(spectra, stripes);
    }
    /* The finer border only where it does not make chunks much larger. */
    if (fine && cut_round_up(spectra, fine) <= max_u64(block, spectra) &&
        cut_round_up(spectra, fine) <= 2 * spectra + 64) {
        return cut_round_up(spectra, fine);
    }
    return cut_round_up(spectra, quantum);
}

/* Returns the bytes of `memory` that are left for blocks. */
static uint64_t cut_for_blocks(struct channelise_plan *work, uint64_t memory)
{
    budget_settle_cache(work, memory);
    uint64_t fixed = budget_fixed_bytes(work);
    return memory > fixed ? memory - fixed : 0;
}

/* Groups of streams and chunks, for so much memory; *budget: what it leaves for blocks. */
static status_t cut_all(struct channelise_plan *work, uint64_t memory, const struct chunking *begun,
                        struct budget_group *group, uint64_t *budget)
{
    uint64_t quantum;
    uint64_t fine;
    uint64_t stripes;
    /* Each group of beams reads all stations: as few groups as this machine's memory allows. */
    uint64_t whole = work->beams ? cut_for_blocks(work, max_u64(memory, work->job->memory)) : 0;
    *budget = cut_for_blocks(work, memory);
    cut_chunk_quanta(work, work->job->cut.align, &quantum, &stripes);
    cut_chunk_quanta(work, PAGE, &quantum, &fine);
    REQUIRE(quantum > 0 && quantum <= UINT64_C(1) << 62, STATUS_USAGE,
            "%s: no chunk can contain whole rows of all products: their integrate (times "
            "scale_rows) have no sensible common multiple",
            work->job->path);
    REQUIRE(!begun ||
                (begun->spectra == work->chunking.spectra &&
                 begun->streams == work->chunking.streams && begun->chunk_spectra % quantum == 0 &&
                 (begun->group_coarse == 0 ||
                  (begun->coarse == work->archive->nselected[AXIS_CHAN] &&
                   work->groups.coarse > 0 && begun->group_coarse % work->groups.coarse == 0))),
            STATUS_USAGE, "%s: its products were begun in other chunks: --restart begins anew",
            work->job->path);
    TRY(cut_settle_groups(work, max_u64(*budget, whole), begun, group));
    uint64_t block = cut_largest_block(work, group, *budget);
    const uint64_t ratio = memory > work->job->cut.memory
                               ? cut_worth_ratio(work, chunk_groups(&work->chunking))
                               : cut_overlap_ratio(work);
    group->overlaps = cut_round_up(cut_long_block(work, ratio), CHUNK_GRAIN);
    uint64_t cost = (budget_block_bytes(work, group, (uint64_t)CHUNK_GRAIN * 2) -
                     budget_block_bytes(work, group, CHUNK_GRAIN)) /
                    CHUNK_GRAIN;
    uint64_t asked = ceil_div_u64(work->job->cut.chunk_spectra, work->banks[0].ratio);
    uint64_t chunk = asked > 0
                         ? cut_round_up(asked, quantum)
                         : cut_automatic_chunk(work, group, block, quantum, fine, stripes, cost);
    chunk = min_u64(chunk, cut_round_up(work->chunking.spectra, quantum));
    work->chunking.chunk_spectra = begun ? begun->chunk_spectra : chunk;
    return REQUIRED(chunk_count(&work->chunking) <= CHUNK_MOST, STATUS_USAGE,
                    "%s: run.chunk is %llu, which makes %llu chunks, expected at most %llu",
                    work->job->path, (unsigned long long)work->chunking.chunk_spectra,
                    (unsigned long long)chunk_count(&work->chunking),
                    (unsigned long long)CHUNK_MOST);
}

/* Whether the blocks' samples go to the device while they are read: blocks that are large enough
 * for the threads that there are, where memory is left for pieces. (That of the samples is reckoned
 * all the same: it is taken when a piece cannot be read.) */
static void cut_settle_ingest(struct channelise_plan *work, const struct budget_group *group)
{
    uint64_t block = work->chunking.block_spectra;
    uint64_t samples = group->step_bytes * channelise_plan_most_samples(work, block);
    uint32_t fillers = (uint32_t)min_u64(max_u64(work->threads, 1) - 1, INGEST_MOST_THREADS);
    uint64_t pieces = (uint64_t)fillers * INGEST_EACH * INGEST_PIECE;
    work->fillers = 0;
    if (group->is_ingested && fillers >= INGEST_LEAST_THREADS &&
        samples >= cut_least_ingested(fillers) &&
        budget_block_bytes(work, group, block) + pieces <= work->stage_bytes) {
        work->fillers = fillers;
        work->memory_bytes += pieces;
    }
}

/* Threads for rows of other formats, as far as memory is left. */
static void cut_settle_writers(struct channelise_plan *work)
{
    const uint64_t one = budget_formats_bytes(work);
    const uint64_t left = budget_fixed_bytes(work) + work->stage_bytes - work->memory_bytes;
    work->writers = budget_finishers(work);
    while (budget_formats_bytes(work) - one > left) {
        work->writers--;
    }
    work->memory_bytes += budget_formats_bytes(work) - one;
}

/* Sets of buffers, as far as `memory` suffices. Where many threads compute, more than the backend
 * needs: bursts of the one thread that finishes and writes rows would stop them all. 4 GiB on 16
 * cores, 8 sets in place of 4: power 0.33 s, not 0.37; `.fil` 0.36, not 0.40; PSRFITS 0.57, not
 * 0.64. Large blocks are none the faster (2^16 channels and more): their pages cost as much. */
static void cut_settle_slots(struct channelise_plan *work, const struct budget_group *group,
                             uint64_t memory)
{
    enum { SLOTS = 8, LARGE = 64 << 20 };
    const uint64_t one = budget_slot_bytes(work, group, work->chunking.block_spectra, MEMORY_HOST);
    work->chunking.slots = backend_abilities(work->backend)->slots;
    while (plan_products_outrun_writer(work) && one <= LARGE && work->chunking.slots < SLOTS &&
           work->memory_bytes + one <= memory) {
        work->chunking.slots++;
        work->memory_bytes += one;
    }
}

/* Returns the length of blocks of about `block` spectra that divide a chunk evenly: of a short rest
 * as much would be read and filtered twice as of a whole block, in whose memory. */
static uint64_t cut_even_block(const struct channelise_plan *work, const struct budget_group *group,
                               uint64_t block, uint64_t budget)
{
    enum { LONGER = 8 /* a block is longer by up to a part of this, so that there are fewer */ };
    const uint64_t chunk = work->chunking.chunk_spectra;
    const uint64_t begins = chunk % CHUNK_GRAIN > 0 ? CHUNK_GRAIN - 1 : 0; /* within a grain */
    uint64_t count = ceil_div_u64(chunk - min_u64(chunk - 1, block / LONGER), block);
    for (; count <= ceil_div_u64(chunk, block); count++) {
        const uint64_t even =
            cut_round_up(ceil_div_u64(chunk + (count > 1 ? begins : 0), count), CHUNK_GRAIN);
        if (budget_block_bytes(work, group, even) <= budget) {
            return even;
        }
    }
    return block;
}

/* Returns the blocks of a chunk of `spectra` spectra, at most. */
static uint64_t cut_blocks_of(const struct channelise_plan *work, uint64_t spectra)
{
    const uint64_t block = work->chunking.block_spectra;
    return spectra > block ? ceil_div_u64(spectra + CHUNK_GRAIN - 1, block) : 1;
}

/* Returns the bytes of sets of buffers that are never written: there are fewer blocks, or only the
 * short ones of the last chunks. (A device can have smaller ones, and so more.) */
static uint64_t cut_unused_bytes(const struct channelise_plan *work,
                                 const struct budget_group *group)
{
    const struct chunking *chunking = &work->chunking;
    const uint64_t groups = chunk_groups(chunking);
    const uint64_t rest = chunking->spectra % chunking->chunk_spectra;
    const int is_short = rest > 0 && rest < chunking->block_spectra;
    uint64_t whole = chunking->spectra / chunking->chunk_spectra *
                     cut_blocks_of(work, chunking->chunk_spectra) * groups;
    whole += rest > 0 && !is_short ? cut_blocks_of(work, rest) * groups : 0;
    const uint64_t left = backend_abilities(work->backend)->has_device
                              ? 0
                              : chunking->slots - min_u64(chunking->slots, whole);
    const uint64_t none = is_short ? left - min_u64(left, groups) : left;
    const uint64_t one = budget_slot_bytes(work, group, chunking->block_spectra, MEMORY_HOST);
    return none * one +
           (left - none) *
               (one - (is_short ? budget_slot_bytes(work, group, rest, MEMORY_HOST) : 0));
}

/* Blocks of at most `budget` bytes. */
static void cut_settle_blocks(struct channelise_plan *work, const struct budget_group *group,
                              uint64_t budget)
{
    struct chunking *chunking = &work->chunking;
    uint64_t block = cut_largest_block(work, group, budget);
    chunking->block_spectra = cut_suiting_block(
        work, group, min_u64(block, cut_round_up(chunking->chunk_spectra, CHUNK_GRAIN)));
    /* CPUs transpose the streams of small blocks at once, in memory of its own. */
    if (budget_block_bytes(work, group, chunking->block_spectra) > budget) {
        chunking->block_spectra = block;
    }
    if (work->wanted_block == 0) {
        chunking->block_spectra = cut_even_block(work, group, chunking->block_spectra, budget);
    }
    chunking->block_spectra =
        min_u64(chunking->block_spectra, min_u64(chunking->chunk_spectra, chunking->spectra));
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct channelise_spec *spec = &work->banks[i].channelise;
        spec->nstreams = channelise_plan_taken(work, group->streams);
        spec->max_spectra = chunking->block_spectra * work->banks[i].ratio;
    }
    work->memory_bytes =
        budget_fixed_bytes(work) + budget_block_bytes(work, group, chunking->block_spectra);
    const uint64_t memory = budget_fixed_bytes(work) + work->stage_bytes;
    cut_settle_ingest(work, group);
    cut_settle_writers(work);
    cut_settle_slots(work, group, memory);
}

status_t channelise_cut_state(struct channelise_plan *work)
{
    struct budget_group group;
    TRY(budget_measure_group(work, &group));
    if (work->fillers > 0 && work->is_bank && plan_products_may_leave_range(work)) {
        work->fillers = 0; /* the host examines samples */
    }
    uint64_t bytes = work->memory_bytes - cut_unused_bytes(work, &group);
    if (backend_abilities(work->backend)->has_device) {
        bytes += budget_pinned_bytes(work, &group) - budget_pages_bytes(work) -
                 work->chunking.slots *
                     budget_slot_bytes(work, &group, work->chunking.block_spectra, MEMORY_HOST);
    }
    work->memory_bytes = budget_stated(work->job, work->backend, work->threads,
                                       max_u64(bytes, budget_end_bytes(work)));
    return STATUS_OK;
}

status_t channelise_cut(struct channelise_plan *work, const struct chunking *begun)
{
    const struct job *job = work->job;
    struct budget_group group;
    uint64_t usual;
    work->writers = 1;
    uint64_t memory = job->cut.memory;
    TRY(cut_all(work, memory, begun, &group, &usual));
    while (!begun && memory <= job->memory / 2 &&
           (!cut_suits(work, &group, cut_worth_ratio(work, chunk_groups(&work->chunking)), usual) ||
            (!work->beams && cut_groups_cost(work, &group)))) {
        memory *= 2;
        TRY(cut_all(work, memory, begun, &group, &usual));
    }
    uint64_t budget = cut_for_blocks(work, job->memory);
    if (!cut_fits(work, &group, budget) && job->memory < job->cut.memory) {
        TRY(cut_all(work, job->memory, begun, &group, &budget));
    }
    TRY(!cut_fits(work, &group, budget) ? cut_refuse(work, begun, &group) : STATUS_OK);
    work->stage_bytes = budget;
    work->groups.read_bytes = group.read_bytes;
    /* Longer blocks than there are in JOB_MEMORY are no faster, but more memory to touch first. */
    cut_settle_blocks(work, &group,
                      cut_fits(work, &group, usual) ? min_u64(usual, budget) : budget);
    return STATUS_OK;
}
