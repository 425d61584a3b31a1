# A sample of what tests/long/formats.py does to the runs and imports of every format.
here=$(cd "$(dirname "$0")/.." && pwd)
FORMATS='.*(?<!_long)' WHOLLY=${WHOLLY:-digital_rf} JOBS=${JOBS:-2} RANKS=2 SPREAD=1 TIMES=3 SEED=1 \
    CAMPAIGNS='kills|faults' FAULTS=${FAULTS:-1} \
    exec "${PYTHON:-/usr/bin/python3}" "$here/long/formats.py"
