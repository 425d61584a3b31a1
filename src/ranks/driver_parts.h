/* What the files of the driver share: driver.c has the loops of rank 0 and the others,
 * driver_messages.c what rank 0 hears, driver_liveness.c what is done about ranks of which nothing
 * comes, driver_state.c what all of them say and know. For nobody else. */
#ifndef VOLTMILL_RANKS_DRIVER_PARTS_H
#define VOLTMILL_RANKS_DRIVER_PARTS_H

#include "ranks/driver.h"
#include "ranks/liveness.h"

enum {
    TAG_ASK = 21,       /* from others to rank 0: uint64 chunks finished since the last time */
    TAG_GIVE = 22,      /* back: uint64 chunk, or NO_CHUNK */
    TAG_TELL = 23,      /* to rank 0: at most TELL_BYTES, the end of what one call of tell() gave */
    TAG_WISH = 24,      /* to rank 0: int, enum stop: this rank was asked to stop */
    TAG_END = 25,       /* to rank 0: struct ending, the last one of a rank */
    TAG_STOP = 26,      /* from rank 0: int [STOP_WORDS], enum reason and status */
    TAG_TROUBLE = 27,   /* to rank 0: struct ending, as soon as something has gone wrong */
    TAG_LOST = 28,      /* to rank 0: int, a rank that is dead */
    TAG_HEARTBEAT = 29, /* to rank 0, and back: nothing */
    TAG_GIVEN_UP = 30, /* to rank 0, which was silent: nothing, the others end the run without it */
    TAG_TELL_ON = 31,  /* to rank 0: TELL_BYTES, of which more are on their way */
    STOP_WORDS = 2,
    TELL_BYTES = 16384,
    CAUSE_BYTES = 4096
};

enum reason { REASON_FAILURE = 1, REASON_WISH = 2, REASON_WISH_AT_ONCE = 3 };

/* How long the others may take to come in after one has failed, and work that is under way when
 * the run is to stop; then what is left may take a moment to be synced. */
#define DRIVER_TIMEOUT 8.0
#define DRIVER_SETTLING 0.7

#define NO_CHUNK UINT64_MAX

/* What a rank says at its end. */
struct ending {
    int32_t status;
    int32_t is_short; /* it may not have finished all that it was given */
    int32_t is_stuck; /* it cannot end by itself */
    char cause[CAUSE_BYTES];
};

/* A message to rank 0. */
union heard {
    uint64_t done;
    int lost;
    int wish;
    struct ending ending;
    char told[TELL_BYTES];
};

/* What a rank tells in several messages. */
struct told {
    struct text text;
    int is_broken; /* a part of it is lost */
};

struct driver {
    MPI_Comm comm;
    int rank, size;
    const struct driver_work *work;
    struct progress *progress;
    liveness_t *liveness;
    struct text told;      /* room for what tell() gives */
    struct letter *posted; /* sent, and perhaps not on their way yet */
    double stopping_since; /* < 0: nobody wants to stop */
    int stopping;          /* enum stop */
    int is_short;          /* chunks that were given out may not be finished */
    /* Rank 0 only. */
    uint64_t next;      /* chunk to give out */
    uint64_t returned;  /* chunks that are done, as far as requests tell */
    int ended;          /* other ranks that have ended */
    int stops;          /* TAG_STOP sent to each */
    int lost;           /* ranks that cannot end by themselves: dead, silent, or stuck */
    int failed_rank;    /* -1: none */
    union heard *heard; /* room for it: it can be taken, however little memory is left */
    struct told *half;  /* [size], what each has told so far */
    struct ending failure;
    /* Other ranks. */
    int stops_seen;
    int heartbeats, heartbeats_seen; /* sent to rank 0, and come back */
    int is_stopped;                  /* rank 0 said that somebody has failed */
    status_t failed_with;            /* and with what */
    int has_ended;                   /* it has said so: rank 0 does not listen to it any more */
    int wished;                      /* enum stop: rank 0 was told of that wish */
    status_t trouble;                /* what went wrong while serving */
};

/* Sends a copy of these bytes, and waits for nobody. */
void driver_post(driver_t *driver, const void *data, size_t bytes, int rank, int tag);
/* Whether some of what was posted is not on its way yet. */
int driver_has_posted(driver_t *driver);

/* Whether there is a chunk to give out; the next one, NO_CHUNK when none is to be begun. */
int driver_has_more(driver_t *driver);
uint64_t driver_take_chunk(driver_t *driver);

/* What this rank says at its end, with its name. */
struct ending driver_ending_of(const driver_t *driver, status_t st);

/* Something went wrong on this rank (or nothing). */
void driver_note_trouble(driver_t *driver, status_t st);

/* Rank 0: a rank has failed. */
void driver_note_failure(driver_t *driver, int rank, const struct ending *ending);

/* Somebody wants the run to stop: enum stop. */
void driver_begin_stop(driver_t *driver, int how);

/* Other ranks: receives what rank 0 has sent with a tag, if it is there; and its word that the run
 * ends. */
int driver_receive(driver_t *driver, int tag, void *data, size_t bytes);
void driver_look_for_stop(driver_t *driver);

/* Looks after ranks that die or fall silent; with `all`, after all of this machine at once. Does
 * not return on a rank that is left without rank 0. driver_lose() is rank 0's, for a rank that
 * another one found dead. */
void driver_look_after(driver_t *driver, int all);
void driver_lose(driver_t *driver, int rank);

/* Rank 0: ends it without a word when the others have given it up. One of them has said so. */
void driver_end_given_up(driver_t *driver);

/* Whether what is under way should be dropped, so that a stop does not take for ever. */
int driver_is_late(const driver_t *driver);

/* Rank 0: shows how far the run is, if it is time. */
void driver_show_progress(driver_t *driver);

/* Hands on what this rank has to tell. */
status_t driver_tell(driver_t *driver);

#endif
