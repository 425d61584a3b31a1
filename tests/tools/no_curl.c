/* Stands for libcurl in tests. HDF5's driver for S3, which nothing here uses, brings that library
 * and 25 that it needs: two fifths of what a process takes to start, and tests start thousands. Who
 * calls one of these functions ends at once.
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
