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

# Starts its arguments and writes the peak resident memory (KiB) of that process to a file of its own, and its peak
# anonymous memory, as it is seen every 2 ms, to one beside it.
cat >"$work/peak" <<'PYTHON'
import os, re, resource, sys, time
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
anonymous, ended = 0, 0
while not ended:
    with open(f"/proc/{child}/status") as f:
        anonymous = max([anonymous] + [int(kib) for kib in re.findall(r"RssAnon:\s+(\d+)", f.read())])
    time.sleep(0.002)
    ended, status = os.waitpid(child, os.WNOHANG)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
for name, kib in (f"{sys.argv[1]}.{os.getpid()}", peak), (f"{sys.argv[1]}-anonymous.{os.getpid()}", anonymous):
    with open(name, "w") as f:
        print(kib, file=f)
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON

peak_below() { # peak_below NAME KIB RANKS OPTIONS...: runs $work/job.yaml
    local name=$1 limit=$2 ranks=$3 most
    shift 3
    rm -f "$work"/kib*.*
    runs "$name: runs" mpirun -n "$ranks" "$python" "$work/peak" "$work/kib" "$voltmill" run --force "$@" \
        "$work/job.yaml"
    same "$name: every rank measured" "$ranks" "$(cat "$work"/kib.* | wc -l)"
    most=$(sort -n "$work"/kib.* | tail -1)
    anonymous=$(sort -n "$work"/kib-anonymous.* | tail -1)
    planned=$(mpirun -n "$ranks" "$voltmill" plan --json "$@" "$work/job.yaml" |
        sed -n 's/.*"memory_bytes": *\([0-9]*\).*/\1/p' | head -1)
    planned=$((planned / 1024))
    echo "# $name: peak $most KiB of $limit, $anonymous anonymous of $planned planned"
    [ "$most" -lt "$limit" ]
    ok $? "$name: peaks below $limit KiB in every rank"
    [ "$anonymous" -gt 0 ] && [ "$anonymous" -le "$planned" ]
    ok $? "$name: anonymous memory stays below what is planned"
}
