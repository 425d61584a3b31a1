# Sourced by tests of memory: a native archive of many samples that takes no room on the disk, and the
# peak memory of the ranks of a run.

sparse() { # sparse FILE SAMPLES: 2 polarisations, 8-bit complex
    "$python" - "$1" "$2" <<'PYTHON'
import sys
import h5py
import numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["format"] = np.bytes_("voltage")
    f.attrs["format_version"] = 1
    f["freq_hz"] = [320e6]
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((int(sys.argv[2]), 2, 1, 2))
    d = h5py.Dataset(h5py.h5d.create(f.id, b"voltages", h5py.h5t.STD_I8LE, space, plist))
    d.attrs["axes"] = np.bytes_("time,pol,chan,reim")
    d.attrs["sample_rate_hz"] = 16e6
    d.attrs["domain"] = np.bytes_("complex")
    d.attrs["sideband"] = 1
PYTHON
}

# Starts its arguments and writes the peak resident memory (KiB) of that process to a file of its own.
cat >"$work/peak" <<'PYTHON'
import os, resource, sys
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
_, status = os.waitpid(child, 0)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open(f"{sys.argv[1]}.{os.getpid()}", "w") as f:
    print(peak, file=f)
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON

peak_below() { # peak_below NAME KIB RANKS OPTIONS...: runs $work/job.yaml
    local name=$1 limit=$2 ranks=$3 most
    shift 3
    rm -f "$work"/kib.*
    runs "$name: runs" mpirun -n "$ranks" "$python" "$work/peak" "$work/kib" "$voltmill" run --force "$@" \
        "$work/job.yaml"
    same "$name: every rank measured" "$ranks" "$(cat "$work"/kib.* | wc -l)"
    most=$(sort -n "$work"/kib.* | tail -1)
    echo "# $name: peak $most KiB of $limit"
    [ "$most" -lt "$limit" ]
    ok $? "$name: peaks below $limit KiB in every rank"
}
