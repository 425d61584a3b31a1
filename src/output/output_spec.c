/* Puts together what a job, its input and its plan say of the products that are written. */
#include "output/output_spec.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/open.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "output/journal.h"
#include "plan/budget.h"
#include "plan/plan_products.h"
#include "product/export/export_rows.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

/* Allocates `count` items. */
static status_t spec_begin(const struct job *job, uint32_t count, struct output_spec *out)
{
    *out = (struct output_spec){.job = job};
    status_t st = memory_zeroed(count, sizeof *out->items, "products", &out->items);
    out->count = st == STATUS_OK ? count : 0;
    return st;
}

void output_spec_free(struct output_spec *spec)
{
    inputs_free(&spec->inputs);
    free(spec->items);
    *spec = (struct output_spec){0};
}

struct chunk_row output_spec_row(const struct output_spec_item *item)
{
    struct chunk_row row = plan_products_row(&item->spec);
    row.column = item->column;
    return row;
}

status_t output_spec_of_products(const struct job *job, const struct archive *archive,
                                 struct output_spec *out)
{
    TRY(spec_begin(job, job->nproducts, out));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        const struct job_product *product = &job->products[i];
        out->items[i] = (struct output_spec_item){.file = product->file,
                                                  .text = product->text,
                                                  .bank = product->bank,
                                                  .integrate = product->integrate,
                                                  .ratio = 1,
                                                  .has_bandpass = product->has_bandpass,
                                                  .compression = product->compression,
                                                  .format = product->format};
    }
    return inputs_of_bank(job, archive, &out->inputs);
}

void output_spec_plan_products(struct output_spec *spec, const struct channelise_plan *work)
{
    for (uint32_t i = 0; i < spec->count; i++) {
        const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
        struct output_spec_item *item = &spec->items[i];
        size_t coefficients = (size_t)bank->samples_per_spectrum * bank->channelise.taps;
        item->spec = work->products[i].spec;
        item->row_bytes = work->products[i].row_bytes;
        item->ratio = bank->ratio;
        item->spectra = bank->spectra;
        item->choice = bank->channelise.choice;
        item->crc = work->is_bank ? crc_of(bank->coeff, coefficients * sizeof *bank->coeff) : 0;
        if (work->filters && work->filters->synthesis) {
            const struct synthesise_spec *synthesis = &work->filters->synthesis->spec;
            item->crc = crc_more(item->crc, synthesis->coeff,
                                 (size_t)synthesis->taps * synthesis->points * sizeof(double));
        }
        for (uint32_t j = 0; work->filters && j < work->filters->count; j++) {
            const struct filter_spec *filter = &work->filters->stages[j].spec;
            item->crc = crc_more(item->crc, filter->coeff, filter_coeff_bytes(filter));
        }
    }
    spec->is_planned = 1;
    spec->chunking = work->chunking;
    spec->backend = work->backend;
    spec->writers = (uint32_t)min_u64(work->writers, budget_finishers(work));
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        spec->filters[i] = work->filters->stages[i].spec.choice;
    }
    if (work->filters && work->filters->synthesis) {
        spec->synthesis = work->filters->synthesis->spec.choice;
    }
}

/* The items of a dedispersion: its series, what a search of them finds. */
static status_t spec_begin_series(const struct job *job, uint32_t number, struct output_spec *out)
{
    const struct job_dedisperse *what = &job->dedisperse[number];
    const char *files[2];
    TRY(spec_begin(job, job_series_files(what, files), out));
    for (uint32_t i = 0; i < out->count; i++) {
        int is_search = files[i] == what->search.file;
        out->items[i] = (struct output_spec_item){
            .file = files[i],
            .text = is_search ? what->search_text : what->text,
            .integrate = 1,
            .ratio = 1,
            /* Most cells hold zeros, and the table comes with the second file. */
            .compression = is_search ? COMPRESSION_DEFLATE : what->compression,
            .has_times_across = 1,
            .column = is_search ? PEAK_CELL : 1};
    }
    return STATUS_OK;
}

status_t output_spec_of_search(const struct job *job, const struct archive *archive,
                               struct output_spec *out)
{
    TRY(spec_begin_series(job, 0, out));
    return inputs_of_bank(job, archive, &out->inputs);
}

status_t output_spec_of_series(const struct job *job, uint32_t number, const char *filterbank,
                               const struct fbh5 *fbh5, struct output_spec *out)
{
    TRY(spec_begin_series(job, number, out));
    return inputs_of_filterbank(filterbank, fbh5, &out->inputs);
}

void output_spec_plan_series(struct output_spec *spec, const struct dedisperse_plan *d)
{
    spec->is_planned = 1;
    spec->chunking = d->chunking;
    spec->backend = d->backend;
    for (uint32_t i = 0; i < spec->count; i++) {
        struct output_spec_item *item = &spec->items[i];
        item->spec = item->column > 1 ? d->bursts.spec : d->spec;
        item->row_bytes = product_spec_row_bytes(&item->spec);
        item->choice = (struct channelise_choice){.backend = BACKEND_AUTO};
        item->spectra = d->chunking.spectra;
        item->crc = d->delays_crc;
    }
}

status_t output_spec_create(const struct output_spec *spec, uint32_t i, int fd, const char *path,
                            const char *made_of, struct product_place *place,
                            uint64_t *frequency_at)
{
    struct product_spec product = spec->items[i].spec;
    product.inputs = made_of;
    product.align = spec->job->cut.align;
    product.omits_frequencies = fd < 0 || spec->items[i].format != FILE_HDF5;
    return product_create(fd, path, &product, place, frequency_at);
}

/* Disk space that the products need, compared with the free space. */
status_t room_add(struct room *room, const char *path, uint64_t bytes)
{
    enum { BLOCK = 512, PAGE = 4096 }; /* file systems allocate space in pages */
    SCOPED(free_at) char *part = NULL;
    struct stat info;
    uint64_t whole = ceil_div_u64(bytes, PAGE) * PAGE;
    struct room_need *need = &room->needs[room->count];
    REQUIRE(room->count < ROOM_MOST_FILES, STATUS_USAGE, "%s: more than %d products", path,
            ROOM_MOST_FILES);
    TRY(file_part_name(path, &part));
    const uint64_t held = /* by the unfinished file already */
        lstat(part, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_blocks * BLOCK : 0;
    *need = (struct room_need){.path = path, .bytes = whole > held ? whole - held : 0};
    TRY(file_device(path, &need->device));
    room->count++;
    return STATUS_OK;
}

status_t room_sum(const struct room *room, uint32_t i, uint64_t *bytes, uint64_t *left,
                  int *is_first)
{
    const struct room_need *need = &room->needs[i];
    *is_first = 1;
    *bytes = 0;
    for (uint32_t j = 0; j < room->count; j++) {
        int is_same = room->needs[j].device == need->device;
        *is_first &= !is_same || j >= i;
        *bytes += is_same ? room->needs[j].bytes : 0;
    }
    return file_free_bytes(need->path, left);
}

status_t room_check(const struct room *room)
{
    for (uint32_t i = 0; i < room->count; i++) {
        const struct room_need *need = &room->needs[i];
        uint64_t bytes = 0;
        uint64_t left = 0;
        int is_first = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        REQUIRE(left >= bytes, STATUS_NO_SPACE,
                "no space for %s%s: it needs %" PRIu64 " bytes (%s), %" PRIu64 " (%s) are free",
                need->path, bytes > need->bytes ? " and other files on the same file system" : "",
                bytes, units_bytes(bytes), left, units_bytes(left));
    }
    return STATUS_OK;
}

/* Everything that is read against everything that is written. */

enum { NAMES = 4 };

/* Names that a product has on its way, the job's first. */
static const char *protect_name(const struct product_files *files, int i)
{
    const char *const names[NAMES] = {files->path, files->part, files->journal, files->packed};
    return names[i];
}

/* Adds to the guard all files that the job reads and does not make itself. */
static status_t protect_guard_job(const struct job *job, const struct archive *archive,
                                  struct guard *out)
{
    SCOPED(inputs_free) struct inputs inputs = {0};
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    int is_there = 0;
    TRY(guard_add(out, "the job file", job->path));
    if (archive) {
        TRY(inputs_of_bank(job, archive, &inputs));
    } else {
        TRY(file_exists(job->files[0], &is_there));
        REQUIRE(is_there || !strpbrk(job->files[0], "*?["), STATUS_USAGE,
                "%s: input.files is %s, expected one filterbank to dedisperse: --each takes "
                "patterns",
                job->path, job->files[0]);
        TRY(fbh5_open(job->files[0], FBH5_HEADER, &fbh5));
        TRY(inputs_of_filterbank(job->files[0], fbh5, &inputs));
    }
    for (size_t i = 0; i < inputs.count; i++) {
        const struct input *input = &inputs.files[i];
        TRY(guard_add(out, input->small ? input->small : "the input file", input->path));
    }
    return STATUS_OK;
}

static status_t protect_check_two_products(const struct product_files *a,
                                           const struct product_files *b)
{
    int is_same = 0;
    TRY(file_is_same(a->path, b->path, &is_same));
    REQUIRE(!is_same, STATUS_USAGE, "two products are one file: %s, %s", a->path, b->path);
    for (int i = 0; i < NAMES; i++) {
        for (int j = 0; j < NAMES; j++) {
            TRY(file_is_same(protect_name(a, i), protect_name(b, j), &is_same));
            REQUIRE(!is_same, STATUS_USAGE,
                    "%s and %s are one file: a name under which product %s or its journal is "
                    "written, and one of product %s",
                    protect_name(a, i), protect_name(b, j), a->path, b->path);
        }
    }
    return STATUS_OK;
}

/* Product `i` of the job: against what is read, and the products before it. */
static status_t protect_check_product(const struct job *job, uint32_t i, const struct guard *reads)
{
    SCOPED(product_files_free) struct product_files names = {.part = NULL};
    TRY(product_files_of(job_file(job, i), &names));
    const size_t bytes = strlen(text_basename(names.path));
    const size_t most = NAME_MAX - (strlen(names.journal) - strlen(names.path));
    REQUIRE(bytes <= most, STATUS_USAGE,
            "product %s: its name has %zu bytes, expected at most %zu: endings such as "
            ".journal are added while it is written",
            names.path, bytes, most);
    for (int j = 0; j < NAMES; j++) {
        TRY(guard_check(reads, "product", protect_name(&names, j)));
    }
    for (uint32_t k = 0; k < i; k++) {
        SCOPED(product_files_free) struct product_files before = {.part = NULL};
        TRY(product_files_of(job_file(job, k), &before));
        TRY(protect_check_two_products(&before, &names));
    }
    return STATUS_OK;
}

static status_t protect_check_other(const struct job *job, const struct protect_other *other,
                                    const struct guard *reads)
{
    if (!other->path) {
        return STATUS_OK;
    }
    TRY(guard_check(reads, other->what, other->path));
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        SCOPED(product_files_free) struct product_files names = {.part = NULL};
        TRY(product_files_of(job_file(job, i), &names));
        for (int j = 0; j < NAMES; j++) {
            int is_same = 0;
            TRY(file_is_same(other->path, protect_name(&names, j), &is_same));
            REQUIRE(!is_same, STATUS_USAGE, "%s %s is product %s of the job", other->what,
                    other->path, protect_name(&names, j));
        }
    }
    return STATUS_OK;
}

/* The tables of searches: like the others, and against them, and those before. */
static status_t protect_check_tables(const struct job *job, const struct protect_other *others,
                                     uint32_t nothers, const struct guard *reads)
{
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        struct protect_other pair[2] = {{"table", job->dedisperse[i].search.csv}};
        TRY(protect_check_other(job, &pair[0], reads));
        for (uint32_t j = 0; pair[0].path && j < i + nothers; j++) {
            pair[1] = j < i ? (struct protect_other){"table", job->dedisperse[j].search.csv}
                            : others[j - i];
            TRY(protect_others(pair, 2));
        }
    }
    return STATUS_OK;
}

status_t protect_others(const struct protect_other *others, uint32_t nothers)
{
    for (uint32_t i = 0; i < nothers; i++) {
        for (uint32_t j = 0; j < i; j++) {
            int is_same = 0;
            if (others[i].path && others[j].path) {
                TRY(file_is_same(others[i].path, others[j].path, &is_same));
            }
            REQUIRE(!is_same, STATUS_USAGE, "%s %s and %s %s are one file", others[j].what,
                    others[j].path, others[i].what, others[i].path);
        }
    }
    return STATUS_OK;
}

status_t protect_job(const struct job *job, const struct archive *archive,
                     const struct protect_other *others, uint32_t nothers)
{
    SCOPED(guard_free) struct guard reads = {0};
    TRY(protect_guard_job(job, archive, &reads));
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        TRY(protect_check_product(job, i, &reads));
    }
    for (uint32_t i = 0; i < nothers; i++) {
        TRY(protect_check_other(job, &others[i], &reads));
    }
    TRY(protect_check_tables(job, others, nothers, &reads));
    return protect_others(others, nothers);
}
