# docs/how-do-i.md: every job and command of the index runs as it stands, on small files made by `voltmill synth`.
. "$(dirname "$0")/guide.bash"
no_devices
cd "$tree" || exit

# Only commands that name OpenCL load the library of a device, which takes longer than a small job.
rm "$work/path/voltmill"
cat >"$work/path/voltmill" <<END
#!/bin/sh
case "\$*" in *opencl* | *--devices*) unset OCL_ICD_VENDORS ;; esac
exec "$voltmill" "\$@"
END

# sbatch and srun without a cluster: the script runs at once, its steps as processes of this machine.
for name in sbatch srun; do
    printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n' >"$work/path/$name"
done
echo 'exec bash "$@"' >>"$work/path/sbatch"
echo 'exec "$@"' >>"$work/path/srun"
chmod +x "$work"/path/*
! has_pictures || warm_pictures

observations() {
    mkdir -p obs
    cat >burst.yaml <<'END'
file: burst.h5
samples: 1e6
bits: 8
sample_rate_hz: 8e6
freq_hz: 1.4e9
noise: 12
burst: {time_s: 0.05, dm: 100, amplitude: 8, width_s: 5e-4}
END
    cat >fil.yaml <<'END'
input: {files: burst.h5}
channelise: {channels: 64}
products: [{kind: power, file: burst.fil, integrate: 8}]
END
    voltmill synth data/samples/demo.yaml --set samples=1048576 --set file=obs.h5 &&
        cp obs.h5 obs/night-1.h5 && cp obs.h5 obs/night-2.h5 &&
        voltmill synth data/samples/demo.yaml --set samples=262144 --set file=gappy.h5 \
            --set 'gaps=[{first: 100000, count: 50000}]' &&
        voltmill synth data/samples/pulsar.yaml --set samples=131072 --set streams.chans=2 --set streams.pols=2 \
            --set file=coarse.h5 &&
        voltmill synth burst.yaml && voltmill run fil.yaml
}

recordings() { # the samples of obs.h5 in formats of recorders, and in an HDF5 file without any description
    "$python" - "$here/tests/clients" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import h5py
import numpy as np
from mocks import packets, plain, recorders

with h5py.File("obs.h5") as file:
    stored = file["voltages"][...].reshape(-1, 2, 1, 2)  # [time][pol][chan][re, im]
volts = stored[..., 0] + 1j * stored[..., 1]
halves = np.split(volts.transpose(2, 0, 1)[None], 2, axis=2)  # [ant][chan][time][pol]
for number, half in enumerate(halves):
    recorders.write_guppi(f"obs.{number:04}.raw", half, 8, 1 << 15, first=half.shape[2] * number, OBSFREQ=320.0,
                          OBSBW=16.0, TBIN=62.5e-9, FD_POLN="'LIN     '")
recorders.write_dada("obs.dada", stored.transpose(0, 2, 1, 3).tobytes(), NBIT=8, NDIM=2, NPOL=2, NCHAN=1, FREQ=320.0,
                     BW=16.0, TSAMP=0.0625)
packets.write_vdif("obs.vdif", 2, 0, 1, 0, 1000, 1000, 4000, generator=np.random.default_rng(1))
plain.write("capture.bin", stored)
plain.write_npy("capture.npy", stored.tobytes(), shape=(len(stored), 2, 2))
plain.write_sigmf("capture", stored.tobytes(), plain.sigmf_meta("ci8", num_channels=2))
plain.write_wav("capture.wav", stored.astype("<i2").tobytes(), plain.wav_format(1, 2, 16))
with h5py.File("plain.h5", "w") as file:
    file["samples"] = stored[:, :, 0]
END
}

jobs() { # blocks of YAML that begin with the name of a file
    awk '/^```/ { file = ""; begins = $0 == "```yaml"; next } begins { file = $2; begins = 0 } file { print >file }' \
        "$here/docs/how-do-i.md"
}

(observations && recordings && jobs) >"$work/output" 2>&1 || { note <"$work/output"; echo "Bail out! no files to try"; exit 1; }
follow ../how-do-i
plan
