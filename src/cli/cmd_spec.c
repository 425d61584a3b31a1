/* voltmill spec -c CHANNELS -o FILE INPUT... */
#include "base/display.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/plan_job.h"
#include "cli/values.h"
#include "input/propose/propose_parts.h"
#include "job/yaml/yaml_file.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

struct spec_settings {
    struct shared shared;
    const char *channels, *integrate, *pol, *taps, *output; /* NULL: not given */
    int dry_run;
};

#define AT(field) offsetof(struct spec_settings, field)

static const struct option_row rows[] = {
    {"c,channels", "N", value_text, AT(channels), NULL, NULL,
     "channels of each coarse channel, or their width: -c 64, -c 3Hz"},
    {"t,integrate", "N", value_text, AT(integrate), NULL, NULL,
     "spectra summed into a row, or a time: -t 16, -t 10ms (default: 1)"},
    {"p,pol", "KIND", value_word, AT(pol), "separate|I|IQUV|coherency", NULL,
     "each polarisation by itself (separate, the default), their sum (I), Stokes parameters "
     "(IQUV), or both and their products (coherency)"},
    {"taps", "N", value_text, AT(taps), NULL, NULL, "length of the filter (default: 8)"},
    {"o,output", "FILE", value_text, AT(output), NULL, NULL,
     "product: .fil SIGPROC, .fits PSRFITS, else HDF5 (FBH5)"},
    {.name = "layout set force restart adopt stall-timeout progress"},
    {"dry-run", FLAG(AT(dry_run)),
     "only prints the job and what would be done, as `voltmill plan`"},
    {.name = NULL}};

/* Appends `before`, and the value as a text of YAML; nothing for NULL. */
static void spec_add(struct text *out, const char *before, const char *value)
{
    double number = 0;
    if (!value) {
        return;
    }
    text_add(out, "%s", before);
    if (units_parse_f64(value, &number)) {
        text_add(out, "%s", value);
    } else {
        propose_add_path(out, value);
    }
}

static void spec_compose(const struct spec_settings *s, struct text *out)
{
    text_add(out, "input:\n  files: [");
    for (uint32_t i = 0; i < s->shared.noperands; i++) {
        spec_add(out, i > 0 ? ", " : "", s->shared.operands[i]);
    }
    text_add(out, "]\n");
    if (s->shared.layout) {
        text_add(out, "  layout: %s\n", s->shared.layout);
    }
    text_add(out, "channelise: {");
    spec_add(out, units_of(s->channels) ? "width: " : "channels: ", s->channels);
    spec_add(out, ", taps: ", s->taps);
    text_add(out, "}\nproducts:\n  - {kind: power");
    spec_add(out, ", file: ", s->output);
    spec_add(out, ", integrate: ", s->integrate);
    spec_add(out, ", polarisation: ", s->pol);
    text_add(out, "}\n");
}

/* Prints the job with what --set adds. One with mistakes is printed without: the run reports them.
 */
static status_t spec_print(const struct spec_settings *s, const struct text *text)
{
    SCOPED(mistakes_free) struct mistakes mistakes = {.file = "spec"};
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    SCOPED(text_free) struct text whole = {0};
    const struct option_texts *sets = &s->shared.sets;
    TRY(report_forgive(yaml_file_read(text->data, text->length, sets->items, sets->count, NULL,
                                      &mistakes, &root)));
    TRY(root && sets->count > 0 ? tree_write(root, NULL, NULL, &whole) : STATUS_OK);
    display_print("%s", whole.data ? whole.data : text->data);
    return STATUS_OK;
}

static status_t spec_check(void *settings)
{
    const struct spec_settings *s = settings;
    REQUIRE(s->channels && s->output, STATUS_USAGE,
            "spec: expected %s; see voltmill spec --help (voltmill new FILE proposes a job)",
            s->channels ? "-o FILE, the product to write" : "-c N, channels or their width");
    const char *ending = strrchr(s->output, '.');
    REQUIRE(ending && ending > s->output &&
                text_place(".h5|.hdf5|.fil|.fits|.sf", ending, strlen(ending)) >= 0,
            STATUS_USAGE,
            "spec -o %s: expected a name that ends in .h5, .fil or .fits, which says the format",
            s->output);
    stop_hold(1);
    return STATUS_OK;
}

static status_t spec_run_all(void *settings)
{
    const struct spec_settings *s = settings;
    SCOPED(text_free) struct text text = {0};
    spec_compose(s, &text);
    TRY(agree_all(MPI_COMM_WORLD, text.status));
    TRY(agree_all(MPI_COMM_WORLD, s->shared.rank == 0 ? spec_print(s, &text) : STATUS_OK));
    const struct run_options run = {.path = "spec",
                                    .given = &text,
                                    .sets = s->shared.sets.items,
                                    .nsets = s->shared.sets.count,
                                    .force = s->shared.force,
                                    .restart = s->shared.restart,
                                    .patience = -1,
                                    .progress = s->shared.progress};
    return !s->dry_run           ? run_job_all(MPI_COMM_WORLD, &run)
           : s->shared.rank == 0 ? plan_job_show(&run, plan_job_print)
                                 : STATUS_OK;
}

const struct command cli_spec = {
    .name = "spec",
    .summary = "make power spectra of an archive, without a job file",
    .usage = "[OPTION]... -c CHANNELS -o OUTPUT FILE...",
    .about = "Prints the job that its options make, and runs it: voltages become power in "
             "channels, summed over time. The same command resumes it.\n"
             "voltmill spec -c 64 -t 16 -p I -o x.fil 'x.*.raw'\n"
             "Several files, or a pattern in quotes, are one archive. --set adds any other key.",
    .ending = "Exit status: as that of `voltmill run`.",
    .operand = "file",
    .ends = "h5|hdf5|raw|vdif|dada|dat",
    .takes_many = 1,
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct spec_settings),
    .check = spec_check,
    .run = spec_run_all};
