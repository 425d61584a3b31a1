# Sourced by the tests of the command line behind tools/lib.sh: they work in the scratch folder, which
# everybody may enter.
cd "$work" || exit 1
chmod 755 "$work"

# "${as_other[@]}" COMMAND...: as a user to whom permissions apply, if can_be_other.
as_other=()
if [ "$(id -u)" = 0 ]; then
    as_other=(env HOME="$work" setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
can_be_other() { "${as_other[@]}" test -x "$voltmill" 2>"$work/other"; }

# nothing_left [FILE...]: no product may be there (default out.h5); said only when one is.
nothing_left() {
    local file
    for file in "${@:-out.h5}"; do
        if [ -e "$file" ]; then ok 1 "nothing is left behind: $file"; rm -f "$file"; fi
    done
}

# data FILE [DATASET]: the sum of the rows' bytes
data() {
    warm -c 'import h5py, hashlib, sys
file = h5py.File(sys.argv[1])
data = file["data" if "data" in file else "spectra"][()]
print(data.shape, hashlib.sha256(data.tobytes()).hexdigest())' "$@" 2>&1
}
