/* What the driver sends. MPI_Send() to a rank whose machine is gone may never return: what is sent
 * goes into a letter of its own, and nobody waits for it but the end of a run that went well. */
#include "ranks/driver_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct letter {
    struct letter *next;
    MPI_Request request;
    char data[];
};

int driver_has_posted(driver_t *driver)
{
    struct letter **at = &driver->posted;
    while (*at) {
        struct letter *letter = *at;
        int is_sent = 0;
        MPI_Test(&letter->request, &is_sent, MPI_STATUS_IGNORE);
        if (is_sent) {
            *at = letter->next;
            free(letter);
        } else {
            at = &letter->next;
        }
    }
    return driver->posted != NULL;
}

void driver_post(driver_t *driver, const void *data, size_t bytes, int rank, int tag)
{
    struct letter *letter = bytes <= INT_MAX ? malloc(sizeof *letter + bytes) : NULL;
    driver_has_posted(driver);
    if (!letter) {
        /* Without memory there is nothing better. */
        MPI_Send(data, (int)bytes, MPI_BYTE, rank, tag, driver->comm);
        return;
    }
    if (bytes > 0) {
        memcpy(letter->data, data, bytes);
    }
    letter->next = driver->posted;
    driver->posted = letter;
    MPI_Isend(letter->data, (int)bytes, MPI_BYTE, rank, tag, driver->comm, &letter->request);
}
