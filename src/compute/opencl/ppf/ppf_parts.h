/* What the files of the filter bank share: ppf.c makes it, ppf_run.c runs it, ppf_choices.c knows
 * the shapes. For nobody else. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_PPF_PARTS_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_PPF_PARTS_H

#include "compute/opencl/fft/opencl_fft.h"
#include "compute/opencl/ppf/fine.h"
#include "compute/opencl/ppf/opencl_ppf.h"

/* Three routes, by what is asked:
 *
 *   direct   the fused kernel, or those of fine channels, make the one product by themselves
 *   whole    spectra of all channels are a product: they are made in its buffer, others from there
 *   tiles    else: spectra are made in a workspace, some at a time, and products from there */
enum route { ROUTE_DIRECT, ROUTE_WHOLE, ROUTE_TILES };

/* One product's last steps. */
struct last {
    enum detect_kind kind;
    cl_kernel detect; /* NULL on the direct route */
    cl_kernel sum;    /* of DETECT_GRAINS */
    cl_mem grains, carry;
    cl_mem factors; /* of DETECT_STEPS: float [nstreams][nchannels] */
};

struct ppf {
    device_t *device;
    struct channelise_spec spec;
    struct channelise_choice choice;
    enum route route;
    uint32_t full; /* ROUTE_WHOLE: the output whose buffer holds all spectra */
    cl_kernel filter;
    cl_mem coeff;    /* float [T][P] */
    cl_mem twiddles; /* of the fused kernel, or of the split of real data */
    fft_t *fft;
    fine_t *fine;
    cl_mem tile;
    uint64_t tile_spectra;
    struct last last[MOST_OUTPUTS];
    uint64_t next; /* spectrum that comes next */
};

/* Whether the fused kernel makes the product itself: there is one, and each of its numbers comes of
 * one stream's spectra. */
int ppf_is_direct(const struct channelise_spec *spec);
/* What it makes: the product, else spectra; what those of fine channels make, whose transforms of
 * real samples are not spectra yet. */
int ppf_fused_mode(const struct channelise_spec *spec);
int ppf_fine_mode(const struct channelise_spec *spec);

/* The fused kernel's view of the problem: for others it makes all channels. */
struct channelise_spec ppf_fused_spec(const struct channelise_spec *spec);

#endif
