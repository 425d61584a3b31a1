/* The table of attributes, and its walks. */
#include "product/attributes.h"

#include "dsp/stokes.h"
#include "io/hdf5/h5.h"
#include "product/ifs.h"
#include "product/kind/bank_axes.h"

static const char oversampling_convention[] =
    "Spectra begin every H = samples_between_spectra = P oversampling_den / oversampling_num "
    "samples: in time_convention and filter_convention x[(s + t) P + n] is x[s H + t P + n], and "
    "in frequency_convention n is (n + s H) mod P, so that phases count from the first selected "
    "sample: a tone at frequency f above a channel's centre turns by f H / sample_rate_hz from "
    "spectrum to spectrum. A channel has complex samples of channel_width_hz, and holds what lies "
    "within half of that of its centre; within half of channel_spacing_hz nothing folds into it "
    "but what the filter leaves.";

static const char kept_convention[] =
    "Of the channels that the filter bank makes, coarse channels side by side and counted from 0, "
    "the file has those from first_channel on; each of its frequencies is the mean of `average` "
    "neighbouring channels.";

static const char weights_convention[] =
    "The weight of a spectrum is the sum of b^2 over the good ones of its taps * "
    "samples_per_spectrum samples, divided by the sum over all; behind filters a sample counts "
    "with the share of the filter's energy (of dispersion: of its taps, all alike) that came from "
    "good ones. A dump has the mean of its spectra. Where it is below min_weight, the rows are "
    "NaN; where is_renormalised is 1, power was divided by it, as 32-bit floats (and is NaN where "
    "it is 0).";

static const char flagged_convention[] =
    "Each channel has a weight of its own: the mean over the cells of a dump, in which those that "
    "are flagged (/flags) have none; of the mean of neighbouring channels, which leaves out those "
    "that are NaN, the mean of theirs.";

static const char linear_convention[] =
    "I = XX + YY, Q = XX - YY, U = 2 Re X Y*, V = 2 Im X Y*, in the frame of the feeds (no "
    "parallactic angle, no calibration), of amplitudes of exp(+ i omega t). V is that of the IAU, "
    "positive where the field turns from x to y (right-handed by IEEE); where stokes_v is psr it "
    "has the other sign.";

static const char circular_convention[] =
    "I = RR + LL, Q = 2 Re R L*, U = 2 Im R L*, V = RR - LL, in the frame of the feeds (no "
    "parallactic angle, no calibration), of amplitudes of exp(+ i omega t). V is that of the IAU; "
    "where stokes_v is psr it has the other sign.";

static const char coherency_convention[] =
    "A A*, B B*, Re A B*, Im A B* of the polarisations A, B in the archive's order, of amplitudes "
    "of exp(+ i omega t).";

static const char sum_convention[] =
    "Powers were added up, each divided by its own weight before (where is_renormalised is 1), "
    "times sum_weights where there are any; those whose weight is below min_weight were left out, "
    "and what was left was multiplied by the sum_weights of all over those of what was left. The "
    "weight of a sum is the mean of theirs by sum_weights, 0 for those that were left out.";

static const char raw_sum_convention[] =
    "Powers were added up as the filter bank made them, times sum_weights where there are any; "
    "those whose weight is below min_weight were left out, and nothing was multiplied in their "
    "place: divide a sum by its weight for that. The weight of a sum is the mean of theirs by "
    "sum_weights, 0 for those that were left out.";

enum attribute_type { ATTRIBUTE_TEXT, ATTRIBUTE_F64, ATTRIBUTE_I32, ATTRIBUTE_U64 };

struct attribute_value {
    int is_there;
    const char *text;
    double number;
    uint64_t whole;
    int32_t i32;
    struct text made; /* a text that is put together */
};

struct attribute {
    const char *name;
    enum attribute_at at;
    enum attribute_type type;
    status_t (*value)(const struct product_spec *s, struct attribute_value *out);
    size_t into, bytes; /* in struct product; bytes 0: it is not read back */
    int is_needed;
    const char *json;
};
#define INTO(member)                                                                               \
    .into = offsetof(struct product, member), .bytes = sizeof(((struct product *)NULL)->member)

/* A value, where a product has it. */
#define VALUE(id, has, member, expression)                                                         \
    static status_t id(const struct product_spec *s, struct attribute_value *out)                  \
    {                                                                                              \
        (void)s;                                                                                   \
        out->is_there = (has);                                                                     \
        if (out->is_there) {                                                                       \
            out->member = (expression);                                                            \
        }                                                                                          \
        return STATUS_OK;                                                                          \
    }

VALUE(first_time, 1, number, bank_time(s).first)
VALUE(time_step, 1, number, bank_time(s).step)
VALUE(sample_rate, 1, number, s->archive->sample_rate_hz)
VALUE(domain, 1, text, s->archive->is_complex ? "complex" : "real")
VALUE(sideband, 1, i32, s->archive->sideband)
VALUE(channels, 1, i32, (int32_t)s->bank.channels)
VALUE(taps, 1, i32, (int32_t)s->bank.taps)
VALUE(integrate, 1, whole, s->integrate)
VALUE(first_sample, 1, whole, s->archive->first_sample)
VALUE(order, 1, text, order_name(s->bank.order))

static int is_denser(const struct product_spec *s)
{
    return s->bank.oversample.num > s->bank.oversample.den;
}
VALUE(ratio_num, is_denser(s), i32, (int32_t)s->bank.oversample.num)
VALUE(ratio_den, is_denser(s), i32, (int32_t)s->bank.oversample.den)
VALUE(hop, is_denser(s), whole, s->bank.hop)
VALUE(spacing, is_denser(s), number, s->archive->sample_rate_hz / s->bank.samples_per_spectrum)
VALUE(width, is_denser(s), number, s->archive->sample_rate_hz / s->bank.hop)
VALUE(denser_words, is_denser(s), text, oversampling_convention)

static int is_part(const struct product_spec *s)
{
    return s->frequencies != bank_channels(s);
}
VALUE(first_channel, is_part(s), whole, s->first_frequency)
VALUE(average, is_part(s), whole, s->average)
VALUE(kept_words, is_part(s), text, kept_convention)

static status_t pol_type(const struct product_spec *s, struct attribute_value *out)
{
    TRY(ifs_pol_type(s, &out->made));
    out->text = out->made.data;
    out->is_there = 1;
    return STATUS_OK;
}
static int is_iquv(const struct product_spec *s)
{
    return s->combine.polarisation == POLARISATION_IQUV;
}
static int is_sum(const struct product_spec *s)
{
    return s->combine.sums_stations || s->combine.sums_beams;
}
VALUE(feed, is_iquv(s), text, feed_name(s->combine.stokes.feed))
VALUE(stokes_v, is_iquv(s), text, stokes_v_name(s->combine.stokes.v))
VALUE(polarisation_words, is_iquv(s) || s->combine.polarisation == POLARISATION_COHERENCY, text,
      !is_iquv(s)                            ? coherency_convention
      : stokes_is_linear(&s->combine.stokes) ? linear_convention
                                             : circular_convention)
VALUE(sum_of, is_sum(s), text,
      s->combine.sums_stations && s->combine.sums_beams ? "stations,beams"
      : s->combine.sums_stations                        ? "stations"
                                                        : "beams")
VALUE(sum_words, is_sum(s), text,
      s->weights.are_kept && !s->weights.divide ? raw_sum_convention : sum_convention)

VALUE(weights_words, 1, text, weights_convention)
VALUE(flagged_words, s->flag.is_on, text, flagged_convention)
VALUE(min_weight, 1, number, s->weights.least)
VALUE(is_divided, 1, i32, s->weights.divide)

static const struct attribute attributes[] = {
    {"first_time", AT_BANK, ATTRIBUTE_F64, .value = first_time},
    {"time_step", AT_BANK, ATTRIBUTE_F64, .value = time_step},
    {"sample_rate_hz", AT_BANK, ATTRIBUTE_F64, .value = sample_rate, INTO(bank.sample_rate_hz),
     .is_needed = 1},
    {"domain", AT_BANK, ATTRIBUTE_TEXT, .value = domain},
    {"sideband", AT_BANK, ATTRIBUTE_I32, .value = sideband},
    {"channels", AT_BANK, ATTRIBUTE_I32, .value = channels, INTO(bank.channels), .is_needed = 1,
     .json = "channels_of_a_coarse_channel"},
    {"taps", AT_BANK, ATTRIBUTE_I32, .value = taps, INTO(bank.taps), .is_needed = 1,
     .json = "taps"},
    {"integrate", AT_BANK, ATTRIBUTE_U64, .value = integrate, INTO(integrate), .is_needed = 1},
    {"first_sample", AT_BANK, ATTRIBUTE_U64, .value = first_sample},
    {"oversampling_num", AT_BANK, ATTRIBUTE_I32, .value = ratio_num, INTO(bank.oversample.num),
     .json = "oversampling_num"},
    {"oversampling_den", AT_BANK, ATTRIBUTE_I32, .value = ratio_den, INTO(bank.oversample.den),
     .json = "oversampling_den"},
    {"samples_between_spectra", AT_BANK, ATTRIBUTE_U64, .value = hop, INTO(bank.hop),
     .json = "samples_between_spectra"},
    {"channel_spacing_hz", AT_BANK, ATTRIBUTE_F64, .value = spacing},
    {"channel_width_hz", AT_BANK, ATTRIBUTE_F64, .value = width},
    {"oversampling_convention", AT_BANK, ATTRIBUTE_TEXT, .value = denser_words},
    {"order", AT_BANK, ATTRIBUTE_TEXT, .value = order},
    {"first_channel", AT_BANK, ATTRIBUTE_U64, .value = first_channel},
    {"average", AT_BANK, ATTRIBUTE_U64, .value = average, INTO(bank.average)},
    {"kept_convention", AT_BANK, ATTRIBUTE_TEXT, .value = kept_words},
    {"pol_type", AT_IFS, ATTRIBUTE_TEXT, .value = pol_type, INTO(ifs.pol_type), .json = "pol_type"},
    {"feed", AT_IFS, ATTRIBUTE_TEXT, .value = feed, INTO(ifs.feed), .json = "feed"},
    {"stokes_v", AT_IFS, ATTRIBUTE_TEXT, .value = stokes_v, INTO(ifs.v), .json = "stokes_v"},
    {"polarisation_convention", AT_IFS, ATTRIBUTE_TEXT, .value = polarisation_words},
    {"sum_of", AT_IFS, ATTRIBUTE_TEXT, .value = sum_of, INTO(ifs.sum_of), .json = "sum_of"},
    {"sum_convention", AT_IFS, ATTRIBUTE_TEXT, .value = sum_words},
    {"weights_convention", AT_WEIGHTS, ATTRIBUTE_TEXT, .value = weights_words},
    {"flagged_convention", AT_WEIGHTS, ATTRIBUTE_TEXT, .value = flagged_words},
    {"min_weight", AT_WEIGHTS, ATTRIBUTE_F64, .value = min_weight},
    {"is_renormalised", AT_WEIGHTS, ATTRIBUTE_I32, .value = is_divided},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static status_t attribute_put(hid_t object, const struct attribute *row,
                              const struct attribute_value *value)
{
    switch (row->type) {
    case ATTRIBUTE_TEXT:
        return h5_put_text(object, row->name, value->text);
    case ATTRIBUTE_F64:
        return h5_put_f64(object, row->name, value->number);
    case ATTRIBUTE_I32:
        return h5_put_i32(object, row->name, value->i32);
    default:
        return h5_put_u64(object, row->name, value->whole);
    }
}

SCOPED_CALLS(attribute_value_free, struct attribute_value, text_free(&at->made))

status_t attributes_put(hid_t object, enum attribute_at at, const struct product_spec *spec)
{
    SCOPED(attribute_value_free) struct attribute_value value = {0};
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (attributes[i].at == at) {
            value.is_there = 0;
            value.made.length = 0;
            TRY(attributes[i].value(spec, &value));
            TRY(value.is_there ? attribute_put(object, &attributes[i], &value) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

/* Reads an attribute into its member. *found is -1 if the number does not fit. */
static status_t attribute_get(hid_t object, const struct attribute *row, struct product *product,
                              int *found)
{
    char *to = (char *)product + row->into;
    int64_t whole = 0;
    if (row->type == ATTRIBUTE_TEXT) {
        return h5_get_text(object, product->path, row->name, (char **)(void *)to, found);
    }
    if (row->type == ATTRIBUTE_F64) {
        return h5_get_f64(object, product->path, row->name, (double *)(void *)to, found);
    }
    TRY(h5_get_i64(object, product->path, row->name, &whole, found));
    int fits = whole >= 0 && (row->bytes == sizeof whole || whole <= UINT32_MAX);
    *found = *found && !fits ? -1 : *found;
    if (*found > 0) {
        memcpy(to, row->bytes == sizeof whole ? (void *)&whole : &(uint32_t){(uint32_t)whole},
               row->bytes);
    }
    return STATUS_OK;
}

status_t attributes_get(hid_t object, enum attribute_at at, struct product *product)
{
    for (int i = 0; i < ATTRIBUTES; i++) {
        const struct attribute *row = &attributes[i];
        int found = 0;
        if (row->at == at && row->bytes > 0) {
            TRY(attribute_get(object, row, product, &found));
            REQUIRE(found >= 0, STATUS_DATA, "%s: attribute %s is negative or too large",
                    product->path, row->name);
            REQUIRE(found || !row->is_needed, STATUS_DATA,
                    "%s: attribute %s is missing: not a whole product", product->path, row->name);
        }
    }
    return STATUS_OK;
}

void attributes_json(struct json *json, enum attribute_at at, const struct product *product)
{
    for (int i = 0; i < ATTRIBUTES; i++) {
        const struct attribute *row = &attributes[i];
        const char *from = (const char *)product + row->into;
        if (row->at != at || !row->json) {
            continue;
        }
        if (row->type == ATTRIBUTE_TEXT) {
            json_text(json, row->json, *(char *const *)(const void *)from);
            continue;
        }
        if (row->type == ATTRIBUTE_F64) {
            json_f64(json, row->json, *(const double *)(const void *)from);
            continue;
        }
        uint64_t whole = row->bytes == sizeof whole ? *(const uint64_t *)(const void *)from
                                                    : *(const uint32_t *)(const void *)from;
        if (whole > 0) {
            json_u64(json, row->json, whole);
        }
    }
}
