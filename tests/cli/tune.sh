# `voltmill tune`: what it finds is used, survives kills, corrupt files, and others at work on the same
# database; what is wrong never wins.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
export VOLTMILL_CACHE=$work/cache
tune="$voltmill tune --setup lofar --backend cpu --seconds 0.01 --threads 1 --repeat 1"
bench="$voltmill bench dedisperse --setup lofar --backend cpu --seconds 0.01 --threads 1 --repeat 1 --tuned"
problems() { grep -Ec 'dedisperse( v[0-9]+)? uint8' "$1"; }
says() { grep -c -e "$1" "$work/output"; }

runs "two problems" $tune --search exhaustive --dms 4,16 --database base.txt --log log.csv --csv table.csv --histogram
same "a row for each" "lofar,4 lofar,16" "$(sed 1d table.csv | cut -d, -f1,2 | xargs)"
same "the best single configuration is named" 1 "$(says '^best single configuration: strips')"
same "the database holds both" 2 "$(problems base.txt)"
lines=$(wc -l <log.csv)
runs "again" $tune --search exhaustive --dms 4,16 --database base.txt --log log.csv
same "nothing was timed again" "$lines" "$(wc -l <log.csv)"
runs "a bench of what is known" $bench --dms 4,16 --database base.txt
same "the very problems" 0 "$(says '^note: ')"
runs "a bench of something near" $bench --dms 8 --database base.txt
same "the nearest problem" 1 "$(says 'tuned for the nearest known problem, .* 4 DMs\|nearest known problem, .* 16 DMs')"
runs "a bench of something far" $bench --dms 2048 --dm-step 0.01 --database base.txt
same "nothing near" 1 "$(says 'nothing is tuned')"

# Killed: what was timed is in the log.
$tune --dms 64 --seconds 0.1 --repeat 3 --search exhaustive --database kill.txt --log kill.csv >killed 2>&1 &
tuner=$!
for _ in $(seq 400); do
    [ -e kill.csv ] && [ "$(wc -l <kill.csv)" -gt 12 ] && break
    sleep 0.02
done
kill -9 $tuner
wait $tuner 2>killed
kept=$(($(wc -l <kill.csv) - 1))
ok "$((kept >= 12 && kept < 100 ? 0 : 1))" "killed on its way ($kept configurations)"
[ -e kill.txt ] && ok 1 "nothing is in the database yet"
truncate -s -3 kill.csv
runs "the same goes on" $tune --dms 64 --seconds 0.1 --repeat 3 --search exhaustive --database kill.txt --log kill.csv
same "all but the cut line was kept" "$((kept - 1))" "$(sed -n 's/.* \([0-9]*\) from the log.*/\1/p' output)"
same "the cut line is told" 1 "$(says 'warning: kill.csv: 1 line is cut short')"
same "its result is kept" 1 "$(problems kill.txt)"

# Stopped: what was found is kept, as a search that was cut.
$tune --dms 64 --seconds 0.1 --repeat 3 --search exhaustive --database stop.txt --log stop.csv >stopped 2>&1 &
tuner=$!
for _ in $(seq 400); do
    [ -e stop.csv ] && [ "$(wc -l <stop.csv)" -gt 12 ] && break
    sleep 0.02
done
kill -TERM $tuner
wait $tuner
same "stopped on its way" 75 $?
same "it says that it is kept" 1 "$(grep -c '^stopped: what was found is kept' stopped)"
same "as what it is: with the seconds that it had" 8 "$(grep dedisperse stop.txt | awk -F'\t' '{ print NF }')"
same "a whole search has none" 7 "$(grep dedisperse kill.txt | awk -F'\t' '{ print NF }')"

# No time: nothing is begun, and what is known stays.
cp kill.txt short.txt
runs "a budget of nothing" $tune --dms 64,128 --seconds 0.1 --repeat 6 --budget 0.000001 --database short.txt
same "nothing was timed" 2 "$(says '0 timed .* cut by the budget: none was timed')"
cmp -s kill.txt short.txt
ok $? "the database is as it was"

# A search of few configurations does not take the place of a better one, which its log knows.
best=strips:1:1x1:32x32:32:0:0
sed "s/,0,$best,[^,]*,/,0,$best,0.001,/" kill.csv >praise.csv
few="$tune --dms 64 --seconds 0.1 --repeat 6 --rounds 0 --log praise.csv --database short.txt"
runs "the best of all" $few --search exhaustive
runs "the best of some" $few --only time_out=1,dm_out=2
same "is no better" 1 "$(grep -c "$best" short.txt)"
same "and that the search saw all stays" 7 "$(grep dedisperse short.txt | awk -F'\t' '{ print NF }')"

# A database that was cut short: what is whole is used, the next write leaves what is whole alone.
truncate -s -5 base.txt
runs "a bench with a database that was cut short" $bench --dms 4 --database base.txt
same "it is told" 1 "$(says '^warning: base.txt')"
runs "the next write rebuilds it" $tune --dms 32 --database base.txt
runs "it is whole" $bench --dms 32 --database base.txt
same "nothing to tell" 0 "$(says '^warning: \|^note: ')"
same "what was whole is there" 2 "$(problems base.txt)"
(head -c 20 base.txt; head -c 3000 /dev/urandom) >noise.txt
runs "a database that became noise" $tune --dms 4 --database noise.txt
runs "is one now" $bench --dms 4 --database noise.txt
same "without a warning" 0 "$(says '^warning: \|^note: ')"
head -c 3000 /dev/urandom >data.bin
cp data.bin kept.bin
runs "a file of somebody else's as a database" $tune --dms 4 --database data.bin
same "it is told" 1 "$(says '^warning: data.bin: cannot be written: it is there, and no database')"
cmp data.bin kept.bin
ok $? "and kept"
fails "a file of somebody else's as a log" 2 'data.bin is there, and no log of tuning' $tune --dms 4 --log data.bin
cmp data.bin kept.bin
ok $? "and kept, too"
fails "one as a table" 2 'data.bin is there, and no such table' $tune --dms 4 --csv data.bin
fails "a log as a table" 2 'log.csv is there, and no such table' $tune --dms 4 --csv log.csv
fails "a table as a log" 2 'table.csv is there, and no log of tuning' $tune --dms 4 --log table.csv
cmp data.bin kept.bin
ok $? "and kept, as well"

# A database that cannot be written.
runs "a database that cannot be written" $tune --dms 4 --database /proc/none/tuned.txt
same "a warning, and the result all the same" "1 1" "$(says '^warning: /proc/none/tuned.txt') $(says '^ *4 DMs.* strips')"

# Two at once.
for n in 1 2 3 4; do
    $tune --dms "$n,$((10 * n)),$((100 * n))" --limit 3 --database both.txt >"both.$n" 2>&1 &
done
wait
same "four tuners at once lose nothing" 12 "$(problems both.txt)"

fails "no setup" 2 'expected one job file or --setup, got 0' "$voltmill" tune
fails "no such parameter" 2 'there is no parameter "speed"' $tune --dms 4 --only speed=1
fails "no such values" 2 'expected values such as' $tune --dms 4 --only dm_out=a
fails "no such search" 2 'expected exhaustive, guided or random' $tune --search best
fails "a key of a job" 2 'set goes with a job, not with --setup' $tune --set run.threads=2
fails "steps between DMs of 0" 2 'dm-step does not go with --zero' $tune --zero --dm-step 1
fails "two searches" 2 'search random does not go with --compare-searches' $tune --search random --compare-searches
fails "a seed of no random search" 2 'seed goes with --search random' $tune --seed 2
fails "a device that is none" 2 'device goes with the opencl backend, not with cpu' $tune --device 0
fails "no configuration left" 2 'no configuration has the values of --only' $tune --dms 4 --only time_items=64
fails "a log that cannot be" 4 'cannot be written' $tune --dms 4 --log /proc/none/log.csv
fails "a log that is none" 4 'is no ordinary file' $tune --dms 4 --log /dev/null

if "$voltmill" info --devices 2>/dev/null | grep -q '^0:'; then
    device="$voltmill tune --setup lofar --backend opencl --seconds 0.005 --dms 4 --repeat 1 --rounds 1"
    few='staging=0,pack=1,time_items=16,dm_items=1,time_out=1/2,dm_out=1,chunk=2,skew=0'
    runs "on a device" $device --only $few --database device.txt --log device.csv
    same "two configurations are right" 2 "$(grep -c ',0,direct:1:16x1:[12]x1:2:0:0,.*,ok$' device.csv)"
    best=$(sed -n 's/.*how.*//; s/^ *4 .* \(direct.*\)$/\1/p' output | tail -1)
    shim=${voltmill%/voltmill}/tests/faults/opencl_shim.so
    wrong=$(cut -d: -f4 <<<"$best")
    runs "the same, and the best one is wrong" env LD_PRELOAD="$shim" SHIM_WRONG="-DTIME_OUT=${wrong%x*} " $device \
        --only $few --database wrong.txt --log wrong.csv
    same "it is found out" 1 "$(grep -c ",0,$best,.*,wrong$" wrong.csv)"
    same "and does not win" "1 0" "$(grep -c direct wrong.txt) $(grep -c "$best" wrong.txt)"
    fails "all are wrong" 5 'no configuration was right' env LD_PRELOAD="$shim" SHIM_WRONG=-DTIME_OUT= $device --only $few \
        --database none.txt
    same "and nothing is kept" no "$([ -e none.txt ] && echo yes || echo no)"
else
    skip "no OpenCL device"
fi
plan
