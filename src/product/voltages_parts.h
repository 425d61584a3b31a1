/* The native layout for those who make files of more than that. Private to product/. */
#ifndef VOLTMILL_PRODUCT_VOLTAGES_PARTS_H
#define VOLTMILL_PRODUCT_VOLTAGES_PARTS_H

#include "base/text.h"
#include "product/voltages.h"

#include <hdf5.h>

/* Puts all that the layout knows into a new file but the samples' values. Fails with NO_SPACE or
 * DATA. */
status_t voltages_describe(hid_t file, const struct voltages_spec *spec);

/* Its axes as text, and how many elements each of its `rank` dimensions has: of numbers below 8
 * bits the innermost has bytes with several, and axes that would leave no whole byte are joined in
 * it. Fails with DEVICE. */
status_t voltages_name_axes(const struct voltages_spec *spec, struct text *axes,
                            uint64_t dims[AXIS_KINDS], int *rank);

/* Ends such a file and says where its samples lie; takes `file`, whatever comes. */
status_t voltages_finish(hid_t file, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place);

#endif
