/* Parts that the fuzz targets share (tests/fuzz/README.md). */
#ifndef VOLTMILL_TESTS_FUZZ_H
#define VOLTMILL_TESTS_FUZZ_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Functions that libFuzzer calls. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Asserts an invariant of every input. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s; cause: %s\n", __FILE__, __LINE__,           \
                    #condition, report_cause());                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A failure must have a cause and a status that fits it; then forgets it. With FUZZ_SAY in the
 * environment it is printed. Returns whether HDF5 gave the reason: it may then leave things open.
 */
int fuzz_expect_cause(status_t st);

/* A copy of `size` bytes with '\0' behind them; never NULL. */
char *fuzz_text(const uint8_t *data, size_t size);

/* A folder of this process, in memory, which stays behind; and back to where libFuzzer was, whose
 * file names are relative. */
void fuzz_enter_folder(void);
void fuzz_leave_folder(void);

/* Opens `size` bytes of an HDF5 file as the job text says, reads samples of its streams, sends it
 * through the bytes that other ranks get, and checks that nothing of HDF5 stays open. The job finds
 * the file as FUZZ_ARCHIVE, and beside it 512 KiB as FUZZ_RAW, for external files. `data` is
 * NULL when the file is there already. */
#define FUZZ_ARCHIVE "archive.h5"
#define FUZZ_RAW "raw"
void fuzz_archive(const char *job_text, const char *const *sets, uint32_t nsets,
                  const uint8_t *data, size_t size);

#endif
