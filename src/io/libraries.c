/* Asks each library for its version, in one place for all modules. */
#include "io/libraries.h"

#include <fftw3.h>
#include <fitsio.h>
#include <hdf5.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzf.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

void libraries_print(void)
{
    unsigned hdf5[3] = {0};
    float cfitsio = 0;
    H5get_libversion(&hdf5[0], &hdf5[1], &hdf5[2]);
    printf("libraries: HDF5 %u.%u.%u, FFTW %s, CFITSIO %.4g, zlib %s, libdeflate %s, LZ4 %s, "
           "Zstandard %s, liblzf %x.%x, libyaml %s\n",
           hdf5[0], hdf5[1], hdf5[2], fftw_version + strlen("fftw-"), (double)ffvers(&cfitsio),
           zlibVersion(), LIBDEFLATE_VERSION_STRING, LZ4_versionString(), ZSTD_versionString(),
           (unsigned)LZF_VERSION >> 8, (unsigned)LZF_VERSION & 0xff, yaml_get_version_string());
}
