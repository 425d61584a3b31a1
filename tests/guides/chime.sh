# docs/guides/chime.md: the burst comes at its time and DM, the practice file is read as CHIME's.
. "$(dirname "$0")/guide.bash"
follow chime
plan
