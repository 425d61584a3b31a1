/* CRCs of single objects of a product, for contents.c alone. */
#ifndef VOLTMILL_PRODUCT_CHECK_CONTENTS_VALUE_H
#define VOLTMILL_PRODUCT_CHECK_CONTENTS_VALUE_H

#include "io/hdf5/h5.h"

/* Of an attribute; of a dataset that lies in one piece of the file `fd`, or (-1) of its type and
 * shape alone. `where` names it in messages. Fail with DATA. */
status_t contents_of_attribute(hid_t object, const char *name, const char *where, uint32_t *out);
status_t contents_of_dataset(hid_t dataset, const char *where, int fd, uint32_t *out);

#endif
