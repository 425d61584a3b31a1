/* `input.layout.streams` in a job file: the keys of one of them. */
#include "job/job_schema.h"

#define STREAM(member) SCHEMA_AT(struct job_stream, member)

const struct schema job_streams_schema[] = {
    {"thread", SCHEMA_WHOLE, "number of the thread in the file", STREAM(thread), .max = 1023,
     .otherwise = "0"},
    {"channel", SCHEMA_WHOLE, "number of the channel in the thread", STREAM(channel),
     .max = 1 << 24, .otherwise = "0"},
    {"pol", SCHEMA_TEXT, "name of its polarisation", STREAM(pol), .is_required = 1,
     .expected = "the name of a polarisation, such as X"},
    {"freq_hz", SCHEMA_NUMBER, "sky frequency of the centre of its band, Hz", STREAM(freq_hz),
     .min = -1e15, .max = 1e15, .is_required = 1},
    {"sideband", SCHEMA_CHOICE, "`1`: sky frequency rises with phase rotation; `-1`: it falls",
     STREAM(sideband), .choices = (const char *const[]){"1", "-1", "+1", NULL},
     .values = (const int[]){1, -1, 1}, .otherwise = "1"},
    {"dc", SCHEMA_CHOICE, "position of 0 Hz of complex samples in the band", STREAM(dc),
     .choices = (const char *const[]){"centre", "lower", "upper", NULL}},
    {.key = NULL},
};
