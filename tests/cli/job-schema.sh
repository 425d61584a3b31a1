#!/usr/bin/env bash
# The JSON Schema of job files: that of docs/, and the tables made from it; jobs of the tree and of documents are right
# by it, wrong ones wrong, as the program has it. The latter needs PyYAML and jsonschema of Python.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

runs "prints the schema" "$voltmill" job --schema
cp output schema.json
runs "docs/job-schema.json is what make docs-tables makes" diff schema.json "$here/docs/job-schema.json"
runs "the tables of docs/job-file.md are those of the schema" \
    diff <("$python" "$here/tests/tools/docs-tables" schema.json "$here/docs/job-file.md") "$here/docs/job-file.md"
fails "job needs an option" 2 '^error: job: expected --schema' "$voltmill" job

if ! "$python" -c 'import yaml, jsonschema' 2>errors; then
    ok 0 "jobs by the schema # SKIP $(tail -1 errors) (apt-get install python3-yaml python3-jsonschema)"
    plan
    exit
fi

# Jobs that the schema accepts. Mistakes that several keys make together are not for a schema.
cat >check.py <<'PYTHON'
import glob, json, re, sys
import jsonschema, yaml

class Core(yaml.SafeLoader):
    """Numbers, truth values and texts as YAML 1.2 and voltmill have them: 1e6 is a number, off and dates are texts."""

Core.yaml_implicit_resolvers = {}
for tag, pattern, first in (("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]), ("bool", "true|false", "tf"),
                            ("int", r"[-+]?[0-9]+", "-+0123456789"),
                            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789")):
    Core.add_implicit_resolver("tag:yaml.org,2002:" + tag, re.compile(f"^({pattern})$"), list(first))

with open("schema.json") as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)

def defaults(node, path):
    """Every default is right by its own key; gives how many keys there are."""
    count = 0
    if isinstance(node, list):
        return sum(defaults(each, path) for each in node)
    if isinstance(node, dict):
        for key, each in node.get("properties", {}).items():
            count += 1
            if "description" not in each:
                print(f"{path}.{key}: no description")
            if "default" in each and not jsonschema.Draft202012Validator(each).is_valid(each["default"]):
                print(f"{path}.{key}: its default {each['default']} is wrong")
            count += defaults(each, f"{path}.{key}")
        return count + sum(defaults(node[key], path) for key in ("anyOf", "items") if key in node)
    return count

def examples(root):
    """Jobs of the tree, and blocks of its documents that are jobs or parts of one, completed."""
    for path in sorted(glob.glob(root + "/jobs/*.yaml") + glob.glob(root + "/tests/jobs/*.yaml")):
        with open(path) as f:
            yield path, yaml.load(f, Core)
    for path in sorted(glob.glob(root + "/docs/**/*.md", recursive=True) + [root + "/README.md"]):
        with open(path) as f:
            for at, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", f.read(), re.M | re.S)):
                job = yaml.load(block, Core)
                if set(job) & set(schema["properties"]) and "noise" not in job and "???" not in block:
                    rest = {} if "dedisperse" in job else {"products": [{"kind": "power", "file": "p.h5"}]}
                    yield f"{path} {at}", {"input": {"files": "a.h5"}, **rest, **job}

def judge(job):
    return next((f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(job)), "")

if sys.argv[1] == "defaults":
    print(defaults(schema, "") >= 150)
elif sys.argv[1] == "examples":
    found = [(name, judge(job)) for name, job in examples(sys.argv[2])]
    print(len(found) >= 30 or len(found), *[f"{name}: {wrong}" for name, wrong in found if wrong], sep="\n")
else:
    with open(sys.argv[1]) as f:
        for job in yaml.safe_load_all(f):
            print("wrong" if judge(yaml.load(job, Core)) else "right")
PYTHON
same "every key has a description, and every default is right" True "$("$python" -W ignore check.py defaults 2>&1)"
same "all jobs of the tree are right" True "$("$python" -W ignore check.py examples "$here" 2>&1)"

# Jobs with one mistake, each as the program has it: a line of YAML that is put into a right one.
jobs=()
job() { # job LINE...
    jobs+=("$(printf '%s\n' "$@")")
}
bank='channelise: {channels: 16}' power='products: [{kind: power, file: p.h5}]' input='input: {files: a.h5}'
job "$input" "$bank" "$power" 'run: {thread: 2}'
job "$input" "$bank" "$power" 'run: {threads: many}'
job "$input" "$bank" "$power" 'run: {threads: 0}'
job "$input" "$bank" "$power" 'run: {threads: 4097}'
job "$input" "$bank" "$power" 'run: {threads: 1.5}'
job "$input" "$bank" "$power" 'run: {sync: 0}'
job "$input" "$bank" "$power" 'runs: {sync: 1}'
job "$input" 'channelise: {channels: 15}' "$power"
job "$input" 'channelise: {taps: 4}' "$power"
job "$input" 'channelise: {channels: 16, cutoff: [1, 2]}' "$power"
job "$input" 'channelise: {channels: 16, oversample: {num: 4}}' "$power"
job "$input" "$bank"
job "$bank" "$power"
job 'input: {files: []}' "$bank" "$power"
job 'input: {files: a.h5, select: {samples: [1, 2, 3]}}' "$bank" "$power"
job 'input: {files: a.h5, select: {seconds: [0, ten]}}' "$bank" "$power"
job 'input: {files: a.h5, layout: {format: vdif, sample_rate_hz: 0}}' "$bank" "$power"
job 'input: {files: a.h5, layout: {format: vdif, sample_rate_hz: {attribut: /@rate}}}' "$bank" "$power"
job 'input: {files: a.h5, layout: {format: vdif, sample_rate_hz: {attribute: /@rate, unit: s}}}' "$bank" "$power"
job "$input" "$bank" 'products: [{kind: powers, file: p.h5}]'
job "$input" "$bank" 'products: [{kind: power}]'
job "$input" "$bank" 'products: [{kind: power, file: p.h5, bits: 4}]'
job "$input" "$bank" 'products: [{kind: power, file: p.h5, sum: [stations, chans]}]'
job "$input" "$bank" 'products: [{kind: power, file: p.h5, flag: {channels: [[1, 2, 3]]}}]'
job 'input: {files: a.fil}' 'dedisperse: {file: s.h5}'
job 'input: {files: a.fil}' 'dedisperse: {dm: 10}'
job 'input: {files: a.fil}' 'dedisperse: {dm: [10, 1e7], file: s.h5}'
job 'input: {files: a.fil}' 'dedisperse: {dm: {start: 0, step: 0, count: 3}, file: s.h5}'
job 'input: {files: a.fil}' 'dedisperse: {dm: 10, file: s.h5, zero_dm: maybe}'
wrong=${#jobs[@]}
job "$input" "$bank" "$power" 'run: {threads: auto, memory: 1GiB, device: 0, check_resumed: off}'
job "$input" "$bank" "$power" 'run:' '  # threads: 2'
job 'input: {files: [a.h5, 7], layout: auto}' 'channelise: [{channels: 16, name: a, oversample: {num: 4, den: 3}}]' "$power"
job 'input: {files: a.h5, layout: {format: vdif, sample_rate_hz: {attribute: /@rate, unit: kHz}, freq_hz: {start: 1e9, step: 1e6}}}' "$bank" "$power"
job 'input: {files: a.h5, select: {utc: [2014-06-29T01:39:20, 2014-06-29T01:39:30], pols: [x, 1]}}' "$bank" "$power"
job "$input" "$bank" 'products: {kind: power, file: p.h5, integrate: 1.024e3, flag: {channels: [[1, 2], {range: [3, 4]}]}, sum: stations}'
job 'input: {files: a.fil}' 'dedisperse: {dm: 10, search: {file: s.h5}, zero_dm: true, mask: [3, 5-7], ifs: 0}'
job 'input: {files: a.fil}' 'dedisperse: {dm: {list: [10, 20]}, file: s.h5, constant: 4149, reference: 1.4e9}'
job 'input: {files: a.h5}' 'synthesise: {}' 'products: [{kind: voltages, file: v.h5}]'

for text in "${jobs[@]}"; do
    printf -- '--- |\n%s\n' "$(sed 's/^/  /' <<<"$text")"
done >jobs.yaml
"$python" -W ignore check.py jobs.yaml >verdicts 2>&1
same "wrong jobs, then right ones" "$( (yes wrong | head -n "$wrong"; yes right | head -n $((${#jobs[@]} - wrong)) ) | uniq -c)" "$(uniq -c verdicts)"

# The program stops at the job where the schema does: with status 2 and the name of the job; else at its input.
for i in "${!jobs[@]}"; do
    printf '%s\n' "${jobs[i]}" >job.yaml
    "$voltmill" plan job.yaml >/dev/null 2>errors
    if [ "$i" -lt "$wrong" ]; then grep -q '^error: job.yaml' errors; else ! grep -q 'job\.yaml\(:\| has\)' errors; fi
    ok $? "the program has it so, too: $(tail -n 1 <<<"${jobs[i]}")"
done
plan
