#include "output/outputs_parts.h"

#include "base/memory.h"

status_t outputs_foresee(const struct output_spec *making, const struct outputs_options *options,
                         struct outputs_begun *begun, outputs_t **out)
{
    status_t st = STATUS_OK;
    outputs_t *outputs = NULL;
    *begun = (struct outputs_begun){0};
    TRY(memory_zeroed(1, sizeof *outputs, "products", &outputs));
    outputs->comm = MPI_COMM_NULL;
    outputs->making = making;
    outputs->options = *options;
    outputs->options.only_looks = 1;
    TRY(outputs_name_files(outputs));
    TRY(outputs_claim(outputs, begun));
    *out = outputs;
    outputs = NULL;
out:
    outputs_destroy(outputs);
    return st;
}

status_t outputs_foresee_plan(const outputs_t *outputs)
{
    status_t st = STATUS_OK;
    struct journal_head now = {0};
    for (uint32_t i = 0; i < outputs->count && outputs->is_begun; i++) {
        const struct output *output = &outputs->outputs[i];
        const struct output_spec_item *item = &outputs->making->items[i];
        struct product_place place = {.rows = item->rows, .row_bytes = item->row_bytes};
        TRY(outputs_make_head(outputs, i, &place, &now));
        TRY(journal_head_compare(output->journal_path, journal_head(output->journal), &now));
        journal_head_free(&now);
    }
out:
    journal_head_free(&now);
    return st;
}
