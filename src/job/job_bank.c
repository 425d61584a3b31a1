/* `channelise` in a job file: the keys of a filter bank, what they must have in common, and which
 * bank makes a product. */
#include "base/memory.h"
#include "job/job_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int job_bank_parse_window(const char *text, void *out, char *message)
{
    static const char kaiser[] = "kaiser:";
    static const char file[] = "file:";
    struct job_window *window = out;
    (void)message;
    if (strncmp(text, kaiser, strlen(kaiser)) == 0) {
        window->kind = WINDOW_KAISER;
        /* Up to 100 the Bessel functions stay far from overflow, and no one needs more. */
        return tree_parse_number(text + strlen(kaiser), &window->kaiser_beta) &&
               window->kaiser_beta >= 0 && window->kaiser_beta <= 100;
    }
    if (strncmp(text, file, strlen(file)) == 0) {
        window->kind = WINDOW_FILE;
        window->path = text + strlen(file);
        return *window->path != '\0';
    }
    static const enum window_kind simple[] = {WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN,
                                              WINDOW_RECT};
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        if (strcmp(text, window_name(simple[i])) == 0) {
            window->kind = simple[i];
            return 1;
        }
    }
    return 0;
}

static int job_bank_parse_cutoff(const char *text, void *out, char *message)
{
    double value = CUTOFF_FLAT;
    (void)message;
    int ok =
        strcmp(text, "flat") == 0 || (tree_parse_number(text, &value) && value >= 0 && value <= 64);
    memcpy(out, &value, sizeof value);
    return ok;
}

#define BANK(member) SCHEMA_AT(struct job_bank, member)

static const struct schema oversample_rows[] = {
    {"num", SCHEMA_WHOLE, "P, larger than Q", BANK(oversample.num), .is_required = 1, .min = 2,
     .max = 1000000},
    {"den", SCHEMA_WHOLE, "Q", BANK(oversample.den), .is_required = 1, .min = 1, .max = 1000000},
    {.key = NULL},
};

const struct schema job_bank_schema[] = {
    {"name", SCHEMA_TEXT, "name by which products refer to the bank (`bank`)",
     .absent = "none; required in a list of several", BANK(name), JOB_WITHOUT_EFFECT,
     .expected = "a name for products to call the bank by"},
    {"channels", SCHEMA_WHOLE, "channels made of each coarse channel (C)", BANK(channels),
     .is_required = 1, .is_even = 1, .min = 2, .max = 1 << 30},
    {"taps", SCHEMA_WHOLE, "length of the filter in spectra (T); 1 is a windowed Fourier transform",
     BANK(taps), SCHEMA_GIVEN(struct job_bank, has_taps, 1), .min = 1, .max = 1 << 24,
     .otherwise = "8"},
    {"oversample", SCHEMA_MAPPING,
     "`{num: P, den: Q}`: samples channels P/Q times as fast as their spacing", .absent = "1/1",
     .members = oversample_rows, SCHEMA_GIVEN(struct job_bank, is_oversampled, 1),
     .expected = "a mapping with num and den"},
    {"attenuation", SCHEMA_NUMBER,
     "with `oversample`, instead of `taps`: attenuation, in dB, of what aliases into the part of a "
     "channel that is kept",
     .absent = "as `taps` reach", BANK(attenuation), .min = 20, .max = 200},
    {"window", SCHEMA_TEXT, "window of the filter", BANK(window),
     SCHEMA_GIVEN(struct job_bank, has_window, 1), .parse = job_bank_parse_window,
     .otherwise = "hann",
     .expected = "one of hann, hamming, blackman, kaiser:BETA (0 to 100), rect, file:PATH"},
    {"window_points", SCHEMA_WHOLE,
     "coefficients per tap in the file of `window`, if it was made for another number of channels: "
     "they are resampled",
     .absent = "samples of a raw spectrum", BANK(window_points), .min = 1, .max = 1 << 30},
    {"cutoff", SCHEMA_PARSED,
     "bandwidth of the filter in channels: 1 puts -6 dB at the edges of a channel, 0 uses the "
     "window alone; `flat` finds the bandwidth with -3 dB there",
     .absent = "1; oversampled: `num` / `den`", BANK(cutoff),
     SCHEMA_GIVEN(struct job_bank, has_cutoff, 1), .parse = job_bank_parse_cutoff, .otherwise = "1",
     .expected = "flat or a number from 0 to 64"},
    {"normalise", SCHEMA_CHOICE,
     "gain of the filter: `energy` keeps the variance of white noise, `peak` the amplitude of a "
     "tone at the centre of a channel, `none` the coefficients",
     BANK(normalise), .choices = normalise_names},
    {"order", SCHEMA_CHOICE,
     "order of the channels: ascending sky frequency, or `fft` as the transform gives it",
     BANK(order), .choices = order_names},
    {"backend", SCHEMA_CHOICE,
     "`opencl` computes on a GPU (or another OpenCL device), `cpu` on the processor, `reference` "
     "slowly, in double precision; `auto` is `opencl` if every rank sees a GPU, else `cpu`",
     BANK(backend), .choices = backend_names},
    {"kernel", SCHEMA_CHOICE,
     "OpenCL kernel (opencl.md): `fused` filters and transforms in one kernel, `fine` by columns "
     "and rows, `slide`, `cache`, `local` or `blocks` filter before a library's FFT; `auto` "
     "measures them on the device and remembers",
     BANK(kernel), .choices = kernel_names},
    {"fft", SCHEMA_CHOICE, "FFT library on OpenCL devices, for kernels that use one", BANK(fft),
     .choices = fft_names},
    {.key = NULL},
};

/* The place of the bank of this name (NULL: the first) among `banks`; their number when there is
 * none. */
static size_t job_bank_place(const struct tree *banks, const char *name)
{
    size_t i = 0;
    for (; name && i < banks->nchildren; i++) {
        if (tree_says(banks->child[i], "name", name)) {
            break;
        }
    }
    return i;
}

struct tree *job_bank_of(struct tree *root, struct tree *product)
{
    const struct tree *banks = tree_list(root, "channelise");
    size_t place = banks ? job_bank_place(banks, tree_value(product, "bank")) : 0;
    return banks && place < banks->nchildren ? banks->child[place] : NULL;
}

status_t job_bank_check_product(struct tree *root, struct tree *product, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const char *name = tree_value(product, "bank");
    struct tree *bank = job_bank_of(root, product);
    if (name && !bank) {
        TRY(mistakes_at(mistakes, product, "bank",
                        "is %.40s, expected the name of an entry of channelise", name));
    }
    if (bank && tree_says(product, "kind", "power") && tree_says(bank, "order", "fft")) {
        TRY(mistakes_at(mistakes, product, "kind",
                        "is power, but channelise.order is fft: the frequency axis of a power "
                        "product must ascend"));
    }
    if (bank && tree_member(bank, "oversample") && tree_at(product, "flag.kurtosis")) {
        TRY(mistakes_at(mistakes, product, "flag.kurtosis",
                        "takes spectra for independent ones, but those of an oversampled bank "
                        "share samples: expected flag.mask or flag.channels"));
    }
    if (bank && tree_list(product, "freq_hz") && tree_says(bank, "order", "fft")) {
        TRY(mistakes_at(mistakes, product, "freq_hz",
                        "is for frequencies that ascend, but channelise.order is fft: expected "
                        "channels"));
    }
out:
    return st;
}

/* Whether some product is of the bank. */
static int job_bank_is_used(struct tree *root, const struct tree *bank)
{
    const struct tree *products = tree_list(root, "products");
    for (size_t i = 0; products && i < products->nchildren; i++) {
        if (job_bank_of(root, products->child[i]) == bank) {
            return 1;
        }
    }
    return !products; /* which has been told */
}

/* What the prototype of an oversampled bank is made of must leave it something to make. */
static status_t job_bank_check_oversample(const struct job_bank *bank, struct tree *entry,
                                          struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct ratio ratio = bank->oversample;
    const int is_told = bank->attenuation > 0;
    if (bank->is_oversampled && ratio.num > 0 && ratio.den > 0 && ratio.num <= ratio.den) {
        TRY(mistakes_at(mistakes, entry, "oversample",
                        "is %u/%u, expected num to be greater than den: so many times as often as "
                        "channels are apart",
                        ratio.num, ratio.den));
    } else if (bank->is_oversampled && tree_says(entry, "cutoff", "flat")) {
        TRY(mistakes_at(mistakes, entry, "cutoff",
                        "is flat, but channels that are oversampled are flat as they are: expected "
                        "a number, or none"));
    }
    if (is_told && !bank->is_oversampled) {
        TRY(mistakes_at(mistakes, entry, "attenuation",
                        "designs the prototype of an oversampled bank, expected oversample beside "
                        "it"));
    } else if (is_told && bank->has_taps) {
        TRY(mistakes_at(mistakes, entry, "attenuation",
                        "finds the number of taps, but taps says it, too: expected one of them"));
    } else if (is_told && (bank->has_window || bank->has_cutoff)) {
        TRY(mistakes_at(mistakes, entry, "attenuation",
                        "finds window and cutoff, but %s says it, too: expected one of them",
                        bank->has_window ? "window" : "cutoff"));
    }
out:
    return st;
}

/* Several banks take the same samples, so what becomes of those must suit all. */
static status_t job_bank_check_several(struct tree *root, struct tree *bank,
                                       struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (tree_value(bank, "name") && !job_bank_is_used(root, bank)) {
        TRY(mistakes_at(mistakes, bank, "name",
                        "is %.40s, but no product says that as its bank, expected one",
                        tree_value(bank, "name")));
    }
out:
    return st;
}

/* Names tell banks apart. */
static status_t job_bank_check_name(const struct tree *banks, struct tree *bank,
                                    struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const char *name = tree_value(bank, "name");
    size_t place = name ? job_bank_place(banks, name) : bank->index;
    if (!tree_member(bank, "name") && banks->nchildren > 1) {
        TRY(mistakes_at(mistakes, bank, "name",
                        "is missing, expected a name, which products say as their bank"));
    } else if (place < bank->index) {
        TRY(mistakes_at(mistakes, bank, "name", "is that of channelise.%zu, too", place));
    }
out:
    return st;
}

static status_t job_bank_check_window(const struct job_bank *bank, struct tree *entry,
                                      struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (bank->window_points > 0 && bank->has_window && bank->window.kind != WINDOW_FILE) {
        TRY(mistakes_at(mistakes, entry, "window_points",
                        "is how many coefficients a tap has in a file, but window is none: "
                        "expected file:PATH there"));
    } else if (bank->window_points > 0 && !bank->has_window) {
        TRY(mistakes_at(mistakes, entry, "window_points",
                        "is how many coefficients a tap has in a file, expected window: file:PATH "
                        "beside it"));
    }
out:
    return st;
}

/* A cutoff that is to be found must be able to make a channel wider or narrower. */
static status_t job_bank_check_cutoff(const struct job_bank *bank, struct tree *entry,
                                      struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (!tree_says(entry, "cutoff", "flat")) {
        return STATUS_OK;
    }
    if (bank->window.kind == WINDOW_FILE) {
        TRY(mistakes_at(mistakes, entry, "cutoff",
                        "is flat, but window is a file, which has the coefficients themselves: no "
                        "cutoff is applied to them, expected another window, or no cutoff"));
    } else if (bank->taps == 1) {
        TRY(mistakes_at(mistakes, entry, "cutoff",
                        "is flat, but taps is 1, a Fourier transform whose channels are as wide as "
                        "its window makes them: expected at least 2 taps, or a number"));
    }
out:
    return st;
}

status_t job_bank_check(const struct job *job, struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const uint64_t most = (uint64_t)1 << 34; /* 64 GiB of coefficients */
    const struct tree *banks = tree_list(root, "channelise");
    for (uint32_t i = 0; banks && i < job->nbanks && i < JOB_BANKS; i++) {
        const struct job_bank *bank = &job->banks[i];
        struct tree *entry = banks->child[i];
        uint64_t coefficients = (uint64_t)bank->channels * bank->taps;
        if (coefficients > most) {
            TRY(mistakes_at(
                mistakes, entry, tree_value(entry, "taps") ? "taps" : "channels",
                "%u channels times %u taps are %llu coefficients, expected at most %llu",
                bank->channels, bank->taps, (unsigned long long)coefficients,
                (unsigned long long)most));
        }
        TRY(job_bank_check_name(banks, entry, mistakes));
        TRY(job_bank_check_window(bank, entry, mistakes));
        TRY(job_bank_check_cutoff(bank, entry, mistakes));
        TRY(job_bank_check_oversample(bank, entry, mistakes));
        TRY(job->nbanks > 1 ? job_bank_check_several(root, entry, mistakes) : STATUS_OK);
    }
out:
    return st;
}

static status_t job_bank_put_number(struct tree *ratio, const char *key, uint32_t value)
{
    status_t st = STATUS_OK;
    char text[UNITS_TEXT];
    struct tree *made = NULL;
    struct tree *was = tree_member(ratio, key);
    snprintf(text, sizeof text, "%" PRIu32, value);
    TRY(tree_new(TREE_VALUE, text, &made));
    made->is_plain = 1;
    made->line = was->line;
    made->set = was->set;
    tree_replace(ratio, was->index, &made);
out:
    tree_destroy(made);
    return st;
}

status_t job_bank_settle(struct job_bank *bank, struct tree *entry)
{
    status_t st = STATUS_OK;
    struct ratio *ratio = &bank->oversample;
    uint32_t common = bank->is_oversampled ? (uint32_t)gcd_u64(ratio->num, ratio->den) : 1;
    if (common > 1) {
        struct tree *written = tree_member(entry, "oversample");
        *ratio = (struct ratio){ratio->num / common, ratio->den / common};
        TRY(job_bank_put_number(written, "num", ratio->num));
        TRY(job_bank_put_number(written, "den", ratio->den));
    }
out:
    return st;
}
