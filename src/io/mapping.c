/* Mapped stretches of files, and the handler of SIGBUS that keeps a file cut short from ending the
 * process. */
#include "io/mapping.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/* State of the signal handler, so it must be static. Blocks in flight in all pipelines of a process
 * are fewer. */
enum { MAPPINGS = 64 };

/* A piece of a file's address space: munmap() interrupts all cores that threads of the process run
 * on, so blocks do not come and go by themselves. */
static const uint64_t window_bytes = UINT64_C(64) << 20;

/* Linux's fault_around_bytes, unless somebody has set it otherwise. */
static const uintptr_t around_bytes = 64 << 10;

struct window {
    char *base; /* NULL: free */
    size_t length;
    dev_t device;
    ino_t inode;
    uint64_t offset; /* in the file */
    uint32_t users;  /* mappings */
    int is_cut;      /* zeros were put into it */
};

struct mapping {
    uintptr_t begin, end; /* whole pages; 0: free */
    const char *data;
    struct window *window;
    int is_cut;
};

static struct mapping mappings[MAPPINGS];
static struct window windows[MAPPINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static uintptr_t page_bytes;

/* Returns mapping number i if it contains this address, else NULL. */
static struct mapping *mapping_with(int i, uintptr_t address)
{
    uintptr_t begin = __atomic_load_n(&mappings[i].begin, __ATOMIC_SEQ_CST);
    return begin > 0 && address >= begin && address < mappings[i].end ? &mappings[i] : NULL;
}

/* Marks all mappings of this page as cut; 0: there are none. Marks the window first, so that a
 * mapping that is opened there meanwhile is marked here, or sees the mark. */
static int mapping_tell(uintptr_t address)
{
    int found = 0;
    for (int i = 0; i < MAPPINGS && !found; i++) {
        struct mapping *mapping = mapping_with(i, address);
        if (mapping) {
            __atomic_store_n(&mapping->window->is_cut, 1, __ATOMIC_SEQ_CST);
            found = 1;
        }
    }
    for (int i = 0; i < MAPPINGS; i++) {
        struct mapping *mapping = mapping_with(i, address);
        if (mapping) {
            __atomic_store_n(&mapping->is_cut, 1, __ATOMIC_RELEASE);
        }
    }
    return found;
}

/* Puts a page of zeros where the file has none any more. */
static void mapping_catch(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    if (mapping_tell(address)) {
        void *page = (void *)(address / page_bytes * page_bytes);
        void *got =
            mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (got != MAP_FAILED) {
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

/* Returns whether the file system is local: others' pages come over a network, one by one, and may
 * stay away. */
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

/* Returns a free place; NULL: there is none. The caller has the lock. */
static struct mapping *mapping_take_place(void)
{
    for (int i = 0; i < MAPPINGS; i++) {
        if (mappings[i].begin == 0) {
            return &mappings[i];
        }
    }
    return NULL;
}

static void window_close(struct window *window)
{
    munmap(window->base, window->length);
    *window = (struct window){.base = NULL};
}

/* With the lock. */
static void window_drop_unused(void)
{
    for (int i = 0; i < MAPPINGS; i++) {
        if (windows[i].base && windows[i].users == 0) {
            window_close(&windows[i]);
        }
    }
}

/* A window around whole pages of a file, made where there is none; NULL when it cannot be. With the
 * lock. */
static struct window *window_around(int fd, const struct stat *file, uint64_t start,
                                    uint64_t length)
{
    struct window *out = NULL;
    for (int i = 0; i < MAPPINGS; i++) {
        struct window *window = &windows[i];
        if (window->base && !__atomic_load_n(&window->is_cut, __ATOMIC_ACQUIRE) &&
            window->device == file->st_dev && window->inode == file->st_ino &&
            start >= window->offset && start + length <= window->offset + window->length) {
            return window;
        }
    }
    window_drop_unused();
    for (int i = 0; i < MAPPINGS && !out; i++) {
        out = windows[i].base ? NULL : &windows[i];
    }
    if (out) {
        uint64_t left = (uint64_t)file->st_size - start;
        uint64_t most = left < window_bytes ? left : window_bytes;
        size_t bytes = (size_t)(length > most ? length : most);
        char *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)start);
        if (base == MAP_FAILED) {
            return NULL;
        }
        *out = (struct window){.base = base,
                               .length = bytes,
                               .device = file->st_dev,
                               .inode = file->st_ino,
                               .offset = start};
    }
    return out;
}

/* Maps bytes without reading them yet. */
static mapping_t *mapping_begin(int fd, uint64_t offset, uint64_t bytes, struct stat *file)
{
    struct mapping *out = NULL;
    if (bytes == 0 || bytes > (uint64_t)1 << 46 || !mapping_is_local(fd) || fstat(fd, file) != 0 ||
        file->st_size < 0 || offset > (uint64_t)file->st_size ||
        bytes > (uint64_t)file->st_size - offset) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct mapping *place = mapping_begin_catching() ? mapping_take_place() : NULL;
    if (place) {
        uint64_t start = offset / page_bytes * page_bytes;
        uint64_t length = offset - start + bytes;
        struct window *window = window_around(fd, file, start, length);
        if (window) {
            const char *from = window->base + (start - window->offset);
            window->users++;
            place->window = window;
            place->data = from + (offset - start);
            place->end = (uintptr_t)from + (size_t)length;
            place->is_cut = 0;
            __atomic_store_n(&place->begin, (uintptr_t)from, __ATOMIC_SEQ_CST);
            if (__atomic_load_n(&window->is_cut, __ATOMIC_SEQ_CST)) {
                __atomic_store_n(&place->is_cut, 1, __ATOMIC_RELEASE);
            }
            out = place;
        }
    }
    pthread_mutex_unlock(&lock);
    return out;
}

/* Whole pages of a mapping. */
struct pages {
    uintptr_t begin, end;
};

/* Whether all pages can be used at once, as far as the system knows. */
static int mapping_is_there(const mapping_t *mapping, struct pages some)
{
    enum { MOST = 1024 };
    unsigned char pages[MOST];
    for (uintptr_t at = some.begin; at < some.end; at += MOST * page_bytes) {
        const uintptr_t left = some.end - at;
        const size_t bytes = left < MOST * page_bytes ? left : MOST * page_bytes;
        if (mincore((void *)at, bytes, pages) != 0) {
            return 0;
        }
        for (size_t i = 0; i < (bytes + page_bytes - 1) / page_bytes; i++) {
            if (!(pages[i] & 1)) {
                return 0;
            }
        }
    }
    return !mapping_is_cut(mapping);
}

/* Reads all pages by one thread. Eight threads were faster alone, but slower beside as many
 * computing threads as there are cores (measured with 16).
 *
 * With a page, Linux maps those around it that are in memory already. If all are, one byte of each
 * around_bytes suffices: 0.03 ns a byte less than a request for every page, on ext4 and in memory
 * (Linux 6.18, measured). Only a file's owner can query which pages are in memory. An unreadable
 * page is not, so plain reads detect the loss. */
static int mapping_bring(const mapping_t *mapping, struct pages some, const struct stat *file)
{
    if (file->st_uid == geteuid()) {
        for (uintptr_t at = some.begin; at < some.end; at += around_bytes) {
            (void)*(const volatile char *)at;
        }
        if (mapping_is_there(mapping, some)) {
            return 1;
        }
    }
    return madvise((void *)some.begin, some.end - some.begin, MADV_POPULATE_READ) == 0 &&
           !mapping_is_cut(mapping);
}

mapping_t *mapping_open_strips(int fd, uint64_t offset, uint64_t bytes,
                               const struct mapping_strips *strips)
{
    struct stat file;
    mapping_t *mapping = mapping_begin(fd, offset, bytes, &file);
    for (uint64_t i = 0; mapping && i < strips->count; i++) {
        const uintptr_t from = (uintptr_t)mapping->data + strips->first + i * strips->step;
        const struct pages some = {from / page_bytes * page_bytes, from + strips->bytes};
        /* Strips that are still on the disk are read sooner by several threads. */
        int is_worth =
            strips->count == 1 || (file.st_uid == geteuid() && mapping_is_there(mapping, some));
        if (!is_worth || !mapping_bring(mapping, some, &file)) {
            mapping_close(mapping);
            mapping = NULL;
        }
    }
    return mapping;
}

mapping_t *mapping_open(int fd, uint64_t offset, uint64_t bytes)
{
    const struct mapping_strips whole = {0, bytes, 0, 1};
    return mapping_open_strips(fd, offset, bytes, &whole);
}

void mapping_close(mapping_t *mapping)
{
    if (mapping) {
        /* Before the memory can become another mapping's, whose cut would otherwise be confused
         * with this one's. */
        pthread_mutex_lock(&lock);
        struct window *window = mapping->window;
        __atomic_store_n(&mapping->begin, 0, __ATOMIC_RELEASE);
        window->users--;
        if (window->users == 0 && window->is_cut) {
            window_close(window);
        }
        pthread_mutex_unlock(&lock);
    }
}

void mapping_drop_unused(void)
{
    pthread_mutex_lock(&lock);
    window_drop_unused();
    pthread_mutex_unlock(&lock);
}

const void *mapping_data(const mapping_t *mapping)
{
    return mapping->data;
}

int mapping_is_cut(const mapping_t *mapping)
{
    return __atomic_load_n(&mapping->is_cut, __ATOMIC_ACQUIRE);
}
