/* Two lists: programs by what they were built of, buffers by use and size. */
#include "compute/opencl/kept.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 64 };

struct kept_program {
    char *key;
    cl_program program;
    struct kept_program *next;
};

struct kept {
    struct kept_program *programs;
    struct kept_buffer buffers[MOST_BUFFERS];
    uint32_t nbuffers;
};

status_t kept_create(kept_t **out)
{
    return memory_zeroed(1, sizeof(kept_t), "what a device keeps", out);
}

void kept_destroy(kept_t *kept, cl_command_queue queue)
{
    if (!kept) {
        return;
    }
    kept_drop_buffers(kept, queue);
    while (kept->programs) {
        struct kept_program *first = kept->programs;
        kept->programs = first->next;
        clReleaseProgram(first->program);
        free(first->key);
        free(first);
    }
    free(kept);
}

cl_program kept_find_program(kept_t *kept, const char *key)
{
    for (struct kept_program *at = kept ? kept->programs : NULL; at; at = at->next) {
        if (strcmp(at->key, key) == 0 && clRetainProgram(at->program) == CL_SUCCESS) {
            return at->program;
        }
    }
    return NULL;
}

void kept_add_program(kept_t *kept, const char *key, cl_program program)
{
    struct kept_program *added = kept ? malloc(sizeof *added) : NULL;
    char *copy = added ? strdup(key) : NULL;
    if (!copy || clRetainProgram(program) != CL_SUCCESS) {
        free(copy);
        free(added);
        return;
    }
    *added = (struct kept_program){.key = copy, .program = program, .next = kept->programs};
    kept->programs = added;
}

int kept_take_buffer(kept_t *kept, int use, uint64_t bytes, struct kept_buffer *out)
{
    for (uint32_t i = 0; kept && i < kept->nbuffers; i++) {
        if (kept->buffers[i].use == use && kept->buffers[i].bytes == bytes) {
            *out = kept->buffers[i];
            kept->buffers[i] = kept->buffers[--kept->nbuffers];
            return 1;
        }
    }
    return 0;
}

int kept_put_buffer(kept_t *kept, const struct kept_buffer *buffer)
{
    if (!kept || kept->nbuffers == MOST_BUFFERS) {
        return 0;
    }
    kept->buffers[kept->nbuffers++] = *buffer;
    return 1;
}

uint64_t kept_drop_buffers(kept_t *kept, cl_command_queue queue)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; kept && i < kept->nbuffers; i++) {
        struct kept_buffer *buffer = &kept->buffers[i];
        pinned_release(&buffer->pinned, queue);
        clReleaseMemObject(buffer->memory);
        bytes += buffer->bytes;
    }
    if (kept) {
        kept->nbuffers = 0;
    }
    return bytes;
}
