# Sourced by the tests of guides: follow NAME runs docs/guides/NAME.md in a folder that looks like the root of the
# tree, and is gone afterwards.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"

has_pictures || { echo "1..0 # SKIP matplotlib is not installed (make deps)"; exit 0; }

# The reader's PATH: the program, and this Python, whatever is called python3 here.
mkdir "$work/path"
ln -s "$voltmill" "$work/path/voltmill"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$work/path/python3"
chmod +x "$work/path/python3"
export PATH=$work/path:$(dirname "$python"):$PATH

tree=$work/tree
mkdir -p "$tree/data/samples"
cp "$here"/data/samples/*.yaml "$tree/data/samples"
for part in docs jobs python slurm tests; do ln -s "$here/$part" "$tree/$part"; done

follow() { # follow NAME [PREFIX]
    local said
    said=$("$python" "$here/tests/tools/run-guide" --prefix "${2:-}" "$here/docs/guides/$1.md" "$tree")
    printf '%s\n' "$said" | grep -v '^1\.\.'
    count=$(grep -Ec '^(not )?ok ' <<<"$said")
    [ "$count" -gt 0 ] || ok 1 "the guide has commands"
}
