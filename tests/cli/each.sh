#!/usr/bin/env bash
# One job for many observations: what stands for {name} is text wherever it stands, and no observation's
# output takes the place of another's; what would is refused before anything is made.
. "$(dirname "$0")/../tools/lib.sh"
. "$here/tests/cli/jobs.bash"

mkdir one two both out linked made
PYTHONPATH="$here/tests/cli" warm - <<'PYTHON'
from archives import *
for i, name in enumerate(("one/a", "two/a", "both/a", "both/b")):
    native(f"{name}.h5", noise((4000, 2, 2), seed=i))
PYTHON
cat >job.yaml <<'YAML'
input: {files: nothing.h5}
channelise: {channels: 64, taps: 8, backend: cpu}
products:
  - {kind: power, file: "out/{name}.out", integrate: 5}
YAML

# clash NAME PATTERN OPTION...: refused, with and without --force; nothing is made
clash() {
    local name=$1 pattern=$2 all=0
    shift 2
    for force in --keep-going --force; do
        errs 2 "$pattern" ${ranks:-} "$voltmill" run $force "$@" job.yaml
        all=$((all | bad))
    done
    [ -z "$(find out linked made -type f)" ] || { echo "# something was made"; all=1; }
    ok $all "$name"
    [ $all = 0 ] || note <stderr
}
clash "one name in two folders" 'jobs of one/a\.h5 and two/a\.h5 would both make out/a\.out' --each '[ot][nw][eo]/a.h5'
ranks="mpirun -n 2" clash "on two ranks" 'jobs of one/a\.h5 and two/a\.h5 would both make out/a\.out' --each '[ot][nw][eo]/a.h5'
clash "no {name} at all" 'jobs of both/a\.h5 and both/b\.h5 would both make out/x\.out' --each 'both/*.h5' \
    --set products.0.file=out/x.out
errs 2 'jobs of both/a\.h5 and both/b\.h5 would both make out/x\.out' "$voltmill" plan --each 'both/*.h5' \
    --set products.0.file=out/x.out job.yaml
ok $bad "a plan of that"
clash "an output without {name} among others" 'both/a\.h5 and both/b\.h5 would both make out/series' \
    --each 'both/*.h5' --set 'dedisperse={dm: {start: 0, step: 1, count: 2}, file: out/series}'
mkdir linked/a
ln -s a linked/b
clash "a second pattern" '--each is given twice, one/a\.h5 and two/a\.h5: it takes one pattern' \
    --each one/a.h5 --each two/a.h5
clash "two ways to one folder" 'both/a\.h5 and both/b\.h5 would both make linked/b/x' \
    --each 'both/*.h5' --set 'products.0.file=linked/{name}/x'
cp both/a.h5 made.h5
cp both/b.h5 made.out.h5
clash "an output that is an observation" 'made\.out\.h5, which the job of made\.h5 would make, is the observation made\.out\.h5' \
    --each 'made*.h5' --set 'products.0.file="{name}.out.h5"'
cmp -s both/b.h5 made.out.h5
ok $? "which is as it was"
cp both/b.h5 both/a.part.h5
clash "the name under which another output is written" \
    'both/a\.h5 and both/a\.part\.h5 would both make out/a\.part' --each 'both/a*.h5' --set 'products.0.file=out/{name}'
rm both/a.part.h5

# Outputs of all observations are checked before the first is begun, too.
mkdir led led/{link,chain,virtual}
cp two/a.h5 led/deep.out
warm - <<'PYTHON'
import h5py
import shutil
with h5py.File("led/middle.h5", "w") as f:
    f["x"] = h5py.ExternalLink("deep.out", "/voltages")
def leads(kind, put):
    shutil.copy("one/a.h5", f"led/{kind}/deep.h5")
    shutil.copy("two/a.h5", f"led/{kind}/z.h5")
    with h5py.File(f"led/{kind}/z.h5", "a") as f:
        attributes, shape = dict(f["voltages"].attrs), f["voltages"].shape
        layout = h5py.VirtualLayout(shape, f["voltages"].dtype)
        layout[:] = h5py.VirtualSource("../deep.out", "voltages", shape)
        del f["voltages"]
        put(f, layout, attributes)
def virtual(f, layout, attributes):
    f.create_virtual_dataset("voltages", layout).attrs.update(attributes)
def link(to):
    return lambda f, layout, attributes: f.__setitem__("voltages", h5py.ExternalLink(*to))
leads("link", link(("../deep.out", "/voltages")))
leads("chain", link(("../middle.h5", "/x")))
leads("virtual", virtual)
PYTHON
sha256sum led/deep.out >before
for kind in link chain virtual; do
    clash "an output that an observation leads to: $kind" \
        "led/deep\\.out, which the job of led/$kind/deep\\.h5 would make, is led/$kind/.*deep\\.out, an input of led/$kind/z\\.h5" \
        --each "led/$kind/*.h5" --set 'products.0.file=led/{name}.out'
done
sha256sum --status -c before
ok $? "which is as it was"
rm -r led before

# --- names that say something in YAML, or to a terminal
rm -rf out/*
slashes='both/x\x2f..\x2fy.h5'
mv both/b.h5 "$slashes"
quotes='both/q", integrate: 7}, {kind: spectra, file: "z.h5'
cp "$slashes" "$quotes"
runs "names that are YAML" "$voltmill" run --each 'both/*.h5' job.yaml
same "are the names of products" 'a.out|q", integrate: 7}, {kind: spectra, file: "z.out|x\x2f..\x2fy.out|' \
    "$(for i in out/*; do printf '%s|' "${i#out/}"; done)"
same "with the observation's rows" "$(data "out/x\\x2f..\\x2fy.out")" "$(data 'out/q", integrate: 7}, {kind: spectra, file: "z.out')"
rm "$slashes" "$quotes" out/*
cp one/a.h5 'both/x$HOME.h5'
runs "a name with \$" "$voltmill" run --each 'both/x*.h5' job.yaml
mv 'out/x$HOME.out' 'out/y$HOME.out'
runs "is a name like others, and verifies under another" "$voltmill" verify 'out/y$HOME.out'
errs 2 'is "\$HOME/x\$HOME.h5": \$ is not expanded' "$voltmill" run --each 'both/x*.h5' --set 'products.0.file=$HOME/{name}.h5' job.yaml
ok $bad "\$ beside {name} is refused"
rm 'both/x$HOME.h5' out/*
runs "{name} in an override" "$voltmill" run --each both/a.h5 --set 'products.0.file=out/{name}.{name}' job.yaml
same "is replaced, too" "a.a" "$(ls out)"
mkdir '{name}'
cp both/a.h5 '{name}/b.h5'
runs "{name} in an observation's own path" "$voltmill" run --each '{name}/b.h5' job.yaml
warm -c 'import h5py
print(h5py.File("out/b.out")["provenance"].attrs["job"])' | grep -q "files:.*{name}/b.h5"
ok $? "stays"
for name in $'both/red\e[31m.h5' $'both/two\nlines.h5' 'both/...h5' $'both/\xff.h5' $'both/\xc2\x9b.h5'; do
    cp one/a.h5 "$name"
    errs 2 'gives no value for \{name\}: ' "$voltmill" run --each "$name" job.yaml
    ok $bad "refused: $(printf %q "$name")"
    rm "$name"
done
same "and nothing was made" "a.a b.out" "$(ls -Ax out | tr -s ' \n' ' ' | sed 's/ $//')"

errs 2 "run: expected one job file, got 2: quote the pattern of --each" "$voltmill" run --each both/*.h5 one/a.h5 job.yaml
ok $bad "a pattern without quotes"
errs 2 "the output out/\{name\}\.out has \{name\}, which --each and --list replace" "$voltmill" run --set input.files=one/a.h5 job.yaml
ok $bad "{name} without --each or --list"
"$voltmill" plan --each 'both/*.h5' job.yaml >stdout 2>stderr
same "plan --each: the first observation" "0 1 1" \
    "$? $(grep -c '^note: of [0-9]* observations*, both/a\.h5 is planned' stderr) $(grep -c '^  out/a\.out: power' stdout)"
errs 2 "run: --list does not go with --dry-run: .voltmill plan --list. plans the first" "$voltmill" run --list x --dry-run job.yaml
ok $bad "run --list --dry-run"
errs 2 "plan: either --each or --list, not both" "$voltmill" plan --each x --list x job.yaml
ok $bad "plan --each --list"
errs 2 "plan: --each is given twice, x and y" "$voltmill" plan --each x --each y job.yaml
ok $bad "plan --each twice"

echo '{file: whole.h5, samples: 20000, bits: 8, sample_rate_hz: 1e6, freq_hz: 1e8, noise: 20}' >whole.yaml
"$voltmill" synth whole.yaml >stdout && head -c 30000 whole.h5 >both/cut.h5
"$voltmill" run --each 'both/cut.h5' job.yaml --set run.on_bad=nan >stdout 2>stderr
same "a truncated file is warned of once" 1 "$(grep -c '^warning: both/cut.h5 is truncated' stderr)"
"$voltmill" run --each 'both/cut.h5' job.yaml --set run.on_bad=nan >stdout 2>stderr
same "and once where the product exists" "1 1" "$(grep -c '^warning: both/cut.h5 is truncated' stderr) $(grep -c 'was complete before, but' stdout)"
plan
