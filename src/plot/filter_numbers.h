/* The filter banks of a job as JSON, for who draws them. */
#ifndef VOLTMILL_PLOT_FILTER_NUMBERS_H
#define VOLTMILL_PLOT_FILTER_NUMBERS_H

#include "base/json/json.h"
#include "job/job.h"

/* Appends "filters": a list of {name, title, taps, samples, coefficients}, coefficients
 * [taps][samples], the oldest sample first. Fails with USAGE (no filter bank), DATA, DEVICE. */
status_t filter_numbers(const struct job *job, struct json *json);

#endif
