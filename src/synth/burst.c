/* A burst in a coarse channel is one waveform, alike for all antennas: it is made whole, on a
 * circle that contains pulse and sweep, and kept for calls that need other parts of it. Its
 * position is a whole number of samples: the delay of the channel's centre is taken out of the
 * chirp. */
#include "synth/burst.h"

#include "base/memory.h"
#include "synth/disperse.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static const uint64_t BURST_KEPT_BYTES = (uint64_t)512 << 20;

struct burst {
    const struct synth_burst *spec;
    uint32_t number;
    double reference_hz;
    int64_t sample; /* nearest to its time */
    double offset;  /* of its time from there, samples */
    double width;   /* samples; 0: one sample */
    uint64_t reach; /* samples of the pulse on either side of it */
    uint64_t place; /* of `sample` in the waveform */
    disperse_t *disperse;
    float **kept; /* [chans] waveforms, NULL where there is none yet; NULL: none is kept */
};

struct bursts {
    const struct synth_spec *spec;
    const noise_t *noise;
    struct burst *burst;  /* [spec->nbursts] */
    pthread_mutex_t lock; /* of all that is kept; held while it is made, so that it is made once */
};

static uint64_t burst_parts(const bursts_t *b)
{
    return b->spec->is_complex ? 2 : 1;
}

static status_t burst_place(const bursts_t *b, struct burst *burst)
{
    const double rate_hz = b->spec->sample_rate_hz;
    const double at = burst->spec->time_s * rate_hz;
    const double most = 4503599627370496.0; /* 2^52: counted exactly */
    REQUIRE(fabs(at) <= most && burst->spec->width_s * rate_hz <= DISPERSE_MAX_LENGTH, STATUS_USAGE,
            "burst %u lies %.9g samples from the observation's start and is %.9g samples wide, "
            "expected at most 2^52 and %d",
            (unsigned)burst->number, at, burst->spec->width_s * rate_hz, (int)DISPERSE_MAX_LENGTH);
    burst->sample = llround(at);
    burst->width = burst->spec->width_s * rate_hz;
    /* A pulse of less than a sample is one. */
    burst->offset = burst->width > 0 ? at - (double)burst->sample : 0;
    burst->reach = (uint64_t)ceil(4 * burst->width);
    return STATUS_OK;
}

static status_t burst_create(const bursts_t *b, uint64_t *bytes, struct burst *burst)
{
    struct disperse_reach reach;
    const struct synth_burst *spec = burst->spec;
    TRY(burst_place(b, burst));
    burst->reference_hz = spec->reference_hz > 0 ? spec->reference_hz : synth_spec_top_hz(b->spec);
    TRY(disperse_find_reach(b->spec, "a burst", spec->dm, burst->reference_hz, &reach));
    const double wings = 2 * ((double)burst->reach + DISPERSE_GUARD) + 1;
    const double length = exp2(ceil(log2(reach.late + reach.early + wings)));
    TRY(disperse_create(b->spec, "a burst", &reach, length, &burst->disperse));
    burst->place = (uint64_t)reach.early + burst->reach + DISPERSE_GUARD;
    *bytes += (uint64_t)length * burst_parts(b) * sizeof(float) * b->spec->chans;
    if (*bytes <= BURST_KEPT_BYTES) {
        TRY(memory_zeroed(b->spec->chans, sizeof *burst->kept, "bursts", &burst->kept));
    }
    return STATUS_OK;
}

status_t bursts_create(const struct synth_spec *spec, const noise_t *noise, bursts_t **out)
{
    status_t st = STATUS_OK;
    bursts_t *b = NULL;
    uint64_t bytes = 0;
    TRY_OUT(memory_zeroed(1, sizeof *b, "bursts", &b));
    b->spec = spec;
    b->noise = noise;
    b->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    TRY_OUT(memory_zeroed(spec->nbursts, sizeof *b->burst, "bursts", &b->burst));
    for (uint32_t i = 0; i < spec->nbursts; i++) {
        b->burst[i].spec = &spec->bursts[i];
        b->burst[i].number = i;
        TRY_OUT(burst_create(b, &bytes, &b->burst[i]));
    }
    *out = b;
    b = NULL;
out:
    bursts_destroy(b);
    return st;
}

void bursts_destroy(bursts_t *b)
{
    if (!b) {
        return;
    }
    for (uint32_t i = 0; b->burst && i < b->spec->nbursts; i++) {
        struct burst *burst = &b->burst[i];
        for (uint32_t c = 0; burst->kept && c < b->spec->chans; c++) {
            free(burst->kept[c]);
        }
        free(burst->kept);
        disperse_destroy(burst->disperse);
    }
    pthread_mutex_destroy(&b->lock);
    free(b->burst);
    free(b);
}

/* The pulse as it is before dispersion. */
static status_t burst_fill_pulse(const bursts_t *b, const struct burst *burst, uint32_t chan,
                                 double *data)
{
    status_t st = STATUS_OK;
    const uint64_t parts = burst_parts(b);
    const uint64_t count = 2 * burst->reach + 1;
    double *pulse = data + (burst->place - burst->reach) * parts;
    float *white = NULL;
    if (burst->width == 0) {
        pulse[0] = burst->spec->amplitude;
        goto out;
    }
    TRY_OUT(memory_aligned(count, parts * sizeof *white, "a burst", &white));
    noise_fill(b->noise, noise_key(b->spec->seed, NOISE_BURST, burst->number, chan), 1, 0,
               count * parts, white);
    for (uint64_t i = 0; i < count * parts; i++) {
        const double widths =
            ((double)(i / parts) - (double)burst->reach - burst->offset) / burst->width;
        /* The root of a power that is 1/2 at half a width. */
        pulse[i] = burst->spec->amplitude * exp2(-2 * widths * widths) * (double)white[i];
    }
out:
    free(white);
    return st;
}

static status_t burst_make(const bursts_t *b, const struct burst *burst, uint32_t chan,
                           const struct chirp *chirp, float **out)
{
    status_t st = STATUS_OK;
    const uint64_t values = disperse_length(burst->disperse) * burst_parts(b);
    double *data = NULL;
    float *waveform = NULL;
    TRY_OUT(memory_aligned(values, sizeof *waveform, "a burst", &waveform));
    TRY_OUT(disperse_block(burst->disperse, "a burst", &data));
    for (uint64_t i = 0; i < values; i++) {
        data[i] = 0;
    }
    TRY_OUT(burst_fill_pulse(b, burst, chan, data));
    disperse_run(burst->disperse, chirp, NULL, data);
    for (uint64_t i = 0; i < values; i++) {
        waveform[i] = (float)data[i];
    }
    *out = waveform;
    waveform = NULL;
out:
    free(data);
    free(waveform);
    return st;
}

/* Returns the waveform. It is kept, or the caller frees it (*made). */
static status_t burst_take(bursts_t *b, struct burst *burst, uint32_t chan,
                           const struct chirp *chirp, float **waveform, float **made)
{
    status_t st = STATUS_OK;
    if (!burst->kept) {
        TRY_OUT(burst_make(b, burst, chan, chirp, made));
        *waveform = *made;
        goto out;
    }
    pthread_mutex_lock(&b->lock);
    if (!burst->kept[chan]) {
        st = burst_make(b, burst, chan, chirp, &burst->kept[chan]);
    }
    *waveform = burst->kept[chan];
    pthread_mutex_unlock(&b->lock);
out:
    return st;
}

/* Adds the burst's part of samples first .. first + count - 1, if it has one. */
static status_t burst_add(bursts_t *b, struct burst *burst, uint32_t chan, int64_t first,
                          int64_t count, float *out)
{
    status_t st = STATUS_OK;
    float *made = NULL;
    float *waveform = NULL;
    const uint64_t parts = burst_parts(b);
    const struct chirp chirp = disperse_chirp(b->spec, burst->spec->dm, burst->reference_hz,
                                              synth_spec_chan_hz(b->spec, chan));
    /* The inverse takes samples `shift` later, which is before. */
    const int64_t begin = burst->sample - (int64_t)burst->place - chirp.shift;
    const int64_t end = begin + (int64_t)disperse_length(burst->disperse);
    const int64_t from = begin > first ? begin : first;
    const int64_t to = end < first + count ? end : first + count;
    if (from >= to) {
        goto out;
    }
    TRY_OUT(burst_take(b, burst, chan, &chirp, &waveform, &made));
    const float *in = waveform + (uint64_t)(from - begin) * parts;
    float *sum = out + (uint64_t)(from - first) * parts;
    for (uint64_t i = 0; i < (uint64_t)(to - from) * parts; i++) {
        sum[i] += in[i];
    }
out:
    free(made);
    return st;
}

status_t bursts_add(bursts_t *b, uint32_t chan, uint64_t first, uint64_t count, float *out)
{
    for (uint32_t i = 0; i < b->spec->nbursts; i++) {
        TRY(burst_add(b, &b->burst[i], chan, (int64_t)first, (int64_t)count, out));
    }
    return STATUS_OK;
}
