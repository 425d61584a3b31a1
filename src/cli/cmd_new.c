/* voltmill new FILE... */
#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/options.h"
#include "input/open.h"
#include "input/propose/propose_parts.h"
#include "job/job.h"

/* Sizes of the job: channels of all coarse channels together, channels of one, rows of a product
 * that is a picture. */
enum { CHANNELS = 4096, LEAST_CHANNELS = 16, TAPS = 8, ROWS = 1024 };

struct new_shape {
    uint32_t channels, taps;
    uint64_t integrate;
    double spectrum_s;
};

/* Chooses powers of two; fewer channels for a short observation, so that there are some rows. */
static struct new_shape new_settle(const struct archive *archive)
{
    struct new_shape shape = {.channels = LEAST_CHANNELS, .taps = TAPS, .integrate = 1};
    const uint64_t period = archive->is_complex ? 1 : 2;
    while ((uint64_t)shape.channels * 2 * archive->nselected[AXIS_CHAN] <= CHANNELS) {
        shape.channels *= 2;
    }
    while (shape.channels > 2 && archive->samples / (shape.channels * period) < 8 * TAPS) {
        shape.channels /= 2;
    }
    uint64_t spectra = archive->samples / (shape.channels * period);
    shape.taps = (uint32_t)min_u64(shape.taps, max_u64(spectra / 2, 1));
    while (spectra / (2 * shape.integrate) >= ROWS) {
        shape.integrate *= 2;
    }
    shape.spectrum_s = (double)(shape.channels * period) / archive->sample_rate_hz;
    return shape;
}

/* Appends "NAME-power.h5" of a file or a pattern. */
static status_t new_add_output(const char *path, struct text *out)
{
    SCOPED(text_free) struct text name = {0};
    const char *base = text_basename(path);
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    for (size_t i = 0; i < length; i++) {
        if (!strchr("*?[].", base[i])) {
            text_add(&name, "%c", base[i]);
        }
    }
    TRY(text_add(&name, "%s", name.length > 0 ? "-power.h5" : "power.h5"));
    propose_add_path(out, name.data);
    return STATUS_OK;
}

static void new_add_input(const struct shared *s, struct text *out)
{
    text_add(out, "input:\n  files:\n");
    for (uint32_t i = 0; i < s->noperands; i++) {
        text_add(out, "    - ");
        propose_add_path(out, s->operands[i]);
        text_add(out, "\n");
    }
    if (s->layout) {
        text_add(out, "  layout: %s\n", s->layout);
    }
}

static status_t new_compose(const struct archive *archive, const struct shared *s, struct text *out)
{
    const struct new_shape shape = new_settle(archive);
    const struct derived_band band = derived_band_of_archive(archive);
    text_add(out, "# %s: %s, %s of %s %s samples,\n", archive->layout,
             units_seconds((double)archive->samples / archive->sample_rate_hz),
             units_number(archive->nstreams, "stream", "streams"), units_count(archive->samples),
             archive->is_complex ? "complex" : "real");
    text_add(out, "# %s each, %u coarse %s, %s to ", units_hertz(archive->sample_rate_hz),
             archive->nselected[AXIS_CHAN],
             units_plural(archive->nselected[AXIS_CHAN], "channel", "channels"),
             units_hertz(band.low_hz));
    text_add(out, "%s. docs/job-file.md has all keys.\n", units_hertz(band.high_hz));
    new_add_input(s, out);
    text_add(out,
             "channelise:\n"
             "  channels: %-10u # of each coarse channel: %s apart; or width: 1 kHz\n"
             "  taps: %-14u # length of the filter; 1: a windowed Fourier transform\n",
             shape.channels, units_hertz(archive_chan_width_hz(archive) / shape.channels),
             shape.taps);
    text_add(out, "products:\n  - kind: power\n    file: ");
    TRY(new_add_output(s->operands[0], out));
    text_add(out,
             " # .fil or .fits: SIGPROC or PSRFITS\n"
             "    integrate: %-7llu # spectra of %s in a row: %s; or a time such as 10 ms\n",
             (unsigned long long)shape.integrate, units_seconds(shape.spectrum_s),
             units_seconds((double)shape.integrate * shape.spectrum_s));
    if (archive->nselected[AXIS_POL] == 2) {
        text_add(out, "    # polarisation: I    # the sum of both; IQUV: Stokes parameters\n");
    }
    return out->status;
}

static status_t new_run(void *settings)
{
    const struct shared *s = settings;
    const struct job_each input = {.is_input = 1};
    SCOPED(text_free) struct text text = {0};
    SCOPED(text_free) struct text out = {0};
    SCOPED(job_destroy_at) struct job *job = NULL;
    SCOPED(archive_destroy_at) struct archive *archive = NULL;
    new_add_input(s, &text);
    TRY(text.status);
    TRY(job_parse_each(s->operand, text.data, text.length, NULL, 0, &input, &job));
    TRY(archive_open(job, &archive));
    TRY(new_compose(archive, s, &out));
    display_print("%s", out.data);
    return STATUS_OK;
}

static const struct option_row rows[] = {{.name = "layout stall-timeout"}, {.name = NULL}};

const struct command cli_new = {
    .only_prints = 1,
    .name = "new",
    .summary = "print a job for these files, ready to run",
    .usage = "[OPTION]... FILE...",
    .about = "Prints a commented job for an archive of voltages: power in channels that suit its "
             "band and length, about a thousand rows. It runs as it is:\n"
             "voltmill new FILE > job.yaml && voltmill run job.yaml\n"
             "Several files, or a pattern in quotes, are one archive. `voltmill info` proposes a "
             "description of an HDF5 file of no known format.",
    .operand = "file",
    .ends = "h5|hdf5|raw|vdif|dada|dat",
    .takes_many = 1,
    .rows = rows,
    .bytes = sizeof(struct shared),
    .run = new_run};
