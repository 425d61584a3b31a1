/* Products, one by one: which channels are kept of what the bank makes, how many bytes that is. */
#include "plan/plan_products.h"

#include "dsp/dft.h"
#include "plan/beams_plan.h"
#include "plan/flag_mask.h"
#include "plan/visibilities_plan.h"
#include "product/flagged.h"
#include "product/ifs.h"
#include "product/kind/bank_axes.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

static const char blanks[] = " \t\r\n\v\f,"; /* between the words of tables */

/* Reads `count` numbers by which stations or beams are multiplied before they are added up, from a
 * text file: blanks or line ends between them, # begins a comment. `whose` they are in messages:
 * "stations". None is negative, some are more than 0. free() returns them. Fails with DATA: file,
 * line, what was expected; with DEVICE (memory). Reads word by word, so that mistakes have lines.
 */
static status_t sum_factors_read(const char *path, uint32_t count, const char *whose, double **out)
{
    SCOPED(free_at) double *weights = NULL;
    SCOPED(free_at) char *text = NULL;
    size_t room = 0;
    SCOPED(text_close_at) FILE *file = NULL;
    double sum = 0;
    uint32_t found = 0;
    TRY(text_open(path, "the weights of sums in ", 0, &file));
    TRY(memory_zeroed((size_t)count + 1, sizeof *weights, "weights of sums", &weights));
    for (size_t line = 1; getline(&text, &room, file) >= 0; line++) {
        char *rest = NULL;
        text[strcspn(text, "#")] = '\0';
        for (char *word = strtok_r(text, blanks, &rest); word;
             word = strtok_r(NULL, blanks, &rest), found++) {
            double value = 0;
            REQUIRE(units_parse_f64(word, &value) && value >= 0 && isfinite(value), STATUS_DATA,
                    "%s, line %zu: '%.40s' is no weight, expected a number of at least 0", path,
                    line, word);
            weights[min_u64(found, count)] = value; /* one more is the last of too many */
        }
    }
    REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", path, strerror(errno));
    REQUIRE(found == count, STATUS_DATA, "%s has %u weights, but %u %s are added up", path, found,
            count, whose);
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    REQUIRE(sum > 0 && isfinite(sum), STATUS_DATA, "%s: the sum of its weights is %g", path, sum);
    *out = memory_move(&weights);
    return STATUS_OK;
}

struct channelise_output plan_ifs_output(const struct job_product *job)
{
    int is_crossed = job->combine.polarisation == POLARISATION_IQUV ||
                     job->combine.polarisation == POLARISATION_COHERENCY;
    return (struct channelise_output){
        .quantity = is_crossed ? QUANTITY_COHERENCY : product_quantity(job->kind),
        .integrate = job->is_flagged ? job->flag.spectra : job->integrate};
}

/* Settles which of two polarisations is X (or R), for Stokes parameters. */
static status_t plan_ifs_settle_feed(const struct channelise_plan *work, uint32_t i,
                                     struct stokes *stokes)
{
    const struct job_product *job = &work->job->products[i];
    const struct archive *archive = work->products[i].spec.archive;
    const uint64_t *at = archive->selected[AXIS_POL];
    char **names = archive->names[AXIS_POL];
    const enum feed feed = job->combine.stokes.feed;
    struct stokes found = job->combine.stokes;
    int is_known = names && stokes_of_names(names[at[0]], names[at[1]], &found);
    REQUIRE(is_known || feed != FEED_AUTO, STATUS_USAGE,
            "%s: products.%u.polarisation is IQUV, but the polarisations of %s are %s%s%s%s: "
            "products.%u.feed: linear (the first one is X) or circular (R)",
            work->job->path, i, archive->parts[0].path, names ? names[at[0]] : "without names",
            names ? " and " : "", names ? names[at[1]] : "",
            names ? ", of which it is not known what receives them" : "", i);
    REQUIRE(
        !is_known || feed == FEED_AUTO || feed == found.feed, STATUS_USAGE,
        "%s: products.%u.feed is %s, but the polarisations are called %s and %s: those of %s feeds",
        work->job->path, i, feed_name(feed), names[at[0]], names[at[1]], feed_name(found.feed));
    *stokes = found;
    return STATUS_OK;
}

/* Gives stations that the array's table flags the weight 0 in a sum of `count` antennas. */
static status_t plan_ifs_omit_flagged(const struct channelise_plan *work, uint32_t i,
                                      uint32_t count)
{
    struct channelise_plan_product *product = &work->products[i];
    const uint32_t stations = product->spec.archive->nselected[AXIS_STATION];
    double left = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (array_plan_is_flagged(work->array, k / (count / stations)) && !product->sum_factors) {
            TRY(memory_zeroed(count, sizeof(double), "weights", &product->sum_factors));
            for (uint32_t j = 0; j < count; j++) {
                product->sum_factors[j] = 1;
            }
        }
        if (array_plan_is_flagged(work->array, k / (count / stations))) {
            product->sum_factors[k] = 0;
        }
        left += product->sum_factors ? product->sum_factors[k] : 1;
    }
    return REQUIRED(
        left > 0, STATUS_USAGE,
        "%s: products.%u.sum: all stations are flagged in the array's table, or have weight 0",
        work->job->path, i);
}

static status_t plan_ifs_settle_sum(struct channelise_plan *work, uint32_t i)
{
    const struct job_product *job = &work->job->products[i];
    const struct archive *archive = work->products[i].spec.archive;
    struct channelise_plan_product *product = &work->products[i];
    struct product_spec *spec = &product->spec;
    uint32_t count = 1;
    for (uint32_t j = 0; j < job->nsums; j++) {
        enum axis axis = job->sums[j];
        const char *name = axis == AXIS_STATION ? "stations" : "beams";
        REQUIRE(archive->present[axis], STATUS_USAGE,
                "%s: products.%u.sum: %s, but %s has none that it tells apart", work->job->path, i,
                name, archive->parts[0].path);
        *(axis == AXIS_STATION ? &spec->combine.sums_stations : &spec->combine.sums_beams) = 1;
        count *= archive->nselected[axis];
    }
    if (job->sum_file) {
        TRY(sum_factors_read(job->sum_file, count,
                             job->nsums > 1                ? "beams of all stations"
                             : spec->combine.sums_stations ? "stations"
                                                           : "beams",
                             &product->sum_factors));
    }
    TRY(spec->combine.sums_stations ? plan_ifs_omit_flagged(work, i, count) : STATUS_OK);
    spec->combine.weights = product->sum_factors;
    spec->combine.nweights = product->sum_factors ? count : 0;
    return STATUS_OK;
}

/* Settles ifs of work->products[i], whose `archive` is known. Fails with USAGE: the archive has not
 * two polarisations, their feed is not known, it has no such stations or beams; with DATA: the file
 * of weights. */
static status_t plan_ifs_settle(struct channelise_plan *work, uint32_t i)
{
    const struct job_product *job = &work->job->products[i];
    struct product_spec *spec = &work->products[i].spec;
    uint32_t pols = spec->archive->nselected[AXIS_POL];
    spec->combine = job->combine;
    REQUIRE(job->combine.polarisation == POLARISATION_SEPARATE || pols == 2, STATUS_USAGE,
            "%s: products.%u.polarisation is %s, which takes two polarisations, but %s",
            work->job->path, i, polarisation_name(job->combine.polarisation),
            pols == 1 ? "there is one selected: without it (spec: without -p) the product has the "
                        "power of that one"
                      : "there are more selected: input.select.pols takes two");
    if (job->combine.polarisation == POLARISATION_IQUV) {
        TRY(plan_ifs_settle_feed(work, i, &spec->combine.stokes));
    }
    TRY(plan_ifs_settle_sum(work, i));
    spec->nifs = ifs_count(spec);
    if (job->kind == PRODUCT_VISIBILITIES) {
        struct visibilities_plan **plan = &work->products[i].visibilities;
        TRY(visibilities_plan_create(work, i, plan));
        spec->nifs = (*plan)->npairs * (*plan)->products;
        spec->visibilities = &(*plan)->product;
        spec->archive = work->seen;
    }
    return STATUS_OK;
}

/* Stages before the filter bank attenuate the edges of each coarse channel. Products can be divided
 * by that response: by the known response of the job's own filters, and by a table of the
 * telescope's.
 *
 * A table is text, a line for each frequency: Hz from the coarse channel's centre, on the sky,
 * ascending, and the gain in power there, above 0; # begins a comment. In between gains are
 * interpolated linearly, beyond both ends they stay as they are there. */

/* Multiplies gains by those of a filter that gets the voltages `in`. Channels' frequencies are
 * whole multiples of their spacing, so a transform of as many samples as make one such step has
 * them all: coefficients after its end are added from its beginning on. */
static status_t droop_of_stage(const struct channelise_plan *work, uint32_t number,
                               const struct product_spec *spec, double *gains)
{
    const struct filter_plan_stage *stage = &work->filters->stages[number];
    const struct filter_coefficients *made = &stage->made;
    const struct archive *in =
        number > 0 ? &work->filters->stages[number - 1].base.seen : work->archive;
    const struct archive *seen = spec->archive;
    SCOPED(free_at) double complex *folded = NULL;
    SCOPED(free_at) double complex *response = NULL;
    double spacing = seen->sample_rate_hz / spec->bank.samples_per_spectrum;
    size_t length = (size_t)llround(in->sample_rate_hz / spacing);
    if (stage->chirps || made->is_deripple) {
        return STATUS_OK; /* all pass, or flat after it as they are */
    }
    TRY(memory_zeroed(length, sizeof *response, "a response", &response));
    TRY(memory_zeroed(length, sizeof *folded, "a response", &folded));
    for (uint32_t i = 0; i < made->taps; i++) {
        folded[i % length] +=
            (made->is_complex ? made->coeff[2 * i] + I * made->coeff[2 * i + 1] : made->coeff[i]) /
            in->scale;
    }
    TRY(dft_forward(length, folded, response));
    int sideband = in->is_complex ? 1 : in->sideband;
    for (uint64_t k = 0; k < bank_channels(spec); k++) {
        uint64_t chan = in->selected[AXIS_CHAN][k / spec->bank.nchannels];
        double offset = sideband * (bank_channel(spec, k) - in->freq_hz[chan]) +
                        (in->is_complex ? 0 : in->sample_rate_hz / 4);
        long long bin = llround(offset / spacing) % (long long)length;
        double gain = cabs(response[bin < 0 ? bin + (long long)length : bin]);
        gains[k] *= gain * gain;
    }
    return STATUS_OK;
}

struct droop_table {
    double (*points)[2];
    size_t count;
};
SCOPED_CALLS(droop_free, struct droop_table, free(at->points))

static status_t droop_read(const char *path, struct droop_table *table)
{
    SCOPED(free_at) char *text = NULL;
    size_t room = 0;
    SCOPED(text_close_at) FILE *file = NULL;
    TRY(text_open(path, "the droop in ", 0, &file));
    for (size_t line = 1; getline(&text, &room, file) >= 0; line++) {
        double point[2] = {0, 0};
        char *rest = NULL;
        text[strcspn(text, "#")] = '\0';
        char *word = strtok_r(text, blanks, &rest);
        if (!word) {
            continue;
        }
        char *second = strtok_r(NULL, blanks, &rest);
        int ok = second && !strtok_r(NULL, blanks, &rest) && units_parse_f64(word, &point[0]) &&
                 units_parse_f64(second, &point[1]) && point[1] > 0;
        ok = ok && (table->count == 0 || point[0] > table->points[table->count - 1][0]);
        REQUIRE(ok, STATUS_DATA,
                "%s, line %zu: expected Hz from a coarse channel's centre, more than before, and a "
                "gain in power above 0",
                path, line);
        TRY(memory_grown(table->count + 1, sizeof *table->points, "a table", &table->points));
        memcpy(table->points[table->count++], point, sizeof point);
    }
    REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", path, strerror(errno));
    return REQUIRED(table->count >= 2, STATUS_DATA,
                    "%s: expected at least two lines of a frequency and a gain", path);
}

static double droop_look_up(const struct droop_table *table, double hz)
{
    size_t low = 0;
    size_t high = table->count - 1;
    double(*points)[2] = table->points;
    if (hz <= points[0][0] || hz >= points[high][0]) {
        return hz <= points[0][0] ? points[0][1] : points[high][1];
    }
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(points[middle][0] <= hz ? &low : &high) = middle;
    }
    double share = (hz - points[low][0]) / (points[high][0] - points[low][0]);
    return points[low][1] + share * (points[high][1] - points[low][1]);
}

static status_t droop_of_file(const struct channelise_plan *work, const char *path,
                              const struct product_spec *spec, double *gains)
{
    const struct archive *archive = work->archive;
    SCOPED(droop_free) struct droop_table table = {NULL, 0};
    TRY(droop_read(path, &table));
    for (uint64_t k = 0; k < bank_channels(spec); k++) {
        uint64_t chan = archive->selected[AXIS_CHAN][k / spec->bank.nchannels];
        gains[k] *= droop_look_up(&table, bank_channel(spec, k) - archive->freq_hz[chan]);
    }
    return STATUS_OK;
}

/* The gain in power of each channel of product i, double [all channels of the bank], free() returns
 * it; *out = NULL where the job does not ask for it. Product and filters are settled. Fails with
 * DATA: file, line, what was expected; USAGE: no channel gets through; DEVICE (memory). */
static status_t droop_settle(const struct channelise_plan *work, uint32_t i, double **out)
{
    const struct job_product *job = &work->job->products[i];
    const struct product_spec *spec = &work->products[i].spec;
    uint64_t count = bank_channels(spec);
    SCOPED(free_at) double *gains = NULL;
    double most = 0;
    *out = NULL;
    if (job->ndroop == 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)count, sizeof *gains, "gains", &gains));
    for (uint64_t k = 0; k < count; k++) {
        gains[k] = 1;
    }
    for (uint32_t d = 0; d < job->ndroop; d++) {
        uint32_t filters = !job->droop[d].path && work->filters ? work->filters->count : 0;
        for (uint32_t f = 0; f < filters; f++) {
            TRY(droop_of_stage(work, f, spec, gains));
        }
        TRY(job->droop[d].path ? droop_of_file(work, job->droop[d].path, spec, gains) : STATUS_OK);
    }
    for (uint64_t k = 0; k < count; k++) {
        most = fmax(most, gains[k]);
    }
    REQUIRE(most > 0 && isfinite(most), STATUS_USAGE,
            "%s: products.%u.droop: nothing of what the bank gets passes what was before it",
            work->job->path, i);
    *out = memory_move(&gains);
    return STATUS_OK;
}

/* Products that files of other formats than HDF5 can hold.
 *
 * Bands and ifs that SIGPROC and PSRFITS have words for: reported before anything is computed, as
 * the export at a run's end would (input/fbh5/fbh5_band.c, product/export/export_psrfits.c). */
/* The channel of a product to check after `at`. Frequencies are linear in the channel number but at
 * the borders of coarse channels and, in the order of the transform, at their middle: only the ends
 * of linear pieces are checked. */
static uint64_t plan_format_next_channel(const struct product_spec *spec, uint64_t at)
{
    uint64_t fine = spec->first_frequency + at * spec->average;
    uint64_t inside = fine % spec->bank.nchannels;
    uint64_t middle = spec->bank.channels / 2;
    middle = middle > spec->bank.first_channel ? middle - spec->bank.first_channel : 0;
    uint64_t end = inside < middle ? min_u64(middle, spec->bank.nchannels) : spec->bank.nchannels;
    uint64_t last = at + (end - inside) / spec->average; /* the first that is not all inside */
    return last > at + 2 ? last - 1 : at + 1;
}

/* As fbh5_check_even(). */
static status_t plan_format_check_band(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    const struct archive *archive = spec->archive;
    double first = bank_frequency(spec, 0);
    double step = archive_chan_width_hz(archive) / spec->bank.channels * spec->average;
    for (uint64_t at = 1; at < spec->frequencies; at = plan_format_next_channel(spec, at)) {
        double hz = bank_frequency(spec, at);
        double stated = first + (double)at * step;
        REQUIRE(
            fabs(hz - stated) <= 0.1 * fabs(step), STATUS_USAGE,
            "%s: products.%u.format is %s, but its channels are not evenly spaced, which %s cannot "
            "say: channel %" PRIu64
            " is at %.9g MHz, not %.9g (order: fft, or coarse channels with gaps between them?): "
            "products.%u.freq_hz or channels keep a part of them; format: hdf5 contains all",
            work->job->path, i, file_format_name(work->job->products[i].format),
            work->job->products[i].format == FILE_FIL ? "SIGPROC" : "PSRFITS", at, hz / 1e6,
            stated / 1e6, i);
    }
    return STATUS_OK;
}

static status_t plan_format_check_ifs(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    uint32_t each = ifs_of_antenna(spec);
    REQUIRE(
        spec->nifs == each, STATUS_USAGE,
        "%s: products.%u.format is psrfits, which stores one antenna and beam, but there are %u: "
        "input.select takes one, products.%u.sum adds powers up; format: fil and hdf5 store all",
        work->job->path, i, spec->nifs / each, i);
    return REQUIRED(each <= 2 || spec->combine.polarisation != POLARISATION_SEPARATE, STATUS_USAGE,
                    "%s: products.%u.format is psrfits, which stores 1 or 2 polarisations, or 4 of "
                    "polarisation: IQUV or coherency, but there are %u: input.select takes some; "
                    "format: fil and hdf5 store all",
                    work->job->path, i, each);
}

/* The channels whose centres are in the band, and as many more as make whole means. */
static status_t products_keep_band(const struct channelise_plan *work, uint32_t i, uint64_t all,
                                   uint64_t *first, uint64_t *count)
{
    const struct job_product *job = &work->job->products[i];
    const struct product_spec *spec = &work->products[i].spec;
    uint64_t end = 0;
    *first = all;
    for (uint64_t at = 0; at < all; at++) {
        double hz = bank_channel(spec, at);
        if (hz >= job->from_hz && hz <= job->to_hz) {
            *first = min_u64(*first, at);
            end = at + 1;
        }
    }
    REQUIRE(end > 0, STATUS_USAGE,
            "%s: products.%u.freq_hz: no channel lies there: their centres are from %s to %s",
            work->job->path, i, units_hertz(bank_channel(spec, 0)),
            units_hertz(bank_channel(spec, all - 1)));
    *count = ceil_div_u64(end - *first, job->average) * job->average;
    *first = *count <= all ? min_u64(*first, all - *count) : *first;
    return STATUS_OK;
}

/* Lists the channels that the product keeps among those of the bank, coarse channels side by
 * side. */
static status_t products_keep(const struct channelise_plan *work, uint32_t i)
{
    const struct job_product *job = &work->job->products[i];
    struct product_spec *spec = &work->products[i].spec;
    uint64_t all = bank_channels(spec);
    uint64_t first = 0;
    uint64_t count = all;
    if (job->has_channels) {
        REQUIRE(job->last_channel < all, STATUS_USAGE,
                "%s: products.%u.channels ends at %" PRIu64 ", but there are %" PRIu64
                " channels (counted from 0)",
                work->job->path, i, job->last_channel, all);
        first = job->first_channel;
        count = job->last_channel - first + 1;
    } else if (job->has_freq) {
        TRY(products_keep_band(work, i, all, &first, &count));
    }
    REQUIRE(count % job->average == 0 && count <= all, STATUS_USAGE,
            "%s: products.%u.average is %u, expected a number that divides the %" PRIu64
            " channels that are kept",
            work->job->path, i, job->average, count);
    REQUIRE(!spec->archive->coherent.delay_hz || job->average == 1 ||
                (spec->bank.nchannels % job->average == 0 && first % job->average == 0),
            STATUS_USAGE,
            "%s: products.%u.average is %u, which takes channels of two coarse ones together, but "
            "each coarse channel was dedispersed to its own centre: expected a number that divides "
            "%u, and channels that begin at a multiple of it",
            work->job->path, i, job->average, spec->bank.nchannels);
    spec->first_frequency = first;
    spec->frequencies = count / job->average;
    return STATUS_OK;
}

/* Sets the inputs of product i. */
static void products_set(struct channelise_plan *work, uint32_t i)
{
    const struct job_product *job = &work->job->products[i];
    const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
    struct channelise_plan_product *product = &work->products[i];
    product->spec = (struct product_spec){
        .kind = job->kind,
        .job_text = job->text,
        .archive = channelise_plan_is_apart(work, i) ? work->seen : work->formed,
        .gap_samples = bank->gap_samples,
        .bank.order = bank->job ? bank->job->order : ORDER_ASCENDING,
        .bank.channels = bank->channelise.channels,
        .bank.taps = bank->channelise.taps,
        .bank.samples_per_spectrum = (uint32_t)bank->samples_per_spectrum,
        .bank.hop = (uint32_t)bank->hop,
        .bank.oversample =
            bank->job && bank->job->is_oversampled ? bank->job->oversample : (struct ratio){1, 1},
        .bank.first_channel = bank->channelise.first_channel,
        .bank.nchannels = bank->channelise.nchannels,
        .integrate = job->integrate,
        .average = job->average,
        .has_bandpass = job->has_bandpass,
        .flag.is_on = job->is_flagged,
        .flag.has_kurtosis = job->flag.has_kurtosis,
        .flag.sigma = job->flag.kurtosis,
        .flag.spectra = job->is_flagged ? job->flag.spectra : 0,
        .weights.are_kept = bank->has_weights,
        .weights.divide = bank->has_weights && !job->is_raw &&
                          (job->kind == PRODUCT_POWER || job->kind == PRODUCT_VISIBILITIES),
        .weights.least = job->weights.least,
        .rows = product->spec.rows,
        .bank.coeff = bank->coeff,
        .filters = work->filter_words.data,
        .steps.bits = job->steps.bits,
        .scale = job->scale};
    product->dropped_spectra = bank->spectra - product->spec.rows * job->integrate;
}

/* Whether its rows are made of all coarse channels, or of several streams
 * (pipeline/finish/finish.h): why streams of a group are as many as they are. */
static int plan_products_is_finished(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    return work->is_bank && (spec->frequencies != bank_channels(spec) || ifs_are_combined(spec) ||
                             spec->flag.is_on || spec->gains || work->products[i].visibilities);
}

int plan_products_is_changed(const struct channelise_plan *work, uint32_t i)
{
    return plan_products_is_finished(work, i) || quantised_is(&work->products[i].spec);
}

/* Whether the backend could round the rows of product i, if their scales were known. */
static int plan_products_can_round(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    return work->is_bank && spec->kind == PRODUCT_SPECTRA && quantised_is(spec) &&
           spec->steps.are_first && spec->steps.rows >= CHUNK_GRAIN && !spec->weights.are_kept &&
           !plan_products_is_finished(work, i);
}

int plan_products_rounds(const struct channelise_plan *work, uint32_t i)
{
    return plan_products_can_round(work, i) && work->products[i].first_scales && !work->is_judged;
}

/* Returns the rows of a block with its own scales. A pure function of the product: enough rows that
 * scales take little space beside them, but few enough that ranks can share the work, and that
 * blocks fit a rank's memory. */
static uint64_t products_scale_rows(const struct product_spec *spec)
{
    enum { MOST_BYTES = 128 << 20, MOST = 1024, LEAST_BLOCKS = 16, SOME = 64, LEAST = 16 };
    uint64_t row = product_row_bytes(spec->kind, spec->nifs, spec->frequencies);
    uint64_t rows = MOST;
    while (rows > SOME && rows * LEAST_BLOCKS > spec->rows) {
        rows /= 2;
    }
    while (rows > LEAST && row > MOST_BYTES / rows) {
        rows /= 2;
    }
    return rows;
}

/* Sets the output of the stage for product i. */
static void products_settle_output(struct channelise_plan *work, uint32_t i)
{
    struct channelise_plan_bank *bank = &work->banks[work->job->products[i].bank];
    const struct product_spec *spec = &work->products[i].spec;
    struct channelise_output *outputs = bank->maker->outputs;
    for (uint32_t j = 0; j < bank->maker->noutputs && plan_products_can_round(work, i); j++) {
        if (bank->products[j] == i) {
            outputs[j].bits = spec->steps.bits;
            outputs[j].scale_rows = spec->steps.rows;
        }
    }
}

struct chunk_row plan_products_row(const struct product_spec *spec)
{
    return (struct chunk_row){.ifs = spec->nifs,
                              .column = 1,
                              .first = spec->first_frequency,
                              .count = spec->frequencies,
                              .average = spec->average,
                              .each = spec->bank.nchannels};
}

struct chunk_row plan_products_weights_row(const struct product_spec *spec)
{
    return spec->flag.is_on ? plan_products_row(spec) : (struct chunk_row){spec->nifs, .column = 1};
}

struct chunk_row plan_products_cells_row(const struct product_spec *spec)
{
    return chunk_row_of_channels(plan_products_row(spec), flagged_ifs(spec));
}

uint64_t plan_products_lines(const struct channelise_plan *work, uint32_t i, uint32_t streams)
{
    const struct product_spec *spec = &work->products[i].spec;
    const uint64_t all = spec->nifs * spec->frequencies;
    const uint32_t coarse = work->chunking.group_coarse;
    if (coarse == 0 || streams == work->chunking.streams) {
        return chunk_share(&work->chunking, all, streams);
    }
    return min_u64(all, spec->nifs * (coarse * (uint64_t)spec->bank.nchannels / spec->average));
}

uint64_t plan_products_weights(const struct channelise_plan *work, uint32_t i, uint32_t streams)
{
    const struct product_spec *spec = &work->products[i].spec;
    return spec->flag.is_on ? plan_products_lines(work, i, streams)
                            : chunk_share(&work->chunking, ifs_weights(spec), streams);
}

/* Multiplies *sum by an upper bound of what a filter makes of the largest sample, *most by a part
 * of one sample that its rows keep. A chirp keeps the energy, over all of its taps. */
static void plan_bound_filter(const struct filter_plan_stage *stage, double *sum, double *most)
{
    const struct filter_coefficients *made = &stage->made;
    double all = 0;
    double largest = 0;
    for (uint64_t i = 0; i < made->taps; i++) {
        const double *at = made->coeff + (made->is_complex ? 2 * i : i);
        const double size = made->is_complex ? hypot(at[0], at[1]) : fabs(at[0]);
        all += size;
        largest = size > largest ? size : largest;
    }
    if (stage->chirps) {
        const double spread = sqrt((double)stage->spec.taps);
        double gain = stage->deripple.half ? fabs(stage->deripple.half[0]) : 1;
        for (uint32_t i = 1; stage->deripple.half && i <= stage->deripple.reach; i++) {
            gain += 2 * fabs(stage->deripple.half[i]);
        }
        all = fabs(stage->scale) * gain * spread;
        largest = fabs(stage->scale) / spread;
    }
    *sum *= all;
    *most *= largest;
}

/* Returns an upper bound of the size of `count` complex factors; 1 if there are none. */
static double plan_bound_factors(const float *factors, uint64_t count)
{
    double most = factors ? 0 : 1;
    for (uint64_t i = 0; i < 2 * count && factors; i++) {
        most = fmax(most, 2 * fabs((double)factors[i]));
    }
    return most;
}

/* Likewise of what a station's or beam's spectra are of those of the largest: by gains, weights. */
static double plan_bound_array(const struct channelise_plan *work, uint32_t number)
{
    const uint32_t *selected = work->seen->nselected;
    const uint64_t lines = (uint64_t)selected[AXIS_POL] * selected[AXIS_CHAN];
    const uint64_t count = work->array->stations * lines * work->banks[number].channelise.nchannels;
    const double bound = plan_bound_factors(work->array->gains[number], count);
    const struct beam_file *file = work->array->tables.beams;
    const float *weights = work->beams ? work->beams->weights[number] : NULL;
    return bound * (work->beams ? selected[AXIS_STATION] : 1) *
           plan_bound_factors(weights, file ? file->sets * count : 0);
}

/* Whether sums of a bank can leave the range of floats at all. Banks follow no synthesis. */
static int plan_may_leave_range(const struct channelise_plan *work, uint32_t number)
{
    const struct channelise_plan_bank *bank = &work->banks[number];
    double sum = 0;
    double most = 0;
    uint64_t integrate = 1;
    for (uint64_t i = 0; i < bank->samples_per_spectrum * bank->channelise.taps; i++) {
        double size = fabs(bank->folded[i]);
        sum += size;
        most = size > most ? size : most;
    }
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        plan_bound_filter(&work->filters->stages[i], &sum, &most);
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct job_product *product = &work->job->products[i];
        integrate = max_u64(integrate, plan_ifs_output(product).integrate * product->average);
    }
    double volts = 2 * ldexp(1, (int)sample_types[work->archive->format].bits - 1) * sum;
    volts *= work->array ? plan_bound_array(work, number) : 1;
    return volts * volts * (double)integrate > FLT_MAX / 4 || most * most < 0x1p-80;
}

int plan_products_may_leave_range(const struct channelise_plan *work)
{
    int may = sample_types[work->archive->format].is_float;
    for (uint32_t i = 0; i < work->nbanks && !may; i++) {
        may = plan_may_leave_range(work, i);
    }
    return may;
}

int plan_products_outrun_writer(const struct channelise_plan *work)
{
    enum { MANY = 8 };
    return backend_abilities(work->backend)->uses_threads && work->threads >= MANY;
}

int plan_products_are_put_beside(const struct channelise_plan *work)
{
    return work->is_bank && !work->is_judged &&
           (backend_abilities(work->backend)->has_device || plan_products_outrun_writer(work));
}

uint64_t plan_products_combined_bytes(const struct channelise_plan *work, uint32_t i,
                                      uint32_t streams)
{
    const struct product_spec *spec = &work->products[i].spec;
    uint64_t lines = chunk_share(
        &work->chunking, (uint64_t)spec->nifs * spec->archive->nselected[AXIS_CHAN], streams);
    uint64_t bytes = product_row_bytes(spec->kind, lines, spec->bank.nchannels);
    return ifs_are_combined(spec) && bytes < plan_products_made_bytes(work, i, streams) ? bytes : 0;
}

uint64_t plan_products_made_bytes(const struct channelise_plan *work, uint32_t i, uint32_t streams)
{
    const struct product_spec *spec = &work->products[i].spec;
    const struct channelise_output output = plan_ifs_output(&work->job->products[i]);
    if (work->products[i].visibilities) { /* of all streams, which are in one group */
        const struct visibilities_plan *plan = work->products[i].visibilities;
        return work->products[i].row_bytes / plan->npairs * plan->spec.npairs;
    }
    streams = channelise_plan_made(work, i, streams);
    return work->is_bank ? product_row_bytes(spec->kind, channelise_sums(&output, streams),
                                             spec->bank.nchannels)
                         : work->products[i].row_bytes / work->seen->nstreams * streams;
}

uint64_t plan_products_squares_bytes(const struct channelise_plan *work, uint32_t i,
                                     uint32_t streams)
{
    const struct product_spec *spec = &work->products[i].spec;
    return spec->flag.has_kurtosis
               ? product_row_bytes(spec->kind, channelise_plan_made(work, i, streams),
                                   spec->bank.nchannels)
               : 0;
}

struct plan_products_shape plan_products_shape_of(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    uint32_t streams = work->formed->nstreams;
    if (plan_products_is_finished(work, i)) {
        return (struct plan_products_shape){spec->nifs, units_plural(spec->nifs, "pol", "pols"),
                                            spec->frequencies};
    }
    return (struct plan_products_shape){streams, units_plural(streams, "stream", "streams"),
                                        spec->bank.nchannels};
}

/* Returns the smallest number of coarse channels, a divisor of all, whose multiples no averaged
 * channel of product i crosses. */
static uint32_t products_cut_coarse(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t all = spec->archive->nselected[AXIS_CHAN];
    const uint64_t first = spec->first_frequency;
    const uint64_t end = first + spec->frequencies * spec->average;
    uint32_t coarse = 1;
    for (uint64_t at = 0; at < all; at += coarse) {
        const uint64_t border = at * spec->bank.nchannels;
        if (border > first && border < end && (border - first) % spec->average > 0) {
            do {
                coarse++;
            } while (all % coarse > 0);
            at = 0; /* anew, from border `coarse` on */
        }
    }
    return coarse;
}

/* Streams that are in one group. */
static uint64_t products_together(const struct channelise_plan *work, uint32_t i)
{
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t *selected = work->formed->nselected;
    if (work->products[i].visibilities || channelise_plan_is_apart(work, i)) {
        return work->formed->nstreams;
    }
    uint64_t streams = max_u64(ifs_streams(spec), spec->flag.is_on ? selected[AXIS_POL] : 1);
    streams = work->array ? max_u64(streams, selected[AXIS_POL]) : streams; /* whole stations */
    return work->array || plan_products_is_finished(work, i) ? streams * selected[AXIS_CHAN] : 1;
}

/* Sets the flagging of a product's cells. */
static status_t products_settle_flag(struct channelise_plan *work, uint32_t i)
{
    const struct job *job = work->job;
    const struct job_flag *flag = &job->products[i].flag;
    const struct product_spec *spec = &work->products[i].spec;
    for (uint32_t at = 0; at < flag->nchannels; at++) {
        REQUIRE(flag->channels[at].last < bank_channels(spec), STATUS_USAGE,
                "%s: products.%u.flag.channels.%u ends at %" PRIu64 ", but there are %" PRIu64
                " channels (counted from 0)",
                job->path, i, at, flag->channels[at].last, bank_channels(spec));
    }
    return flag->mask ? flag_mask_create(flag->mask, spec, &work->products[i].mask) : STATUS_OK;
}

/* Settles the rows of product i: its channels, and how they become bits. Fails with USAGE, DATA. */
static status_t products_settle_rows(struct channelise_plan *work, uint32_t i)
{
    const struct job_product *job = &work->job->products[i];
    struct channelise_plan_product *product = &work->products[i];
    struct product_spec *spec = &product->spec;
    if (work->is_bank) {
        TRY(products_keep(work, i));
        TRY(job->format != FILE_HDF5 ? plan_format_check_band(work, i) : STATUS_OK);
        TRY(job->format == FILE_PSRFITS ? plan_format_check_ifs(work, i) : STATUS_OK);
        TRY(droop_settle(work, i, &product->gains));
        spec->gains = product->gains;
    }
    if (quantised_is(spec)) {
        spec->steps.are_first = job->steps.are_first;
        spec->steps.rows = job->steps.rows > 0 ? job->steps.rows : products_scale_rows(spec);
    }
    product->row_bytes = product_spec_row_bytes(spec);
    return STATUS_OK;
}

status_t plan_products_settle(struct channelise_plan *work)
{
    const struct job *job = work->job;
    work->groups.quantum = 1;
    work->groups.coarse = work->is_bank && filter_plan_fan(work->filters) == 1 && !work->array;
    for (uint32_t i = 0; i < job->nproducts; i++) {
        struct channelise_plan_product *product = &work->products[i];
        uint64_t spectra = channelise_plan_bank_of(work, i)->spectra;
        uint64_t bytes = 0;
        products_set(work, i);
        TRY(plan_ifs_settle(work, i));
        TRY(products_settle_rows(work, i));
        REQUIRE(product->spec.rows > 0, STATUS_USAGE,
                "%s: products.%u.integrate is %" PRIu64 ", but there %s only %" PRIu64 " %s",
                job->path, i, job->products[i].integrate, units_plural(spectra, "is", "are"),
                spectra, units_plural(spectra, "spectrum", "spectra"));
        REQUIRE(multiply_u64(product->row_bytes, product->spec.rows, &bytes) && bytes < UINT64_C(1)
                                                                                            << 62,
                STATUS_USAGE, "%s: product %s would have an absurd size", job->path,
                job->products[i].file);
        work->groups.quantum = (uint32_t)max_u64(work->groups.quantum, products_together(work, i));
        work->groups.coarse = work->groups.coarse ? (uint32_t)lcm_u64(work->groups.coarse,
                                                                      products_cut_coarse(work, i))
                                                  : 0;
        products_settle_output(work, i);
        TRY(work->is_bank ? products_settle_flag(work, i) : STATUS_OK);
    }
    return STATUS_OK;
}
