/* From the text of a job to `struct job`: what remains to be done when its tables have filled it.
 */
#include "job/job.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "job/job_schema.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks of several keys of a job together. */

/* Needs that the passes of a job have of each other: archive, filters, filter bank, dedispersions.
 */

/* Whether the job asks for a product of kind voltages. */
static int job_passes_has_voltages(struct tree *root)
{
    int has = 0;
    for (size_t i = 0; tree_entry(root, "products", i); i++) {
        has |= tree_says(tree_entry(root, "products", i), "kind", "voltages");
    }
    return has;
}

/* Checks a job without `channelise`, which dedisperses a filterbank. */
static void job_passes_filterbank(struct tree *root, struct mistakes *mistakes)
{
    static const char *const keys[] = {"input.layout", "input.select", "filter"};
    mistakes_if(tree_member(root, "products") != NULL, mistakes, root, "products",
                "expected none without channelise: dedisperse has a file of its own");
    for (size_t i = 0; i < 3; i++) {
        mistakes_if(tree_count(root, keys[i]) > 0, mistakes, root, keys[i],
                    "is for voltages, but without channelise the input is a filterbank (FBH5)");
    }
    mistakes_if(tree_count(root, "input.files") > 1, mistakes, root, "input.files",
                "expected one filterbank to dedisperse");
}

/* A product of kind voltages is what comes out of the filters, or of the archive: it stands alone,
 * where no filter bank is. */
static void job_passes_voltages(struct tree *root, struct mistakes *mistakes)
{
    int has_bank = tree_member(root, "channelise") != NULL;
    struct tree *product;
    for (size_t i = 0; (product = tree_entry(root, "products", i)); i++) {
        const char *kind = tree_value(product, "kind");
        int is_voltages = kind && strcmp(kind, "voltages") == 0;
        if (is_voltages && has_bank) {
            mistakes_at(mistakes, product, "kind",
                        "is voltages, which a job without channelise writes, alone");
        } else if (kind && !is_voltages && !has_bank) {
            mistakes_at(mistakes, product, "kind",
                        "is %s, which needs channelise: beside voltages there is no other product",
                        kind);
        } else if (is_voltages && i > 0) {
            mistakes_at(mistakes, product, "kind", "is voltages, expected one such product, alone");
        }
    }
}

/* A job channelises and may dedisperse what comes of it; or writes voltages again, filtered or cut;
 * or dedisperses a filterbank as it is. */
static void job_passes_order(struct tree *root, struct mistakes *mistakes)
{
    int dedisperses = tree_member(root, "dedisperse") != NULL;
    int has_bank = tree_member(root, "channelise") != NULL;
    mistakes_if(dedisperses && has_bank && !tree_member(root, "products"), mistakes, root,
                "products", "is missing, expected a list of products, each with kind and file");
    if (dedisperses && !has_bank) {
        job_passes_filterbank(root, mistakes);
    } else if (job_passes_has_voltages(root)) {
        job_passes_voltages(root, mistakes);
    } else {
        schema_require(mistakes, root, job_schema, "channelise");
    }
}

/* All that computes does so by one backend: those that are named must be alike. */
static void job_passes_backends(struct tree *root, struct mistakes *mistakes)
{
    static const char *const lists[] = {"channelise", "filter"};
    struct text path = {0};
    const char *first = NULL;
    for (size_t list = 0; list < 2; list++) {
        struct tree *entry;
        for (size_t i = 0; (entry = tree_entry(root, lists[list], i)); i++) {
            const char *backend = tree_value(entry, "backend");
            if (backend && !first) {
                first = backend;
                mistakes_keep(mistakes, tree_path(entry, &path));
            } else if (backend && strcmp(backend, first) != 0) {
                mistakes_at(
                    mistakes, entry, "backend",
                    "is %s, but %s.backend is %s: filters and filter banks have one backend",
                    backend, path.data, first);
            }
        }
    }
    text_free(&path);
}

/* Checks that `dedisperse.N.input` names a power product. */
static void job_passes_dedisperse_input(struct tree *root, struct tree *entry,
                                        struct mistakes *mistakes)
{
    const char *text = tree_value(entry, "input"); /* at most JOB_PRODUCTS, in digits */
    struct tree *product = tree_entry(root, "products", (size_t)tree_number(entry, "input", 0));
    if (text && !tree_member(root, "channelise")) {
        mistakes_at(mistakes, entry, "input", "names a product, but the job makes none");
    } else if (text && !product) {
        mistakes_at(mistakes, entry, "input", "is %s, but there are %zu products (counted from 0)",
                    text, tree_list(root, "products") ? tree_count(root, "products") : 0);
    } else if (text && !tree_says(product, "kind", "power")) {
        mistakes_at(
            mistakes, entry, "input",
            "is %s, but products.%s is not of kind power: only power can be dedispersed here", text,
            text);
    }
}

/* A semi-coherent search makes one power product after the other, each of a filter of its own. */
static void job_passes_coherent(struct tree *root, struct tree *entry, struct mistakes *mistakes)
{
    const struct tree *filters = tree_list(root, "filter");
    int is_filtered = 0;
    for (size_t i = 0; tree_entry(root, "filter", i); i++) {
        is_filtered |= tree_member(tree_entry(root, "filter", i), "dispersion") != NULL;
    }
    if (!tree_list(entry, "coherent") || !tree_member(root, "channelise") || is_filtered) {
        return; /* the share of what is dedispersed already */
    }
    mistakes_if(tree_count(root, "dedisperse") > 1, mistakes, entry, "coherent",
                "expected one dedispersion: a semi-coherent search has no other");
    mistakes_if(tree_count(root, "products") > 1, mistakes, root, "products",
                "expected the power product alone: a semi-coherent search makes it for each "
                "coherent DM, and removes it");
    mistakes_if(filters && filters->nchildren >= JOB_FILTERS, mistakes, root, "filter",
                "has %zu entries, expected at most %d: a semi-coherent search adds one",
                tree_count(root, "filter"), JOB_FILTERS - 1);
}

/* Checks the two bounds of a selection, if there is one. */
static void job_check_bounds(struct tree *list, int is_utc, struct mistakes *mistakes)
{
    const char *first = tree_value(list, "0");
    const char *second = tree_value(list, "1");
    struct utc utc[2];
    uint64_t whole[2];
    int is_behind = 1;
    if (!first || !second) {
        return;
    }
    if (is_utc) {
        is_behind = units_parse_utc(first, &utc[0]) && units_parse_utc(second, &utc[1]) &&
                    utc_difference(utc[1], utc[0]) > 0;
    } else if (tree_parse_whole(first, &whole[0]) && tree_parse_whole(second, &whole[1])) {
        /* Large sample numbers differ by less than doubles can tell. */
        is_behind = whole[1] > whole[0];
    } else {
        is_behind = tree_number(list, "1", 0) > tree_number(list, "0", 0);
    }
    mistakes_if(!is_behind, mistakes, list, NULL, "ends at %.40s, expected %s than %.40s", second,
                is_utc ? "later" : "more", first);
}

static void job_check_select(struct tree *root, struct mistakes *mistakes)
{
    static const char *const lists[] = {"input.select.samples", "input.select.seconds",
                                        "input.select.utc"};
    int found = 0;
    struct tree *band = tree_at(root, "input.select.freq_hz");
    for (size_t i = 0; i < 3; i++) {
        int is_there = tree_count(root, lists[i]) > 0;
        mistakes_if(is_there && found, mistakes, root, lists[i],
                    "expected at most one of samples, seconds, utc");
        found |= is_there;
        job_check_bounds(tree_at(root, lists[i]), i == 2, mistakes);
    }
    job_check_bounds(band, 0, mistakes);
    mistakes_if(band && tree_at(root, "input.select.chans"), mistakes, band, NULL,
                "says which chans, too, expected one of them");
}

/* Whether two paths are the same text, a leading "./" aside. */
static int job_check_is_same(const char *a, const char *b)
{
    a += strncmp(a, "./", 2) == 0 ? 2 : 0;
    b += strncmp(b, "./", 2) == 0 ? 2 : 0;
    return strcmp(a, b) == 0;
}

/* Adds a mistake when a file of `entry`, an output, is that of an output before it, or an input. */
static void job_check_file(struct tree *root, struct tree *entry, const char *key,
                           struct mistakes *mistakes)
{
    /* Lists of outputs, then two of inputs. */
    enum { OUTPUTS = 4, LISTS = 6 };
    static const char *const lists[LISTS][2] = {
        {"products", "file"},         {"dedisperse", "file"}, {"dedisperse", "search.file"},
        {"dedisperse", "search.csv"}, {"input.files", ""},    {"filter", "coefficients"}};
    const char *file = tree_value(entry, key);
    SCOPED(text_free) struct text path = {0};
    int is_before = 1;
    for (size_t list = 0; list < LISTS && file; list++) {
        int is_mine = list < OUTPUTS && strcmp(lists[list][1], key) == 0;
        struct tree *other;
        for (size_t i = 0; (other = tree_entry(root, lists[list][0], i)); i++) {
            const char *name = tree_value(other, lists[list][1]);
            is_before = is_before && !(is_mine && other == entry);
            if ((is_before || list >= OUTPUTS) && name && job_check_is_same(file, name)) {
                mistakes_keep(mistakes, tree_path(other, &path));
                mistakes_at(mistakes, entry, key,
                            "is the same as %s%s%s, expected a file of its own", path.data,
                            *lists[list][1] ? "." : "", lists[list][1]);
                return;
            }
        }
    }
}

/* Adds the mistakes of `synthesise`, and of what it needs of the rest: it stands before all else,
 * and what comes of it are voltages; one backend computes all. */
static void job_synthesise_check(struct tree *root, struct mistakes *mistakes)
{
    static const char *const others[][2] = {{"channelise", "channelises"},
                                            {"dedisperse", "dedisperses"}};
    struct tree *entry = tree_member(root, "synthesise");
    struct tree *filter;
    if (!entry) {
        return;
    }
    const char *taps = tree_value(entry, "taps");
    const char *mine = tree_value(entry, "backend");
    for (size_t i = 0; i < 2; i++) {
        mistakes_if(tree_member(root, others[i][0]) != NULL, mistakes, root, "synthesise",
                    "makes voltages, which this job does not write but %s: expected two jobs, the "
                    "second of which reads the voltages of the first",
                    others[i][1]);
    }
    for (size_t i = 0; mine && (filter = tree_entry(root, "filter", i)); i++) {
        const char *backend = tree_value(filter, "backend");
        mistakes_if(backend && strcmp(backend, mine) != 0, mistakes, filter, "backend",
                    "is %s, but synthesise.backend is %s: both have one backend", backend, mine);
    }
    mistakes_if(taps && strcmp(taps, "auto") != 0 && tree_value(entry, "accuracy"), mistakes, entry,
                "accuracy", "chooses the taps, but taps is %s: expected one of them", taps);
    mistakes_if(tree_value(entry, "prototype_taps") &&
                    (!tree_value(entry, "prototype") || tree_says(entry, "prototype", "auto")),
                mistakes, entry, "prototype_taps",
                "is for a prototype from a file: an archive says its own");
    mistakes_if_descends(mistakes, tree_at(entry, "channels"), tree_at(entry, "channels"));
}

/* Adds mistakes of keys that contradict each other to the list. Values that are wrong by themselves
 * have been reported before, and are skipped. `job` was filled from `root` by schema_fill(). The
 * functions below do this for their sections. If there is no memory for one, mistakes_report()
 * fails. */
static void job_check(const struct job *job, struct tree *root, struct mistakes *mistakes)
{
    struct tree *entry;
    job_layout_check(root, mistakes);
    job_check_select(root, mistakes);
    job_bank_check(job, root, mistakes);
    for (size_t i = 0; i < JOB_PRODUCTS && (entry = tree_entry(root, "products", i)); i++) {
        job_product_check(root, entry, &job->products[i], mistakes);
        job_check_bounds(tree_list(entry, "freq_hz"), 0, mistakes);
        job_check_file(root, entry, "file", mistakes);
    }
    job_passes_order(root, mistakes);
    job_passes_backends(root, mistakes);
    job_synthesise_check(root, mistakes);
    job_array_check(root, mistakes);
    for (size_t i = 0; i < JOB_FILTERS && (entry = tree_entry(root, "filter", i)); i++) {
        job_filter_check(entry, mistakes);
    }
    for (size_t i = 0; i < JOB_DEDISPERSE && (entry = tree_entry(root, "dedisperse", i)); i++) {
        job_passes_dedisperse_input(root, entry, mistakes);
        job_passes_coherent(root, entry, mistakes);
        job_dedisperse_check(entry, mistakes);
        job_check_file(root, entry, "file", mistakes);
        job_check_file(root, entry, "search.file", mistakes);
        job_check_file(root, entry, "search.csv", mistakes);
    }
}

/* Copies of a struct that a schema fills, for other processes: one walk of its rows, there and
 * back. */
struct schema_copy {
    struct text *out; /* NULL: the values come from `in` */
    struct unpack *in;
};

static void schema_copy_rows(struct schema_copy *copy, const struct schema *rows, char *base);

static void schema_copy_bytes(struct schema_copy *copy, void *at, size_t bytes)
{
    if (copy->out) {
        text_add_bytes(copy->out, at, bytes);
    } else {
        unpack_bytes(copy->in, at, bytes);
    }
}

static void schema_copy_entry(struct schema_copy *copy, const struct schema *row, char *at)
{
    char **text = (char **)(void *)at;
    if (row->type == SCHEMA_MAPPING) {
        schema_copy_rows(copy, row->members, at);
    } else if (row->type != SCHEMA_TEXT) {
        schema_copy_bytes(copy, at, row->size);
    } else if (copy->out) {
        pack_text(copy->out, *text);
    } else {
        *text = unpack_text(copy->in);
    }
}

/* Makes the zeroed entries of a list that is unpacked. Each takes a byte at least. */
static void schema_copy_allocate(struct unpack *in, size_t size, uint64_t count, char **entries)
{
    in->failed |= count > in->length - in->at || count > UINT32_MAX;
    if (!in->failed && count > 0) {
        *entries = calloc((size_t)count, size);
        in->failed |= *entries ? 0 : UNPACK_NO_MEMORY;
    }
}

static void schema_copy_list(struct schema_copy *copy, const struct schema *row, char *base)
{
    char *entries = NULL;
    uint32_t *there = (uint32_t *)(void *)(base + row->count_at);
    memcpy(&entries, base + row->at, sizeof entries);
    uint64_t count = entries ? *there : 0;
    schema_copy_bytes(copy, &count, sizeof count);
    if (!copy->out) {
        schema_copy_allocate(copy->in, row->size, count, &entries);
        memcpy(base + row->at, &entries, sizeof entries);
        *there = entries ? (uint32_t)count : 0;
    }
    for (size_t i = 0; entries && i < count; i++) {
        schema_copy_entry(copy, row, entries + i * row->size);
    }
}

static void schema_copy_row(struct schema_copy *copy, const struct schema *row, char *base)
{
    if (row->given.as) {
        schema_copy_bytes(copy, base + row->given.at, sizeof row->given.as);
    }
    if (row->instead) {
        schema_copy_row(copy, row->instead, base);
    }
    if (row->is_pair) {
        schema_copy_bytes(copy, base + row->at, 2 * row->size);
    } else if (row->most) {
        schema_copy_list(copy, row, base);
    } else {
        schema_copy_entry(copy, row, base + row->at);
    }
}

static void schema_copy_rows(struct schema_copy *copy, const struct schema *rows, char *base)
{
    for (const struct schema *row = rows; row->key; row++) {
        schema_copy_row(copy, row, base);
    }
}

/* Appends the values of a job that `rows` fill, for another process of this program. Values of
 * SCHEMA_PARSED must have no pointers. Fails with DEVICE (memory). */
static status_t schema_pack(struct text *out, const struct schema *rows, const struct job *from)
{
    struct job values = *from; /* the walk could change them */
    struct schema_copy copy = {.out = out};
    schema_copy_rows(&copy, rows, (char *)&values);
    return out->status;
}

/* The same back into a zeroed struct: the caller's to free, also where unpack_check() fails. */
static void schema_unpack(struct unpack *in, const struct schema *rows, struct job *to)
{
    struct schema_copy copy = {.in = in};
    schema_copy_rows(&copy, rows, (char *)to);
}

/* Removes all but `input` and `run` before the tables see it, and puts a product of voltages there,
 * which no file will hold. Keys that are unknown stay: they are mistakes, such as a misspelt
 * `input`. Fails with DEVICE (memory). */
static status_t job_input_alone(struct tree *root)
{
    /* Voltages have no rows to mark as bad: import itself refuses samples that are lost. */
    static const char *const unused[] = {"synthesise", "filter",     "channelise",
                                         "products",   "dedisperse", "run.on_bad"};
    SCOPED(tree_destroy_at) struct tree *product = NULL;
    if (root->kind != TREE_MAPPING) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        for (struct tree *node; (node = tree_at(root, unused[i]));) {
            tree_remove(node->up, node->index);
        }
    }
    TRY(tree_new(TREE_MAPPING, NULL, &product));
    TRY(tree_add_value(product, "kind", "voltages"));
    TRY(tree_add_value(product, "file", "/dev/null")); /* no input has this name */
    return tree_add(root, "products", &product);
}

/* Subject of a text: a product, or the series or search of a dedispersion. */
struct job_part {
    unsigned effect; /* JOB_PRODUCT, JOB_SERIES or JOB_SEARCH */
    int product;     /* a place among the products; -1: none */
    int dedisperse;  /* among the dedispersions: of that product, or of the input; -1: none */
    uint32_t bank;   /* of the product */
};

/* The entry of a list at the root that a part has; -1: none of them, -2: all. */
static int job_text_entry(const struct tree *list, const struct job_part *part)
{
    return strcmp(list->key, "products") == 0     ? part->product
           : strcmp(list->key, "dedisperse") == 0 ? part->dedisperse
                                                  : -2;
}

/* Whether the bytes of `products` (bits of without_effect_on) depend on a member that was checked.
 */
static int schema_has_effect(const struct tree *member, unsigned products)
{
    const struct schema *row = member->row;
    return !row || (!(row->without_effect_on & products) &&
                    (!row->only || !member->text || strcmp(row->only, member->text) == 0));
}

/* The members that the part's bytes depend on; in the place of all banks that of its product. */
static const struct tree *job_text_pick(const struct tree *node, const void *arg)
{
    const struct job_part *part = arg;
    const struct tree *up = node->up;
    if (!up->up && strcmp(node->key, "channelise") == 0) {
        return node->child[part->bank];
    }
    if (!up->up) {
        return strcmp(node->key, "run") == 0 || job_text_entry(node, part) == -1 ? NULL : node;
    }
    if (!up->up->up && up->kind == TREE_LIST) {
        const int entry = job_text_entry(up, part);
        return entry == -2 || entry == (int)node->index ? node : NULL;
    }
    return schema_has_effect(node, part->effect) ? node : NULL;
}

/* Gives the YAML that determines the bytes of a part of a checked job: input, filters, bank, the
 * one product and dedispersion, in the job's own order; *out is for free(). */
static status_t job_text(struct tree *root, struct job_part part, char **out)
{
    SCOPED(text_free) struct text text = {0};
    TRY(tree_write(root, job_text_pick, &part, &text));
    /* Hardly a member of `run` decides bytes: those that do are in a line. */
    const struct tree *run = tree_member(root, "run");
    for (size_t i = 0; run && i < run->nchildren; i++) {
        const struct tree *member = run->child[i];
        if (schema_has_effect(member, part.effect)) {
            text_add(&text, "run: {%s: %s}\n", member->key, member->text);
        }
    }
    TRY(text.status);
    *out = memory_move(&text.data);
    return STATUS_OK;
}

/* Settles the product that an entry dedisperses, and its backend. Defaults: the first power
 * product, and the filter bank's backend. */
static status_t job_settle_dedisperse(struct job *job, uint32_t i)
{
    struct job_dedisperse *dedisperse = &job->dedisperse[i];
    dedisperse->is_two_step = dedisperse->mode == JOB_TWO_STEP;
    dedisperse->backend = dedisperse->has_backend ? dedisperse->backend : job->backend;
    while (!dedisperse->has_input && dedisperse->input < job->nproducts &&
           !product_is_filterbank(job->products[dedisperse->input].kind)) {
        dedisperse->input++;
    }
    REQUIRE(!job_reads_voltages(job) || dedisperse->input < job->nproducts, STATUS_USAGE,
            "%s: dedisperse.%u.input: the job has no power product to dedisperse", job->path, i);
    return REQUIRED(
        !job_reads_voltages(job) || job->products[dedisperse->input].format == FILE_HDF5,
        STATUS_USAGE,
        "%s: dedisperse.%u.input: products.%u becomes a file of format %s, expected hdf5: input "
        "may name another product, and voltmill export writes other formats of one",
        job->path, i, dedisperse->input, file_format_name(job->products[dedisperse->input].format));
}

/* Settles one backend: those that are named are alike, and the others say AUTO. */
static void job_settle_backend(struct job *job)
{
    for (uint32_t i = 0; i < job->nbanks + job->nfilters; i++) {
        enum backend_kind named =
            i < job->nbanks ? job->banks[i].backend : job->filters[i - job->nbanks].backend;
        job->backend = named != BACKEND_AUTO ? named : job->backend;
    }
    const enum backend_kind back = job->synthesise.backend;
    job->backend = back != BACKEND_AUTO ? back : job->backend;
}

/* Settles the bank that makes a product: the first one if it names none. */
static void job_settle_bank(const struct job *job, struct job_product *product)
{
    for (uint32_t i = 0; product->bank_name && i < job->nbanks; i++) {
        if (job->banks[i].name && strcmp(job->banks[i].name, product->bank_name) == 0) {
            product->bank = i;
        }
    }
}

static void job_settle_memory(struct job *job)
{
    job->is_memory_auto = job->memory == 0;
    job->memory = job->is_memory_auto ? JOB_MEMORY : job->memory;
    job->cut.memory = job->memory;
}

static status_t job_bank_put_number(struct tree *ratio, const char *key, uint32_t value)
{
    char digits[UNITS_TEXT];
    snprintf(digits, sizeof digits, "%" PRIu32, value);
    return tree_set_text(tree_member(ratio, key), digits);
}

/* Brings the bank's ratio into lowest terms, in the entry too, so that products of 8/6 and 4/3 tell
 * of the same job, and writes the cutoff of a bare transform there. Fails with DEVICE (memory). */
static status_t job_bank_settle(struct job_bank *bank, struct tree *entry)
{
    struct ratio *ratio = &bank->oversample;
    if (bank->taps == 1 && !bank->has_cutoff && !bank->is_oversampled) {
        /* In the text, too: before 0.3 it was 1, unsaid. */
        bank->cutoff = 0;
        TRY(tree_add_value(entry, "cutoff", "0"));
    }
    uint32_t common = bank->is_oversampled ? (uint32_t)gcd_u64(ratio->num, ratio->den) : 1;
    if (common > 1) {
        struct tree *written = tree_member(entry, "oversample");
        *ratio = (struct ratio){ratio->num / common, ratio->den / common};
        TRY(job_bank_put_number(written, "num", ratio->num));
        TRY(job_bank_put_number(written, "den", ratio->den));
    }
    return STATUS_OK;
}

/* Sets what `synthesise` selects. */
static void job_synthesise_settle(struct job *job)
{
    const struct job_synthesise *synthesise = &job->synthesise;
    job->select.has_places = synthesise->has_channels;
    job->select.first_place = synthesise->first_channel;
    job->select.last_place = synthesise->last_channel;
}

static status_t job_settle(struct job *job, struct tree *root)
{
    const struct tree *banks = tree_list(root, "channelise");
    job_settle_memory(job);
    job->layout.automatic = !job->layout.dataset && !job->layout.parts[0] && !job->layout.format;
    job_settle_backend(job);
    job_synthesise_settle(job);
    for (uint32_t i = 0; i < job->nbanks; i++) {
        TRY(job_bank_settle(&job->banks[i], banks->child[i]));
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        job_settle_bank(job, &job->products[i]);
        if (!job->products[i].has_format) {
            job->products[i].format = file_format_of(job->products[i].file);
        }
        job_flag_settle(&job->products[i]);
        struct job_part part = {.effect = JOB_PRODUCT,
                                .product = (int)i,
                                .dedisperse = -1,
                                .bank = job->products[i].bank};
        TRY(job_text(root, part, &job->products[i].text));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(job_settle_dedisperse(job, i));
        struct job_part part = {.effect = JOB_SERIES, .product = -1, .dedisperse = (int)i};
        if (job_reads_voltages(job)) {
            part.product = (int)job->dedisperse[i].input;
            part.bank = job->products[part.product].bank;
        }
        TRY(job_text(root, part, &job->dedisperse[i].text));
        part.effect = JOB_SEARCH;
        TRY(job->dedisperse[i].search.file ? job_text(root, part, &job->dedisperse[i].search_text)
                                           : STATUS_OK);
    }
    return STATUS_OK;
}

/* Puts a number under `key` in the place of the member `was` of an entry of a list at the root; 0:
 * leaves it. */
static status_t job_resolve_entry(struct tree *root, const char *list, uint32_t i, const char *was,
                                  const char *key, uint64_t number)
{
    char digits[UNITS_TEXT];
    char *copy = NULL;
    if (number == 0) {
        return STATUS_OK;
    }
    struct tree *entries = tree_member(root, list);
    struct tree *member =
        tree_member(entries->kind == TREE_LIST ? entries->child[i] : entries, was);
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    TRY(tree_set_text(member, digits));
    TRY(memory_text(key, &copy));
    free(member->key);
    member->key = copy;
    return STATUS_OK;
}

/* Before the tables see it: puts the numbers of channels and spectra in the place of widths and
 * times. Fails with DEVICE (memory). */
static status_t job_resolve(struct tree *root, const struct job_division *division)
{
    for (uint32_t i = 0; i < JOB_BANKS; i++) {
        TRY(job_resolve_entry(root, "channelise", i, "width", "channels", division->channels[i]));
    }
    for (uint32_t i = 0; i < JOB_PRODUCTS; i++) {
        TRY(job_resolve_entry(root, "products", i, "integrate", "integrate",
                              division->integrate[i]));
    }
    return STATUS_OK;
}

status_t job_parse_divided(const char *path, const char *text, size_t length,
                           const char *const *sets, uint32_t nsets, const struct job_each *each,
                           const struct job_division *division, struct job **out)
{
    SCOPED(text_free) struct text input = {0};
    struct yaml_each words = {0};
    SCOPED(mistakes_free) struct mistakes mistakes = {.file = path};
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    SCOPED(job_destroy_at) struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *job, "a job", &job));
    TRY(memory_text(path, &job->path));
    if (each && each->files) {
        TRY(text_add(&input, "input.files=%s", each->files));
        words = (struct yaml_each){.name = each->name, .set = input.data};
    }
    TRY(yaml_file_read(text, length, sets, nsets, words.name ? &words : NULL, &mistakes, &root));
    TRY(each && each->is_input ? job_input_alone(root) : STATUS_OK);
    TRY(division ? job_resolve(root, division) : STATUS_OK);
    TRY(division ? job_divide(root, division) : STATUS_OK);
    TRY(schema_fill(root, job_schema, &mistakes, job));
    job_check(job, root, &mistakes);
    TRY(mistakes_report(&mistakes));
    TRY(job_settle(job, root));
    *out = memory_move(&job);
    return STATUS_OK;
}

status_t job_parse_each(const char *path, const char *text, size_t length, const char *const *sets,
                        uint32_t nsets, const struct job_each *each, struct job **out)
{
    return job_parse_divided(path, text, length, sets, nsets, each, NULL, out);
}

status_t job_parse(const char *path, const char *text, size_t length, const char *const *sets,
                   uint32_t nsets, struct job **out)
{
    return job_parse_each(path, text, length, sets, nsets, NULL, out);
}

status_t job_parse_layout(const char *layout, struct job **out)
{
    static const char text[] = "input: {files: none}";
    const struct job_each each = {.is_input = 1};
    SCOPED(text_free) struct text set = {0};
    TRY(text_add(&set, "input.layout=%s", layout));
    return job_parse_each("--layout", text, strlen(text), (const char *[]){set.data}, 1, &each,
                          out);
}

status_t job_load(const char *path, const char *const *sets, uint32_t nsets, struct job **out)
{
    SCOPED(text_free) struct text text = {0};
    TRY(text_read_file(&text, path, YAML_FILE_BYTES, "a job file (YAML)"));
    return job_parse(path, text.data, text.length, sets, nsets, out);
}

uint64_t job_share_memory(uint64_t left, uint32_t ranks)
{
    const uint64_t least = (uint64_t)256 << 20;
    uint64_t share = left / 2 / max_u64(ranks, 1);
    uint64_t power = max_u64(least, power_below(max_u64(share, 1)));
    return power / 2 * 3 <= share ? power / 2 * 3 : power;
}

void job_take_memory(struct job *job, uint64_t bytes)
{
    job->memory = job->is_memory_auto ? bytes : job->memory;
}

const char *job_memory_words(const struct job *job, char text[JOB_MEMORY_TEXT])
{
    snprintf(text, JOB_MEMORY_TEXT, "%s%s", job->is_memory_auto ? "auto: up to " : "",
             units_bytes(job->memory));
    return text;
}

int job_reads_voltages(const struct job *job)
{
    return job->nproducts > 0;
}

int job_needs_rate(const struct job *job)
{
    int needs = 0;
    for (uint32_t i = 0; i < job->nbanks; i++) {
        needs |= job->banks[i].width_hz > 0;
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        needs |= job->products[i].integrate_s > 0;
    }
    return needs;
}

int job_is_semi_coherent(const struct job *job)
{
    int is_filtered = 0;
    for (uint32_t i = 0; i < job->nfilters; i++) {
        is_filtered |= job->filters[i].source == FILTER_DISPERSION;
    }
    return job_reads_voltages(job) && job->ndedisperse == 1 && job->dedisperse[0].ncoherent > 0 &&
           !is_filtered;
}

const char *job_series_name(const struct job_dedisperse *dedisperse)
{
    return dedisperse->file ? dedisperse->file : dedisperse->search.file;
}

uint32_t job_series_files(const struct job_dedisperse *dedisperse, const char *files[2])
{
    uint32_t count = 0;
    const char *const there[] = {dedisperse->file, dedisperse->search.file};
    for (uint32_t i = 0; i < 2; i++) {
        if (there[i]) {
            files[count++] = there[i];
        }
    }
    return count;
}

uint32_t job_nfiles(const struct job *job)
{
    const char *files[2];
    uint32_t count = job->nproducts;
    if (job_is_semi_coherent(job)) {
        return 1;
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        count += job_series_files(&job->dedisperse[i], files);
    }
    return count;
}

const char *job_file(const struct job *job, uint32_t i)
{
    const char *files[2] = {NULL, NULL};
    if (job_is_semi_coherent(job)) {
        return job->dedisperse[i].file;
    }
    if (i < job->nproducts) {
        return job->products[i].file;
    }
    i -= job->nproducts;
    for (uint32_t j = 0; j < job->ndedisperse; j++) {
        uint32_t count = job_series_files(&job->dedisperse[j], files);
        if (i < count) {
            break;
        }
        i -= count;
    }
    return files[i];
}

const char *job_filterbank(const struct job *job, uint32_t number)
{
    return job_reads_voltages(job) ? job->products[job->dedisperse[number].input].file
                                   : job->files[0];
}

status_t job_copy_run(const struct job *from, struct job *to)
{
    SCOPED(text_free) struct text packed = {0};
    TRY(schema_pack(&packed, job_run_schema, from));
    struct unpack in = {.data = packed.data, .length = packed.length};
    schema_free(job_run_schema, to);
    schema_unpack(&in, job_run_schema, to);
    TRY(unpack_check(&in, "a job"));
    to->is_memory_auto = from->is_memory_auto;
    to->cut.memory = from->cut.memory;
    return STATUS_OK;
}

/* Members of the input that are settled after the tables have filled it. */
static const struct pack_field settled_fields[] = {
    PACK_FIELD(struct job, path),
    PACK_FIELD(struct job, layout.automatic),
    PACK_FIELD(struct job, select.has_places),
    PACK_FIELD(struct job, select.first_place),
    PACK_FIELD(struct job, select.last_place),
    PACK_FIELD(struct job, on_bad),
};
static const struct pack_type settled_type = PACK_TYPE(struct job, settled_fields);

status_t job_pack_input(struct text *out, const struct job *job)
{
    TRY(pack_struct(out, job, &settled_type));
    return schema_pack(out, job_input_schema, job);
}

status_t job_unpack_input(struct unpack *in, struct job **out)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *job, "a job", &job));
    unpack_struct(in, job, &settled_type);
    schema_unpack(in, job_input_schema, job);
    TRY(unpack_check(in, "a job"));
    *out = memory_move(&job);
    return STATUS_OK;
}

void job_destroy(struct job *job)
{
    if (!job) {
        return;
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        free(job->products[i].text);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        free(job->dedisperse[i].text);
        free(job->dedisperse[i].search_text);
    }
    for (uint32_t i = 0; i < job->nfilters; i++) {
        free(job->filters[i].taps);
    }
    for (uint32_t i = 0; i < job->nbanks; i++) {
        free(job->banks[i].window.values);
    }
    free(job->synthesise.coeff);
    free(job->array.packed);
    schema_free(job_schema, job);
    free(job->path);
    free(job);
}
