#!/usr/bin/env bash
# The options of every command as its table has them: help, values, mistakes, the man page, completion in bash.
. "$(dirname "$0")/../tools/lib.sh"
no_devices
cd "$work" || exit 1
"$voltmill" --options >table
mapfile -t commands < <(sed -n 's/^command\t\([^\t]*\).*/\1/p' table)
options() { awk -F '\t' -v name="$1" '$1 == "option" && $2 == name { print $3 }' table; }

same "the list of commands" "$(printf '%s\n' "${commands[@]}")" \
    "$("$voltmill" --help | sed -n 's/^  \([a-z]*\( [a-z]*\)\{0,1\}\)  *[a-z]* .*/\1/p' | sed 's/ *$//')"
same "many of them" 1 "$((${#commands[@]} >= 11))"
same "those of bench" 7 "$("$voltmill" bench --help | grep -c '^  bench ')"
same "seven columns each" 7 "$(awk -F '\t' '{ print NF }' table | sort -u)"
for command in "${commands[@]}"; do
    "$voltmill" $command --help >help 2>errors
    same "$command --help: status and errors" "0 " "$? $(cat errors)"
    same "$command --help: its options, and itself" "$( (options "$command" && echo --help) | sort)" \
        "$(grep -o '^  \(-[a-z], \)*--[a-z-]*' help | sed 's/.* //' | sort)"
    same "$command --help: 100 columns" 0 "$(grep -c '.\{101\}' help)"
    fails "$command: an option that there is not" 2 "^error: $command: unknown option --bogus; see voltmill $command --help" \
        "$voltmill" $command --bogus
    fails "$command: a letter that there is not" 2 "^error: $command: unknown option -Z; see voltmill $command --help" \
        "$voltmill" $command -Z
    mapfile -t all < <(awk -F '\t' -v name="$command" '$1 == "option" && $2 == name { print $3 "\t" $5 }' table)
    sampled 3 "${all[@]}"
    for option in "${sample[@]}"; do
        value=${option#*$'\t'} option=${option%$'\t'*}
        if [ "$value" = - ]; then
            fails "$command $option=1" 2 "^error: $command: unknown option $option=1" "$voltmill" $command "$option=1"
        else
            fails "$command $option without a value" 2 "^error: $command: option $option needs a value" "$voltmill" $command "$option"
        fi
    done
done

# Values: out of range, no number, no alternative.
wrong() { # wrong COMMAND OPTION VALUE EXPECTED
    fails "$1 --$2 '$3'" 2 "^error: $1 --$2 .*: expected $4" "$voltmill" $1 --"$2" "$3" nowhere
}
wrong verify chunks 0 'a whole number from 1 on'
wrong verify seed -1 'a whole number from 0 on'
wrong run stall-timeout -1 'seconds, or 0'
wrong join stall-timeout x 'seconds, or 0'
wrong run tune-budget 0 'seconds, more than 0'
wrong tune rounds 17 'a whole number from 0 to 16'
wrong tune limit 4294967296 'a whole number from 1 to 16777216'
wrong tune search best 'exhaustive, guided or random'
wrong tune dm-step 1000001 'a number above 0, at most 1000000'
wrong tune setup vla 'apertif, askap, chime, lofar or meerkat'
wrong 'bench ppf' backend auto 'cpu or opencl'
wrong 'bench ppf' backend '' 'cpu or opencl'
wrong 'bench ppf' kernel auto,fast 'auto, fused, .* or [a-z]*'
wrong 'bench ppf' bits 8..64 '4, 8, 16 or 32'
wrong 'bench ppf' samples 2^41 'a whole number from 1 to 1099511627776'
wrong 'bench fir' method fast 'auto, direct or overlap-save'
wrong 'bench fir' points 0 'a list such as 256,1024 or 256\.\.4096, from 1 to 1073741824'
for list in 0 , '' 4..2 2097152 1,,x 1..1048576,1..16 1:4; do
    wrong 'bench dedisperse' dms "$list" 'a list such as 256,1024 or 256\.\.4096, from 1 to 1048576'
done
wrong 'bench run' repeat 1001 'a whole number from 1 to 1000'
wrong export bits 12 '8, 16 or 32'
wrong export dms 3..2 'a range such as 470..480'

# Forms of the same.
echo '{file: obs.h5, samples: 64, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e9, noise: 9}' >spec.yaml
runs "after the operand" "$voltmill" synth spec.yaml --force
runs "shortened, with =" "$voltmill" synth --fo --se=samples=128 spec.yaml
runs "several values" "$voltmill" synth --force --set samples=1 --set samples=256 -- spec.yaml
same "the last one holds" 1 "$("$voltmill" info obs.h5 | grep -c ' 256 at')"
fails "shortened to what many begin with" 2 'run: unknown option --t; see' "$voltmill" run --t spec.yaml
fails "-o and --output are the same" 4 'nowhere' "$voltmill" export -o out.fil --format fil nowhere
fails "-oFILE" 4 'nowhere' "$voltmill" export -oout.fil --output=other.fil --format=fil nowhere
fails "instead of an operand" 2 'info: expected files or --devices, not both' "$voltmill" info --devices obs.h5
fails "no use for an operand" 2 'bench ppf: unexpected argument obs.h5; see voltmill bench ppf --help' "$voltmill" bench ppf obs.h5
fails "half a command" 2 'expected a command after bench: ppf, dedisperse, fir, beams, correlate, run, driver; see voltmill bench --help' "$voltmill" bench
fails "no command of the two words" 2 'unknown command bench walk; see voltmill bench --help' "$voltmill" bench walk
fails "only its own options" 2 'plan: unknown option --dry-run' "$voltmill" plan --dry-run spec.yaml

fails "a command that is near another" 2 'unknown command runn \(did you mean run\?\); see voltmill --help' "$voltmill" runn
fails "a key of jobs" 2 'unknown command search: dedisperse.search is a key of a job, which `voltmill new` prints' \
    "$voltmill" search
fails "one of two words" 2 'unknown command bench rnu \(did you mean bench run\?\); see voltmill bench' "$voltmill" bench rnu
fails "an option that is near another" 2 'run: unknown option --froce \(did you mean --force\?\); see' "$voltmill" run --froce
fails "one with a value" 2 'unknown option --stal-timeout=2 \(did you mean --stall-timeout\?\)' "$voltmill" run --stal-timeout=2
same "help without dashes" "$("$voltmill" --help)" "$("$voltmill" help)"

# The man page.
runs "docs/options.tsv is what make man makes" diff table "$here/docs/options.tsv"
runs "the man page is what make man makes" diff <("$here/tests/tools/man" table "$here/docs/voltmill.1") "$here/docs/voltmill.1"
same "every command is in it" "$(grep -c ^command table)" \
    "$(sed -n '/^.SH COMMANDS/,/^.SH OPTIONS/p' "$here/docs/voltmill.1" | grep -c '^.TP')"
same "every option is in it" "$(grep -c ^option table)" "$(sed -n '/^.SH OPTIONS/,/^.SH EXIT/p' "$here/docs/voltmill.1" | grep -c '^.TP')"

# Completion, called as bash calls it.
completes() { # completes NAME EXPECTED WORD...: what the last word may become
    local name=$1 expected=$2
    shift 2
    same "completes $name" "$expected" "$(bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _voltmill
        printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd " "' "$here/docs/voltmill.bash" "$voltmill" "$@")"
}
mkdir in && touch in/a.yaml in/b.h5 in/c.h5.part in/d.csv
completes "commands" "$(printf '%s\n' "${commands[@]%% *}" | sort -u | xargs)" ""
completes "a command" "status" st
completes "the second word of a command" "beams correlate dedisperse driver fir ppf run" bench ""
completes "options" "$( (options run && echo --help) | sort | paste -sd ' ')" run -
completes "an option" "--stall-timeout" run --sta
completes "options of a command of two words" "--transfers" bench ppf --tr
completes "alternatives" "exhaustive guided random" tune --search ""
completes "an alternative" "guided" tune --search g
completes "alternatives behind =" "cpu opencl" bench dedisperse --backend =
completes "an alternative behind =" "opencl" bench dedisperse --backend = o
completes "alternatives that are words" "channels range" export --scale ""
completes "nothing for a number" "" verify --chunks ""
completes "jobs" "in/a.yaml" run in/
completes "jobs behind options" "in/a.yaml" bench run --repeat 3 in/
completes "products" "in/b.h5 in/c.h5.part" verify --crc in/
completes "archives" "in/b.h5" info in/
completes "any file" "in/d.csv" tune --csv in/d
completes "any file of a letter" "in/a.yaml in/b.h5 in/c.h5.part in/d.csv" export -o in/
completes "folders" "in" run i
completes "nothing without an operand" "" bench ppf i
completes "nothing for no command" "" frob ""

runs "install" make -s -C "$here" -o all BUILD="$(dirname "$(readlink -f "$voltmill")")" install DESTDIR="$work/root" PREFIX=/usr
runs "installs the completion" cmp "$here/docs/voltmill.bash" root/usr/share/bash-completion/completions/voltmill
runs "installs the man page" cmp "$here/docs/voltmill.1" root/usr/share/man/man1/voltmill.1
plan
