# docs/five-jobs.md: its commands run as they stand, on a burst in GUPPI RAW; each has at most 100 characters, or its job
# five lines; and they make what they say.
. "$(dirname "$0")/guide.bash"
no_devices
cd "$tree" || exit

# sbatch without a cluster: an array of one element, whose steps are processes of this machine.
printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec bash "$@"\n' >"$work/path/sbatch"
printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n' >"$work/path/srun"
chmod +x "$work"/path/*
export SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=1 SLURM_ARRAY_TASK_COUNT=1 SLURM_ARRAY_TASK_STEP=1

cat >burst.yaml <<'END'
file: burst.h5
samples: 262144
streams: {pols: 2, chans: 4}
bits: 8
sample_rate_hz: 2 MHz
freq_hz: 1400 MHz
noise: 12
burst: {time_s: 20 ms, dm: 100, amplitude: 30, width_s: 1 ms}
END
(voltmill synth burst.yaml && python3 tests/tools/practice guppi burst.h5 x.0000.raw && mkdir obs &&
    cp burst.h5 obs/night-1.h5 && cp burst.h5 obs/night-2.h5) >"$work/output" 2>&1 ||
    { note <"$work/output"; echo "Bail out! no files to try"; exit 1; }
awk '/^```/ { file = ""; begins = $0 == "```yaml"; next } begins { file = $2; begins = 0 } file { print >file }' \
    "$here/docs/five-jobs.md"
follow ../five-jobs
same "a command has at most 100 characters" "" \
    "$(awk '/^```/ { inside = $0 == "```sh"; next } inside && length > 100' "$here/docs/five-jobs.md")"
same "a job has at most five lines" "4 2" "$(grep -vc '^#' search.yaml) $(grep -vc '^#' job.yaml)"
same "what they make" "x.fil burst.fil stokes.h5 found.csv out/night-1.fil out/night-2.fil" \
    "$(ls -U x.fil burst.fil stokes.h5 found.csv out/night-1.fil out/night-2.fil 2>&1 | xargs)"
same "the burst is found near its DM, as far as 8 MHz tell it" 1 "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "dm") at = i }
    NR > 1 && $at > 75 && $at < 125 { near = 1 } END { print near + 0 }' <(grep -v '^#' found.csv))"
plan
