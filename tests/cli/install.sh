#!/usr/bin/env bash
# `make install` and `make uninstall`: what is copied works from there, and goes again, but nothing of others'.
. "$(dirname "$0")/../tools/lib.sh"
version=$(cat "$here/VERSION")
built=$(readlink -f "$voltmill")
# The program is built: make must not begin to.
into() { make -s -C "$here" -o all BUILD="$(dirname "$built")" DESTDIR="$work/root" PREFIX=/opt/volt "$1"; }

mkdir -p "$work/root/opt/volt/share/doc/other" "$work/root/opt/volt/bin"
touch "$work/root/opt/volt/share/doc/other/file" "$work/root/opt/volt/bin/other"
before=$(cd "$work/root" && find . | sort)
runs "install" into install
same "the program" "voltmill $version" "$("$work/root/opt/volt/bin/voltmill" --version | head -1)"
if command -v man >/dev/null; then
    runs "the man page" man -l "$work/root/opt/volt/share/man/man1/voltmill.1"
else
    skip "the man page: a bare system has no man"
fi
for file in share/bash-completion/completions/voltmill share/voltmill/jobs/demo.yaml share/voltmill/slurm/run.sbatch \
    share/voltmill/python/voltmill/__main__.py share/doc/voltmill/README.md share/doc/voltmill/docs/job-file.md; do
    [ -r "$work/root/opt/volt/$file" ]
    ok $? "$file"
done
# The installed program starts the installed module.
echo "{file: $work/obs.h5, samples: 4000, sample_rate_hz: 1e6, freq_hz: 1e8, noise: 12, bits: 8}" >"$work/spec.yaml"
echo "{input: {files: $work/obs.h5}, channelise: {channels: 8}, products: [{kind: power, file: $work/power.h5}]}" >"$work/job.yaml"
printf '#!/bin/sh\nprintf "1\\n%%s" "$*"\n' >"$work/python" && chmod +x "$work/python"
{ "$voltmill" synth "$work/spec.yaml" && "$voltmill" run "$work/job.yaml"; } >/dev/null 2>&1
runs "an export" env VOLTMILL_PYTHON="$work/python" "$work/root/opt/volt/bin/voltmill" export --format kerchunk "$work/power.h5"
runs "by the installed module" grep -q "^-IBc .*$work/root/opt/volt/bin/../share/voltmill/python kerchunk " "$work/power.json"
if has_pictures; then
    installed=$work/root/opt/volt
    runs "it draws with the module beside it" "$installed/bin/voltmill" plot --filter -o "$work/bank.png" "$here/jobs/demo.yaml"
    mv "$installed/share/voltmill/python" "$work/module"
    fails "and says where it is missing" 5 'the Python module is missing: neither .*/opt/volt/bin/\.\./share/voltmill/python' \
        "$installed/bin/voltmill" plot --filter -o "$work/other.png" "$here/jobs/demo.yaml"
    ln -s "$work/module" "$installed/bin/python"
    env VOLTMILL_PYTHON="$work/python" "$installed/bin/voltmill" export --force --format kerchunk "$work/power.h5" >"$work/output" 2>&1
    runs "of a build in any folder: that to which a link leads" grep -q "^-IBc .*$installed/bin/python kerchunk " "$work/power.json"
    rm "$installed/bin/python"
    mv "$work/module" "$installed/share/voltmill/python"
else
    for _ in 1 2 3; do skip "matplotlib is not installed"; done
fi
# A guide, in a folder that looks like the tree as docs/guides/README.md says.
mkdir -p "$work/practice" "$work/path" && ln -s "$work"/root/opt/volt/share/voltmill/* "$work/practice"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$work/path/python3" && chmod +x "$work/path/python3"
if has_pictures; then
    PATH=$work/root/opt/volt/bin:$work/path:$PATH "$python" "$here/tests/tools/run-guide" \
        "$work/root/opt/volt/share/doc/voltmill/docs/guides/guppi.md" "$work/practice" >"$work/output" 2>&1
    same "commands of a guide run with the installed program" 0 "$(grep -c '^not ok' "$work/output")"
    grep -q '^not ok' "$work/output" && note <"$work/output"
else
    skip "a guide: matplotlib is not installed"
fi
# Links among the documents lead somewhere, but for those to what only the tree has.
lost=$(cd "$work/root/opt/volt/share/doc/voltmill" && grep -oE '\]\([A-Za-z0-9_./-]+\.(md|png)(#[a-z-]*)?\)' -r . |
    sed -E 's/#[a-z-]*\)$/)/; s/^([^:]*):\]\((.*)\)$/\1 \2/' | while read -r from to; do
    [ -e "$(dirname "$from")/$to" ] || echo "$from: $to"
done | grep -v 'tests/' || true)
same "links among the documents" "" "$lost"
runs "uninstall" into uninstall
same "nothing is left, and nothing of others' is gone" "$before" \
    "$(cd "$work/root" && find . -type d -empty -delete; mkdir -p opt/volt/bin; find . | sort)"
same "the changelog of the package names this version" "voltmill ($version)" \
    "$(head -1 "$here/packaging/debian/changelog" | cut -d' ' -f1,2)"
same "the Python module is of this version" "version = \"$version\"" "$(grep '^version' "$here/python/pyproject.toml")"
grep -q "^## $version\$" "$here/CHANGELOG.md"
ok $? "CHANGELOG.md tells of this version"
plan
