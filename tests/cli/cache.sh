#!/usr/bin/env bash
# A cache folder into which others may put something is not used, and links in it are not followed: one warning,
# which says why and how to mend it, and the same bytes.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"
chmod 1777 "$work"

cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 16, taps: 4, backend: cpu}
products:
  - {kind: spectra, file: out/out.h5}
run: {fft_planning: measure}
END
PYTHONPATH="$here/tests/cli" warm -c 'from archives import *; native("obs.h5", noise((1024, 2, 2)))' || exit 1
chmod 644 obs.h5 job.yaml
mkdir -m 777 out

# grinds NAME PATTERN COMMAND...: the job succeeds, with just one warning, which holds the pattern
grinds() {
    local name=$1 pattern=$2
    shift 2
    if "$@" "$voltmill" run --force job.yaml >stdout 2>stderr && [ "$(grep -c '^warning:' stderr)" = 1 ] &&
        grep -Eq "^warning: $pattern" stderr && [ "$(data out/out.h5)" = "$expected" ]; then
        ok 0 "$name"
    else
        ok 1 "$name"
        note <stderr
    fi
    rm -f out/*
}

export VOLTMILL_CACHE=$work/mine
runs "a folder of one's own" "$voltmill" run job.yaml
expected=$(data out/out.h5)
same "it is nobody else's" "700" "$(stat -c %a mine)"
same "and what is in it" "600" "$(stat -c %a mine/* | sort -u)"
entry=$(cd mine && ls fftw-*)

mkdir -m 777 open
export VOLTMILL_CACHE=$work/open
grinds "anybody may write there" "there is no cache: $work/open can be written by others \(mode 0777\): chmod go-w" env
grinds "two ranks say it once" "there is no cache: " mpirun -n 2
same "nothing was put there" "" "$(ls open)"
chmod go-w open
rm -f out/*
runs "mended" "$voltmill" run --force job.yaml
same "it is used" "$entry" "$(cd open && ls fftw-*)"
chmod 664 "open/$entry"
grinds "an entry that others may write" "not taken from the cache: $work/open/$entry can be written by others" env
same "another one takes its place" "600" "$(stat -c %a "open/$entry")"

# A link in the place of an entry: not followed, but replaced.
echo precious >victim
ln -sf "$work/victim" "open/$entry"
runs "a link" "$voltmill" run --force job.yaml
same "where it leads nothing changes" "precious" "$(cat victim)"
same "an entry takes its place" "regular file" "$(stat -c %F "open/$entry")"
rm -f out/*

if can_be_other && [ ${#as_other[@]} -gt 0 ]; then
    grinds "another user's folder" "there is no cache: $work/open belongs to another user \(0\)" "${as_other[@]}"
    chown 65534 "open/$entry"
    grinds "another user's entry" "not taken from the cache: $work/open/$entry belongs to another user \(65534\)" env
else
    skip "cannot be somebody else"
    skip "cannot be somebody else"
fi
plan
