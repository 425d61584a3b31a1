#!/usr/bin/env bash
# Messages about mistyped jobs and commands: words of other programs, paths with ~ and $; notes that are printed once.
. "$(dirname "$0")/../tools/lib.sh"
no_devices
cd "$work" || exit 1
echo '{file: obs.h5, samples: 4001, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e8, noise: 20}' >synth.yaml
"$voltmill" synth synth.yaml >output || cat output
cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 64, taps: 2, backend: cpu}
products: [{kind: power, file: power.h5, integrate: 4}]
END

meant() { # meant WORD SET...: the message asks whether WORD was meant
    local word=$1
    shift
    fails "$* is $word" 2 "did you mean $word\?" "$voltmill" plan job.yaml --set "$@"
}
meant sample_rate_hz input.layout.sample_rate=1e6
meant channelise 'channelize={channels: 4}'
meant hann channelise.window=hanning
meant hann channelise.window=Hann
meant rect channelise.window=boxcar
meant dm 'dedisperse={DM: [1], file: s.h5}'
meant polarisation products.0.stokes=IQUV
meant channels channelise.nchan=4
meant re 'input.layout.parts={real: /re, im: /im}'
meant im 'input.layout.parts={re: /re, imag: /im}'
meant threads run.nthreads=2
meant IQUV products.0.polarisation=iquv
meant hdf5 products.0.format=hdf
fails "no word that is near" 2 'expected one of hann, hamming, .*file:PATH$' "$voltmill" plan job.yaml --set channelise.window=zzz
fails "-v" 2 'unknown command -v \(did you mean --version\?\)' "$voltmill" -v
fails "version" 2 'unknown command version \(did you mean --version\?\)' "$voltmill" version
fails "a key of the job as an option" 2 'option --threads \(it is a key of the job: --set run.threads=VALUE\)' \
    "$voltmill" run --threads 2 job.yaml
fails "one of two words" 2 '\(it is a key of the job: --set run.on_bad=VALUE\)' "$voltmill" plan --on-bad=nan job.yaml
fails "of a command without a job" 2 'join: unknown option --threads; see' "$voltmill" join --threads 2 -o x.h5 obs.h5
sed 1d job.yaml >without.yaml
fails "a job without input" 2 'input: is missing, expected .*voltmill run --each PATTERN' "$voltmill" run without.yaml

mkdir home
cp obs.h5 home/in.h5
echo 1 >home/window.txt
run() { HOME=$work/home "$voltmill" run job.yaml "$@"; }
runs "~ in paths" run --set input.files='~/in*.h5' --set products.0.file='~/out.h5'
same "is the home directory" "files: [$work/home/in*.h5]" "files: [$(warm -c 'import h5py, sys
print(h5py.File(sys.argv[1], "r")["provenance"].attrs["job"].decode().split("- ")[1].split("\n")[0])' home/out.h5)]"
fails "behind file:, too" 4 'home/nowhere.txt' env HOME="$work/home" "$voltmill" run job.yaml --set channelise.window='file:~/nowhere.txt'
fails "without HOME" 2 '~ is HOME, which is not set' env -u HOME "$voltmill" plan job.yaml --set products.0.file='~/x.h5'
home() { HOME=$work/home "$voltmill" "$@"; }
runs "~ of a file that is described" home info '~/in.h5'
runs "of one that is looked at" home look --text '~/in.h5'
echo words >home/words.png
fails "of a picture, after =" 2 "$work/home/words.png" env HOME="$work/home" "$voltmill" plot --filter --output='~/words.png' job.yaml
runs "of a pattern of --each" home run --each '~/in*.h5' --set 'products.0.file=~/{name}.each' job.yaml
[ -s home/in.each ]
ok $? "is the home directory, too"
fails "without HOME: an operand" 2 'info ~/in.h5: ~ is HOME, which is not set' env -u HOME "$voltmill" info '~/in.h5'
fails "without HOME: an option" 2 'plot ~/x.png: ~ is HOME, which is not set' env -u HOME "$voltmill" plot -o '~/x.png' out.h5

fails "\$ in a path" 2 'products.0.file: is "\$HOME/x.h5": \$ is not expanded' "$voltmill" plan job.yaml --set 'products.0.file=$HOME/x.h5'
fails "\$ in an input" 2 'input.files: is "\$DATA/\*.h5": \$ is not expanded' "$voltmill" plan job.yaml --set 'input.files=$DATA/*.h5'
cp obs.h5 'a$b.h5'
runs "a file of such a name" "$voltmill" plan job.yaml --set 'input.files=a$b.h5'

runs "a run" "$voltmill" run job.yaml
same "says in one line what is dropped" \
    'note: dropped at the end: 33 samples of each stream (a spectrum takes 64), 1 spectrum of power.h5 (a row has 4)' \
    "$(grep dropped output)"
banks='channelise=[{name: a, channels: 64, taps: 1}, {name: b, channels: 48, taps: 1}]'
runs "a plan of two banks" "$voltmill" plan job.yaml --set "$banks" --set 'products=[{kind: power, file: a.h5},
    {kind: power, bank: b, file: b.h5}]'
grep -q 'dropped at the end: 33 samples of each stream (a spectrum of a takes 64), 17 .*(a spectrum of b takes 48)$' output
ok $? "says of which it drops what"
fails "what is dedispersed is no HDF5" 2 'dedisperse.0.input: products.0 becomes a file of format fil, expected hdf5: input may name' \
    "$voltmill" plan job.yaml --set products.0.file=a.fil --set 'dedisperse={dm: [1], file: s.h5}'
plan
