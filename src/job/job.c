/* From the text of a job to `struct job`: what remains to be done when its tables have filled it.
 */
#include "job/job.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/job_schema.h"
#include "job/yaml/schema.h"
#include "job/yaml/tree_yaml.h"
#include "job/yaml/yaml_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies of a struct that a schema fills, for other processes: the walk of its rows. */

static status_t schema_pack(struct text *out, const struct schema *rows, const void *from);
static void schema_unpack(struct unpack *in, const struct schema *rows, void *to);

static status_t schema_pack_entry(struct text *out, const struct schema *row, const char *at)
{
    char *text = NULL;
    if (row->type == SCHEMA_MAPPING) {
        return schema_pack(out, row->members, at);
    }
    if (row->type == SCHEMA_TEXT) {
        memcpy(&text, at, sizeof text);
        return pack_text(out, text);
    }
    return text_add_bytes(out, at, row->size);
}

static status_t schema_pack_list(struct text *out, const struct schema *row, const char *base)
{
    status_t st = STATUS_OK;
    char *entries = NULL;
    uint32_t count = 0;
    memcpy(&entries, base + row->at, sizeof entries);
    memcpy(&count, base + row->count_at, sizeof count);
    count = entries ? count : 0;
    TRY(pack_u64(out, count));
    for (size_t i = 0; i < count; i++) {
        TRY(schema_pack_entry(out, row, entries + i * row->size));
    }
out:
    return st;
}

static status_t schema_pack_row(struct text *out, const struct schema *row, const char *base)
{
    status_t st = STATUS_OK;
    const char *at = base + row->at;
    TRY(row->given.as ? text_add_bytes(out, base + row->given.at, sizeof row->given.as)
                      : STATUS_OK);
    TRY(row->instead ? schema_pack_row(out, row->instead, base) : STATUS_OK);
    TRY(row->is_pair ? text_add_bytes(out, at, 2 * row->size)
        : row->most  ? schema_pack_list(out, row, base)
                     : schema_pack_entry(out, row, at));
out:
    return st;
}

/* The values of a struct that was filled, for another process of this program, and back into a
 * zeroed struct: the caller's to free, also where unpack_check() fails (io/pack.h). Values of
 * SCHEMA_PARSED must have no pointers. */
static status_t schema_pack(struct text *out, const struct schema *rows, const void *from)
{
    status_t st = STATUS_OK;
    for (const struct schema *row = rows; row->key; row++) {
        TRY(schema_pack_row(out, row, from));
    }
out:
    return st;
}

static void schema_unpack_entry(struct unpack *in, const struct schema *row, char *at)
{
    if (row->type == SCHEMA_MAPPING) {
        schema_unpack(in, row->members, at);
    } else if (row->type == SCHEMA_TEXT) {
        char *text = unpack_text(in);
        memcpy(at, &text, sizeof text);
    } else {
        unpack_bytes(in, at, row->size);
    }
}

static void schema_unpack_list(struct unpack *in, const struct schema *row, char *base)
{
    const uint64_t count = unpack_u64(in);
    /* Every entry takes a byte at least. */
    if (in->failed || count > in->length - in->at || count > UINT32_MAX) {
        in->failed |= 1;
        return;
    }
    char *entries = count > 0 ? calloc((size_t)count, row->size) : NULL;
    const uint32_t had = entries ? (uint32_t)count : 0;
    in->failed |= had < count ? UNPACK_NO_MEMORY : 0;
    memcpy(base + row->at, &entries, sizeof entries);
    memcpy(base + row->count_at, &had, sizeof had);
    for (size_t i = 0; i < had; i++) {
        schema_unpack_entry(in, row, entries + i * row->size);
    }
}

static void schema_unpack_row(struct unpack *in, const struct schema *row, char *base)
{
    char *at = base + row->at;
    if (row->given.as) {
        unpack_bytes(in, base + row->given.at, sizeof row->given.as);
    }
    if (row->instead) {
        schema_unpack_row(in, row->instead, base);
    }
    if (row->is_pair) {
        unpack_bytes(in, at, 2 * row->size);
    } else if (row->most) {
        schema_unpack_list(in, row, base);
    } else {
        schema_unpack_entry(in, row, at);
    }
}

static void schema_unpack(struct unpack *in, const struct schema *rows, void *to)
{
    for (const struct schema *row = rows; row->key; row++) {
        schema_unpack_row(in, row, to);
    }
}

/* A job of which only the input is used, as `voltmill import --job` does. */

static status_t input_add(struct tree *product, const char *key, const char *text)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    TRY(tree_new(TREE_VALUE, text, &value));
    TRY(tree_add(product, key, &value));
out:
    tree_destroy(value);
    return st;
}

/* Keys that are unknown stay: they are mistakes, such as a misspelt `input`. */
static void input_remove(struct tree *node, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (struct tree *member = tree_member(node, keys[i]); member;
             member = tree_member(node, keys[i])) {
            tree_remove(node, member->index);
        }
    }
}

/* Removes all but `input` and `run` before the tables see it, and puts a product of voltages there,
 * which no file will hold. Fails with DEVICE (memory). */
static status_t job_input_alone(struct tree *root)
{
    static const char *const passes[] = {"synthesise", "filter", "channelise", "products",
                                         "dedisperse"};
    /* Voltages have no rows to mark: import itself refuses samples that are lost. */
    static const char *const rows[] = {"on_bad"};
    status_t st = STATUS_OK;
    struct tree *product = NULL;
    struct tree *run = tree_member(root, "run");
    if (root->kind != TREE_MAPPING) {
        goto out;
    }
    input_remove(root, passes, sizeof passes / sizeof *passes);
    if (run && run->kind == TREE_MAPPING) {
        input_remove(run, rows, sizeof rows / sizeof *rows);
    }
    TRY(tree_new(TREE_MAPPING, NULL, &product));
    TRY(input_add(product, "kind", "voltages"));
    TRY(input_add(product, "file", "/dev/null")); /* no input has this name */
    TRY(tree_add(root, "products", &product));
out:
    tree_destroy(product);
    return st;
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

/* Hardly a member of `run` decides bytes: those that do are in a line. */
static status_t job_text_add_run(struct tree *root, unsigned effect, struct text *out)
{
    status_t st = STATUS_OK;
    const struct tree *run = tree_member(root, "run");
    for (size_t i = 0; run && i < run->nchildren; i++) {
        const struct tree *member = run->child[i];
        TRY(schema_has_effect(member, effect)
                ? text_add(out, "run: {%s: %s}\n", member->key, member->text)
                : STATUS_OK);
    }
out:
    return st;
}

/* Gives the YAML that determines the bytes of a part of a checked job: input, filters, bank, the
 * one product and dedispersion, in the job's own order; *out is for free(). */
static status_t job_text(struct tree *root, struct job_part part, char **out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(tree_write(root, job_text_pick, &part, &text));
    TRY(job_text_add_run(root, part.effect, &text));
    *out = text.data;
    text.data = NULL;
out:
    text_free(&text);
    return st;
}

/* Which product is dedispersed, and where: the first power product, by the backend of the filter
 * bank, where the entry does not say. */
static status_t job_settle_dedisperse(struct job *job, uint32_t i)
{
    status_t st = STATUS_OK;
    struct job_dedisperse *dedisperse = &job->dedisperse[i];
    dedisperse->is_two_step = dedisperse->mode == JOB_TWO_STEP;
    dedisperse->backend = dedisperse->has_backend ? dedisperse->backend : job->backend;
    while (!dedisperse->has_input && dedisperse->input < job->nproducts &&
           !product_is_filterbank(job->products[dedisperse->input].kind)) {
        dedisperse->input++;
    }
    REQUIRE(!job_reads_voltages(job) || dedisperse->input < job->nproducts, STATUS_USAGE,
            "%s: dedisperse.%u.input: the job has no power product to dedisperse", job->path, i);
    REQUIRE(!job_reads_voltages(job) || job->products[dedisperse->input].format == FILE_HDF5,
            STATUS_USAGE,
            "%s: dedisperse.%u: what is dedispersed, products.%u, becomes a file of format %s: "
            "expected hdf5 (voltmill export writes others of it)",
            job->path, i, dedisperse->input,
            file_format_name(job->products[dedisperse->input].format));
out:
    return st;
}

/* Settles one backend: those that are named are alike, and the others say AUTO. */
static void job_settle_backend(struct job *job)
{
    for (uint32_t i = 0; i < job->nbanks + job->nfilters; i++) {
        enum backend_kind named =
            i < job->nbanks ? job->banks[i].backend : job->filters[i - job->nbanks].backend;
        job->backend = named != BACKEND_AUTO ? named : job->backend;
    }
    if (job->synthesise.backend != BACKEND_AUTO) {
        job->backend = job->synthesise.backend;
    }
}

/* The bank that makes a product: the first where it names none. */
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

static status_t job_settle(struct job *job, struct tree *root)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

status_t job_parse_divided(const char *path, const char *text, size_t length,
                           const char *const *sets, uint32_t nsets, const struct job_each *each,
                           const struct job_division *division, struct job **out)
{
    status_t st = STATUS_OK;
    struct text input = {0};
    struct yaml_each words = {0};
    struct mistakes mistakes = {.file = path};
    struct tree *root = NULL;
    struct job *job = NULL;
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
    *out = job;
    job = NULL;
out:
    tree_destroy(root);
    mistakes_free(&mistakes);
    text_free(&input);
    job_destroy(job);
    return st;
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
    status_t st = STATUS_OK;
    const struct job_each each = {.is_input = 1};
    struct text set = {0};
    TRY(text_add(&set, "input.layout=%s", layout));
    TRY(job_parse_each("--layout", text, strlen(text), (const char *[]){set.data}, 1, &each, out));
out:
    text_free(&set);
    return st;
}

status_t job_load(const char *path, const char *const *sets, uint32_t nsets, struct job **out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(text_read_file(&text, path, YAML_FILE_BYTES, "a job file (YAML)"));
    TRY(job_parse(path, text.data, text.length, sets, nsets, out));
out:
    text_free(&text);
    return st;
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

int job_is_divided(const struct job *job)
{
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (job->dedisperse[i].dm.is_divided) {
            return 1;
        }
    }
    return 0;
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
    status_t st = STATUS_OK;
    struct text packed = {0};
    TRY(schema_pack(&packed, job_run_schema, from));
    struct unpack in = {.data = packed.data, .length = packed.length};
    schema_free(job_run_schema, to);
    schema_unpack(&in, job_run_schema, to);
    TRY(unpack_check(&in, "a job"));
    to->is_memory_auto = from->is_memory_auto;
    to->cut.memory = from->cut.memory;
out:
    text_free(&packed);
    return st;
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
    status_t st = STATUS_OK;
    TRY(pack_struct(out, job, &settled_type));
    TRY(schema_pack(out, job_input_schema, job));
out:
    return st;
}

status_t job_unpack_input(struct unpack *in, struct job **out)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *job, "a job", &job));
    unpack_struct(in, job, &settled_type);
    schema_unpack(in, job_input_schema, job);
    TRY(unpack_check(in, "a job"));
    *out = job;
    job = NULL;
out:
    job_destroy(job);
    return st;
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
