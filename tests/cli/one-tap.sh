#!/usr/bin/env bash
# One tap: with window rect the bare Fourier transform, by numpy; a cutoff counts where it is told. Products of older
# programs, which had cutoff 1 there without saying so, are verified as they were made.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

echo '{file: obs.h5, samples: 4000, streams: {pols: 2}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e8, noise: 20}' >synth.yaml
"$voltmill" synth synth.yaml >output || cat output
cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 64, taps: 1, window: rect, normalise: none, order: fft, backend: cpu}
products: [{kind: spectra, file: one.h5}]
END
runs "one tap" "$voltmill" run job.yaml
same "is numpy's transform, times the sinc of a cutoff that is told" "True True" "$("$voltmill" run job.yaml \
    --set channelise.cutoff=1 --set products.0.file=sinc.h5 >output 2>&1; warm - <<'END'
import h5py, numpy as np
volts = h5py.File("obs.h5", "r")["voltages"][:].astype(float)
x = (volts[..., 0] + 1j * volts[..., 1]).reshape(4000, 2)[: 4000 // 64 * 64].reshape(-1, 64, 2)
def alike(name, weights):
    found = h5py.File(name, "r")["spectra"][:]
    expected = np.fft.fft(x * weights[:, None], axis=1).transpose(0, 2, 1)
    return np.allclose(found.reshape(expected.shape), expected, atol=1e-4 * abs(expected).max(), rtol=0)
print(alike("one.h5", np.ones(64)), alike("sinc.h5", np.sinc((np.arange(64) - 31.5) / 64)))
END
)"
runs "verify" "$voltmill" verify one.h5
cp sinc.h5 older.h5
warm - <<'END'
import h5py
with h5py.File("older.h5", "r+") as f:
    text = f["provenance"].attrs["job"]
    f["provenance"].attrs.modify("job", text.replace(b"  cutoff: 1\n", b""))
END
fails "verify of a product that an older program wrote: its rows are right, only the text was changed here" 4 \
    '1 is not as written ./provenance/objects.: /provenance@job' "$voltmill" verify older.h5
fails "which is no product of the job now" 2 'made by another job.*cutoff: 0 now' \
    "$voltmill" run job.yaml --set products.0.file=older.h5
same "a flat cutoff stays refused" 1 \
    "$("$voltmill" plan job.yaml --set channelise.cutoff=flat --set products.0.file=n.h5 2>&1 | grep -c 'flat, but taps is 1')"
plan
