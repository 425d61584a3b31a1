/* What the specification of a synthetic observation may hold. */
#ifndef VOLTMILL_SYNTH_SYNTH_SPEC_SCHEMA_H
#define VOLTMILL_SYNTH_SYNTH_SPEC_SCHEMA_H

#include "job/yaml/tree_check.h"
#include "synth/synth_spec.h"

enum { SYNTH_TONES = 10000 };

/* What stands in the file: NULL or 0 for what is not there. */
struct synth_spec_streams {
    uint32_t stations, beams, pols, chans;
};

struct synth_spec_pulsar {
    double period, dm, amplitude, phase;
    double *width;
};

struct synth_spec_file {
    char *file;
    uint64_t samples;
    struct synth_spec_streams streams;
    enum sample_format format;
    int is_real;
    double sample_rate_hz;
    double freq_hz;
    double noise;
    struct synth_tone *tones;
    uint32_t ntones;
    struct synth_spec_pulsar *pulsar;
    uint64_t seed;
    char *start;
    char *telescope;
    char *source;
};

extern const cyaml_schema_value_t synth_spec_schema;
extern const struct tree_rule synth_spec_rules[];

#endif
