/* program.h: the kernels' sources, embedded by the assembler. The paths are relative to the folder
 * in which the compiler is started, the root of the repository. */
#include "compute/opencl/program.h"

/* Defines the text kernels/FOLDERNAME.cl and a 0 byte behind it. */
#define EMBED(upper, name, folder)                                                                 \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl voltmill_kernel_" #name "\n"                                                   \
            ".hidden voltmill_kernel_" #name "\n"                                                  \
            "voltmill_kernel_" #name ":\n"                                                         \
            ".incbin \"kernels/" folder #name ".cl\"\n"                                            \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char voltmill_kernel_##name[] __attribute__((visibility("hidden")));

PROGRAM_SOURCES(EMBED)

#define ENTRY(upper, name, folder) {#name, voltmill_kernel_##name},

static const struct {
    const char *name;
    const char *text;
} entries[SOURCES] = {PROGRAM_SOURCES(ENTRY)};

const char *program_source(enum program_source source)
{
    return entries[source].text;
}

const char *program_source_name(enum program_source source)
{
    return entries[source].name;
}
