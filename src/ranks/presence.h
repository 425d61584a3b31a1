/* Whether this process was there all the time. One that was stopped (by a terminal, by SLURM's
 * suspend, by a machine too busy to let it run) has seen nothing meanwhile: what it did not see
 * then says nothing about others. */
#ifndef VOLTMILL_RANKS_PRESENCE_H
#define VOLTMILL_RANKS_PRESENCE_H

/* Begins as {0}. */
struct presence {
    double here; /* progress_now() of the last look; 0: none yet */
};

/* To be called often. Gives 1 when the last call was longer ago than half of `patience` (s), 0
 * otherwise and when patience is 0. */
int presence_was_away(struct presence *presence, double patience);

#endif
