/* Chunks of rows made smaller in the ways that HDF5's registered filters undo, without HDF5: the
 * way there of input/hdf5/unfilter.h. By any thread, each with one of its own. */
#ifndef VOLTMILL_PRODUCT_PACK_CODEC_H
#define VOLTMILL_PRODUCT_PACK_CODEC_H

#include "base/status.h"
#include "base/terms.h"
#include "input/hdf5/unfilter.h"

#include <stddef.h>

/* Lists the filters that a dataset of such elements names, in the order in which they are applied.
 * None for COMPRESSION_NONE. */
void codec_filters(enum compression kind, size_t element_bytes, struct chunk_filters *out);

/* codec_advice(): what readers need beside HDF5, for people. codec_library(): the library that
 * decides the bytes: "libdeflate 1.14". */
const char *codec_advice(enum compression kind);
const char *codec_library(enum compression kind);

/* Returns the maximum number of bytes of a compressed chunk of chunk_bytes bytes. */
size_t codec_most_bytes(size_t chunk_bytes);

typedef struct codec codec_t;

/* Creates a codec for chunks of chunk_bytes, a multiple of element_bytes. Fails with DEVICE
 * (memory). */
status_t codec_create(enum compression kind, size_t element_bytes, size_t chunk_bytes,
                      codec_t **out);
void codec_destroy(codec_t *codec);

/* Compresses a chunk: a pure function of its bytes and of the library's version.
 *
 *   in     char [chunk_bytes]
 *   out    char [codec_most_bytes(chunk_bytes)], of which *bytes are made
 * Fails with DEVICE: what the library says. */
status_t codec_chunk(codec_t *codec, const void *in, void *out, size_t *bytes);

#endif
