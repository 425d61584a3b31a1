# docs/guides/guppi.md: a tone of both polarisations is found at its frequency and drift, by numpy and, where it is
# installed, by turbo_seti.
. "$(dirname "$0")/guide.bash"
follow guppi
plan
