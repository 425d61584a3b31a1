/* Ways of doing a filter bank as users of all backends see them. */
#include "compute/backend_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = sizeof(((struct channelise_choice *)0)->numbers) / sizeof(uint32_t) };

status_t channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                               struct channelise_choice **out, uint32_t *count)
{
    *out = NULL;
    *count = 0;
    return backend->ops->channelise_candidates
               ? backend->ops->channelise_candidates(backend, spec, out, count)
               : STATUS_OK;
}

status_t channelise_identity(const backend_t *backend, struct text *out)
{
    return backend->ops->channelise_identity
               ? backend->ops->channelise_identity(backend, out)
               : text_add(out, "%s", backend_name(backend_which(backend)));
}

/* Zeros at the end are left out. */
status_t channelise_choice_words(const struct channelise_choice *choice, struct text *out)
{
    status_t st = STATUS_OK;
    uint32_t count = NUMBERS;
    while (count > 1 && choice->numbers[count - 1] == 0) {
        count--;
    }
    TRY(text_add(out, "%s:%s:", kernel_name(choice->kernel), fft_name(choice->fft)));
    for (uint32_t i = 0; i < count; i++) {
        TRY(text_add(out, "%s%u", i ? "/" : "", choice->numbers[i]));
    }
out:
    return st;
}

static int choices_read_name(const char *name, const char *(*name_of)(uint32_t), uint32_t count,
                             uint32_t *out)
{
    for (*out = 0; *out < count && strcmp(name, name_of(*out)) != 0; ++*out) {
    }
    return *out < count;
}

static const char *choices_kernel_of(uint32_t i)
{
    return kernel_name((enum kernel_kind)i);
}

static const char *choices_fft_of(uint32_t i)
{
    return fft_name((enum fft_kind)i);
}

int channelise_choice_parse(const char *text, struct channelise_choice *out)
{
    char kernel[16];
    char fft[16];
    int at = 0;
    uint32_t kernel_number;
    uint32_t fft_number;
    struct channelise_choice choice = {.backend = BACKEND_AUTO};
    if (sscanf(text, "%15[a-z]:%15[a-zA-Z0-9]:%n", kernel, fft, &at) != 2 || at == 0 ||
        !choices_read_name(kernel, choices_kernel_of, KERNEL_LOCAL + 1, &kernel_number) ||
        !choices_read_name(fft, choices_fft_of, FFT_CLFFT + 1, &fft_number)) {
        return 0;
    }
    choice.kernel = (enum kernel_kind)kernel_number;
    choice.fft = (enum fft_kind)fft_number;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        char *end = NULL;
        unsigned long number = strtoul(text + at, &end, 10);
        if (end == text + at || number > UINT32_MAX || (*end != '/' && *end != '\0')) {
            return 0;
        }
        choice.numbers[i] = (uint32_t)number;
        if (*end == '\0') {
            *out = choice;
            return 1;
        }
        at = (int)(end + 1 - text);
    }
    return 0;
}
