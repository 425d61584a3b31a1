# Products in memory, whose rows many processors write into huge pages: the bytes of other products, also without such
# pages, without space, killed, and resumed.
. "$(dirname "$0")/../tools/lib.sh"
{ [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && memory=$(mktemp -d /dev/shm/voltmill.XXXXXX); } ||
    { skip "no file system in memory here"; plan; exit 0; }
trap 'rm -rf "$memory"; clean' EXIT
cd "$memory" || exit 1
shim=(env "LD_PRELOAD=${VOLTMILL_IO_SHIM:-$(dirname "$voltmill")/tests/faults/io_shim.so}" SHIM_PROCESSORS=16)
EINVAL=22 ENOMEM=12 ENOSPC=28

observation() { # observation CHANS SAMPLES
    cat >synth.yaml <<YAML
file: obs$1.h5
samples: $2
streams: {chans: $1, pols: 2}
bits: 8
sample_rate_hz: 3e6
freq_hz: 1e9
noise: 20
YAML
    "$voltmill" synth synth.yaml >log 2>&1 || note <log
}
observation 8 262144
observation 16 524288
cat >rows.yaml <<YAML
input: {files: obs8.h5}
channelise: {channels: 1024, taps: 8}
products:
  - {kind: spectra, file: out.h5}
  - {kind: power, file: power.h5, integrate: 2}
  - {kind: power, file: out.fits, format: psrfits, integrate: 2, polarisation: I}
YAML
# Each stream is a chunk, which has 2 MiB of each row.
cat >pieces.yaml <<YAML
input: {files: obs16.h5}
channelise: {channels: 262144, taps: 1}
products: [{kind: spectra, file: out.h5}]
run: {memory: 175MiB}
YAML
digest() { b2sum ./*out.h5 power.h5 out.fits 2>/dev/null; }
clear_all() { rm -f out.* power.*; }
pages() { sed -n 's/^SHIM_PAGES //p' counts; }

for job in rows pieces; do
    errors=0
    "$voltmill" run "$job.yaml" >log 2>&1 || note <log
    expected=$(digest)
    clear_all
    runs "$job: many processors" "${shim[@]}" SHIM_COUNTS=counts "$voltmill" run "$job.yaml"
    same "$job: the same bytes" "$expected" "$(digest)"
    number=$(pages)
    [ "${number:-0}" -gt 12 ]
    ok $? "$job: huge pages, ${number:-0}"
    runs "$job: their CRCs are right" "$voltmill" verify --crc out.h5
    clear_all
    runs "$job: three ranks" mpirun -n 3 "${shim[@]}" "$voltmill" run "$job.yaml"
    same "$job: the same bytes by three ranks" "$expected" "$(digest)"
    clear_all
    sampled 1 3 $((number / 2)) $((number - 4))
    for call in "${sample[@]}"; do
        { "${shim[@]}" SHIM_PAGES="$call:kill" "$voltmill" run "$job.yaml" >log 2>&1; } 2>/dev/null
        [ $? = 137 ] && [ -e out.h5.part ] && [ ! -e out.h5 ] || errors=1
        "${shim[@]}" "$voltmill" run "$job.yaml" >log 2>&1 || errors=1
        [ "$expected" = "$(digest)" ] || errors=1
        clear_all
    done
    ok $errors "$job: killed and resumed"
    [ "$job" = rows ] || continue
    rows=$expected
    sampled 2 SHIM_PAGES=1:$EINVAL SHIM_PAGES=7:$ENOMEM "SHIM_PAGES=5!:11" SHIM_RESERVE=9:$ENOSPC
    for failing in "${sample[@]}"; do
        runs "$job: $failing" "${shim[@]}" "$failing" "$voltmill" run "$job.yaml"
        same "$job: the same bytes with $failing" "$expected" "$(digest)"
        clear_all
    done
done

# Neither pages nor writes find space.
errs 3 'part: writing .*No space left' "${shim[@]}" SHIM_RESERVE=9:$ENOSPC SHIM_ROWS=2:$ENOSPC "$voltmill" run rows.yaml
runs "with space again it goes on" "${shim[@]}" "$voltmill" run rows.yaml
same "to the same bytes" "$rows" "$(digest)"
plan
