# Kernels under Oclgrind, which looks for invalid memory, API errors and data races, and must be
# silent: those of beams, with VOLTMILL_TEST_ALL all. Not optimised: Oclgrind 21.10 does
# not know what the optimiser writes of `restrict`.
. "$(dirname "$0")/../tools/lib.sh"
program=$(dirname "$voltmill")/tests/unit/opencl_kernels
if ! command -v oclgrind >/dev/null || [ ! -x "$program" ]; then
    echo "1..0 # SKIP no oclgrind, or built without OpenCL"
    exit 0
fi
export VOLTMILL_CACHE=off
if [ -n "${VOLTMILL_TEST_ALL:-}" ]; then # two minutes of a processor: make test-long
runs "kernels run" timeout -k 5 400 oclgrind --build-options -cl-opt-disable --check-api --data-races "$program"
same "kernels: nothing but their rows is said" "fused: 21 rows
fused: 4 rows
slide: 21 rows
cache: 4 rows
local: 21 rows
cache: 4 rows
cache: 21 rows
fused: 4 rows
fused: 21 rows
slide: 21 rows
fine: 4 rows
blocks: 21 rows
fused: 4 rows
fused: 21 rows" "$(grep -v "^note: compiling kernels" "$work/output")"
runs "dedispersion runs" timeout -k 5 400 oclgrind --build-options -cl-opt-disable --check-api --data-races \
    "$(dirname "$program")/opencl_dedisperse_kernels"
same "dedispersion: nothing but its shapes is said" "copies:4:4x2:4x2:4:0:0: 0 wrong
copies:4:4x2:3x2:2:8:0: 0 wrong
funnel:4:4x2:3x2:4:0:0: 0 wrong
direct:4:4x2:3x2:4:4:0: 0 wrong
copies:2:4x2:4x2:4:0:0: 0 wrong
copies:1:4x2:3x2:4:3:0: 0 wrong
direct:2:4x2:4x2:4:0:0:4: 0 wrong
direct:2:4x2:2x2:16:4:0:8: 0 wrong
direct:1:4x2:2x2:16:0:0:8: 0 wrong" "$(grep -v "^note: compiling kernels" "$work/output")"
runs "long filters run" timeout -k 5 400 oclgrind --build-options -cl-opt-disable --check-api --data-races \
    "$(dirname "$program")/opencl_filter_kernels"
same "long filters: nothing but their kernels is said" "direct (registers) of 6 taps
direct (registers) of 5 taps
direct (local) of 20 taps
direct (local) of 9 taps
direct (passes) of 70 taps
overlap-save (64, library) of 20 taps
overlap-save (32, library) of 12 taps" "$(grep -v "^note: compiling kernels" "$work/output")"
runs "syntheses run" timeout -k 5 400 oclgrind --build-options -cl-opt-disable --check-api --data-races \
    "$(dirname "$program")/opencl_synthesise_kernels"
same "syntheses: nothing but their transforms is said" "vkfft of 12 points
vkfft of 10 points
fused (8 values, 4 spectra an item, radices 8 4) of 32 points
fused (8 values, 4 spectra an item, radices 8 4) of 32 points" "$(grep -v "^note: compiling kernels" "$work/output")"
runs "a search runs" timeout -k 5 400 oclgrind --build-options -cl-opt-disable --check-api --data-races \
    "$(dirname "$program")/opencl_peaks_kernels"
same "a search: nothing but its peaks is said" "whole: peaks found
missing: peaks found" "$(grep -v "^note: compiling kernels" "$work/output")"
fi
runs "beams run" timeout -k 5 400 oclgrind --build-options -cl-opt-disable --check-api --data-races \
    "$(dirname "$program")/opencl_beamform_kernels"
same "beams: nothing but their numbers is said" "3 beams: ok
2 beams: ok" "$(grep -v "^note: compiling kernels" "$work/output")"
plan
