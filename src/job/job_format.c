/* What the file of a product is when it is complete. */
#include "job/job_schema.h"

#include <string.h>

enum file_format job_format_of(struct tree *product)
{
    const char *file = tree_value(product, "file");
    for (int format = FILE_HDF5; format <= FILE_PSRFITS; format++) {
        if (tree_says(product, "format", file_format_name((enum file_format)format))) {
            return (enum file_format)format;
        }
    }
    return file ? file_format_of(file) : FILE_HDF5;
}

status_t job_format_check(struct tree *product, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    static const char *const endings[] = {".h5", ".fil", ".fits or .sf"};
    enum file_format format = job_format_of(product);
    const char *file = tree_value(product, "file");
    if (tree_value(product, "format") && file && file_format_of(file) != format) {
        TRY(mistakes_at(mistakes, product, "file",
                        "is %s, expected a name that ends in %s, as its format is %s", file,
                        endings[format], file_format_name(format)));
    }
    if (format == FILE_HDF5) {
        goto out;
    }
    if (!tree_says(product, "kind", "power")) {
        TRY(mistakes_at(mistakes, product, tree_value(product, "format") ? "format" : "file",
                        "makes it a file of %s, which holds products of kind power alone",
                        format == FILE_FIL ? "SIGPROC" : "PSRFITS"));
    }
    if (tree_value(product, "compress") && !tree_says(product, "compress", "none")) {
        TRY(mistakes_at(mistakes, product, "compress", "is for products in HDF5, expected none"));
    }
    if (tree_says(product, "bandpass", "median")) {
        TRY(mistakes_at(mistakes, product, "bandpass", "is for products in HDF5, expected none"));
    }
out:
    return st;
}
