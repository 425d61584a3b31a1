/* Conversion of an HDF5 filterbank into a file of another format: opened, read block by block,
 * summed over ifs on request, scaled to fewer bits. The format writes the blocks to their
 * places. */
#include "product/export/export_bank.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "input/open.h"
#include "io/crc.h"
#include "io/file.h"

#include <pthread.h>

static uint64_t bank_stored_bits(const struct export_bank *bank)
{
    return 8 * (uint64_t)bank->in->sample_bytes;
}

/* Chooses the numbers to write. Stored numbers of few bits are copied if as many bits are
 * requested, with their scales if the format stores these, else without. The scales are of each
 * block, or of the first block for all. Otherwise the values are written. */
static void bank_choose_numbers(struct export_bank *bank)
{
    struct fbh5 *in = bank->in;
    const struct export_bank_options *options = bank->options;
    int keeps = bank->format->keeps_scale;
    int is_wanted = options->bits == in->steps.bits || (keeps && options->bits == 0);
    if (in->steps.bits > 0 && is_wanted && !options->sum && options->scale.kind == SCALE_NONE) {
        bank->form.is_raw = 1;
        bank->form.steps = in->steps;
        in->sample_bytes = in->steps.bits / 8;
        in->steps.bits = 0;
    }
}

/* The header's rawdatafile: its beginning, and the stamp that is to be there. One that is there
 * already is that of the file which is read. */
static status_t bank_stamp(struct export_bank *bank)
{
    const struct stamp *stamp = bank->options->stamp;
    const char *name = bank->in->head.rawdatafile ? bank->in->head.rawdatafile : "";
    size_t length = stamp_letters_before(name);
    char word[STAMP_WORD] = "";
    if (stamp) {
        stamp_write(stamp, word);
        length = min_u64(length, SIGPROC_LETTERS - strlen(word) - 1);
    }
    TRY(memory_format(&bank->rawdatafile, "%.*s%s%s", (int)length, name,
                      length > 0 && stamp ? " " : "", word));
    bank->header.rawdatafile = bank->rawdatafile;
    return STATUS_OK;
}

/* Opens the input, with a cache for chunks that several blocks share. */
static status_t bank_open_input(struct export_bank *bank)
{
    enum { CACHE_BYTES = 64 << 20 };
    const char *product = bank->options->product;
    TRY(bank->options->is_own ? fbh5_open_own(product, &bank->in)
                              : fbh5_open(product, FBH5_EVEN, &bank->in));
    if (bank->options->is_own) { /* for messages */
        free(memory_move(&bank->in->path));
        TRY(memory_text(bank->options->out, &bank->in->path));
    }
    TRY(external_check(&bank->in->storage.sources, bank->in->path, bank->options->external,
                       EXTERNAL_OPTION));
    if (!bank->in->is_ours) {
        assumed_say(bank->in->path, bank->in->assumed);
    }
    bank_choose_numbers(bank);
    if (!bank->options->is_own) {
        TRY(fbh5_reader_create(bank->in, CACHE_BYTES, 1, &bank->reader));
        TRY(bank->form.is_raw ? file_open_read(product, &bank->scales_fd) : STATUS_OK);
        bank->scales_path = product;
    }
    bank->header = sigproc_of(bank->in);
    TRY(bank_stamp(bank));
    if (!(bank->in->time.tstart_mjd > 0)) {
        report_note("%s does not say when it starts: tstart = 0", bank->in->path);
    }
    return STATUS_OK;
}

/* Sums of what may be below 0 mean nothing. */
static status_t bank_check_sum(const struct fbh5 *in)
{
    enum { FULL = 4 };
    SCOPED(text_free) struct text powers = {0};
    REQUIRE(in->is_ours || in->pols || in->nifs != FULL, STATUS_USAGE,
            "export: %s does not say what its 4 pols are (pol_type), and Stokes parameters or "
            "products of polarisations have no meaningful sum: --pol takes one",
            in->path);
    for (uint32_t i = 0; i < in->nifs; i++) {
        if (in->nifs > 1 && !fbh5_is_power(in, i)) {
            TRY(fbh5_powers(in, &powers));
            TRY(report_fail(
                STATUS_USAGE,
                "export: the pols of %s are %s, whose sum means nothing: --pol takes one; "
                "powers: %s",
                in->path, in->pols, powers.data));
        }
    }
    return STATUS_OK;
}

/* Says the number of ifs, and the names of the first 16: "2: X, Y". */
static status_t bank_refuse_pol(const struct export_bank *bank, int is_several)
{
    enum { LISTED = 16 };
    const struct fbh5 *in = bank->in;
    SCOPED(text_free) struct text names = {0};
    SCOPED(text_free) struct text name = {0};
    for (uint32_t i = 0; i < in->nifs && i < LISTED; i++) {
        name.length = 0;
        TRY(fbh5_name_pol(in, i, &name));
        TRY(name.length ? text_add(&names, "%s%s", i ? ", " : ": ", name.data) : STATUS_OK);
    }
    TRY(text_add(&names, "%s", name.length && in->nifs > LISTED ? ", ..." : ""));
    return report_fail(STATUS_USAGE, "export: --pol %s%s: %s has %u%s", bank->options->only_pol,
                       is_several ? " is ambiguous" : "", in->path, in->nifs, names.data);
}

static status_t bank_choose_ifs(struct export_bank *bank)
{
    const struct export_bank_options *options = bank->options;
    uint64_t there = bank->in->nifs;
    const char *only = options->only_pol;
    uint32_t at = 0;
    const int found = only ? fbh5_find_pol(bank->in, only, strlen(only), &at) : 1;
    TRY(found == 1 ? STATUS_OK : bank_refuse_pol(bank, found > 1));
    TRY(options->sum ? bank_check_sum(bank->in) : STATUS_OK);
    bank->first_if = at;
    bank->nifs = only ? 1 : there;
    bank->header.nifs = options->sum ? 1 : bank->nifs;
    return STATUS_OK;
}

/* Returns the fewest bits that hold every value exactly. */
static uint32_t bank_exact_bits(const struct export_bank *bank)
{
    uint32_t stored = (uint32_t)bank_stored_bits(bank);
    uint64_t terms = bank->options->sum ? bank->nifs : 1;
    if (terms == 1 || stored == 32) {
        return stored;
    }
    return stored == 8 && terms <= UINT16_MAX / UINT8_MAX ? 16 : 32;
}

static status_t bank_choose_bits(struct export_bank *bank)
{
    uint32_t exact = bank_exact_bits(bank);
    bank->form.bits = bank->options->bits ? bank->options->bits : exact;
    struct scale_options scale = bank->options->scale;
    /* The file contains the scales that invert the scaling. */
    if (bank->format->keeps_scale && bank->form.bits < exact && scale.kind == SCALE_NONE) {
        scale.kind = SCALE_CHANNELS;
    }
    enum scale_kind kind = scale.kind;
    REQUIRE(kind == SCALE_NONE || bank->form.bits < 32, STATUS_USAGE,
            "export: --scale is for --bits 8 and 16; 32 bits are floats and need none");
    REQUIRE(kind != SCALE_NONE || bank->form.bits >= exact, STATUS_USAGE,
            "export: %u bits cannot represent what %s contains in %u: say how with --scale "
            "channels, --scale range or --scale LOW..HIGH",
            bank->form.bits, bank->in->path, exact);
    bank->is_plain =
        kind == SCALE_NONE && bank->form.bits == bank_stored_bits(bank) && !bank->options->sum;
    bank->header.nbits = bank->form.bits;
    return scale_begin(&scale, bank->form.bits, bank->header.nifs * bank->header.nchans,
                       &bank->scale);
}

/* Whole spectra in a block, whole chunks of the file where they fit; else a piece of a spectrum. */
static void bank_plan_blocks(struct export_bank *bank)
{
    uint64_t spectrum = bank->nifs * bank->header.nchans;
    uint64_t chunk = bank->in->chunks.rows;
    uint64_t unit = bank->together > 0 ? bank->together : chunk;
    uint64_t samples = bank->together > 0 ? EXPORT_BLOCK : EXPORT_BLOCK / EXPORT_THREADS;
    bank->rows = min_u64(max_u64(samples / spectrum, 1), bank->in->rows);
    bank->rows = bank->rows > unit ? bank->rows - bank->rows % unit : bank->rows;
    bank->chans =
        spectrum <= EXPORT_BLOCK ? bank->header.nchans : max_u64(EXPORT_BLOCK / bank->nifs, 1);
}

/* Allocates the memory of one thread for a block. */
static status_t bank_make_room(struct export_bank *bank)
{
    size_t samples = (size_t)(bank->rows * bank->nifs * bank->chans);
    bank->stored = bank->made = bank->numbers = NULL;
    bank->room = NULL;
    TRY(memory_aligned(samples, bank_stored_bits(bank) / 8, "samples", &bank->stored));
    TRY(memory_zeroed((size_t)bank->header.nchans, bank->format->room + 1, "samples", &bank->room));
    if (!bank->is_plain) {
        TRY(memory_aligned(samples, sizeof *bank->numbers, "samples", &bank->numbers));
        TRY(memory_aligned(samples, bank->form.bits / 8, "samples", &bank->made));
    }
    return STATUS_OK;
}

/* Returns the number of threads whose buffers fit into EXPORT_MEMORY together. */
static uint32_t bank_threads(const struct export_bank *bank)
{
    uint64_t bytes = bank_stored_bits(bank) / 8 +
                     (bank->is_plain ? 0 : sizeof *bank->numbers + bank->form.bits / 8);
    uint64_t most = EXPORT_MEMORY / (bank->rows * bank->nifs * bank->chans * bytes);
    return (uint32_t)min_u64(max_u64(bank->options->threads, 1), max_u64(most, 1));
}

/* Converts the stored samples to floats, summed over ifs on request: [rows][nifs
 * written][chans]. */
static void bank_make_numbers(struct export_bank *bank, const struct fbh5_block *block)
{
    uint64_t terms = bank->options->sum ? bank->nifs : 1;
    uint64_t lines = block->rows * bank->header.nifs;
    for (uint64_t line = 0; line < lines; line++) {
        for (uint64_t i = 0; i < block->chans; i++) {
            double sum = 0;
            for (uint64_t term = 0; term < terms; term++) {
                uint64_t at = (line * terms + term) * block->chans + i;
                sum += bank_stored_bits(bank) == 8    ? ((const uint8_t *)bank->stored)[at]
                       : bank_stored_bits(bank) == 16 ? ((const uint16_t *)bank->stored)[at]
                                                      : (double)((const float *)bank->stored)[at];
            }
            bank->numbers[line * block->chans + i] = (float)sum;
        }
    }
}

/* Returns the scale's channel with which line `line` of the block begins. */
static uint64_t bank_first_channel(const struct export_bank *bank, const struct fbh5_block *block,
                                   uint64_t line)
{
    return line % bank->header.nifs * bank->header.nchans + block->chan;
}

static status_t bank_measure_block(struct export_bank *bank, const struct fbh5_block *block)
{
    bank_make_numbers(bank, block);
    for (uint64_t line = 0; line < block->rows * bank->header.nifs; line++) {
        scale_measure(&bank->scale, bank->numbers + line * block->chans, block->chans,
                      bank_first_channel(bank, block, line));
    }
    return STATUS_OK;
}

static void bank_encode_block(struct export_bank *bank, const struct fbh5_block *block)
{
    uint64_t bytes = block->chans * bank->form.bits / 8;
    bank_make_numbers(bank, block);
    for (uint64_t line = 0; line < block->rows * bank->header.nifs; line++) {
        const float *values = bank->numbers + line * block->chans;
        char *out = (char *)bank->made + line * bytes;
        if (bank->form.bits == 32) {
            memcpy(out, values, bytes);
        } else {
            scale_encode(&bank->scale, values, block->chans, bank_first_channel(bank, block, line),
                         out);
        }
    }
}

static status_t bank_write_block(struct export_bank *bank, const struct fbh5_block *block)
{
    if (!bank->is_plain) {
        bank_encode_block(bank, block);
    }
    char *data = bank->is_plain ? bank->stored : bank->made;
    if (bank->form.bits == 32) {
        bank->nans += export_count_nans((const float *)(void *)data,
                                        block->rows * bank->header.nifs * block->chans);
    }
    return bank->format->put(bank, block, data);
}

static struct fbh5_block bank_block(const struct export_bank *bank, uint64_t number)
{
    uint64_t across = ceil_div_u64(bank->header.nchans, bank->chans);
    uint64_t row = number / across * bank->rows;
    uint64_t chan = number % across * bank->chans;
    return (struct fbh5_block){.row = row,
                               .rows = min_u64(bank->rows, bank->in->rows - row),
                               .first_if = bank->first_if,
                               .nifs = bank->nifs,
                               .chan = chan,
                               .chans = min_u64(bank->chans, bank->header.nchans - chan)};
}

/* All of the input, block by block: each thread has a bank of its own, and one at a time reads. */
struct bank_walk {
    struct export_bank banks[EXPORT_THREADS];
    status_t (*use)(struct export_bank *, const struct fbh5_block *);
    pthread_mutex_t reading;
};

static status_t bank_walk_block(void *context, uint32_t thread, uint64_t number)
{
    struct bank_walk *walk = context;
    struct export_bank *bank = &walk->banks[thread];
    struct fbh5_block block = bank_block(bank, number);
    int is_shared = !fbh5_is_plain(bank->in, &block);
    if (is_shared) {
        pthread_mutex_lock(&walk->reading);
    }
    status_t st = fbh5_read(bank->reader, &block, bank->stored);
    if (is_shared) {
        pthread_mutex_unlock(&walk->reading);
    }
    TRY(st);
    return walk->use(bank, &block);
}

/* Adds what the threads' banks have counted to that of `bank`. */
static void bank_walk_end(struct bank_walk *walk, uint32_t threads, struct export_bank *bank)
{
    for (uint32_t i = 0; i < threads; i++) {
        struct export_bank *own = &walk->banks[i];
        bank->nans += own->nans;
        bank->scale.clipped += own->scale.clipped;
        bank->scale.blanks += own->scale.blanks;
        bank->scale.low = own->scale.low; /* one thread alone measures */
        bank->scale.high = own->scale.high;
        if (own->reader != bank->reader) {
            fbh5_reader_destroy(own->reader);
        }
        MEMORY_FREE(own->stored, own->numbers, own->made, own->room);
    }
}

static status_t bank_for_each_block(struct export_bank *bank, uint32_t threads,
                                    status_t (*use)(struct export_bank *,
                                                    const struct fbh5_block *))
{
    status_t st = STATUS_OK;
    struct bank_walk *walk = NULL;
    uint64_t blocks =
        ceil_div_u64(bank->in->rows, bank->rows) * ceil_div_u64(bank->header.nchans, bank->chans);
    uint32_t ready = 0;
    threads = (uint32_t)min_u64(threads, min_u64(blocks, EXPORT_THREADS));
    TRY_OUT(memory_zeroed(1, sizeof *walk, "an export", &walk));
    walk->use = use;
    pthread_mutex_init(&walk->reading, NULL);
    const struct fbh5_block widest = bank_block(bank, 0);
    while (ready < threads) {
        struct export_bank *own = &walk->banks[ready++];
        *own = *bank;
        own->nans = own->scale.clipped = own->scale.blanks = 0;
        TRY_OUT(bank_make_room(own));
        /* Chunks that several blocks share are kept by one reader. */
        TRY_OUT(fbh5_is_plain(bank->in, &widest) ? fbh5_reader_create(bank->in, 0, 1, &own->reader)
                                                 : STATUS_OK);
    }
    TRY_OUT(pool_try_each(threads, blocks, bank_walk_block, walk));
out:
    if (walk) {
        bank_walk_end(walk, ready, bank);
        pthread_mutex_destroy(&walk->reading);
    }
    free(walk);
    return st;
}

/* Its file, not over what is read: the filterbank, and all files that it leads to. */
static status_t bank_begin_file(struct export_bank *bank, const char *path)
{
    static const char what[] = "the file which it is made of,";
    SCOPED(guard_free) struct guard reads = {0};
    const struct export_plan plan = {.path = path,
                                     .mark = MARK_EXPORT,
                                     .force = bank->options->force,
                                     .bytes = bank->form.bytes,
                                     .head = &bank->head};
    TRY(guard_add(&reads, what, bank->in->path));
    for (uint32_t i = 0; i < bank->in->storage.sources.count; i++) {
        TRY(guard_add(&reads, what, bank->in->storage.sources.items[i].path));
    }
    TRY(export_file_check(&plan, &reads));
    return export_file_begin(&plan, bank->file);
}

static status_t bank_write(struct export_bank *bank, const char *path)
{
    TRY(bank_begin_file(bank, path));
    TRY(export_file_reserve(bank->file, bank->form.bytes));
    if (scale_must_measure(&bank->scale)) {
        /* Sums are of the rows in their order. */
        TRY(bank_for_each_block(bank, 1, bank_measure_block));
    }
    TRY(scale_settle(&bank->scale, bank->in->path));
    TRY(bank_for_each_block(bank, bank_threads(bank), bank_write_block));
    return export_file_publish(bank->file);
}

/* Warns of properties that could surprise readers of the file. */
static void bank_warn(const struct export_bank *bank, const char *path)
{
    uint64_t nans = bank->form.bits == 32 ? bank->nans : bank->scale.blanks;
    if (nans > 0) {
        report_note("%s: %llu %s of %s %s NaN (holes of the run?): %s", path,
                    (unsigned long long)nans, units_plural(nans, "sample", "samples"),
                    bank->in->path, units_plural(nans, "is", "are"),
                    bank->form.bits == 32 ? "they stay NaN"
                    : bank->scale.options.kind == SCALE_CHANNELS || bank->form.is_raw
                        ? "their channels' means stand there"
                        : "0 stands there");
    }
}

static status_t bank_say(const struct export_bank *bank, const char *path, struct text *out)
{
    const struct sigproc *header = &bank->header;
    int is_before = 0;
    TRY(export_file_say_before(bank->file, out, &is_before));
    if (is_before) {
        return STATUS_OK;
    }
    double last = header->fch1 + (double)(header->nchans - 1) * header->foff;
    TRY(text_add_shown(
        out, "%s: %s, %s of %llu x %llu channels, %.9g to %.9g MHz%s, %s, %s\n", path,
        bank->format->title, units_amount(bank->in->rows, "spectrum", "spectra"),
        (unsigned long long)header->nifs, (unsigned long long)header->nchans, header->fch1, last,
        bank->form.is_reversed ? " (reversed: the highest comes first)" : "",
        bank->form.bits == 32  ? "32-bit float"
        : bank->form.bits == 8 ? "8 bit"
                               : "16 bit",
        units_bytes(bank->form.bytes)));
    TRY(bank->scale.options.kind != SCALE_NONE ? scale_say(&bank->scale, out) : STATUS_OK);
    if (bank->form.is_raw) {
        TRY(text_add(out, bank->format->keeps_scale
                              ? "numbers and scales as they are stored\n"
                              : "numbers as they are stored, each channel by its own scale, which "
                                "the file cannot say; 0 is no number\n"));
    }
    return STATUS_OK;
}

static void bank_end(struct export_bank *bank)
{
    if (bank->file) {
        export_file_end(bank->file);
    }
    free(bank->scale.lines);
    text_free(&bank->head);
    free(bank->rawdatafile);
    file_close(bank->scales_fd);
    fbh5_reader_destroy(bank->reader);
    fbh5_destroy(bank->in);
}

const struct bank_format *export_bank_format(enum file_format format)
{
    return format == FILE_PSRFITS ? &export_psrfits_format : &export_fil_format;
}

/* Opens the input, and finds the form and head of the output. */
static status_t bank_begin(struct export_bank *bank)
{
    TRY(bank_open_input(bank));
    TRY(bank_choose_ifs(bank));
    TRY(bank_choose_bits(bank));
    TRY(bank->format->begin(bank));
    const struct sigproc *header = &bank->header;
    struct export_rows *form = &bank->form;
    form->format = bank->options->format;
    form->rows = bank->in->rows;
    form->nifs = header->nifs;
    form->nchans = header->nchans;
    form->row_bytes = form->nifs * form->nchans * form->bits / 8;
    form->begin = bank->head.length;
    form->head_crc = crc_of(bank->head.data + MARK_BYTES, bank->head.length - MARK_BYTES);
    form->fch1 = header->fch1;
    form->foff = header->foff;
    form->step = bank->in->time.step;
    form->ra = header->raj_hours * 15;
    form->dec = header->dej_degrees;
    form->az = header->az_start;
    form->za = header->za_start;
    form->lines = (uint64_t)bank->in->nifs * bank->in->nchannels;
    form->first_line = bank->first_if * bank->in->nchannels;
    return STATUS_OK;
}

status_t export_rows_of(const struct export_bank_options *options, struct text *head,
                        struct export_rows *out)
{
    SCOPED(bank_end)
    struct export_bank bank = {
        .options = options, .format = export_bank_format(options->format), .scales_fd = -1};
    TRY(bank_begin(&bank));
    *out = bank.form;
    *head = bank.head;
    bank.head = (struct text){0};
    return STATUS_OK;
}

status_t export_bank(const struct export_bank_options *options, struct text *said)
{
    const struct bank_format *format = export_bank_format(options->format);
    SCOPED(free_at) char *path = NULL;
    struct export_file file = EXPORT_FILE_NONE;
    SCOPED(bank_end)
    struct export_bank bank = {
        .options = options, .format = format, .file = &file, .scales_fd = -1};
    TRY(export_name(options->out, options->product, format->ending, &path));
    TRY(bank_begin(&bank));
    bank_plan_blocks(&bank);
    TRY(bank_write(&bank, path));
    TRY(bank_say(&bank, path, said));
    bank_warn(&bank, path);
    return STATUS_OK;
}
