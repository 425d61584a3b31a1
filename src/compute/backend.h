/* Backends: who does the arithmetic. Users see buffers and the stage `channelise`; a backend fills
 * the table in backend_ops.h.
 *
 * A chunk of work runs as channelise_begin(), then channelise_run() for one block of spectra after
 * the other. Data stays in the backend's buffers from the reader to the writer. */
#ifndef VOLTMILL_COMPUTE_BACKEND_H
#define VOLTMILL_COMPUTE_BACKEND_H

#include "base/status.h"
#include "base/terms.h"

#include <stddef.h>
#include <stdint.h>

enum { MOST_OUTPUTS = 16 };

/* What leaves the stage for one product.
 *
 *   PRODUCT_SPECTRA   float [spectra][streams][nchannels][2]   (re, im)
 *   PRODUCT_POWER     float [dumps][streams][nchannels]        sum of |Y|^2 over `integrate`
 * spectra
 */
struct channelise_output {
    enum product_kind kind;
    uint64_t integrate; /* spectra per dump; dump d sums spectra d * integrate .. + integrate - 1 */
};

struct channelise_spec {
    uint32_t channels; /* C, even */
    uint32_t taps;     /* T */
    int is_complex;    /* else real: P = 2C samples make a spectrum of C channels */
    enum sample_format format;
    struct nibbles nibbles; /* of SAMPLE_I4 */
    int conjugate;          /* take the complex conjugate of every sample (sideband -1) */
    int has_missing_value;  /* a stored number (either part, or the byte) that means "no sample" */
    double missing_value;
    const double
        *coeff; /* double [T][P], oldest sample first, the order's shift folded in; copied */
    uint32_t first_channel; /* the channels that are kept: nchannels from first_channel on */
    uint32_t nchannels;
    uint32_t nstreams;    /* most streams of a run */
    uint64_t max_spectra; /* most spectra of a run */
    uint32_t noutputs;
    struct channelise_output outputs[MOST_OUTPUTS];
    uint32_t threads;
};

/* Samples of some streams as they lie in a buffer: byte offsets of sample 0 of each stream's real
 * (or only) and imaginary part, and the distance of two samples in a row. Equal offsets for
 * SAMPLE_I4. */
struct channelise_input {
    const size_t *re, *im;
    size_t step;
};

typedef struct backend backend_t;
typedef struct buffer buffer_t;
typedef struct channelise channelise_t;

/* Samples per raw spectrum, P. */
size_t channelise_samples(const struct channelise_spec *spec);

/* BACKEND_AUTO takes the fastest that is there. Fails with DEVICE. */
status_t backend_open(enum backend_kind kind, backend_t **out);
void backend_close(backend_t *backend);
/* The backend that was opened (never AUTO). */
enum backend_kind backend_which(const backend_t *backend);

/* Memory that the host can read and write and the backend computes on, aligned to 64 bytes. */
status_t buffer_create(backend_t *backend, uint64_t bytes, buffer_t **out);
void buffer_destroy(buffer_t *buffer);
void *buffer_host(buffer_t *buffer);

/* Plans the stage. The spec's coefficients may be freed afterwards. Fails with DEVICE (memory). */
status_t channelise_create(backend_t *backend, const struct channelise_spec *spec,
                           channelise_t **out);
void channelise_destroy(channelise_t *channelise);

/* Bytes of host memory that the stage takes beside the buffers: a bound from above, for planning.
 */
uint64_t channelise_bytes(backend_t *backend, const struct channelise_spec *spec);

/* Begins a chunk at this spectrum of the observation, a multiple of every output's `integrate`. */
void channelise_begin(channelise_t *channelise, uint64_t first_spectrum);

/* Filters, transforms and detects the next `spectra` spectra of `nstreams` streams.
 *
 *   in    samples of spectra + T - 1 raw spectra, as `input` says
 *   out   one buffer an output, as struct channelise_output says; gets rows[i] rows
 *
 * A dump that a run leaves unfinished is carried into the next one of the same chunk; its rows come
 * out when it is complete. Blocks inside of a chunk end at multiples of 16 spectra. Samples that
 * are no numbers (NaN, infinite, the missing value) count as zero volts; *missing grows by their
 * number among the first `counted` raw spectra (so that overlaps are not counted twice).
 * Results are a pure function of samples and spectrum number: neither blocks, chunks nor
 * threads change a bit. May return before the work is done: buffer_host() waits.
 * Fails with DEVICE.
 * Adamek, Novotny, Armour 2016, A polyphase filter for many-core architectures, eqs. 1 and 2. */
status_t channelise_run(channelise_t *channelise, buffer_t *in,
                        const struct channelise_input *input, uint32_t nstreams, uint64_t spectra,
                        uint64_t counted, buffer_t *const *out, uint64_t *rows, uint64_t *missing);

#endif
