/* What an HDF5 file that is not what was expected seems to be. */
#include "archive/holds.h"

#include <stddef.h>

const char *holds_what(hid_t file)
{
    static const struct {
        const char *dataset;
        const char *words;
    } known[] = {{"dedispersed", "holds dedispersed series (--format dat or tim)"},
                 {"spectra", "holds complex spectra, which no other format keeps"},
                 {"voltages", "holds voltages"},
                 {"data", "holds /data, as a filterbank does (--format fil)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (H5Lexists(file, known[i].dataset, H5P_DEFAULT) > 0) {
            return known[i].words;
        }
    }
    return "is HDF5, but no product";
}
