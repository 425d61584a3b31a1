# A sample of the attacks of tests/long/attack.sh, most of them on one rank.
here=$(cd "$(dirname "$0")/.." && pwd)
ATTACKS=${ATTACKS:-15} JOBS=${JOBS:-2} SIZES="1 1 1 1 2" exec bash "$here/long/attack.sh"
