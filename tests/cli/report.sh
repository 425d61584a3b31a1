# `voltmill run --report`: one page that needs no other file and no network, well-formed, with what ran, what is missing
# and pictures; without Python it says so; it is no input and no product, and what fails in it fails no product.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1
has_pictures || { echo "1..0 # SKIP matplotlib is not installed (make deps)"; exit 0; }
cat >obs.yaml <<'END'
file: obs.h5
samples: 200000
streams: {pols: 2, chans: 1}
bits: 8
sample_rate_hz: 1e6
freq_hz: 320e6
noise: 12
source: "<script>alert('1 & 2')</script>"
gaps: [{first: 20000, count: 5000}]
END
"$voltmill" synth obs.yaml >/dev/null || exit 1
cat >job.yaml <<'END'
input: {files: obs.h5}
channelise: {channels: 64, taps: 4, window: hann}
products:
  - {kind: power, file: power.h5, integrate: 8}
  - {kind: spectra, file: spectra.h5}
dedisperse: {dm: [0, 1, 2], file: series.h5}
END
# look WHAT: of page.html: its tags are closed; how many pictures; whether anything is fetched; its text
look() {
    "$python" - "$1" <<'END'
import base64, html.parser, sys, xml.etree.ElementTree as xml
VOID = {"meta", "img", "br", "link"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.pictures, self.fetched, self.words, self.tags = [], 0, 0, 0, [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "action", "data"):
                head = "data:image/svg+xml;base64,"
                self.fetched += not value.startswith(head)
                xml.fromstring(base64.b64decode(value[len(head):], validate=True))
                self.pictures += 1

    def handle_endtag(self, tag):
        self.wrong += not self.open or self.open.pop() != tag

    def handle_data(self, data):
        self.words.append(data)


page = Page()
text = open("page.html", encoding="utf-8").read()
page.feed(text)
page.close()
print({"wrong": page.wrong + len(page.open), "pictures": page.pictures,
       "fetched": page.fetched + text.count("url(") + text.count("@import") + ("script" in page.tags),
       "words": " ".join(page.words)}[sys.argv[1]])
END
}
says() { case $(look words) in *"$1"*) ok 0 "says: $1" ;; *) ok 1 "says: $1" ;; esac; }

warm_pictures
runs "a run with a report" mpirun -n 2 "$voltmill" run --report page.html --set run.threads=1 job.yaml
same "it is named" 1 "$(grep -c '^page.html: the report' output)"
same "tags are closed" 0 "$(look wrong)"
same "nothing is fetched, nothing runs" 0 "$(look fetched)"
same "pictures of each product, and of the filter bank" 23 "$(look pictures)"
for words in "voltmill: job.yaml" "All products are complete." "<script>alert('1 & 2')</script>" "run.threads=1" \
    "on 2 ranks" "power.h5" "x 2 pols x 64 channels" "x 2 streams x 64 channels" "10,000" "mean weight" "rank 0: read" "kind: power, file: power.h5" "window hann"; do
    says "$words"
done
sum=$(sha256sum power.h5)
runs "the same command again" "$voltmill" run --report page.html --set run.threads=1 job.yaml
same "replaces its page, and no product" "$sum" "$(sha256sum power.h5)"
runs "the job is a slow pipe of the shell" bash -c '"$0" run --stall-timeout 1 --report page.html <(sleep 2; cat job.yaml)' "$voltmill"
says "kind: power, file: power.h5"
runs "without Python" env VOLTMILL_PYTHON="$work/python" "$voltmill" run --report page.html job.yaml
same "there are no pictures" 0 "$(look pictures)"
says "apt-get install python3-matplotlib"
same "which is one warning" 1 "$(grep -c '^warning: report: no picture: .*matplotlib' output)"

echo mine >other.html
fails "a file of others stays" 2 'other.html' "$voltmill" run --report other.html job.yaml
same "as it is" mine "$(cat other.html)"
fails "no input" 2 'obs.h5' "$voltmill" run --force --report obs.h5 job.yaml
fails "no product" 2 'power.h5' "$voltmill" run --force --report power.h5 job.yaml
fails "not the job" 2 'job.yaml' "$voltmill" run --force --report job.yaml job.yaml
fails "no folder" 2 'obs.yaml' "$voltmill" run --force --report obs.yaml/page.html job.yaml
same "before anything is made" "$sum" "$(sha256sum power.h5)"
fails "of one run" 2 '^error: run: --report is of one run' "$voltmill" run --report page.html --each '*.h5' job.yaml

"$python" - <<'END'
import h5py

with h5py.File("obs.h5", "r+") as file:  # in chunks, one of which cannot be decompressed
    samples, attributes = file["voltages"][:], dict(file["voltages"].attrs)
    del file["voltages"]
    file.create_dataset("voltages", data=samples, chunks=(20000,) + samples.shape[1:], compression="gzip").attrs.update(attributes)
    place = file["voltages"].id.get_chunk_info(5)
with open("obs.h5", "r+b") as file:
    file.seek(place.byte_offset)
    file.write(bytes(64))
END
rm -f page.html power.h5 spectra.h5 series.h5
status=0
"$voltmill" run --report page.html --set run.on_bad=nan job.yaml >output 2>&1 || status=$?
same "a run with holes ends as one" 6 "$status"
says "rows with NaN for unread input"
rm -f power.h5 spectra.h5 series.h5 page.html
errs 4 'obs.h5' "$voltmill" run --report page.html job.yaml
ok "$bad" "a run that fails"
same "has no page" "" "$(ls page.html 2>/dev/null)"
plan
