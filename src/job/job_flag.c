/* `products.N.flag` in a job file: its keys, and what they must have in common with the product. */
#include "base/memory.h"
#include "job/job_schema.h"

enum { JOB_RANGES = 1 << 16, JOB_FLAG_SPECTRA = 1024 /* of a cell, where that suits */ };

static const struct schema range_rows[] = {
    {"range", SCHEMA_WHOLE, "first and last channel", SCHEMA_PAIR(struct job_range, first),
     .max = 0x1p40, .is_required = 1, .expected = "two whole numbers: [first, last]"},
    {.key = NULL},
};

#define FLAG(member) SCHEMA_AT(struct job_flag, member)

const struct schema job_flag_schema[] = {
    {"kurtosis", SCHEMA_NUMBER,
     "omits cells whose spectral kurtosis differs by N sigma from that of noise (steady "
     "tones are below, pulses above), and stores it; 0 only stores it",
     FLAG(kurtosis), SCHEMA_GIVEN(struct job_flag, has_kurtosis, 1), .max = JOB_KURTOSIS_SIGMA},
    {"spectra", SCHEMA_WHOLE,
     "spectra of a cell; it divides `integrate`. Kurtosis needs at least 8, and detects more with "
     "hundreds",
     .absent = "1024 if that divides `integrate`, else `integrate`", FLAG(spectra), .min = 1,
     .max = 0x1p40},
    {"mask", SCHEMA_TEXT, "file of channels and times to omit", FLAG(mask),
     .expected = "the path of a text file of frequencies and times, or of a product with /flags"},
    {"channels", SCHEMA_MAPPING,
     "channels to omit, by number among those of the filter bank (coarse channels side by side, "
     "from 0); the last of a range is included",
     SCHEMA_LIST(struct job_flag, channels, nchannels, 1, JOB_RANGES), .members = range_rows,
     .list_key = "range", .expected = "a list of ranges: [[first, last], ...]"},
    {.key = NULL},
};

static uint64_t job_flag_spectra(uint64_t integrate)
{
    return integrate % JOB_FLAG_SPECTRA == 0 ? JOB_FLAG_SPECTRA : integrate;
}

void job_flag_settle(struct job_product *product)
{
    struct job_flag *flag = &product->flag;
    flag->spectra = flag->spectra > 0 ? flag->spectra : job_flag_spectra(product->integrate);
}

static status_t job_flag_check_spectra(struct tree *product, struct tree *flag,
                                       struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    uint64_t integrate = (uint64_t)tree_number(product, "integrate", 1);
    uint64_t spectra = (uint64_t)tree_number(flag, "spectra", 0);
    uint64_t cell = spectra > 0 ? spectra : job_flag_spectra(max_u64(integrate, 1));
    const char *key = spectra > 0 ? "spectra" : NULL;
    if (integrate % cell != 0) {
        TRY(mistakes_at(mistakes, flag, key,
                        "is %llu, expected a number that divides integrate, %llu: a dump is made "
                        "of whole cells",
                        (unsigned long long)cell, (unsigned long long)integrate));
    } else if (tree_value(flag, "kurtosis") && cell < JOB_KURTOSIS_SPECTRA) {
        TRY(mistakes_at(mistakes, flag, key,
                        "takes the kurtosis of %llu spectra, expected at least %d (integrate is "
                        "%llu)",
                        (unsigned long long)cell, JOB_KURTOSIS_SPECTRA,
                        (unsigned long long)integrate));
    }
out:
    return st;
}

status_t job_flag_check(struct tree *product, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *flag = tree_at(product, "flag");
    if (!flag) {
        goto out;
    }
    const struct tree *ranges = tree_list(flag, "channels");
    if (!tree_value(flag, "kurtosis") && !tree_value(flag, "mask") && !ranges) {
        TRY(mistakes_at(mistakes, product, "flag", "expected kurtosis, mask or channels in it"));
    }
    for (size_t i = 0; ranges && i < ranges->nchildren; i++) {
        struct tree *range = ranges->child[i];
        if (tree_number(range, "range.1", 0) < tree_number(range, "range.0", 0)) {
            TRY(mistakes_at(mistakes, range, NULL, "ends at %s, before the %s where it begins",
                            tree_value(range, "range.1"), tree_value(range, "range.0")));
        }
    }
    TRY(job_flag_check_spectra(product, flag, mistakes));
out:
    return st;
}
