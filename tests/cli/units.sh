#!/usr/bin/env bash
# Values with units: a job with units makes the product of the same job in numbers, whichever of them resumes it; widths
# and times become the nearest numbers of channels and spectra.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

echo '{file: obs.h5, samples: 40000, streams: {chans: 2}, bits: 8, sample_rate_hz: 1 Msps, freq_hz: 100 MHz, noise: 20}' >synth.yaml
runs "a specification with units" "$voltmill" synth synth.yaml
cat >units.yaml <<'END'
input: {files: obs.h5, select: {freq_hz: [98 MHz, 99.9MHz], seconds: [0 s, 30 ms]}}
channelise: {width: 15 kHz, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 0.3 ms}]
run: {sync: 5000 ms, memory: 1 GiB}
END
cat >numbers.yaml <<'END'
input: {files: obs.h5, select: {freq_hz: [98e6, 99900000], seconds: [0, 3e-2]}}
channelise: {channels: 66, taps: 4, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 5}]
END
# says NAME PATTERN...: the output of the command before has all of them
says() {
    local name=$1 missing=
    shift
    for pattern in "$@"; do grep -Eq "$pattern" output || missing+=" '$pattern'"; done
    ok "$([ -z "$missing" ]; echo $?)" "$name"
    [ -z "$missing" ] || { echo "# missing:$missing"; note <output; }
}

runs "plan" "$voltmill" plan units.yaml
says "plan prints both forms" 'note: channelise.0.width 15 kHz: 66 channels of 15.15' \
    'note: products.0.integrate 300 us: 5 spectra, 330 us' 'channels +66 of 15.15' 'of 5 spectra, one every 330 us'
runs "run" mpirun -n 2 "$voltmill" run units.yaml
runs "the same job in numbers" "$voltmill" run numbers.yaml
says "finds the product complete" '^complete before: power.h5'
runs "verify of its own text" "$voltmill" verify power.h5
for change in 'input.select.freq_hz=[98 MHz, 100.8 MHz]' channelise.width=16kHz products.0.integrate=400us; do
    fails "another product: $change" 2 'exists already: --force replaces it .it was made by another job' \
        "$voltmill" run units.yaml --set "$change"
done
runs "a filterbank" "$voltmill" run units.yaml --set products.0.file=power.fil
runs "knows its job in numbers, too" "$voltmill" run numbers.yaml --set products.0.file=power.fil
says "by its stamp" '^complete before: power.fil'
ok "$(grep -c 'prime factor' output)" "66 channels are fast"
runs "plan of 976 channels" "$voltmill" plan units.yaml --set 'channelise.width=1024.5 Hz' --set products.0.file=976.h5
says "names the nearest fast number" 'note: 976 channels have a prime factor above 13: channels: 972 .1.02880658 kHz. is transformed'
sed 's/width: 15 kHz/width: 15 kHz, oversample: {num: 4, den: 3}/' units.yaml >over.yaml
runs "plan of an oversampled bank" "$voltmill" plan over.yaml --set products.0.file=over.h5
says "whose channels suit the ratio" 'width 15 kHz: 6[48] channels' 'integrate 300 us: 6 spectra'

fails "a wrong unit" 2 'channelise.width: is "3 ms", expected the unit Hz, kHz, MHz or GHz' \
    "$voltmill" plan units.yaml --set 'channelise.width=3 ms'
fails "no such unit" 2 'integrate: is 3sec, expected the unit s, ms, us, ns, µs, min or h' \
    "$voltmill" plan units.yaml --set products.0.integrate=3sec
fails "both width and channels" 2 'width: gives the number of channels, as channels does' \
    "$voltmill" plan numbers.yaml --set channelise.width=1kHz
fails "neither" 2 'channelise.channels: is missing' "$voltmill" plan numbers.yaml --set 'channelise={taps: 4}'
fails "a time for spectra" 2 'integrate: is 10 ms, but only products of kind power' \
    "$voltmill" plan numbers.yaml --set 'products.0={kind: spectra, file: s.h5, integrate: 10 ms}'
plan
