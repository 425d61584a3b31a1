/* In every unit test: a device's context stays until the program ends. PoCL reads its library of 10
 * MB anew for each context, which was half of the time that kernels took to build. */

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

typedef cl_context(CL_API_CALL *make_context)(
    const cl_context_properties *, cl_uint, const cl_device_id *,
    void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, cl_int *);

cl_context CL_API_CALL clCreateContext(const cl_context_properties *properties, cl_uint count,
                                       const cl_device_id *devices,
                                       void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                                 void *),
                                       void *user, cl_int *error)
{
    static cl_context kept;
    static cl_device_id of;
    if (!kept || count != 1 || devices[0] != of) {
        make_context make;
        void *symbol = dlsym(RTLD_NEXT, "clCreateContext");
        memcpy(&make, &symbol, sizeof make);
        cl_context made = make ? make(properties, count, devices, notify, user, error) : NULL;
        if (!made || kept || count != 1) {
            return made;
        }
        kept = made;
        of = devices[0];
    }
    /* Whoever asks releases it: the first reference is never given back. */
    cl_int status = clRetainContext(kept);
    if (error) {
        *error = status;
    }
    return status == CL_SUCCESS ? kept : NULL;
}
