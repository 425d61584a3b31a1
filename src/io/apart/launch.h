/* How this process came to be. */
#ifndef VOLTMILL_IO_APART_LAUNCH_H
#define VOLTMILL_IO_APART_LAUNCH_H

/* Whether a launcher has started this process: then others may do the same at this moment, and what
 * is printed goes through the launcher's pipes, even if somebody sits at a terminal. */
int launch_is_used(void);

#endif
