/* The arithmetic of time and frequency axes. */
#include "dsp/axes.h"

struct time_axis axes_time(double sample_rate_hz, uint64_t first_sample,
                           uint64_t samples_per_spectrum, uint32_t taps, uint64_t hop,
                           uint64_t integrate)
{
    double period = (double)hop;
    double window_centre = ((double)taps * (double)samples_per_spectrum - 1) / 2;
    double dump_centre = (double)(integrate - 1) / 2 * period;
    struct time_axis axis;
    axis.first = ((double)first_sample + window_centre + dump_centre) / sample_rate_hz;
    axis.step = (double)integrate * period / sample_rate_hz;
    return axis;
}

double axes_leading_edge(struct time_axis axis)
{
    return axis.first - axis.step / 2;
}

double axes_channel_hz(double centre_hz, double sample_rate_hz, int is_complex, int sideband,
                       enum channel_order order, uint32_t channels, uint32_t k)
{
    double c = channels;
    double bin = k;
    if (!is_complex) {
        double width = sample_rate_hz / (2 * c);
        return sideband < 0 && order == ORDER_FFT ? centre_hz + sample_rate_hz / 4 - bin * width
                                                  : centre_hz - sample_rate_hz / 4 + bin * width;
    }
    if (order == ORDER_ASCENDING) {
        bin -= c / 2;
    } else if (k >= channels / 2) {
        bin -= c;
    }
    return centre_hz + bin * (sample_rate_hz / c);
}
