/* From the text of a job to `struct job`: what remains to be done when its tables have filled it.
 */
#include "job/job.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/job_schema.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
