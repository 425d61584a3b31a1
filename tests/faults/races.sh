# A sample of the races of tests/long/races.py: one for each way in which most files are written.
RACES=${RACES:-11} exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/../long/races.py"
