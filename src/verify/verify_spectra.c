/* Verifies spectra and power, which are computed from voltages by the filters and the filter bank
 * of their job; and voltages that are a product, by the filters alone. */
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "pipeline/pipeline_kinds.h"
#include "plan/plan_products.h"
#include "product/compare.h"
#include "product/flagged.h"
#include "product/ifs.h"
#include "product/kind/visibilities_kind.h"
#include "product/medians.h"
#include "ranks/agree.h"
#include "run/share.h"
#include "verify/verify_parts.h"

#include <math.h>

/* The medians that a product stores, found again of its rows. */

enum { PIECE_BYTES = 16 << 20 };

/* Columns from .. from + columns - 1 of all rows. */
static status_t bandpass_find(const struct verify *verify, uint64_t from, uint64_t columns,
                              medians_t *medians, float *piece, float *out)
{
    uint64_t rows = max_u64(PIECE_BYTES / (columns * sizeof *piece), 1);
    for (int pass = 0; pass < MEDIANS_PASSES; pass++) {
        medians_begin(medians, pass, columns);
        for (uint64_t first = 0; first < verify->product->rows; first += rows) {
            uint64_t count = min_u64(rows, verify->product->rows - first);
            TRY(rows_read(verify->rows, first, count, from * sizeof *piece, columns * sizeof *piece,
                          piece));
            medians_add(medians, piece, count, columns);
        }
    }
    medians_get(medians, out);
    return STATUS_OK;
}

/* On rank 0: that the medians which a product stores, if any, are those of its rows; reads all of
 * them. Fails with DATA if one differs or cannot be read; with DEVICE (memory). */
static status_t verify_bandpass(const struct verify *verify)
{
    const struct product *product = verify->product;
    uint64_t all = product->place.row_bytes / sizeof(float);
    SCOPED(free_at) float *stored = NULL;
    SCOPED(free_at) float *found = NULL;
    SCOPED(free_at) float *piece = NULL;
    SCOPED(medians_destroy_at) medians_t *medians = NULL;
    uint64_t most = min_u64(all, MEDIANS_COLUMNS);
    if (product->place.bandpass_offset == 0) {
        return STATUS_OK;
    }
    TRY(medians_create(most, 1, &medians));
    TRY(memory_zeroed((size_t)max_u64(PIECE_BYTES / sizeof *piece, most), sizeof *piece, "rows",
                      &piece));
    TRY(memory_zeroed((size_t)most, sizeof *found, "medians", &found));
    TRY(memory_zeroed((size_t)most, sizeof *stored, "medians", &stored));
    for (uint64_t from = 0; from < all; from += most) {
        uint64_t columns = min_u64(most, all - from);
        TRY(bandpass_find(verify, from, columns, medians, piece, found));
        TRY(file_read(verify->fd, product->path,
                      product->place.bandpass_offset + from * sizeof *stored, stored,
                      columns * sizeof *stored));
        for (uint64_t i = 0; i < columns; i++) {
            REQUIRE(
                stored[i] == found[i] || (isnan(stored[i]) && isnan(found[i])), STATUS_DATA,
                "%s: the median of channel %llu of pol %llu is %.9g, but that of its rows is %.9g",
                product->path, (unsigned long long)((from + i) % product->frequencies),
                (unsigned long long)((from + i) / product->frequencies), (double)stored[i],
                (double)found[i]);
        }
    }
    return STATUS_OK;
}

struct spectra {
    struct text text; /* the job's */
    struct archive *archive;
    struct channelise_plan *plan;
    struct verify_rows *rows;   /* of a filter bank's, */
    struct verify_steps *steps; /* and in few bits; NULL: floats */
};

static void spectra_end(void *kind)
{
    struct spectra *spectra = kind;
    if (spectra) {
        verify_rows_destroy(spectra->rows);
        verify_steps_destroy(spectra->steps);
        channelise_plan_destroy(spectra->plan);
        archive_destroy(spectra->archive);
        text_free(&spectra->text);
        free(spectra);
    }
}

/* A row is marked when, and only when, some of it is NaN because its input cannot be read. A group
 * of streams alone cannot tell, since another one may be what could not be read: that is judged
 * when all were recomputed (verify_marks_judge()). */
static status_t spectra_check_mark(const struct verify *verify, const struct chunk *chunk,
                                   uint64_t row, int is_marked, int is_unreadable)
{
    const char *path = verify->product->path;
    int is_whole = chunk->streams == verify->chunking->streams;
    REQUIRE(is_marked || !is_unreadable, STATUS_DATA,
            "%s: the input of row %llu cannot be read, but the row is not marked", path,
            (unsigned long long)row);
    return REQUIRED(
        !is_marked || is_unreadable || !is_whole, STATUS_DATA,
        "%s: row %llu is marked as one whose input could not be read, but it can be: make it "
        "anew (--force)",
        path, (unsigned long long)row);
}

/* Flags of visibilities are made of their weights, `count` from number `first` on. */
static status_t spectra_compare_made_flags(const struct verify *verify, uint64_t first,
                                           uint64_t count, const float *weights)
{
    const struct product *product = verify->product;
    const struct spectra *spectra = verify->kind;
    SCOPED(free_two) unsigned char *flags[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        TRY(memory_zeroed((size_t)count, 1, "flags", &flags[i]));
    }
    TRY(file_read(verify->fd, product->path, product->place.flags_offset + first, flags[0], count));
    visibilities_flag(weights, count, spectra->plan->products[0].spec.weights.least, flags[1]);
    return REQUIRED(memcmp(flags[0], flags[1], (size_t)count) == 0, STATUS_DATA,
                    "%s is not what its job and input make of it: /Data/flags differ from what "
                    "/Data/nsamples make, from number %llu on",
                    product->path, (unsigned long long)first);
}

/* The sink of the pipeline: weights as the reference's are, to the last bit. */
static status_t spectra_compare_weights(void *context, uint32_t index, const struct chunk *chunk,
                                        uint64_t first_row, uint64_t rows, const float *weights)
{
    const struct verify *verify = context;
    const struct product *product = verify->product;
    SCOPED(free_at) float *stored = NULL;
    (void)index;
    const struct spectra *spectra = verify->kind;
    const struct chunk_row line = plan_products_weights_row(&spectra->plan->products[0].spec);
    const struct chunk_pieces pieces =
        chunk_pieces_of(verify->chunking, chunk, product->weights, &line);
    const uint64_t lines = pieces.size;
    TRY(memory_zeroed((size_t)lines, sizeof *stored, "weights", &stored));
    for (uint64_t i = 0; i < rows * pieces.count; i++, weights += lines) {
        const uint64_t row = first_row + i / pieces.count;
        const uint64_t first = pieces.first + i % pieces.count * pieces.step;
        uint64_t at = row * product->weights + first;
        TRY(file_read(verify->fd, product->path,
                      product->place.weights_offset + at * sizeof *stored, stored,
                      lines * sizeof *stored));
        for (uint64_t s = 0; s < lines; s++) {
            REQUIRE(stored[s] == weights[s], STATUS_DATA,
                    "%s is not what its job and input make of it: the weight of stream %llu in row "
                    "%llu is %.9g, expected %.9g%s",
                    product->path, (unsigned long long)(first + s), (unsigned long long)row,
                    (double)stored[s], (double)weights[s],
                    verify->holes > 0 ? ": was its input unreadable then? --force makes it anew"
                                      : "");
        }
        TRY(product->kind == PRODUCT_VISIBILITIES
                ? spectra_compare_made_flags(verify, at, lines, weights)
                : STATUS_OK);
    }
    return STATUS_OK;
}

/* Sink of the pipeline: compares flags exactly, kurtosis up to rounding. Where kurtosis is too near
 * to a limit to decide, the stored flag is taken. */
static status_t spectra_compare_flags(void *context, uint32_t index, const struct chunk *chunk,
                                      uint64_t first_cell, uint64_t cells,
                                      const struct flag_block *flags)
{
    const struct verify *verify = context;
    const struct product *product = verify->product;
    const struct spectra *spectra = verify->kind;
    SCOPED(free_at) unsigned char *stored = NULL;
    SCOPED(free_at) float *kurtosis = NULL;
    (void)index;
    const uint64_t row = product->flags.ifs * product->flags.channels;
    const struct chunk_row line = plan_products_cells_row(&spectra->plan->products[0].spec);
    const struct chunk_pieces pieces = chunk_pieces_of(verify->chunking, chunk, row, &line);
    const uint64_t piece = pieces.size;
    cells = min_u64(cells, product->flags.rows - min_u64(first_cell, product->flags.rows));
    TRY(memory_zeroed((size_t)piece, 1, "flags", &stored));
    TRY(memory_zeroed((size_t)piece, sizeof *kurtosis, "kurtosis", &kurtosis));
    for (uint64_t i = 0; i < cells * pieces.count; i++) {
        const uint64_t cell = first_cell + i / pieces.count;
        const uint64_t first = pieces.first + i % pieces.count * pieces.step;
        uint64_t at = cell * row + first;
        TRY(file_read(verify->fd, product->path, product->place.flags_offset + at, stored, piece));
        if (flags->kurtosis) {
            TRY(file_read(verify->fd, product->path,
                          product->place.kurtosis_offset + at * sizeof *kurtosis, kurtosis,
                          piece * sizeof *kurtosis));
        }
        for (uint64_t k = 0; k < piece; k++) {
            uint64_t of = i * piece + k;
            REQUIRE(stored[k] == flags->flags[of], STATUS_DATA,
                    "%s is not what its job and input make of it: /flags of channel %llu in cell "
                    "%llu is %u, expected %u",
                    product->path, (unsigned long long)((first + k) % product->flags.channels),
                    (unsigned long long)cell, stored[k], flags->flags[of]);
            float expected = flags->kurtosis ? flags->kurtosis[of] : 0;
            int is_right = isnan(expected) ? isnan(kurtosis[k])
                                           : fabsf(kurtosis[k] - expected) <= flags->tolerance[of];
            REQUIRE(!flags->kurtosis || is_right, STATUS_DATA,
                    "%s is not what the reference makes of its archive: /kurtosis of channel %llu "
                    "in cell %llu is %.9g, expected %.9g",
                    product->path, (unsigned long long)((first + k) % product->flags.channels),
                    (unsigned long long)cell, (double)kurtosis[k], (double)expected);
        }
    }
    return STATUS_OK;
}

/* Compares rows with those of the reference (the sink of the pipeline). */
static status_t spectra_compare_rows(void *context, uint32_t index, const struct chunk *chunk,
                                     uint64_t first_row, uint64_t rows, const void *data,
                                     const char *holes)
{
    struct verify *verify = context;
    const struct product *product = verify->product;
    const struct spectra *spectra = verify->kind;
    const struct agreement_whole *wholes = channelise_pipeline_wholes(verify->pipeline, index);
    const uint32_t nifs = spectra->plan->products[0].spec.nifs;
    const uint64_t ifs =
        chunk_is_coarse(chunk) ? nifs : chunk_share(verify->chunking, nifs, chunk->streams);
    const struct chunk_pieces pieces =
        chunk_pieces_of(verify->chunking, chunk, product->place.row_bytes, &verify->row);
    const uint64_t floats = pieces.count * pieces.size * 8 / product->bits;
    const float *expected = data;
    for (uint64_t i = 0; i < rows; i++, expected += floats) {
        char is_marked = 0;
        TRY(verify_read_row(verify, chunk, first_row + i, &is_marked));
        TRY(spectra_check_mark(verify, chunk, first_row + i, is_marked, holes && holes[i]));
        verify_marks_note(&verify->marked, first_row + i, holes && holes[i]);
        if (spectra->steps) {
            const struct verify_steps_row of = {.expected = expected,
                                                .wholes = wholes ? wholes + i * ifs : NULL,
                                                .nwholes = ifs,
                                                .went_in = verify_rows_went_in(spectra->rows)};
            TRY(verify_steps_nearest(verify, spectra->steps, chunk, first_row + i, &of));
        }
        TRY(verify_rows_compare(verify, spectra->rows, chunk, first_row + i, is_marked, expected,
                                wholes ? wholes + i * ifs : NULL));
    }
    if (chunk->first_stream == 0) {
        verify->found.recomputed += rows;
    }
    return verify_spans(verify, chunk, first_row, rows);
}

/* Compares one row of voltages. Integers may differ by one from the reference's, if it is near the
 * middle of two. */
static status_t spectra_compare_stored(struct verify *verify, uint64_t row, const char *expected,
                                       uint64_t numbers)
{
    const struct product *product = verify->product;
    if (product->bits == 32) {
        agreement_sums(&verify->found.agreement, (const float *)(void *)verify->stored,
                       (const float *)(const void *)expected, numbers, 0);
        return STATUS_OK;
    }
    for (uint64_t i = 0; i < numbers; i++) {
        int value[2] = {((const signed char *)verify->stored)[i],
                        ((const signed char *)expected)[i]};
        if (product->bits == 16) {
            value[0] = ((const int16_t *)(const void *)verify->stored)[i];
            value[1] = ((const int16_t *)(const void *)expected)[i];
        }
        REQUIRE(abs(value[0] - value[1]) <= 1, STATUS_DATA,
                "%s is not what the reference makes of its archive: number %llu of sample %llu is "
                "%d, expected %d",
                product->path, (unsigned long long)i, (unsigned long long)row, value[0], value[1]);
        verify->found.beside += value[0] != value[1] ? 1 : 0;
        verify->found.agreement.numbers += (double)value[1] * value[1];
    }
    return STATUS_OK;
}

/* Compares samples with those of the reference (the sink of the pipeline). */
static status_t spectra_compare_voltages(void *context, uint32_t index, const struct chunk *chunk,
                                         uint64_t first_row, uint64_t rows, const void *data,
                                         const char *holes)
{
    struct verify *verify = context;
    uint64_t bytes = verify->product->place.row_bytes / verify->chunking->streams * chunk->streams;
    const char *expected = data;
    (void)index;
    (void)holes;
    for (uint64_t i = 0; i < rows; i++, expected += bytes) {
        char is_marked = 0;
        TRY(verify_read_row(verify, chunk, first_row + i, &is_marked));
        TRY(spectra_compare_stored(verify, first_row + i, expected,
                                   8 * bytes / verify->product->bits));
    }
    if (chunk->first_stream == 0) {
        verify->found.recomputed += rows;
    }
    return verify_spans(verify, chunk, first_row, rows);
}

/* The sink of the pipeline: scales and counts as the reference makes them. */
static status_t spectra_compare_steps(void *context, uint32_t index, const struct chunk *chunk,
                                      const struct product_steps *steps)
{
    const struct verify *verify = context;
    const struct spectra *spectra = verify->kind;
    (void)index;
    return verify_steps_compare(verify, chunk, steps, verify_rows_went_in(spectra->rows));
}

static status_t spectra_count(void *context, const struct chunk *chunk,
                              const struct chunk_counts *counts)
{
    struct verify *verify = context;
    verify->found.missing += counts->missing;
    verify->found.clipped += counts->clipped;
    return verify_chunk_end(verify, chunk, counts);
}

/* Compares the attributes that need no computing. Only rank 0 checks those that the others do not
 * need. */
static status_t spectra_compare_description(const struct verify *verify)
{
    const struct product *product = verify->product;
    const struct spectra *spectra = verify->kind;
    const struct product_spec *spec = &spectra->plan->products[0].spec;
    int is_bank = spectra->plan->is_bank;
    uint64_t frequencies = is_bank ? spec->frequencies : spectra->plan->seen->nselected[AXIS_CHAN];
    uint64_t ifs = spec->nifs;
    REQUIRE(product->kind == spec->kind && product->rows == spec->rows && product->streams == ifs &&
                product->frequencies == frequencies,
            STATUS_DATA,
            "%s contains %llu rows of %llu pols x %llu channels, but its job and archive make %llu "
            "rows of %llu x %llu",
            product->path, (unsigned long long)product->rows, (unsigned long long)product->streams,
            (unsigned long long)product->frequencies, (unsigned long long)spec->rows,
            (unsigned long long)ifs, (unsigned long long)frequencies);
    uint64_t weights = ifs_weights(spec);
    uint64_t cells = spec->flag.is_on ? spec->rows * flagged_cells(spec) : 0;
    REQUIRE(spec->visibilities ||
                (product->flags.rows == cells &&
                 (cells == 0 || (product->flags.ifs == flagged_ifs(spec) &&
                                 product->flags.channels == flagged_channels(spec))) &&
                 (product->place.kurtosis_offset > 0) == spec->flag.has_kurtosis),
            STATUS_DATA, "%s does not have the flags that its job makes", product->path);
    REQUIRE(product->bits == spec->steps.bits && product->place.scale_rows == spec->steps.rows,
            STATUS_DATA,
            "%s contains numbers of %u bits, with a scale for each %llu rows, but its job and "
            "archive make %u bits and %llu rows",
            product->path, product->bits, (unsigned long long)product->place.scale_rows,
            spec->steps.bits, (unsigned long long)spec->steps.rows);
    REQUIRE(product->weights == 0 || product->weights == weights, STATUS_DATA,
            "%s has %u weights in a row, but its job and archive make %llu", product->path,
            product->weights, (unsigned long long)weights);
    if (verify->rank == 0) {
        TRY(compare_product(product, verify->options->nsets > 0, spec));
        if (product->place.time_offset > 0) {
            TRY(verify_times(verify->fd, product, product->rows, product_time(spec)));
        }
    }
    return STATUS_OK;
}

/* Whether its job names such an entry. */
static int spectra_names(const struct product *product, const char *key)
{
    const char *at = strstr(product->origin.job_text, key);
    while (at && at > product->origin.job_text && at[-1] != '\n') {
        at = strstr(at + 1, key);
    }
    return at != NULL;
}

/* Filters that its job names: voltages without any went through one that changes nothing. */
static uint32_t spectra_count_filters(const struct product *product)
{
    uint32_t count = product->origin.filters ? 1 : 0;
    int is_named = spectra_names(product, "filter:");
    count -= spectra_names(product, "synthesise:") ? 1 : 0;
    for (const char *line = product->origin.filters; line && (line = strchr(line, '\n')); line++) {
        count++;
    }
    return is_named ? (uint32_t)min_u64(count, JOB_FILTERS) : 0;
}

enum { VOLTAGES_CHUNK = 1024 /* samples */ };

/* Opens the product's own job, with the reference as backend and small chunks. */
static status_t spectra_open_job_all(struct verify *verify, struct spectra *spectra)
{
    char chunk[64];
    char filters[JOB_FILTERS][64];
    SCOPED(free_at) const char **sets = NULL;
    uint32_t nsets = 0;
    const struct product *product = verify->product;
    int is_bank = product->kind != PRODUCT_VOLTAGES;
    uint64_t least = is_bank ? CHUNK_GRAIN : VOLTAGES_CHUNK;
    uint64_t dumps = ceil_div_u64(least, max_u64(product->integrate, 1));
    snprintf(chunk, sizeof chunk, "run.chunk=%llu",
             (unsigned long long)(dumps * product->integrate));
    /* Before 0.3, one tap had cutoff 1 where the job named none. */
    int is_older = is_bank && spectra_names(product, "  taps: 1\n") &&
                   !spectra_names(product, "  cutoff:") && !spectra_names(product, "  oversample:");
    const char *const before[] = {VERIFY_EXTERNAL, is_older ? "channelise.cutoff=1" : NULL, NULL};
    const char *after[JOB_FILTERS + 5] = {"products.0.file=verify.h5",
                                          /* nothing is written: any name will do */ chunk};
    uint32_t count = 2;
    if (is_bank) {
        after[count++] = "channelise.backend=reference";
    }
    if (spectra_names(product, "synthesise:")) {
        after[count++] = "synthesise.backend=reference";
    }
    for (uint32_t i = 0; i < spectra_count_filters(product); i++) {
        snprintf(filters[i], sizeof filters[i], "filter.%u.backend=reference", i);
        after[count++] = filters[i];
    }
    status_t st = verify_overrides(verify, before, after, &sets, &nsets);
    st = st == STATUS_OK ? text_add(&spectra->text, "%s", verify->product->origin.job_text) : st;
    st = share_job_all(verify->comm, st, verify->options->path, &spectra->text, sets, nsets, NULL,
                       NULL, &verify->job, &spectra->archive);
    return verify_say_moved(st, "input.files");
}

/* Returns the first chunk of a row; its other groups of streams follow. */
static uint64_t spectra_chunk_of(const struct verify *verify, const struct verify_mark *mark)
{
    const struct chunking *chunking = verify->chunking;
    return mark->row * verify->product->integrate / chunking->chunk_spectra *
           chunk_groups(chunking);
}

/* A product's description of the filters before it, and the facts that can be read back of it. */

static int filter_plan_read_choices(const char *words, enum backend_kind backend,
                                    struct filter_choice choices[JOB_FILTERS])
{
    uint32_t i = 0;
    words = strncmp(words, synthesis_plan_word, strlen(synthesis_plan_word)) == 0
                ? strchr(words, '\n')
                : words;
    for (const char *line = words; line; line = strchr(line, '\n')) {
        char method[32] = "";
        uint32_t length = 0;
        line += *line == '\n';
        const char *at = strstr(line, " samples, decimate ");
        const char *how = at ? strstr(at, " samples, ") : NULL;
        how = how ? strstr(how + 1, " samples, ") : NULL;
        if (i == JOB_FILTERS || !how ||
            sscanf(how, " samples, %31[a-z-] %" SCNu32, method, &length) < 1) {
            return 0;
        }
        int is_direct = strcmp(method, filter_method_name(FILTER_DIRECT)) == 0;
        choices[i++] = (struct filter_choice){
            .backend = backend,
            .shape = {.method = is_direct ? FILTER_DIRECT : FILTER_OVERLAP_SAVE, .length = length}};
    }
    return 1;
}

static status_t spectra_prepare(struct verify *verify, struct spectra *spectra)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    struct pipeline_sink sink = {verify,
                                 product->kind == PRODUCT_VOLTAGES ? spectra_compare_voltages
                                                                   : spectra_compare_rows,
                                 spectra_count,
                                 spectra_compare_weights,
                                 spectra_compare_flags,
                                 spectra_compare_steps};
    /* Filters in the blocks in which they were made: what circular transforms leave depends on it.
     */
    struct filter_choice filters[JOB_FILTERS] = {{.backend = BACKEND_AUTO}};
    struct channelise_plan_cut cut = {
        .is_judged = 1,
        .judged = product->place.flags_offset > 0 ? product : NULL,
        .filters = product->origin.filters ? filters : NULL,
        .weights = {product->weights > 0 ? WEIGHTS_KEPT : WEIGHTS_NONE}};
    if (product->origin.filters) {
        REQUIRE(filter_plan_read_choices(product->origin.filters, BACKEND_REFERENCE, filters),
                STATUS_DATA, "%s: its filters are not described as voltmill does: %s",
                product->path, product->origin.filters);
    }
    do {
        st = channelise_plan_create(verify->job, spectra->archive, BACKEND_REFERENCE, 1, &cut,
                                    &spectra->plan);
    } while (verify_may_take_more(st, verify));
    TRY(st);
    verify->found.agreement.filters =
        spectra->plan->filters ? filter_plan_count(spectra->plan->filters) : 0;
    verify->chunking = &spectra->plan->chunking;
    verify->row = plan_products_row(&spectra->plan->products[0].spec);
    TRY(spectra_compare_description(verify));
    if (spectra->plan->is_bank) {
        TRY(verify_rows_create(spectra->plan, &spectra->rows));
        TRY(verify_steps_create(verify, spectra->plan, &spectra->steps));
    }
    /* Chunks that complete a row: the last one may hold only spectra that were dropped, but all
     * samples are counted when all chunks are looked at. */
    TRY(verify_pick(
        verify,
        ceil_div_u64(product->rows * product->integrate, verify->chunking->chunk_spectra) *
            chunk_groups(verify->chunking),
        chunk_groups(verify->chunking), spectra_chunk_of));
    return channelise_pipeline_create(spectra->plan, verify->backend, &sink, NULL,
                                      &verify->pipeline);
}

static status_t spectra_prepare_all(struct verify *verify)
{
    struct spectra *spectra = NULL;
    TRY(agree_all(verify->comm, memory_zeroed(1, sizeof *spectra, "spectra", &spectra)));
    verify->kind = spectra;
    verify->input = "its archive";
    TRY(spectra_open_job_all(verify, spectra));
    return agree_all(verify->comm, spectra_prepare(verify, spectra));
}

/* Compares the number of missing samples. It is known if everything was read, or if no sample can
 * be missing. */
static status_t spectra_judge_missing(const struct verify *verify)
{
    const struct product *product = verify->product;
    const struct archive *archive = ((const struct spectra *)verify->kind)->archive;
    int is_known =
        !verify->picked || (archive->format != SAMPLE_F32 && !archive->stored.has_missing_value &&
                            !archive->losses.may_lack);
    int is_old = product->origin.version_of_format < PRODUCT_VERSION; /* gaps could count, too */
    REQUIRE(is_old || verify->holes > 0 ||
                (is_known ? product->missing == verify->found.missing
                          : product->missing >= verify->found.missing),
            STATUS_DATA,
            "%s is not what its job and input make of it: /provenance/missing_samples is %llu, "
            "expected %s%llu",
            product->path, (unsigned long long)product->missing, is_known ? "" : "at least ",
            (unsigned long long)verify->found.missing);
    return verify->picked ? STATUS_OK : verify_bandpass(verify);
}

/* Numbers of voltages that rounding brings to the other side of the last one, clipped or not, are
 * as rare as those beside others. */
static status_t spectra_judge_voltages(const struct verify *verify)
{
    const struct product *product = verify->product;
    uint64_t near = verify->found.beside + 2;
    TRY(spectra_judge_missing(verify));
    return REQUIRED(
        verify->picked || product->bits == 32 ||
            (product->clipped <= verify->found.clipped + near &&
             product->clipped + near >= verify->found.clipped),
        STATUS_DATA,
        "%s is not what its job and input make of it: /provenance/clipped_samples is %llu, "
        "expected %llu",
        product->path, (unsigned long long)product->clipped,
        (unsigned long long)verify->found.clipped);
}

const struct verify_kind verify_spectra = {.what = "rows",
                                           .unit = "a spectrum's rms + max|Y| / 10",
                                           .prepare_all = spectra_prepare_all,
                                           .judge = spectra_judge_missing,
                                           .end = spectra_end};

const struct verify_kind verify_voltages = {.what = "samples",
                                            .unit = "the rms of a sample's streams",
                                            .prepare_all = spectra_prepare_all,
                                            .judge = spectra_judge_voltages,
                                            .end = spectra_end};
