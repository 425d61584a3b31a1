/* program.h: the kernels' sources, embedded by the assembler. The paths are relative to the folder
 * in which the compiler is started, the root of the repository. */
#include "compute/opencl/program.h"

/* Defines the text kernels/NAME.cl and a 0 byte behind it. */
#define EMBED(name)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl voltmill_kernel_" #name "\n"                                                   \
            ".hidden voltmill_kernel_" #name "\n"                                                  \
            "voltmill_kernel_" #name ":\n"                                                         \
            ".incbin \"kernels/" #name ".cl\"\n"                                                   \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char voltmill_kernel_##name[] __attribute__((visibility("hidden")))

EMBED(samples);
EMBED(butterflies);
EMBED(ppf_fused);
EMBED(fir_slide);
EMBED(fir_cache);
EMBED(fir_local);
EMBED(missing);
EMBED(deinterleave);
EMBED(scan);
EMBED(detect);
EMBED(sum);
EMBED(add_rows);
EMBED(transpose);
EMBED(dedisperse);

#define ENTRY(name)                                                                                \
    {                                                                                              \
#name, voltmill_kernel_##name                                                              \
    }

static const struct {
    const char *name;
    const char *text;
} entries[SOURCES] = {
    [SOURCE_SAMPLES] = ENTRY(samples),
    [SOURCE_BUTTERFLIES] = ENTRY(butterflies),
    [SOURCE_PPF_FUSED] = ENTRY(ppf_fused),
    [SOURCE_FIR_SLIDE] = ENTRY(fir_slide),
    [SOURCE_FIR_CACHE] = ENTRY(fir_cache),
    [SOURCE_FIR_LOCAL] = ENTRY(fir_local),
    [SOURCE_MISSING] = ENTRY(missing),
    [SOURCE_DEINTERLEAVE] = ENTRY(deinterleave),
    [SOURCE_SCAN] = ENTRY(scan),
    [SOURCE_DETECT] = ENTRY(detect),
    [SOURCE_SUM] = ENTRY(sum),
    [SOURCE_ADD_ROWS] = ENTRY(add_rows),
    [SOURCE_TRANSPOSE] = ENTRY(transpose),
    [SOURCE_DEDISPERSE] = ENTRY(dedisperse),
};

const char *program_source(enum program_source source)
{
    return entries[source].text;
}

const char *program_source_name(enum program_source source)
{
    return entries[source].name;
}
