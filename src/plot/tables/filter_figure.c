/* What a job's filter bank does to tones: its coefficients, the response of a channel, and what a
 * tone loses between channels; beside the bare Fourier transform, as Adamek, Novotny, Armour 2016
 * draw them (Figures 2 to 4). */
#include "archive/coefficients/coefficients.h"
#include "base/memory.h"
#include "base/units.h"
#include "dsp/fir/filter_report.h"
#include "dsp/fir/flat_cutoff.h"
#include "plan/bank/bank_prototype.h"
#include "plot/tables/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* With more channels the response, in channels, differs by less than a line is wide. */
enum { ENOUGH_CHANNELS = 4096, POINTS = 1201, COEFFICIENTS = 2000, NEIGHBOURS = 3, MOST_BANKS = 4 };
#define WIDE 6.0       /* channels to each side */
#define FLOOR (-120.0) /* dB */

struct filter_picture {
    const struct job_bank *bank;
    uint32_t column;
    double *coeff;
    uint32_t taps, samples;          /* of a raw spectrum */
    struct prototype_spec prototype; /* as it was found */
};

static double filter_level(double gain)
{
    return 20 * log10(fmax(fabs(gain), 1e-12));
}

/* A tone f channels away, after a Fourier transform of `samples` samples alone. */
static double filter_bare(double f, uint32_t samples)
{
    double at = M_PI * f / samples;
    return fabs(at) < 1e-12 ? 1 : fabs(sin(M_PI * f) / (samples * sin(at)));
}

static double filter_gain(const struct filter_picture *p, double f)
{
    return filter_response(p->coeff, p->taps, p->samples, f) /
           filter_response(p->coeff, p->taps, p->samples, 0);
}

/* A file of coefficients has as many as complex or as real samples ask for. */
static status_t filter_load(struct filter_picture *p)
{
    status_t st = STATUS_OK;
    const struct job_bank *job = p->bank;
    int is_file = job->window.kind == WINDOW_FILE;
    uint32_t channels =
        job->channels > ENOUGH_CHANNELS && !is_file ? ENOUGH_CHANNELS : job->channels;
    struct prototype_spec spec;
    TRY(bank_prototype(job, &spec));
    spec.channels = spec.samples_per_spectrum = channels;
    TRY(flat_cutoff_settle(&spec));
    st = prototype_create(&spec, &p->coeff);
    if (st == STATUS_DATA && is_file) {
        report_clear();
        spec.samples_per_spectrum = 2 * channels;
        st = prototype_create(&spec, &p->coeff);
    }
    TRY(st);
    p->taps = spec.taps;
    p->prototype = spec;
    p->samples = spec.samples_per_spectrum;
out:
    return st;
}

static status_t filter_add_panel(const struct filter_picture *p, const char *name, double share,
                                 const char *title, struct figure *out, struct panel **panel)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    TRY(figure_panel(out, name, share, panel));
    (*panel)->column = p->column;
    TRY(p->bank->name ? text_add_shown(&words, "%s, ", p->bank->name) : STATUS_OK);
    TRY(text_add(&words, "%s", title));
    (*panel)->title = words.data;
    words.data = NULL;
out:
    text_free(&words);
    return st;
}

static status_t filter_add_coefficients(const struct filter_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct plot_line *line;
    uint64_t all = (uint64_t)p->taps * p->samples;
    size_t count = (size_t)min_u64(all, COEFFICIENTS);
    double most = 0;
    for (uint64_t i = 0; i < all; i++) {
        most = fmax(most, fabs(p->coeff[i]));
    }
    TRY(filter_add_panel(p, "coefficients", 2, "coefficients, the oldest sample first", out,
                         &panel));
    TRY(figure_label(&panel->x, "tap (so many samples as a spectrum takes)"));
    TRY(figure_label(&panel->y, "of the largest"));
    panel->x.to = p->taps;
    TRY(figure_line(panel, NULL, count, LOOK_DRAWN, 1, &line));
    for (size_t i = 0; i < count; i++) {
        uint64_t at = all * (2 * i + 1) / (2 * count);
        line->x[i] = ((double)at + 0.5) / p->samples;
        line->y[i] = p->coeff[at] / most;
    }
out:
    return st;
}

static status_t filter_add_response(const struct filter_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct plot_line *ours;
    struct plot_line *bare;
    TRY(filter_add_panel(p, "response", 3, "response to tones beside a channel", out, &panel));
    TRY(figure_label(&panel->x, "tone, from the channel's centre (channels)"));
    TRY(figure_label(&panel->y, "power (dB)"));
    panel->x.from = -WIDE;
    panel->x.to = WIDE;
    panel->y.from = FLOOR;
    panel->y.to = 5;
    TRY(figure_line(panel, "FFT alone", POINTS, LOOK_FAINT, 7, &bare));
    TRY(figure_line(panel, "this filter bank", POINTS, LOOK_LINE, 1, &ours));
    ours = &panel->lines[1];
    bare = &panel->lines[0];
    for (int i = 0; i < POINTS; i++) {
        double f = -WIDE + 2 * WIDE * i / (POINTS - 1);
        ours->x[i] = bare->x[i] = f;
        ours->y[i] = fmax(filter_level(filter_gain(p, f)), FLOOR);
        bare->y[i] = fmax(filter_level(filter_bare(f, p->samples)), FLOOR);
    }
out:
    return st;
}

static const struct scallop_line {
    const char *title;
    enum look look;
    uint32_t colour;
} scallop_lines[] = {{"each", LOOK_FAINT, 6},
                     {NULL, LOOK_FAINT, 6},
                     {NULL, LOOK_FAINT, 6},
                     {"strongest", LOOK_DRAWN, 1},
                     {"all together", LOOK_DASHED, 2},
                     {"FFT alone", LOOK_FAINT, 7}};
enum { STRONGEST = 3, TOGETHER, BARE, SCALLOP_LINES };

static void filter_scallop(const struct filter_picture *p, double f, double level[SCALLOP_LINES])
{
    double together = 0;
    double strongest = 0;
    double bare = 0;
    for (int channel = -NEIGHBOURS; channel <= NEIGHBOURS; channel++) {
        double gain = filter_gain(p, f - channel);
        together += gain * gain;
        strongest = fmax(strongest, gain);
        bare = fmax(bare, filter_bare(f - channel, p->samples));
        if (channel >= -1 && channel <= 1) {
            level[channel + 1] = filter_level(gain);
        }
    }
    level[STRONGEST] = filter_level(strongest);
    level[TOGETHER] = 10 * log10(together);
    level[BARE] = filter_level(bare);
}

static status_t filter_add_scalloping(const struct filter_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    TRY(filter_add_panel(p, "scalloping", 3, "scalloping: tones between channels", out, &panel));
    TRY(figure_label(&panel->x, "tone (channels)"));
    TRY(figure_label(&panel->y, "power (dB)"));
    panel->x.from = -1;
    panel->x.to = 1;
    panel->y.from = -12;
    panel->y.to = 3;
    for (int k = 0; k < SCALLOP_LINES; k++) {
        struct plot_line *line;
        TRY(figure_line(panel, scallop_lines[k].title, POINTS, scallop_lines[k].look,
                        scallop_lines[k].colour, &line));
    }
    for (int i = 0; i < POINTS; i++) {
        double level[SCALLOP_LINES];
        double f = -1 + 2.0 * i / (POINTS - 1);
        filter_scallop(p, f, level);
        for (int k = 0; k < SCALLOP_LINES; k++) {
            panel->lines[k].x[i] = f;
            panel->lines[k].y[i] = level[k] < panel->y.from ? NAN : level[k];
        }
    }
out:
    return st;
}

/* Two lines for each bank, the first of which begins with its name. */
static status_t filter_add_words(const struct filter_picture *p, const struct job *job,
                                 struct text *title)
{
    status_t st = STATUS_OK;
    struct filter_report report;
    char count[UNITS_TEXT];
    char window[UNITS_TEXT];
    const struct job_bank *bank = p->bank;
    char cutoff[UNITS_TEXT];
    TRY(filter_report_make(p->coeff, p->taps, p->samples, &report));
    TRY(text_add_shown(title, "%s%s%s:  %s channels, %u %s, window %s%s\n",
                       title->length ? "" : text_basename(job->path), bank->name ? " " : "",
                       bank->name ? bank->name : "", units_count(bank->channels, count), p->taps,
                       units_plural(p->taps, "tap", "taps"),
                       bank->has_window ? bank->window.text
                                        : bank_prototype_window(&p->prototype, window),
                       bank_prototype_cutoff(&p->prototype, bank->cutoff == CUTOFF_FLAT, cutoff)));
    TRY(text_add(title,
                 "a tone between channels loses %.2f dB, beyond 1.5 channels at least %.0f dB;  "
                 "noise width %.3f channels\n",
                 report.scalloping_db, report.beyond_db, report.noise_width));
out:
    return st;
}

static status_t filter_add_bank(struct filter_picture *p, const struct job *job, struct text *title,
                                struct figure *out)
{
    status_t st = STATUS_OK;
    TRY(filter_load(p));
    TRY(filter_add_words(p, job, title));
    TRY(filter_add_coefficients(p, out));
    TRY(filter_add_response(p, out));
    TRY(filter_add_scalloping(p, out));
out:
    free(p->coeff);
    return st;
}

status_t from_filter_of(const struct job *job, struct figure *out)
{
    status_t st = STATUS_OK;
    struct text title = {0};
    REQUIRE(job->nbanks > 0, STATUS_USAGE, "%s: has no filter bank (channelise) to draw",
            job->path);
    for (uint32_t i = 0; i < job->nbanks && i < MOST_BANKS; i++) {
        struct filter_picture p = {.bank = &job->banks[i], .column = i};
        TRY(filter_add_bank(&p, job, &title, out));
        out->columns = i + 1;
    }
    title.data[--title.length] = '\0'; /* the last line end */
    out->title = title.data;
    title.data = NULL;
out:
    text_free(&title);
    return st;
}

status_t from_filter(const char *path, const char *const *sets, uint32_t nsets, struct figure *out)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    TRY(job_load(path, sets, nsets, &job));
    TRY(coefficients_read(job));
    TRY(from_filter_of(job, out));
out:
    job_destroy(job);
    return st;
}
