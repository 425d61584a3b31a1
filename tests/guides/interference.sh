# docs/guides/interference.md: a radar is taken out of the power and nothing else, a carrier's channel has no numbers.
. "$(dirname "$0")/guide.bash"
follow interference
plan
