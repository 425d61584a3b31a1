/* One transform there, the chirp in pieces, and one transform back. */
#include "synth/disperse.h"

#include "base/memory.h"
#include "dsp/dispersion/chirp.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>

enum { PIECE = 512 }; /* frequencies at a time */

struct disperse {
    int is_complex;
    uint64_t length, bins; /* samples, frequencies of the transform */
    fftw_plan forward, inverse;
};

struct chirp disperse_chirp(const struct synth_spec *spec, double dm, double reference_hz,
                            double chan_hz)
{
    struct chirp chirp = {.dm = dm,
                          .centre_hz = chan_hz,
                          .reference_hz = reference_hz > 0 ? reference_hz : chan_hz,
                          .sample_rate_hz = spec->sample_rate_hz,
                          .is_complex = spec->is_complex,
                          .sideband = 1,
                          .is_inverse = 1};
    chirp.shift = chirp_shift(&chirp);
    return chirp;
}

status_t disperse_find_reach(const struct synth_spec *spec, const char *what, double dm,
                             double reference_hz, struct disperse_reach *out)
{
    const double half_hz = spec->sample_rate_hz / (spec->is_complex ? 2 : 4);
    struct disperse_reach reach = {0};
    for (uint32_t c = 0; c < spec->chans; c++) {
        const double f0 = synth_spec_chan_hz(spec, c);
        REQUIRE(f0 - half_hz > 0, STATUS_USAGE,
                "%s's dispersion is defined above 0 Hz only: coarse channel %u covers %.9g .. %.9g "
                "Hz",
                what, (unsigned)c, f0 - half_hz, f0 + half_hz);
        const struct chirp chirp = disperse_chirp(spec, dm, reference_hz, f0);
        TRY(chirp_check(&chirp));
        double least;
        double most;
        chirp_delays(&chirp, &least, &most);
        reach.late = fmax(reach.late, ceil((double)chirp.shift - least));
        reach.early = fmax(reach.early, ceil(most - (double)chirp.shift));
    }
    *out = reach;
    return STATUS_OK;
}

/* FFTW_ESTIMATE does not measure, so the same machine makes the same plan, and every run the same
 * bits. The plans see the alignment of memory_aligned(), as do the blocks that they will run on. */
static status_t disperse_make_plans(disperse_t *d, const char *what)
{
    status_t st = STATUS_OK;
    double *data = NULL;
    const int n = (int)d->length;
    TRY_OUT(disperse_block(d, what, &data));
    fftw_complex *spectrum = (fftw_complex *)data;
    if (d->is_complex) {
        d->forward = fftw_plan_dft_1d(n, spectrum, spectrum, FFTW_FORWARD, FFTW_ESTIMATE);
        d->inverse = fftw_plan_dft_1d(n, spectrum, spectrum, FFTW_BACKWARD, FFTW_ESTIMATE);
    } else {
        d->forward = fftw_plan_dft_r2c_1d(n, data, spectrum, FFTW_ESTIMATE);
        d->inverse = fftw_plan_dft_c2r_1d(n, spectrum, data, FFTW_ESTIMATE);
    }
    REQUIRE_OUT(d->forward && d->inverse, STATUS_DEVICE,
                "FFTW makes no plan for a transform of %s of %d points", what, n);
out:
    free(data);
    return st;
}

status_t disperse_create(const struct synth_spec *spec, const char *what,
                         const struct disperse_reach *reach, double length, disperse_t **out)
{
    status_t st = STATUS_OK;
    disperse_t *d = NULL;
    REQUIRE_OUT(
        length <= DISPERSE_MAX_LENGTH, STATUS_USAGE,
        "%s's dispersion smears a sample over %.0f samples of a coarse channel and needs a "
        "transform of %.0f points, more than the %d that are supported: lower the DM or the "
        "sample rate, or raise the frequency",
        what, reach->late + reach->early, length, (int)DISPERSE_MAX_LENGTH);
    TRY_OUT(memory_zeroed(1, sizeof *d, what, &d));
    d->is_complex = spec->is_complex;
    d->length = (uint64_t)length;
    d->bins = d->is_complex ? d->length : d->length / 2 + 1;
    TRY_OUT(disperse_make_plans(d, what));
    *out = d;
    d = NULL;
out:
    disperse_destroy(d);
    return st;
}

void disperse_destroy(disperse_t *disperse)
{
    if (!disperse) {
        return;
    }
    fftw_destroy_plan(disperse->inverse);
    fftw_destroy_plan(disperse->forward);
    free(disperse);
}

uint64_t disperse_length(const disperse_t *disperse)
{
    return disperse->length;
}

status_t disperse_block(const disperse_t *disperse, const char *what, double **out)
{
    return memory_aligned(disperse->bins, sizeof(fftw_complex), what, out);
}

/* Multiplies by the chirp, and by what FFTW's transforms there and back leave. */
static void disperse_multiply(const disperse_t *d, const struct chirp *chirp, const double *gain,
                              double (*restrict data)[2])
{
    const double scale = 1 / (double)d->length;
    double response[PIECE][2];
    for (uint64_t at = 0; at < d->bins; at += PIECE) {
        const uint64_t n = min_u64(PIECE, d->bins - at);
        chirp_exact(chirp, (uint32_t)d->length, (uint32_t)at, (uint32_t)n, response);
        for (uint64_t k = 0; k < n; k++) {
            double re = data[at + k][0] * scale;
            double im = data[at + k][1] * scale;
            if (gain) {
                const double turned = gain[0] * re - gain[1] * im;
                im = gain[0] * im + gain[1] * re;
                re = turned;
            }
            data[at + k][0] = re * response[k][0] - im * response[k][1];
            data[at + k][1] = re * response[k][1] + im * response[k][0];
        }
    }
}

void disperse_run(const disperse_t *d, const struct chirp *chirp, const double *gain, double *data)
{
    fftw_complex *spectrum = (fftw_complex *)data;
    if (d->is_complex) {
        fftw_execute_dft(d->forward, spectrum, spectrum);
        disperse_multiply(d, chirp, gain, spectrum);
        fftw_execute_dft(d->inverse, spectrum, spectrum);
    } else {
        fftw_execute_dft_r2c(d->forward, data, spectrum);
        disperse_multiply(d, chirp, gain, spectrum);
        fftw_execute_dft_c2r(d->inverse, spectrum, data);
    }
}
