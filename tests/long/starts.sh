# 240 commands that start while others end, in four parallel streams: none fails. STARTS=n sets their number.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
# A folder of MPI's for all of them, as users have it.
unset OMPI_MCA_orte_tmpdir_base
printf '{file: obs.h5, samples: 1000, streams: {pols: 1}, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9}\n' >spec.yaml
STARTS=${STARTS:-240}
. "$here/tests/long/starts.bash"
plan
