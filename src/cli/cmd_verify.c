/* voltmill verify PRODUCT */
#include "verify/verify.h"

#include "cli/values.h"

struct verify_settings {
    struct shared shared;
    int crc, all, json;
    uint64_t chunks, seed;
};

#define AT(field) offsetof(struct verify_settings, field)

static const struct option_row rows[] = {
    {"crc", FLAG(AT(crc)), "reads everything and compares CRCs"},
    {"all", FLAG(AT(all)), "recomputes everything"},
    {"chunks", "N", value_u64, AT(chunks), "1..", "16", "recomputes N chunks"},
    {"seed", "N", value_u64, AT(seed), "0..", "1", "seed of the random choice of chunks"},
    {"set", "KEY=VALUE", value_texts, AT(shared.sets), NULL, NULL,
     "sets a key of the product's job, e.g. --set input.files=/new/place.h5"},
    {"json", FLAG(AT(json)), "prints the result as a JSON object"},
    {.name = "stall-timeout progress"},
    {.name = NULL}};

static status_t verify_run_all(void *settings)
{
    const struct verify_settings *s = settings;
    SCOPED(json_free) struct json json = {.depth = 0};
    struct verify_options options = {.path = s->shared.operand,
                                     .sets = s->shared.sets.items,
                                     .nsets = s->shared.sets.count,
                                     .all = s->all,
                                     .chunks = s->chunks,
                                     .seed = s->seed,
                                     .progress = s->shared.progress,
                                     .json = s->json ? &json : NULL};
    status_t st = s->crc ? verify_crc_all(MPI_COMM_WORLD, &options)
                         : verify_product_all(MPI_COMM_WORLD, &options);
    /* Ends the object after the result, good or bad; a failure before leaves an object half
     * written. */
    if (s->shared.rank == 0 && json.depth == 1) {
        json_end(&json);
        status_t printed = json_print(&json);
        st = st == STATUS_OK ? printed : st;
    }
    return st;
}

const struct command cli_verify = {
    .name = "verify",
    .summary = "recompute a product with the reference and compare",
    .usage = "[OPTION]... PRODUCT",
    .about =
        "Recomputes chunks of a product from its archive with the slow double-precision reference "
        "and compares: the first, the last and a random sample of the others, or all. The product "
        "contains its job; the archive (of dedispersed series: the filterbank) must be where the "
        "job says, relative to the current folder. It is read by the same code as in the run, so a "
        "fault of that code is not found.\n\nWith --crc it recomputes nothing but reads "
        "everything: a finished product is compared with the CRCs that it contains, a FILE.part "
        "with its journal. This needs neither archive nor job.",
    .ending = "Exit status: 0 agrees, 4 differs, is damaged or unreadable, 2 usage.",
    .operand = "product",
    .ends = "h5|part",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct verify_settings),
    .run = verify_run_all};
