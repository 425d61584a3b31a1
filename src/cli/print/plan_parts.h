/* What the files of `voltmill plan` share. For nobody else. */
#ifndef VOLTMILL_CLI_PRINT_PLAN_PARTS_H
#define VOLTMILL_CLI_PRINT_PLAN_PARTS_H

#include "output/outputs.h"
#include "output/room.h"

/* Prints what is needed and free, and warns where it is too little. Fails with USAGE. */
status_t plan_room_print(const struct room *room);

/* Prints that a product is complete, and no run would touch it. */
void plan_print_complete(const char *file);

/* Prints how far an earlier run has come that this one would go on with; nothing if there is none.
 */
void plan_print_begun(const outputs_t *outputs, const struct outputs_begun *begun);

/* Plans one dedispersion: of what `work` makes, or (NULL) of a file that is there. With NULL as
 * options its product is complete. */
status_t plan_dedispersion(const struct job *job, uint32_t number,
                           const struct channelise_plan *work,
                           const struct outputs_options *options, struct room *room);

#endif
