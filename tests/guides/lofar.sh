# docs/guides/lofar.md: four files become Stokes parameters and complex spectra; a carrier is found at its frequency and
# position angle.
. "$(dirname "$0")/guide.bash"
follow lofar
plan
