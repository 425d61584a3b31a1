/* NVIDIA's driver takes 0.4 s to pin a GiB of its own memory, and 0.1 s to give it back. Huge pages
 * that are touched by many threads and then shown to it (CL_MEM_USE_HOST_PTR) are pinned in 0.05 s
 * and given back in 0.02 s, at the same 55 GB/s both ways (driver 580, H200). They are never
 * mapped, which would make the same memory once more on the device: transfers of other buffers name
 * them by their address alone. Other drivers do as the standard has it. */
#include "compute/opencl/pinned.h"

#include "base/memory.h"
#include "base/pool.h"

#include <stddef.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, PAGE = 4096 /* the smallest of any machine */, MOST_THREADS = 8 };

struct pages {
    char *first;
    uint64_t bytes;
};

static void pages_touch(void *context, uint32_t thread, uint64_t part)
{
    const struct pages *pages = context;
    uint64_t each = ceil_div_u64(ceil_div_u64(pages->bytes, PAGE), MOST_THREADS) * PAGE;
    (void)thread;
    for (uint64_t at = part * each; at < min_u64((part + 1) * each, pages->bytes); at += PAGE) {
        pages->first[at] = 0;
    }
}

/* Whole huge pages; NULL: there are none to be had. */
static void *pages_take(uint64_t bytes)
{
    size_t all = (size_t)bytes + HUGE_PAGE;
    char *got = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) {
        return NULL;
    }
    size_t before = (HUGE_PAGE - (size_t)((uintptr_t)got % HUGE_PAGE)) % HUGE_PAGE;
    if (before > 0) {
        munmap(got, before);
    }
    if (before < HUGE_PAGE) {
        munmap(got + before + bytes, HUGE_PAGE - before);
    }
    (void)madvise(got + before, (size_t)bytes, MADV_HUGEPAGE);
    struct pages pages = {got + before, bytes};
    pool_each(bytes > 4 * HUGE_PAGE ? MOST_THREADS : 1, MOST_THREADS, pages_touch, &pages);
    return got + before;
}

static cl_int pinned_show(cl_context context, uint64_t bytes, struct pinned *out)
{
    cl_int error = CL_OUT_OF_HOST_MEMORY;
    out->page_bytes = ceil_div_u64(bytes, HUGE_PAGE) * HUGE_PAGE;
    out->pages = out->host = pages_take(out->page_bytes);
    if (out->pages) {
        out->memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                     (size_t)out->page_bytes, out->pages, &error);
    }
    return error;
}

cl_int pinned_take(cl_context context, cl_command_queue queue, int is_nvidia, uint64_t bytes,
                   struct pinned *out)
{
    cl_int error = CL_SUCCESS;
    *out = (struct pinned){.host = NULL};
    if (is_nvidia && pinned_show(context, bytes, out) == CL_SUCCESS) {
        return CL_SUCCESS;
    }
    pinned_release(out, queue);
    out->memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)bytes,
                                 NULL, &error);
    if (error == CL_SUCCESS) {
        out->host = clEnqueueMapBuffer(queue, out->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                       (size_t)bytes, 0, NULL, NULL, &error);
    }
    if (error != CL_SUCCESS) {
        out->host = NULL;
        pinned_release(out, queue);
    }
    return error;
}

void pinned_release(struct pinned *pinned, cl_command_queue queue)
{
    if (pinned->host && !pinned->pages) {
        clEnqueueUnmapMemObject(queue, pinned->memory, pinned->host, 0, NULL, NULL);
        clFinish(queue);
    }
    if (pinned->memory) {
        clReleaseMemObject(pinned->memory);
    }
    if (pinned->pages) {
        munmap(pinned->pages, (size_t)pinned->page_bytes);
    }
    *pinned = (struct pinned){.host = NULL};
}
