/* Parts that the files of the long filters share: the input of a way of filtering, and the table
 * that it fills. opencl_filter.c is the stage, unpacks samples and sums directly; opencl_overlap.c
 * is overlap-save. Private to these files. */
#ifndef VOLTMILL_COMPUTE_OPENCL_OPENCL_FILTER_H
#define VOLTMILL_COMPUTE_OPENCL_OPENCL_FILTER_H

#include "compute/opencl/opencl.h"
#include "compute/opencl/opencl_fft.h"

/* Parameters of a stream: [nstreams] of these on the device, long2 for kernels. */
struct filter_stream {
    cl_long shift;    /* of its rows, in samples */
    cl_long response; /* its number; 0 with coefficients */
};

/* A run as kernels see it. Samples are as they are stored (kernels/filter/filter_samples.cl
 * converts them to volts), one after the other, none missing. The first sample of row m of stream s
 * is at place m D + spec->first + shift[s] - first_sample; places before 0 and from `samples` on
 * are 0 V, and are not stored. */
struct filter_block {
    cl_mem in;
    uint64_t in_stride; /* bytes from one stream to the next, a multiple of 16 */
    uint64_t samples;   /* of a stream */
    uint32_t nstreams;
    cl_mem streams;       /* struct filter_stream [nstreams] */
    int64_t first_sample; /* number of the sample at place 0 */
    int64_t first_row;
    uint64_t rows;       /* to be made: row m goes to place m - first_row of its stream in `out` */
    cl_mem out;          /* float or float2 [nstreams][out_stride] */
    uint64_t out_stride; /* rows */
};

/* Programs, kernels, tables and workspace of one problem in one shape: of these a way makes what it
 * needs. */
struct filter_made {
    device_t *device;
    struct filter_spec spec; /* choice.shape is settled */
    cl_kernel kernels[3];
    float *values; /* coefficients on the host */
    cl_mem table;  /* coefficients, or responses */
    const struct overlap_kind *kind;
    cl_mem factors, columns; /* of transforms, of their columns */
    cl_mem work;             /* blocks of a batch */
    fft_t *fft;
};

/* A way of filtering. */
struct filter_way {
    /* Whether a shape (of this way's kernel) can do the problem on the device. With NULL, limits of
     * devices are not checked, but filter_local takes 32 KiB of local memory for granted. */
    int (*can)(const struct filter_spec *spec, const struct filter_shape *shape,
               const struct device_info *device);
    /* Completes a shape that can: numbers that are 0, and those that this way fixes. A pure
     * function of the spec. */
    void (*settle)(const struct filter_spec *spec, struct filter_shape *shape);
    /* Fills in the members after `spec`, which the caller frees in any case. Fails with DEVICE
     * (memory, of the device too; a kernel that does not build; a library's FFT). */
    status_t (*create)(struct filter_made *made);
    /* Enqueues a run of >= 1 rows in device->compute; steps are STEP_FILTER and STEP_TRANSFORM.
     * Fails with DEVICE (the device refuses the work, memory). */
    status_t (*run)(const struct filter_made *made, struct stopwatch *watch,
                    const struct filter_block *block);
    /* Device memory of tables and workspace, about; choice.shape is settled. NULL: none. */
    uint64_t (*bytes)(const struct filter_spec *spec);
};
extern const struct filter_way filter_registers, filter_local, filter_library, filter_fused;

/* Appends the options of kernels/filter/filter_samples.cl: " -DFORMAT=... -DCOMPLEX_OUT=...
 * -DDECIMATE=...". A failure is kept in out->status. */
void filter_options(const struct filter_spec *spec, struct text *out);

/* Returns the samples of a transform with which filter_fused is fastest; 0: none is long enough, or
 * filter_library is expected to be faster. */
uint32_t filter_fused_length(const struct filter_spec *spec);

#endif
