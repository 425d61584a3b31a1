/* voltmill join -o OUT PART... */
#include "product/join.h"

#include "base/display.h"
#include "cli/values.h"

struct join_settings {
    struct shared shared;
    const char *output;
};

static const struct option_row rows[] = {{"o,output", "FILE", value_text,
                                          offsetof(struct join_settings, output), NULL, NULL,
                                          "the product that is made of them"},
                                         {.name = "force adopt"},
                                         {.name = NULL}};

static status_t join_check(void *settings)
{
    const struct join_settings *s = settings;
    REQUIRE(s->output, STATUS_USAGE, "join: -o is missing: the product to write");
    return REQUIRED(s->shared.noperands > 1, STATUS_USAGE,
                    "join: expected two products or more, got %u", s->shared.noperands);
}

static status_t join_run(void *settings)
{
    const struct join_settings *s = settings;
    struct text said = {0};
    const struct join_options options = {.out = s->output,
                                         .parts = s->shared.operands,
                                         .nparts = s->shared.noperands,
                                         .force = s->shared.force};
    status_t st = join_parts(&options, &said);
    display_print("%s", said.data ? said.data : "");
    text_free(&said);
    return st;
}

const struct command cli_join = {
    .name = "join",
    .summary = "put products together that were made apart, in time or frequency",
    .usage = "-o FILE [OPTION]... PRODUCT PRODUCT...",
    .about = "Puts parts of one observation together that were made apart: power or spectra of the "
             "same filter bank. Parts of one band are joined in time, in whatever order they are "
             "named; rows between them are missing (NaN, weight 0). Parts of one time are joined "
             "in frequency, channels side by side. Rows are copied byte for byte; weights, flags "
             "and kurtosis follow, and the result says of which parts it is (docs/products.md).",
    .operand = "product",
    .ends = "h5",
    .takes_many = 1,
    .rows = rows,
    .bytes = sizeof(struct join_settings),
    .check = join_check,
    .run = join_run};
