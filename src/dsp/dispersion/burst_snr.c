/* A burst's profile on a fine grid, and the best of all boxes on it. */
#include "dsp/dispersion/burst_snr.h"

#include <math.h>

enum {
    BINS = 512,     /* of the whole profile: S/N is right to 0.5 % */
    CHANNELS = 256, /* at most; of more, evenly spaced ones stand for all */
    BOXES = 3
};

struct profile {
    double first, bin;       /* seconds: its beginning, a bin's width */
    double energy[BINS];     /* sums to 1 */
    double before[BINS + 1]; /* energy in all bins before */
};

/* Delay at frequency f per DM, seconds, and the smearing within a channel. */
static double burst_delay(const struct dispersion_spec *band, double hertz)
{
    double mhz = 1e-6 * hertz;
    return dispersion_constant_of(band->constant) / (mhz * mhz);
}

static void burst_add_up(struct profile *profile)
{
    profile->before[0] = 0;
    for (int i = 0; i < BINS; i++) {
        profile->before[i + 1] = profile->before[i] + profile->energy[i];
    }
}

/* Energy before a place in bins, between two of them in proportion. */
static double burst_before(const struct profile *profile, double at)
{
    double clipped = fmin(fmax(at, 0), BINS);
    int whole = (int)fmin(clipped, BINS - 1);
    return profile->before[whole] + (clipped - whole) * profile->energy[whole];
}

/* Convolves the profile with a box. */
static void burst_smooth(struct profile *profile, double seconds)
{
    double bins = seconds / profile->bin;
    if (bins < 1e-3) {
        return;
    }
    burst_add_up(profile);
    double smooth[BINS];
    for (int i = 0; i < BINS; i++) {
        double centre = i + 0.5;
        smooth[i] =
            (burst_before(profile, centre + bins / 2) - burst_before(profile, centre - bins / 2)) /
            bins;
    }
    for (int i = 0; i < BINS; i++) {
        profile->energy[i] = smooth[i];
    }
}

/* Adds a box of this energy. */
static void burst_add(struct profile *profile, double centre, double seconds, double energy)
{
    double width = fmax(seconds / profile->bin, 1e-3);
    double from = (centre - profile->first) / profile->bin - width / 2;
    for (int i = (int)fmax(from, 0); i < BINS && i < from + width; i++) {
        double share = fmin(i + 1, from + width) - fmax(i, from);
        profile->energy[i] += energy * share / width;
    }
}

static double burst_best(struct profile *profile)
{
    double best = 0;
    burst_add_up(profile);
    for (int width = 1; width <= BINS; width++) {
        double most = 0;
        for (int i = 0; i + width <= BINS; i++) {
            most = fmax(most, profile->before[i + width] - profile->before[i]);
        }
        best = fmax(best, most / sqrt(width * profile->bin));
    }
    return best;
}

double burst_snr(const struct dispersion_spec *band, const struct burst *burst)
{
    const uint32_t n = band->nchannels;
    const uint32_t count = n < CHANNELS ? n : CHANNELS;
    const double left = burst->dm - burst->trial;
    struct profile profile = {.first = INFINITY};
    double end = -INFINITY;
    double top = 0;
    double bottom = INFINITY;
    for (uint32_t c = 0; c < n; c++) {
        top = fmax(top, band->freq_hz[c]);
        bottom = fmin(bottom, band->freq_hz[c]);
    }
    double channel = (top - bottom) / (n - 1);
    double across = burst_delay(band, bottom) - burst_delay(band, top);
    const double boxes[BOXES] = {burst->width, burst->sample,
                                 fmin(burst->sample, burst->trial * across)};
    for (uint32_t i = 0; i < count; i++) {
        double hertz = band->freq_hz[(uint64_t)i * (n - 1) / (count - 1)];
        double at = left * burst_delay(band, hertz);
        double half = burst->dm * burst_delay(band, hertz) * channel / hertz;
        profile.first = fmin(profile.first, at - half);
        end = fmax(end, at + half);
    }
    for (int i = 0; i < BOXES; i++) {
        profile.first -= boxes[i] / 2;
        end += boxes[i] / 2;
    }
    profile.bin = (end - profile.first) / BINS;
    for (uint32_t i = 0; i < count; i++) {
        double hertz = band->freq_hz[(uint64_t)i * (n - 1) / (count - 1)];
        double delay = burst_delay(band, hertz);
        burst_add(&profile, left * delay, 2 * burst->dm * delay * channel / hertz, 1.0 / count);
    }
    for (int i = 0; i < BOXES; i++) {
        burst_smooth(&profile, boxes[i]);
    }
    return burst_best(&profile);
}
