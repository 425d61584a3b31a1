# Sourced by tests of memory: archives of many samples, most of which take no room on the disk, and the peak memory of
# the ranks of a run.

# sparse FILE SAMPLES [POLS [CHANS [FILTER]]]: native, 8-bit complex, 2 polarisations and 1 coarse channel if not said; in
# chunks of 4 MiB of noise by deflate or bitshuffle
sparse() {
    "$python" - "$here/tests/clients/mocks" "$@" <<'PYTHON'
import sys
import h5py
import numpy as np
sys.path.insert(0, sys.argv[1])
import chunks
path, samples, pols, chans, name = (sys.argv[2:] + [2, 1, ""][len(sys.argv) - 4:])[:5]
samples, pols, chans = int(samples), int(pols), int(chans)
with h5py.File(path, "w") as f:
    f.attrs["format"] = np.bytes_("voltage")
    f.attrs["format_version"] = 1
    f["freq_hz"] = 320e6 + 16e6 * np.arange(chans)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    step = (4 << 20) // (2 * pols * chans)
    filters = {"deflate": [(chunks.DEFLATE, (1,))], "bitshuffle": [(chunks.BITSHUFFLE, (0, 4, 1, 0, 2))]}.get(name)
    if filters:
        plist.set_chunk((step, pols, chans, 2))
        plist.set_filter(*filters[0][:1], h5py.h5z.FLAG_OPTIONAL, filters[0][1])
    else:
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((samples, pols, chans, 2))
    v = h5py.h5d.create(f.id, b"voltages", h5py.h5t.STD_I8LE, space, plist)
    noise = np.random.default_rng(1).integers(-8, 8, 4 << 20).astype("i1").tobytes()
    packed = chunks.apply(filters, noise) if filters else None
    for first in range(0, samples if filters else 0, step):
        v.write_direct_chunk((first, 0, 0, 0), packed)
    d = h5py.Dataset(v)
    d.attrs["axes"] = np.bytes_("time,pol,chan,reim")
    d.attrs["sample_rate_hz"] = 16e6
    d.attrs["domain"] = np.bytes_("complex")
    d.attrs["sideband"] = 1
PYTHON
}

sparse_bank() { # sparse_bank FILE ROWS CHANNELS: FBH5 of 8 bits
    "$python" - "$@" <<'PYTHON'
import sys
import h5py
with h5py.File(sys.argv[1], "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((int(sys.argv[2]), 1, int(sys.argv[3])))
    d = h5py.Dataset(h5py.h5d.create(f.id, b"data", h5py.h5t.STD_U8LE, space, plist))
    d.attrs.update({"fch1": 1500.0, "foff": -0.3, "tsamp": 1e-3})
PYTHON
}

# Starts its arguments and writes the peak resident memory (KiB) of that process to a file of its own, and its peak
# anonymous memory, as it is seen every 5 ms, to one beside it.
cat >"$work/peak" <<'PYTHON'
import os, re, resource, sys, time
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
anonymous, ended = 0, 0
while not ended:
    with open(f"/proc/{child}/status") as f:
        anonymous = max([anonymous] + [int(kib) for kib in re.findall(r"RssAnon:\s+(\d+)", f.read())])
    time.sleep(0.005)
    ended, status = os.waitpid(child, os.WNOHANG)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
for name, kib in (f"{sys.argv[1]}.{os.getpid()}", peak), (f"{sys.argv[1]}-anonymous.{os.getpid()}", anonymous):
    with open(name, "w") as f:
        print(kib, file=f)
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON

peak_below() { # peak_below NAME KIB RANKS OPTIONS...: runs $work/job.yaml; sets anonymous and planned, KiB
    local name=$1 limit=$2 ranks=$3 most
    shift 3
    rm -f "$work"/kib*.*
    runs "$name: runs" mpirun -n "$ranks" "$python" "$work/peak" "$work/kib" "$voltmill" run --force "$@" \
        "$work/job.yaml"
    same "$name: every rank measured" "$ranks" "$(cat "$work"/kib.* | wc -l)"
    most=$(sort -n "$work"/kib.* | tail -1)
    anonymous=$(sort -n "$work"/kib-anonymous.* | tail -1)
    planned=$(mpirun -n "$ranks" "$voltmill" plan --json --force "$@" "$work/job.yaml" |
        sed -n 's/.*"memory_bytes": *\([0-9]*\).*/\1/p' | sort -n | tail -1) # of all passes
    planned=$((planned / 1024))
    echo "# $name: peak $most KiB of $limit, $anonymous anonymous of $planned planned: $((100 * anonymous / planned)) %"
    [ "$most" -lt "$limit" ]
    ok $? "$name: peaks below $limit KiB in every rank"
    [ "$anonymous" -gt 0 ] && [ "$anonymous" -le "$planned" ]
    ok $? "$name: anonymous memory stays below what is planned"
}
