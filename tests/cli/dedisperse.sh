# `voltmill bench dedisperse`: rows that are right on every backend, in one and two steps, single shapes and
# sweeps; options that are wrong.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
bench="$voltmill bench dedisperse"

runs "on the CPU" $bench --backend cpu --dms 1..32 --seconds 0.05 --repeat 1 --bits 8,16,32 --csv cpu.csv
same "every row is right" 18 "$(grep -c ',ok$' cpu.csv)"
runs "LOFAR, perfect reuse" $bench --backend cpu --setup lofar --dms 7 --zero --seconds 0.01 --repeat 1
runs "by brute force and in a tree" $bench --backend cpu --dms 300 --mode brute,tree --bits 8,16,32 --seconds 0.05 --repeat 1 \
    --csv modes.csv
same "both are right" 6 "$(grep -c ',ok$' modes.csv)"
same "three of them in a tree" 3 "$(grep -c ',tree,.*fewer adds.*,ok$' modes.csv)"
runs "CHIME in a tree of some cut" $bench --backend cpu --setup chime --dms 100 --dm-step 1 --seconds 1 --repeat 1 \
    --shape strips:1:1x1:1x32:32:0:0:16
same "a tree is no brute force" 1 "$($bench --backend cpu --dms 8 --mode brute --seconds 0.01 \
    --shape strips:1:1x1:1x32:32:0:0:16 | grep -c 'brute force has no groups')"
fails "two steps and a mode" 2 '--mode and --group do not go together' $bench --mode tree --group 8
runs "in two steps" $bench --backend cpu --dms 300 --group 8 --seconds 0.05 --repeat 1 --csv two.csv
same "its row is right" 1 "$(grep -c ',ok$' two.csv)"
runs "with a search" $bench --backend cpu --dms 20 --seconds 0.5 --repeat 1 --search 32 --csv search.csv
same "its cost is in the table" 1 "$(tail -n 1 search.csv | grep -cE ',32,[0-9.]*[1-9][0-9.]*,[0-9.]*[1-9][0-9.]*,[0-9.]*,ok$')"
fails "boxes of no power of two" 2 '--search 48: expected a power of two' $bench --search 48
fails "a search of too few times" 2 'to measure noise, at least 512 are needed, --seconds 0.7' $bench --backend cpu \
    --setup askap --dms 4 --seconds 0.5 --search 64
fails "no such setup" 2 'expected apertif, askap, chime, lofar or meerkat' $bench --setup vla
fails "no such bits" 2 'expected 8, 16 or 32' $bench --bits 12
fails "no such shape" 2 'expected such as copies' $bench --shape copies:4
fails "no DMs" 2 'dms' $bench --dms 0
fails "no such option" 2 'bench dedisperse: unknown option --fast; see voltmill bench dedisperse --help' $bench --fast
fails "an operand" 2 'unexpected argument job.yaml' $bench job.yaml

if "$voltmill" info --devices 2>/dev/null | grep -q '^0:'; then
    printf '%s\n' copies:4:16x4:4x2:4:0:0 direct:1:16x4:4x2:4:0:0 copies:4:16x4:4x2:3:0:0 >shapes
    runs "a list of shapes" $bench --backend opencl --dms 16 --seconds 0.02 --repeat 1 --sweep shapes --csv list.csv
    same "those that can be are right" 2 "$(grep -c ',ok$' list.csv)"
    runs "some of all shapes" $bench --backend opencl --setup lofar --dms 4 --seconds 0.005 --repeat 1 --sweep all \
        --every 9000 --csv all.csv
    same "all are right" 0 "$(sed 1d all.csv | grep -vc ',ok$')"
    runs "in two steps on a device" $bench --backend opencl --dms 64 --group 8 --seconds 0.02 --repeat 1
    printf 'fast\n' >shapes
    fails "a list that is none" 2 'expected a shape' $bench --backend opencl --dms 2 --sweep shapes
else
    skip "no OpenCL device"
fi
plan
