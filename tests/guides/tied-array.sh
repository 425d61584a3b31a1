# docs/guides/tied-array.md: a beam of an array gains what it says, its pulses beside those of an incoherent sum.
. "$(dirname "$0")/guide.bash"
follow tied-array
plan
