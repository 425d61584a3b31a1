/* The log of a tuner: one line of CSV for every configuration that was timed. A tuner that is
 * killed and begun again finds in it what it need not time twice. */
#ifndef VOLTMILL_TUNE_LOG_H
#define VOLTMILL_TUNE_LOG_H

#include "base/status.h"

#include <stdint.h>

enum tune_state { TUNE_UNTRIED, TUNE_OK, TUNE_WRONG, TUNE_FAILED };

/* One line. Words and problem have neither commas, quotes nor line ends. */
struct tune_entry {
    const char *problem, *words;
    uint32_t round;              /* 0: of the search; 1, 2, ...: of the turns of the best */
    double seconds, spent, cost; /* median; all that it took; by the model */
    enum tune_state state;
};

typedef struct tune_log tune_log_t;

/* Opens or makes the log at `path` and reads its entries; a new or empty one gets its first line. A
 * line that is cut short or malformed is skipped with a warning. With NULL as path, nothing is
 * stored. Fails with USAGE if the file is no log (another text, HDF5, a NUL byte); with DATA (no
 * ordinary file, unreadable, not writable, above 256 MiB), NO_SPACE, DEVICE (memory). */
status_t tune_log_open(const char *path, tune_log_t **out);
void tune_log_close(tune_log_t *log); /* takes NULL */
SCOPED_END(tune_log_close, tune_log_t *)

/* Returns the entry of an earlier tuner with these words and this round, which belongs to the log,
 * or NULL (the log is not NULL). Lines of this log's tune_log_add() are not found. */
const struct tune_entry *tune_log_find(const tune_log_t *log, const char *problem,
                                       const char *words, uint32_t round);
/* Writes a line at the end, in one piece; a full disk may cut it short. Nothing without a path.
 * Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t tune_log_add(tune_log_t *log, const struct tune_entry *entry);

#endif
