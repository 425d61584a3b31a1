# docs/guides/tuning.md: what was tuned is found by the run, and changes no number.
. "$(dirname "$0")/guide.bash"
export VOLTMILL_CACHE=$work/cache # other tests are not to be tuned
follow tuning
plan
