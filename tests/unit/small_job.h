/* A small job, for tests: what is made of it and of changes to it, and how they are refused. */
#ifndef VOLTMILL_TESTS_SMALL_JOB_H
#define VOLTMILL_TESTS_SMALL_JOB_H

#include "job/job.h"

#include <stdio.h>
#include <string.h>

#define SMALL                                                                                      \
    "input: {files: a.h5}\n"                                                                       \
    "channelise: {channels: 1024}\n"                                                               \
    "products: [{kind: power, file: p.h5}]\n"

static inline struct job *accepted(const char *text, const char *const *sets, uint32_t nsets)
{
    struct job *job = NULL;
    report_clear();
    status_t st = job_parse("job.yaml", text, strlen(text), sets, nsets, &job);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    return job;
}

static inline void refused(const char *text, const char *message)
{
    struct job *job = NULL;
    report_clear();
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_USAGE);
    assert_null(job);
    assert_string_equal(report_cause(), message);
    report_clear();
}

/* A small job with one override is refused with "--set SET: MESSAGE". */
static inline void set_refused(const char *set, const char *message)
{
    struct job *job = NULL;
    char expected[2048];
    snprintf(expected, sizeof expected, "--set %s: %s", set, message);
    report_clear();
    assert_int_equal(job_parse("job.yaml", SMALL, strlen(SMALL), &set, 1, &job), STATUS_USAGE);
    assert_null(job);
    assert_string_equal(report_cause(), expected);
    report_clear();
}

static inline struct job *small_with(const char *set)
{
    return accepted(SMALL, &set, 1);
}

#endif
