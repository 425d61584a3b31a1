/* `synthesise` in a job file: its keys, and what they need of each other and of the rest. */
#include "job/job_schema.h"

#include <string.h>

#define SYNTHESISE(member) SCHEMA_AT(struct job_synthesise, member)

const struct schema job_synthesise_schema[] = {
    {"prototype", SCHEMA_TEXT,
     "filter that made the channels: `auto` reads it from the archive (spectra of voltmill have "
     "it); a file as in `filter.coefficients`, oldest sample first; or the name of a telescope, "
     "`chime` or `katgpucbf`",
     SYNTHESISE(prototype), .may_be_auto = 1,
     .expected =
         "the path of a file with the prototype of the channels' filter bank, or a telescope's "
         "name"},
    {"prototype_taps", SCHEMA_WHOLE,
     "taps of a prototype from a file; its points are numbers / taps. Spectra of voltmill need "
     "their own taps and points",
     .absent = "required with a file", SYNTHESISE(prototype_taps), .min = 1, .max = 1 << 16},
    {"channels", SCHEMA_WHOLE,
     "channels to use, counted by frequency from 0 in each coarse channel that was channelised: "
     "makes a narrower stream",
     .absent = "all", SCHEMA_PAIR(struct job_synthesise, first_channel),
     SCHEMA_GIVEN(struct job_synthesise, has_channels, 1), .max = 0x1p40,
     .expected = "two whole numbers: [first, last]"},
    {"taps", SCHEMA_WHOLE, "taps of the synthesis filter, instead of `accuracy`", SYNTHESISE(taps),
     .min = 1, .max = 4096, .may_be_auto = 1},
    {"accuracy", SCHEMA_NUMBER,
     "largest error of white noise, in dB below the signal: uses the fewest taps that reach it",
     SYNTHESISE(accuracy), .min = 10, .max = 200, .otherwise = "100"},
    {"origin", SCHEMA_WHOLE,
     "samples of the stream, before its first, from which phases of the channels count: 0 for "
     "spectra of voltmill, else see the telescope's documents",
     .absent = "0", SYNTHESISE(origin), .max = 0x1p62},
    {"backend", SCHEMA_CHOICE, "as `channelise.backend`: one for all that compute",
     SYNTHESISE(backend), .choices = backend_names},
    {.key = NULL},
};

/* It stands before all else, and what comes of it are voltages. */
static status_t job_synthesise_check_place(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    static const char *const others[] = {"channelise", "dedisperse"};
    for (size_t i = 0; i < 2; i++) {
        if (tree_member(root, others[i])) {
            TRY(mistakes_at(mistakes, root, "synthesise",
                            "makes voltages, which this job does not write but %s: expected two "
                            "jobs, the second of which reads the voltages of the first",
                            strcmp(others[i], "channelise") == 0 ? "channelises" : "dedisperses"));
        }
    }
out:
    return st;
}

/* One backend computes all. */
static status_t job_synthesise_check_backend(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const char *mine = tree_value(root, "synthesise.backend");
    const struct tree *filters = tree_list(root, "filter");
    for (size_t i = 0; mine && filters && i < filters->nchildren; i++) {
        const char *backend = tree_value(filters->child[i], "backend");
        if (backend && strcmp(backend, mine) != 0) {
            TRY(mistakes_at(mistakes, filters->child[i], "backend",
                            "is %s, but synthesise.backend is %s: both have one backend", backend,
                            mine));
        }
    }
out:
    return st;
}

status_t job_synthesise_check(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *entry = tree_member(root, "synthesise");
    if (!entry) {
        return STATUS_OK;
    }
    const char *taps = tree_value(entry, "taps");
    const char *prototype = tree_value(entry, "prototype");
    TRY(job_synthesise_check_place(root, mistakes));
    TRY(job_synthesise_check_backend(root, mistakes));
    if (taps && strcmp(taps, "auto") != 0 && tree_value(entry, "accuracy")) {
        TRY(mistakes_at(mistakes, entry, "accuracy",
                        "chooses the taps, but taps is %s: expected one of them", taps));
    }
    if (tree_value(entry, "prototype_taps") && (!prototype || strcmp(prototype, "auto") == 0)) {
        TRY(mistakes_at(mistakes, entry, "prototype_taps",
                        "is for a prototype from a file: an archive says its own"));
    }
    if (tree_number(entry, "channels.1", 0) < tree_number(entry, "channels.0", 0)) {
        TRY(mistakes_at(mistakes, entry, "channels", "ends at %s, before the %s where it begins",
                        tree_value(entry, "channels.1"), tree_value(entry, "channels.0")));
    }
out:
    return st;
}

void job_synthesise_settle(struct job *job)
{
    const struct job_synthesise *synthesise = &job->synthesise;
    job->select.has_places = synthesise->has_channels;
    job->select.first_place = synthesise->first_channel;
    job->select.last_place = synthesise->last_channel;
}
