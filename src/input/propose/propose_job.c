/* The lines of a job. */
#include "input/propose/propose_parts.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

status_t propose_add_input(const char *path, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add(out, "input:\n  files: "));
    TRY(propose_add_path(out, path));
    TRY(text_add(out, "\n  layout:\n"));
out:
    return st;
}

/* The largest power of two up to `most`. */
static uint64_t job_power_of_two(uint64_t most)
{
    uint64_t power = 1;
    while (power <= most / 2) {
        power *= 2;
    }
    return power;
}

status_t propose_add_passes(const char *path, uint64_t samples, uint64_t parts, int is_real,
                            struct text *out)
{
    enum { TAPS = 8, SPECTRA = 4, MOST_CHANNELS = 1024, ROWS = 1000 };
    status_t st = STATUS_OK;
    struct text file = {0};
    const char *name = text_basename(path);
    const char *end = strrchr(name, '.');
    size_t length = end && end > name ? (size_t)(end - name) : strlen(name);
    uint64_t raw = is_real ? 2 : 1; /* samples of a spectrum, of each channel */
    uint64_t most = min_u64(samples / raw / (TAPS + SPECTRA), MOST_CHANNELS);
    uint64_t part = parts > 1 ? parts : 1;
    uint64_t channels = part * max_u64(job_power_of_two(most / part), 2);
    uint64_t integrate = max_u64(samples / (raw * channels) / ROWS, 1);
    TRY(text_add(&file, "%.*s-power.h5", (int)length, name));
    TRY(text_add(out, "channelise: {channels: %llu, taps: %d}\n", (unsigned long long)channels,
                 TAPS));
    TRY(text_add(out, "products:\n  - {kind: power, integrate: %llu, file: ",
                 (unsigned long long)integrate));
    TRY(propose_add_quoted(out, file.data));
    TRY(text_add(out, "}\n"));
out:
    text_free(&file);
    return st;
}

/* The samples, and others as large. */
static status_t job_add_samples(const struct proposal *p)
{
    enum { SHOWN = 8 };
    status_t st = STATUS_OK;
    int others = 0;
    TRY(text_add(p->out, p->im ? "    parts: {re: " : "    dataset: "));
    TRY(propose_add_path(p->out, p->re->path));
    if (p->im) {
        TRY(text_add(p->out, ", im: "));
        TRY(propose_add_path(p->out, p->im->path));
        TRY(text_add(p->out, "}"));
    }
    for (size_t i = 0; i < p->ndata && others < SHOWN; i++) {
        const struct propose_data *data = &p->data[i];
        if (data != p->re && data != p->im && data->numbers >= p->re->numbers) {
            TRY(text_add_shown(p->out, "%s%s", others++ == 0 ? "  # as large: " : ", ",
                               data->path));
        }
    }
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

static status_t job_add_axes(const struct proposal *p)
{
    status_t st = STATUS_OK;
    const struct propose_axes *axes = &p->axes;
    const struct propose_fact *facts[PROPOSE_FACTS];
    if (axes->rank > AXIS_KINDS) {
        TRY(text_add(p->out, "    axes: ???  # of %d dimensions\n", axes->rank));
        goto out;
    }
    TRY(text_add(p->out, "    axes: \""));
    for (int i = 0; i < axes->rank; i++) {
        TRY(text_add(p->out, "%s%s", i > 0 ? "," : "",
                     axes->axis[i] < AXIS_KINDS ? axis_name(axes->axis[i]) : "???"));
    }
    TRY(text_add(p->out, "\""));
    TRY(axes->is_guess || axes->is_open
            ? text_add(p->out, "  # %s dimensions",
                       axes->is_open ? "of the" : "assumed: by the sizes of")
            : STATUS_OK);
    for (int i = 0; i < axes->rank && (axes->is_guess || axes->is_open); i++) {
        TRY(text_add(p->out, "%s%llu", i > 0 ? " x " : " ", (unsigned long long)p->re->dims[i]));
    }
    if (axes->is_open && propose_facts_of(p, axes->contrary, facts) > 0) {
        TRY(text_add(p->out, ", beside "));
        TRY(propose_add_fact(p->out, facts[0]));
    }
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

/* Unsigned numbers are volts only with an offset. */
static status_t job_add_packing(const struct proposal *p)
{
    status_t st = STATUS_OK;
    if (p->re->is_unsigned && p->re->bytes <= 2) {
        TRY(text_add(p->out, "    packing: ???  # of unsigned numbers: \"%zu bit offset\"%s\n",
                     8 * p->re->bytes,
                     p->re->bytes > 1 || p->re->is_compound || p->im
                         ? ""
                         : ", \"4+4 offset hi=re\", \"4+4 two's complement hi=re\", ..."));
    } else if (p->re->is_unsigned) {
        TRY(text_add(p->out, "    offset: ???  # of unsigned numbers\n"));
    }
out:
    return st;
}

/* +1 or -1, as numbers or words state it. */
static status_t job_add_sideband(const struct proposal *p)
{
    static const struct {
        const char *word;
        int sideband;
    } words[] = {{"usb", 1},    {"upper", 1},     {"u", 1},      {"1", 1},
                 {"lsb", -1},   {"lower", -1},    {"l", -1},     {"inverted", -1},
                 {"normal", 1}, {"reversed", -1}, {"upright", 1}};
    status_t st = STATUS_OK;
    const struct propose_fact *facts[PROPOSE_FACTS];
    char plain[PROPOSE_NAME];
    size_t count = propose_facts_of(p, MEANS_SIDEBAND, facts);
    int sideband = 0;
    if (count == 0) {
        goto out;
    }
    propose_plain(facts[0]->text ? facts[0]->text : "", plain);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sideband = strcmp(plain, words[i].word) == 0 ? words[i].sideband : sideband;
    }
    sideband = fabs(facts[0]->first) == 1 ? (int)facts[0]->first : sideband;
    TRY(count == 1 && sideband != 0 ? text_add(p->out, "    sideband: %d  # ", sideband)
                                    : text_add(p->out, "    sideband: ???  # 1 or -1; "));
    for (size_t i = 0; i < count; i++) {
        TRY(text_add(p->out, i > 0 ? ", " : ""));
        TRY(propose_add_fact(p->out, facts[i]));
    }
    TRY(text_add(p->out, "\n"));
out:
    return st;
}

static status_t job_add_name(const struct proposal *p, enum propose_meaning means, const char *key)
{
    status_t st = STATUS_OK;
    const struct propose_fact *facts[PROPOSE_FACTS];
    size_t count = propose_facts_of(p, means, facts);
    if (count == 0 || !facts[0]->text || !*facts[0]->text) {
        goto out;
    }
    TRY(text_add(p->out, "    %s: ", key));
    if (facts[0]->is_attribute) {
        TRY(text_add(p->out, "{attribute: "));
        TRY(propose_add_quoted(p->out, facts[0]->where));
        TRY(text_add(p->out, "}\n"));
    } else {
        TRY(propose_add_quoted(p->out, facts[0]->text));
        TRY(text_add(p->out, "\n"));
    }
out:
    return st;
}

status_t propose_add_job(struct proposal *p)
{
    status_t st = STATUS_OK;
    TRY(propose_find_axes(p));
    if (p->axes.is_real && p->axes.power) {
        TRY(text_add_shown(p->attributes,
                           "  %s looks like powers, not voltages (\"%s\" names a dimension)\n",
                           p->re->path, p->axes.power));
        goto out;
    }
    TRY(propose_add_input(p->path, p->out));
    TRY(job_add_samples(p));
    TRY(job_add_axes(p));
    TRY(job_add_packing(p));
    TRY(propose_add_rate(p));
    TRY(propose_add_frequencies(p));
    TRY(job_add_sideband(p));
    TRY(propose_add_start(p));
    TRY(job_add_name(p, MEANS_TELESCOPE, "telescope"));
    TRY(job_add_name(p, MEANS_SOURCE, "source"));
    TRY(propose_add_passes(p->path, p->axes.times, p->oversampling_num, p->axes.is_real, p->out));
out:
    return st;
}
