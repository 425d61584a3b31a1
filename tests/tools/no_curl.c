/* Stands for libcurl in tests. HDF5's driver for S3 and cfitsio's for URLs, which nothing here
 * uses, bring that library and 25 that it needs: two fifths of what a process takes to start, and
 * tests start thousands. A process that calls one of these functions ends at once.
 */
#include <stdlib.h>

#define NOT_HERE(name)                                                                             \
    _Noreturn void name(void);                                                                     \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }

NOT_HERE(curl_easy_cleanup)
NOT_HERE(curl_easy_init)
NOT_HERE(curl_easy_perform)
NOT_HERE(curl_easy_setopt)
NOT_HERE(curl_global_cleanup)
NOT_HERE(curl_global_init)
NOT_HERE(curl_slist_append)
NOT_HERE(curl_slist_free_all)
