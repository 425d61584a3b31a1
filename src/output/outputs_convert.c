/* Writes products that are complete as files of other formats, before they get their names: rank 0
 * does, as `voltmill export` would. Nothing of that is kept when it does not come to an end: the
 * next run begins it again. */
#include "output/outputs_parts.h"

#include "io/claim.h"
#include "io/file.h"
#include "product/export/export.h"
#include "ranks/liveness.h"
#include "ranks/stop.h"

#include <stdio.h>
#include <stdlib.h>

/* One product under way, and who looks whether anything moves. */
struct converting {
    const struct output *output;
    double patience;
    liveness_watchdog_t *watchdog;
};

static status_t convert_watch(struct converting *c)
{
    enum { MESSAGE_BYTES = 8192 };
    char message[MESSAGE_BYTES];
    liveness_watchdog_end(c->watchdog);
    c->watchdog = NULL;
    snprintf(message, sizeof message,
             "%.4000s could not be written in its format: nothing has moved for %g s: the same "
             "command goes on",
             c->output->part, c->patience);
    return liveness_watchdog_begin(c->patience, message, &c->watchdog);
}

/* After each block. */
static status_t convert_tick(void *context)
{
    status_t st = STATUS_OK;
    struct converting *c = context;
    REQUIRE(!stop_wanted(), STATUS_STOPPED,
            "%s is complete, and was being written in its format; the same command goes on",
            c->output->part);
    TRY(convert_watch(c));
out:
    return st;
}

status_t outputs_convert(outputs_t *outputs, uint32_t i, double patience)
{
    status_t st = STATUS_OK;
    struct output *output = &outputs->outputs[i];
    const struct output_spec_item *item = &outputs->spec->items[i];
    struct converting converting = {.output = output, .patience = patience};
    struct text said = {0};
    struct product *product = NULL;
    char *made = NULL; /* no folder: that of the .part */
    TRY(convert_watch(&converting));
    TRY(outputs_put_counts(output));
    TRY(product_count_holes(output->fd, output->part, &output->place, &output->holes));
    TRY(outputs_count_flags(outputs, i, output->part, &output->flags));
    TRY(product_count_clips(output->fd, output->part, &output->place,
                            (uint64_t)item->spec.nifs * item->spec.frequencies, &output->clips));
    TRY(claim_part(output->packed_path, outputs->options.force, stamp_is_in, &output->packed_fd,
                   &made));
    TRY(product_open(output->part, &product));
    REQUIRE(product, STATUS_DATA, "%s is no product any more", output->part);
    const struct stamp stamp =
        stamp_of(product->origin.job_text, product->origin.inputs, output->place.rows);
    const struct export_into into = {output->packed_fd, output->packed_path};
    const struct export_bank_options options = {
        .format = item->format,
        .bits = item->spec.steps.bits < 32 ? item->spec.steps.bits : 0,
        .product = output->part,
        .out = item->file,
        .into = &into,
        .stamp = &stamp,
        .tick = convert_tick,
        .context = &converting};
    TRY(export_bank(&options, &said));
    output->packed_place = output->place;
out:
    liveness_watchdog_end(converting.watchdog);
    text_free(&said);
    product_destroy(product);
    free(made);
    return st;
}
