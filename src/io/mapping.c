/* Mapped stretches of files, and the handler of SIGBUS that keeps a file cut short from ending the
 * process. */
#include "io/mapping.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/* What the handler of a signal knows, so it cannot be anywhere else. Blocks under way in all
 * pipelines of a process are fewer. */
enum { MAPPINGS = 64 };

struct mapping {
    uintptr_t begin, end; /* whole pages; 0: free */
    const char *data;
    int is_cut;
};

static struct mapping mappings[MAPPINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static uintptr_t page_bytes;

static struct mapping *mapping_around(uintptr_t address)
{
    for (int i = 0; i < MAPPINGS; i++) {
        uintptr_t begin = __atomic_load_n(&mappings[i].begin, __ATOMIC_ACQUIRE);
        if (begin > 0 && address >= begin && address < mappings[i].end) {
            return &mappings[i];
        }
    }
    return NULL;
}

/* Puts a page of zeros where the file has none any more. */
static void mapping_catch(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    struct mapping *mapping = mapping_around(address);
    if (mapping) {
        void *page = (void *)(address / page_bytes * page_bytes);
        void *got =
            mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (got != MAP_FAILED) {
            __atomic_store_n(&mapping->is_cut, 1, __ATOMIC_RELEASE);
            return;
        }
    }
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
        return;
    }
    /* As if it had not been caught: the access fails again. */
    sigaction(number, &before, NULL);
}

/* With the lock. Each time, since libraries set handlers of their own; theirs comes after ours. */
static int mapping_begin_catching(void)
{
    struct sigaction now;
    struct sigaction action = {.sa_sigaction = mapping_catch, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGBUS, NULL, &now) != 0) {
        return 0;
    }
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == mapping_catch) {
        return 1;
    }
    sigemptyset(&action.sa_mask);
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    before = now;
    return sigaction(SIGBUS, &action, NULL) == 0;
}

/* Those of one machine: others' pages come over a network, one by one, and may stay away. */
static int mapping_is_local(int fd)
{
    static const uint32_t kinds[] = {0xef53 /* ext4 */, 0x58465342 /* XFS */,
                                     0x9123683e /* Btrfs */, 0x01021994 /* tmpfs */,
                                     0x794c7630 /* overlay */};
    struct statfs info;
    if (fstatfs(fd, &info) != 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if ((uint32_t)info.f_type == kinds[i]) {
            return 1;
        }
    }
    return 0;
}

/* A free place, kept; NULL when there is none. With the lock. */
static struct mapping *mapping_take_place(void)
{
    for (int i = 0; i < MAPPINGS; i++) {
        if (mappings[i].begin == 0) {
            return &mappings[i];
        }
    }
    return NULL;
}

mapping_t *mapping_open(int fd, uint64_t offset, uint64_t bytes)
{
    struct mapping *out = NULL;
    if (bytes == 0 || bytes > (uint64_t)1 << 46 || !mapping_is_local(fd)) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct mapping *place = mapping_begin_catching() ? mapping_take_place() : NULL;
    if (place) {
        uint64_t start = offset / page_bytes * page_bytes;
        size_t length = (size_t)(offset - start + bytes);
        char *base = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)start);
        if (base != MAP_FAILED && madvise(base, length, MADV_POPULATE_READ) == 0) {
            place->data = base + (offset - start);
            place->end = (uintptr_t)base + length;
            place->is_cut = 0;
            __atomic_store_n(&place->begin, (uintptr_t)base, __ATOMIC_RELEASE);
            out = place;
        } else if (base != MAP_FAILED) {
            munmap(base, length);
        }
    }
    pthread_mutex_unlock(&lock);
    return out;
}

void mapping_close(mapping_t *mapping)
{
    if (mapping) {
        uintptr_t begin = mapping->begin;
        size_t length = mapping->end - begin;
        /* Before the memory may become another mapping's, whose cut would be taken for this one's.
         */
        pthread_mutex_lock(&lock);
        __atomic_store_n(&mapping->begin, 0, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
        munmap((void *)begin, length);
    }
}

const void *mapping_data(const mapping_t *mapping)
{
    return mapping->data;
}

int mapping_is_cut(const mapping_t *mapping)
{
    return __atomic_load_n(&mapping->is_cut, __ATOMIC_ACQUIRE);
}
