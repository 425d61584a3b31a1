#include "cli/bench/bench_options.h"

#include "base/memory.h"
#include "base/units.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* "1024", "2^28". */
static int options_parse_count(const char *text, uint64_t *out)
{
    uint64_t power = 0;
    if (strncmp(text, "2^", 2) == 0 && units_parse_u64(text + 2, &power) && power < 62) {
        *out = UINT64_C(1) << power;
        return 1;
    }
    return units_parse_u64(text, out);
}

static int options_add_value(struct bench_list *list, uint64_t value)
{
    if (list->count == BENCH_LIST) {
        return 0;
    }
    list->values[list->count++] = value;
    return 1;
}

/* "8", "256..4096". */
static int options_parse_entry(char *entry, struct bench_list *out)
{
    uint64_t from = 0;
    uint64_t to = 0;
    char *dots = strstr(entry, "..");
    if (dots) {
        *dots = '\0';
    }
    if (!options_parse_count(entry, &from) || from == 0 ||
        !options_parse_count(dots ? dots + 2 : entry, &to)) {
        return 0;
    }
    for (uint64_t value = from; value <= to && value <= UINT32_MAX; value *= 2) {
        if (!options_add_value(out, value)) {
            return 0;
        }
    }
    return 1;
}

static int options_parse_kernel(char *entry, struct bench_list *out)
{
    for (int i = KERNEL_AUTO; i <= KERNEL_LOCAL; i++) {
        if (strcmp(entry, kernel_name((enum kernel_kind)i)) == 0) {
            return options_add_value(out, (uint64_t)i);
        }
    }
    return 0;
}

static status_t options_parse_list(const char *option, const char *text, uint64_t least,
                                   uint64_t most, int (*parse)(char *entry, struct bench_list *out),
                                   struct bench_list *out)
{
    status_t st = STATUS_OK;
    char *copy = NULL;
    char *rest = NULL;
    out->count = 0;
    TRY(memory_text(text, &copy));
    for (char *entry = strtok_r(copy, ",", &rest); entry; entry = strtok_r(NULL, ",", &rest)) {
        REQUIRE(parse(entry, out), STATUS_USAGE,
                "bench: --%s %s: expected a list such as 256,1024 or 256..4096, or names; see "
                "voltmill bench --help",
                option, text);
    }
    REQUIRE(out->count > 0, STATUS_USAGE, "bench: --%s is empty", option);
    for (uint32_t i = 0; i < out->count; i++) {
        REQUIRE(out->values[i] >= least && out->values[i] <= most, STATUS_USAGE,
                "bench: --%s %llu: expected from %llu to %llu", option,
                (unsigned long long)out->values[i], (unsigned long long)least,
                (unsigned long long)most);
    }
out:
    free(copy);
    return st;
}

status_t bench_list_read(const char *option, const char *text, uint64_t least, uint64_t most,
                         struct bench_list *out)
{
    return options_parse_list(option, text, least, most, options_parse_entry, out);
}

static status_t options_parse_out(const char *text, struct bench_settings *settings)
{
    status_t st = STATUS_OK;
    const char *colon = strchr(text, ':');
    settings->integrate = 1;
    settings->quantity = strncmp(text, "power", 5) == 0 ? QUANTITY_POWER : QUANTITY_SPECTRA;
    int known = strcmp(text, "spectra") == 0 || strcmp(text, "power") == 0;
    if (!known && strncmp(text, "power:", 6) == 0) {
        known = units_parse_u64(colon + 1, &settings->integrate) && settings->integrate >= 1 &&
                settings->integrate <= 1 << 20;
    }
    REQUIRE(known, STATUS_USAGE, "bench: --out %s: expected spectra, power or power:N", text);
out:
    return st;
}

enum {
    TAKE_BACKEND = 256,
    TAKE_DEVICE,
    TAKE_CHANNELS,
    TAKE_TAPS,
    TAKE_BITS,
    TAKE_STREAMS,
    TAKE_KERNEL,
    TAKE_FFT,
    TAKE_REAL,
    TAKE_OUT,
    TAKE_SAMPLES,
    TAKE_REPEAT,
    TAKE_TRANSFERS,
    TAKE_LOFAR,
    TAKE_THREADS,
    TAKE_CSV
};

static const struct option long_options[] = {{"backend", required_argument, NULL, TAKE_BACKEND},
                                             {"device", required_argument, NULL, TAKE_DEVICE},
                                             {"channels", required_argument, NULL, TAKE_CHANNELS},
                                             {"taps", required_argument, NULL, TAKE_TAPS},
                                             {"bits", required_argument, NULL, TAKE_BITS},
                                             {"streams", required_argument, NULL, TAKE_STREAMS},
                                             {"kernel", required_argument, NULL, TAKE_KERNEL},
                                             {"fft", required_argument, NULL, TAKE_FFT},
                                             {"real", no_argument, NULL, TAKE_REAL},
                                             {"out", required_argument, NULL, TAKE_OUT},
                                             {"samples", required_argument, NULL, TAKE_SAMPLES},
                                             {"repeat", required_argument, NULL, TAKE_REPEAT},
                                             {"transfers", no_argument, NULL, TAKE_TRANSFERS},
                                             {"lofar", no_argument, NULL, TAKE_LOFAR},
                                             {"threads", required_argument, NULL, TAKE_THREADS},
                                             {"csv", required_argument, NULL, TAKE_CSV},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

static status_t options_take_name(int option, const char *value, struct bench_settings *out)
{
    status_t st = STATUS_OK;
    if (option == TAKE_BACKEND) {
        REQUIRE(strcmp(value, "cpu") == 0 || strcmp(value, "opencl") == 0, STATUS_USAGE,
                "bench: --backend %s: expected cpu or opencl", value);
        out->backend = strcmp(value, "cpu") == 0 ? BACKEND_CPU : BACKEND_OPENCL;
    } else if (option == TAKE_FFT) {
        int known = 0;
        for (int i = FFT_AUTO; i <= FFT_CLFFT; i++) {
            if (strcmp(value, fft_name((enum fft_kind)i)) == 0) {
                out->fft = (enum fft_kind)i;
                known = 1;
            }
        }
        REQUIRE(known, STATUS_USAGE, "bench: --fft %s: expected auto, vkfft or clfft", value);
    } else {
        out->csv_path = value;
    }
out:
    return st;
}

static status_t options_take_count(const char *name, const char *value, uint64_t most,
                                   uint64_t *out)
{
    status_t st = STATUS_OK;
    REQUIRE(options_parse_count(value, out) && *out >= 1 && *out <= most, STATUS_USAGE,
            "bench: --%s %s: expected a number from 1 to %llu", name, value,
            (unsigned long long)most);
out:
    return st;
}

static status_t options_take(int option, const char *value, struct bench_settings *out)
{
    status_t st = STATUS_OK;
    switch (option) {
    case TAKE_DEVICE:
        out->device = value;
        break;
    case TAKE_CHANNELS:
        TRY(options_parse_list("channels", value, 2, 1 << 24, options_parse_entry, &out->channels));
        break;
    case TAKE_TAPS:
        TRY(options_parse_list("taps", value, 1, 1 << 16, options_parse_entry, &out->taps));
        break;
    case TAKE_BITS:
        TRY(options_parse_list("bits", value, 4, 32, options_parse_entry, &out->bits));
        break;
    case TAKE_STREAMS:
        TRY(options_parse_list("streams", value, 1, 1 << 16, options_parse_entry, &out->streams));
        break;
    case TAKE_KERNEL:
        TRY(options_parse_list("kernel", value, 0, KERNEL_LOCAL, options_parse_kernel,
                               &out->kernels));
        break;
    case TAKE_REAL:
        out->is_real = 1;
        break;
    case TAKE_OUT:
        TRY(options_parse_out(value, out));
        break;
    case TAKE_SAMPLES:
        TRY(options_take_count("samples", value, UINT64_C(1) << 40, &out->samples));
        break;
    case TAKE_REPEAT:
        TRY(options_take_count("repeat", value, 1000, &out->repeats));
        break;
    case TAKE_THREADS:
        TRY(options_take_count("threads", value, 4096, &out->threads));
        break;
    case TAKE_TRANSFERS:
        out->with_transfers = 1;
        break;
    case TAKE_LOFAR:
        out->is_lofar = 1;
        break;
    default:
        TRY(options_take_name(option, value, out));
        break;
    }
out:
    return st;
}

status_t bench_options_read(int argc, char **argv, struct bench_settings *out)
{
    status_t st = STATUS_OK;
    *out = (struct bench_settings){.channels = {{1024}, 1},
                                   .taps = {{8}, 1},
                                   .bits = {{8}, 1},
                                   .streams = {{1}, 1},
                                   .kernels = {{KERNEL_AUTO}, 1},
                                   .quantity = QUANTITY_SPECTRA,
                                   .integrate = 1,
                                   .samples = 1 << 26,
                                   .repeats = 5};
    opterr = 0;
    optind = 1;
    for (;;) {
        int option = getopt_long(argc, argv, ":h", long_options, NULL);
        if (option < 0) {
            break;
        }
        if (option == 'h') {
            out->help = 1;
            goto out;
        }
        REQUIRE(option != ':', STATUS_USAGE, "bench: option %s needs a value", argv[optind - 1]);
        REQUIRE(option != '?', STATUS_USAGE, "bench: unknown option %s; see voltmill bench --help",
                argv[optind - 1]);
        TRY(options_take(option, optarg, out));
    }
    REQUIRE(optind == argc - 1 && strcmp(argv[optind], "ppf") == 0, STATUS_USAGE,
            "bench: expected what to time: ppf, run or dedisperse; see voltmill bench --help");
    for (uint32_t i = 0; i < out->bits.count; i++) {
        uint64_t bits = out->bits.values[i];
        REQUIRE(bits == 4 || bits == 8 || bits == 16 || bits == 32, STATUS_USAGE,
                "bench: --bits %llu: expected 4, 8, 16 or 32", (unsigned long long)bits);
        REQUIRE(bits != 4 || !out->is_real, STATUS_USAGE, "bench: 4-bit samples are complex");
    }
    for (uint32_t i = 0; i < out->channels.count; i++) {
        REQUIRE(out->channels.values[i] % 2 == 0, STATUS_USAGE,
                "bench: --channels %llu: expected even numbers",
                (unsigned long long)out->channels.values[i]);
    }
out:
    return st;
}
