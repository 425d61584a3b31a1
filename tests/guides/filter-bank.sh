# docs/guides/filter-bank.md: its numbers are those of `plan`, and what filters do to tones in data is what it says.
. "$(dirname "$0")/guide.bash"
follow filter-bank
plan
