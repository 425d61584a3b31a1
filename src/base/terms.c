#include "base/terms.h"

#include <string.h>

const char *sample_format_name(enum sample_format format)
{
    static const char *const names[] = {"4+4 bit", "8 bit", "16 bit", "32 bit float"};
    return names[format];
}

const char *axis_name(enum axis axis)
{
    static const char *const names[] = {"time", "station", "beam", "pol", "chan", "reim"};
    return names[axis];
}

const char *window_name(enum window_kind kind)
{
    static const char *const names[] = {"hann", "hamming", "blackman", "kaiser", "rect", "file"};
    return names[kind];
}

const char *normalise_name(enum normalise normalise)
{
    static const char *const names[] = {"energy", "peak", "none"};
    return names[normalise];
}

const char *order_name(enum channel_order order)
{
    static const char *const names[] = {"ascending", "fft"};
    return names[order];
}

const char *backend_name(enum backend_kind kind)
{
    static const char *const names[] = {"auto", "cpu", "opencl", "reference"};
    return names[kind];
}

const char *kernel_name(enum kernel_kind kind)
{
    static const char *const names[] = {"auto", "fused", "slide", "cache", "local"};
    return names[kind];
}

const char *fft_name(enum fft_kind kind)
{
    static const char *const names[] = {"auto", "vkfft", "clfft"};
    return names[kind];
}

const char *planning_name(enum fft_planning planning)
{
    static const char *const names[] = {"auto", "estimate", "measure", "patient"};
    return names[planning];
}

const char *product_name(enum product_kind kind)
{
    static const char *const names[] = {"spectra", "power", "dedispersed"};
    return names[kind];
}

const char *nibbles_name(struct nibbles nibbles)
{
    static const char *const names[2][2] = {
        {"4+4 two's complement lo=re", "4+4 two's complement hi=re"},
        {"4+4 offset lo=re", "4+4 offset hi=re"}};
    return names[nibbles.offset_binary][nibbles.high_is_real];
}

int nibbles_parse(const char *text, struct nibbles *out)
{
    for (int offset = 0; offset < 2; offset++) {
        for (int high = 0; high < 2; high++) {
            struct nibbles candidate = {offset, high};
            if (strcmp(text, nibbles_name(candidate)) == 0) {
                *out = candidate;
                return 1;
            }
        }
    }
    return 0;
}
