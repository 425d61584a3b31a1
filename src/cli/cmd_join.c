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
                                         {.name = "force adopt stall-timeout"},
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
    SCOPED(text_free) struct text said = {0};
    status_t st =
        join_parts(s->shared.operands, s->shared.noperands, s->output, s->shared.force, &said);
    display_print("%s", said.data ? said.data : "");
    return st;
}

const struct command cli_join = {
    .name = "join",
    .summary = "join products that were made separately, in time or frequency",
    .usage = "-o FILE [OPTION]... PRODUCT PRODUCT...",
    .about = "Joins parts of one observation that were made separately: power or spectra of the "
             "same filter bank. Parts of the same band are joined in time, in any order of the "
             "arguments; rows between them are missing (NaN, weight 0). Parts of the same time are "
             "joined in frequency, channels side by side. Rows are copied byte for byte, with "
             "weights, flags and kurtosis; the result names its parts (docs/products.md).",
    .operand = "product",
    .ends = "h5",
    .takes_many = 1,
    .rows = rows,
    .bytes = sizeof(struct join_settings),
    .check = join_check,
    .run = join_run};
