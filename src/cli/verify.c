/* voltmill verify PRODUCT */
#include "verify/verify.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/start.h"
#include "verify/verify_crc.h"

#include <mpi.h>

static const char help[] =
    "Usage: voltmill verify [OPTION]... PRODUCT\n"
    "       mpirun -n N voltmill verify [OPTION]... PRODUCT\n"
    "\n"
    "Recomputes chunks of a product from its archive with the slow double-precision reference and\n"
    "compares: the first, the last and a random sample of the others, or all. The product holds\n"
    "its job; the archive (of dedispersed series: the filterbank) must lie where the job says,\n"
    "relative to the current folder.\n"
    "\n"
    "With --crc it computes nothing, but reads all of it: a finished product against the CRCs that "
    "it\n"
    "holds, a FILE.part against its journal. That needs neither archive nor job.\n"
    "\n"
    "  --crc                reads everything and compares CRCs\n"
    "  --all                recomputes everything\n"
    "  --chunks N           recomputes N chunks (default 16)\n"
    "  --seed N             picks another sample\n"
    "  --set KEY=VALUE      sets a key of the product's job, e.g. --set input.files=/new/place.h5\n"
    "  --progress SECONDS   prints a line on stderr so often (default: one that is redrawn, if\n"
    "                       stderr is a terminal; under mpirun or srun a line every 30 s)\n"
    "  --help               prints this\n"
    "\n"
    "Exit status: 0 agrees, 4 differs, is damaged or cannot be read, 2 usage.\n";

status_t cli_verify(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct options options;
    int rank = 0;
    st = options_read(argc, argv,
                      OPTION_SET | OPTION_ALL | OPTION_CHUNKS | OPTION_SEED | OPTION_PROGRESS |
                          OPTION_CRC,
                      "product", &options);
    if (st == STATUS_OK && options.help) {
        start_print_all(help);
        goto out;
    }
    TRY(start_all(st, &rank));
    if (options.crc) {
        st = verify_crc_all(MPI_COMM_WORLD, options.operand, options.progress);
        goto out;
    }
    struct verify_options verify = {options.operand, options.sets, options.nsets,   options.all,
                                    options.chunks,  options.seed, options.progress};
    st = verify_product_all(MPI_COMM_WORLD, &verify);
out:
    options_free(&options);
    return st;
}
