/* Process numbers with the time of birth, since numbers are used again; /proc has both. */
#include "ranks/peers.h"

#include "base/memory.h"
#include "ranks/agree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1024, FIELDS_TO_START = 19 /* of /proc/PID/stat, after the state */ };

struct peer {
    char host[MPI_MAX_PROCESSOR_NAME];
    long process;
    unsigned long long born; /* ticks of the machine's clock */
};

struct peers {
    int rank, size;
    struct peer *items; /* [size] */
    char *is_seen;      /* [size] */
};

/* When a process was born, or 0 when it is gone or a zombie. */
static unsigned long long peers_birth_of(long process, char *state)
{
    char path[64];
    char line[LINE];
    unsigned long long born = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "re");
    const char *at = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file) {
        fclose(file);
    }
    if (!at || strlen(at) < 3 || strchr("ZXx", at[2])) {
        return 0;
    }
    at += 2;
    *state = *at;
    for (int i = 0; i < FIELDS_TO_START && at; i++, at = at ? strchr(at + 1, ' ') : NULL) {
    }
    return at && sscanf(at, "%llu", &born) == 1 ? born : 0;
}

/* Its state as /proc has it; 0 when it is gone. */
static char peers_state(const peers_t *peers, int rank)
{
    const struct peer *peer = &peers->items[rank];
    char state = 0;
    return peers_birth_of(peer->process, &state) == peer->born ? state : '\0';
}

/* Collective. */
static void peers_fill(peers_t *peers, MPI_Comm comm)
{
    char state;
    struct peer mine = {.process = getpid(), .born = peers_birth_of(getpid(), &state)};
    int length = 0;
    MPI_Get_processor_name(mine.host, &length);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, peers->items, sizeof mine, MPI_BYTE, comm);
    for (int i = 0; i < peers->size; i++) {
        peers->is_seen[i] = i != peers->rank && strcmp(peers->items[i].host, mine.host) == 0 &&
                            mine.born > 0 && peers_is_there(peers, i);
    }
}

static status_t peers_make_room(MPI_Comm comm, peers_t **out)
{
    status_t st = STATUS_OK;
    peers_t *peers = NULL;
    TRY(memory_zeroed(1, sizeof *peers, "ranks", &peers));
    MPI_Comm_rank(comm, &peers->rank);
    MPI_Comm_size(comm, &peers->size);
    TRY(memory_zeroed((size_t)peers->size, sizeof *peers->items, "ranks", &peers->items));
    TRY(memory_zeroed((size_t)peers->size, 1, "ranks", &peers->is_seen));
    *out = peers;
    peers = NULL;
out:
    peers_destroy(peers);
    return st;
}

status_t peers_create_all(MPI_Comm comm, peers_t **out)
{
    status_t st = STATUS_OK;
    peers_t *peers = NULL;
    TRY(agree_all(comm, peers_make_room(comm, &peers)));
    peers_fill(peers, comm);
    *out = peers;
    peers = NULL;
out:
    peers_destroy(peers);
    return st;
}

void peers_destroy(peers_t *peers)
{
    if (peers) {
        free(peers->items);
        free(peers->is_seen);
        free(peers);
    }
}

int peers_rank(const peers_t *peers)
{
    return peers->rank;
}

int peers_count(const peers_t *peers)
{
    return peers->size;
}

int peers_is_seen(const peers_t *peers, int rank)
{
    return peers->is_seen[rank];
}

int peers_is_there(const peers_t *peers, int rank)
{
    return peers_state(peers, rank) != '\0';
}

/* Whether it is stopped by a signal or a debugger. */
static int peers_is_still(const peers_t *peers, int rank)
{
    char state = peers_state(peers, rank);
    return state == 'T' || state == 't';
}

int peers_find_gone(const peers_t *peers)
{
    int rank = 0;
    while (rank < peers->size && !(peers->is_seen[rank] && !peers_is_there(peers, rank))) {
        rank++;
    }
    return rank < peers->size ? rank : -1;
}

int peers_find_still(const peers_t *peers)
{
    int rank = 0;
    while (rank < peers->size && !(peers->is_seen[rank] && peers_is_still(peers, rank))) {
        rank++;
    }
    return rank < peers->size ? rank : -1;
}

int peers_is_first(const peers_t *peers)
{
    for (int i = 0; i < peers->rank; i++) {
        if (peers->is_seen[i] && peers_is_there(peers, i) && !peers_is_still(peers, i)) {
            return 0;
        }
    }
    return 1;
}

void peers_name(const peers_t *peers, int rank, char out[PEERS_NAME])
{
    snprintf(out, PEERS_NAME, "rank %d on %s", rank, peers->items[rank].host);
}

int peers_has(const peers_t *peers, long process)
{
    for (int i = 0; i < peers->size; i++) {
        if (peers->is_seen[i] && peers->items[i].process == process) {
            return 1;
        }
    }
    return 0;
}

void peers_send(const peers_t *peers, int signal, int number)
{
    for (int i = 0; i < peers->size; i++) {
        if (peers->is_seen[i] && peers_is_there(peers, i)) {
            (void)sigqueue((pid_t)peers->items[i].process, signal,
                           (union sigval){.sival_int = number});
        }
    }
}
