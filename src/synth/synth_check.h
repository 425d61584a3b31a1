/* What several keys of a synthetic observation's specification must have in common. */
#ifndef VOLTMILL_SYNTH_SYNTH_CHECK_H
#define VOLTMILL_SYNTH_SYNTH_CHECK_H

#include "job/yaml/mistakes.h"
#include "job/yaml/tree.h"
#include "synth/synth_spec.h"

/* Adds the mistakes of a specification that schema_fill() has filled from `root`. Fails with DEVICE
 * (memory). */
status_t synth_check(const struct synth_spec *spec, struct tree *root, struct mistakes *mistakes);

#endif
