# Environment that every test needs: ranks beyond the cores, as root, without a network.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=ob1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm_rsh_agent=/bin/true
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader
# The same for the launchers of Open MPI 5 and 6, which have names of their own.
launchers=(/usr/lib/*/libprrte.so.[5-9])
case ${launchers[*]} in
*\]) export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none ;;
*) export PRTE_MCA_mapby=:oversubscribe PRTE_MCA_bindto=none ;;
esac
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_plm_ssh_agent=/bin/true
# Not loaded: each is a file of its own, and ranks of one machine need none of them.
export OMPI_MCA_shmem=^posix,sysv OMPI_MCA_reachable=^netlink OMPI_MCA_op=^avx OMPI_MCA_rcache=^grdma
export OMPI_MCA_mpool=^hugepage OMPI_MCA_schizo=^flux,jsm OMPI_MCA_osc=^monitoring,pt2pt,rdma,sm,ucx
# Ranks that wait let other tests have the processor.
export OMPI_MCA_mpi_yield_when_idle=1
# To learn what processors there are, neither looks at other devices, nor loads what could (an empty folder of
# plugins): half of what starting a process takes, without X servers asked and PCI devices read.
export HWLOC_COMPONENTS=-opencl,-pci,-gl,-linuxio HWLOC_PLUGINS_PATH=/var/empty
# No files in memory shared with the launcher for the few words that it says; threads that wait do not spin, nor those
# of numpy, whose matrices are small.
export PMIX_MCA_gds=hash OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1
export OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
export HDF5_USE_FILE_LOCKING=FALSE
# Kernels that one test has built, the others need not build again. PoCL takes a fifth of the time to build them as they
# stand; optimised, as users have them, they are tested by `make test-long`.
test_cache=$PWD/build/test-cache
if [ -n "${VOLTMILL_TEST_ALL:-}" ]; then
    test_cache+=-optimised
else
    # No second build of a kernel for each size of its groups; OpenCL C 1.2 has fewer functions to declare.
    export POCL_EXTRA_BUILD_FLAGS="-cl-opt-disable -cl-std=CL1.2" POCL_WORK_GROUP_SPECIALIZATION=0
    # Nor any but those that kernels call (small-pocl; only where that was made).
    { read -r small <build/small-pocl/made; } 2>/dev/null || small=
    [ -n "${OCL_ICD_VENDORS:-}" ] || [ "$small" != "$PWD/build/small-pocl" ] || export OCL_ICD_VENDORS=$small/vendors/
fi
export VOLTMILL_CACHE=${VOLTMILL_CACHE:-$test_cache}
export LC_ALL=C.UTF-8
# Long sweeps take a sample, another one each day, and all that run beside each other the same (tests/README.md).
export VOLTMILL_TEST_SEED=${VOLTMILL_TEST_SEED:-$((EPOCHSECONDS / 86400))}
# libclFFT deletes objects under another type than it made them. Up to GCC 13 the sanitizer takes what a thread keeps, if it
# lies at certain addresses, for that of an old glibc, and then crashes where it looks for leaks (google/sanitizers #1322).
# LLVM gives PoCL's threads a stack for signals, which the sanitizer would unmap as its own when they end.
export ASAN_OPTIONS=new_delete_type_mismatch=0:intercept_tls_get_addr=0:use_sigaltstack=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export LSAN_OPTIONS=suppressions=$PWD/tests/tools/leaks.txt:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}
# GCC's OpenMP and the libraries of MPI and OpenCL are not built for the thread sanitizer: it does not see their locks.
export TSAN_OPTIONS=ignore_noninstrumented_modules=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
