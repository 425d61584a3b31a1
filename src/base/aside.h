/* A thread that does one thing at a time beside the one who asks for it. */
#ifndef VOLTMILL_BASE_ASIDE_H
#define VOLTMILL_BASE_ASIDE_H

#include "base/status.h"

typedef struct aside aside_t;

/* Starts the thread. Fails with DEVICE. */
status_t aside_create(aside_t **out);
/* Waits for what is being done, and ends the thread. */
void aside_destroy(aside_t *aside);

/* Has `work` done with `context`, whose failure is handed over to the main thread; what was begun
 * before must have been waited for. */
void aside_begin(aside_t *aside, void (*work)(void *context), void *context);
/* Returns when nothing is being done. */
void aside_wait(aside_t *aside);

#endif
