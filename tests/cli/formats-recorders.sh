#!/usr/bin/env bash
# Recorders' files and filterbanks that are truncated, mixed up or nonsense: a message that names file, word
# and what was expected.
. "$(dirname "$0")/../tools/lib.sh"
cd "$work" || exit 1

warm - <<'PY'
import struct

import h5py


def card(key, value):
    return f"{key:<8}= {value:<70}".encode()


def raw(name, packets=(0, 16, 32, 48), cut=0, end=True, later=None, **words):
    words = {"BLOCSIZE": 1024, "OBSNCHAN": 4, "NPOL": 4, "NBITS": 8, "OVERLAP": 0, "TBIN": 1e-6, "OBSFREQ": 1400.0,
             "OBSBW": 4.0, "PKTSIZE": 64, "STT_IMJD": 59000, "STT_SMJD": 10, "STT_OFFS": 0, "TELESCOP": "'GBT'", **words}
    text = b""
    for i, packet in enumerate(packets):
        now = {**words, **(later or {} if i else {}), "PKTIDX": packet}
        text += b"".join(card(*item) for item in now.items()) + (b"END".ljust(80) if end else b"") + bytes([i + 1]) * 1024
    open(name, "wb").write(text[:len(text) - cut])


raw("good.raw")
raw("next.raw", (64, 80))
raw("channels.raw", OBSNCHAN="'nonsense'")
raw("none.raw", OBSNCHAN=0)
raw("size.raw", BLOCSIZE=0)
raw("endless.raw", end=False)
raw("torn.raw", cut=500)
raw("twice.raw", (0, 16, 16))
raw("order.raw", (0, 32, 16))
raw("changes.raw", later={"OBSFREQ": 1500.0})
raw("rate.raw", (128, 144), TBIN=0.8e-6, OBSBW=5.0)
raw("frequency.raw", (128, 144), OBSFREQ=1500.0)
raw("station.raw", (128, 144), TELESCOP="'Parkes'")
raw("overlaps.raw", (32, 48, 64))
raw("half.raw", BLOCSIZE=512)
raw("double.raw", BLOCSIZE=2048)
raw("width.raw", CHAN_BW=-1.0)
raw("spacing.raw", OBSNCHAN=8, NPOL=2, CHAN_BW=1.0)
raw("counts.raw", NPKT=8, NDROP=3, DROPSTAT="'2/8'")


def dada(name, data=1600, **words):
    words = {"HDR_SIZE": 4096, "NBIT": 8, "NDIM": 2, "NPOL": 2, "NCHAN": 1, "TSAMP": 1.0, "FREQ": 1400.0, "BW": 1.0,
             "UTC_START": "2020-02-03-04:05:06", **words}
    text = "".join(f"{key} {value}\n" for key, value in words.items() if value is not None).encode()
    open(name, "wb").write(text.ljust(4096, b"\0")[:4096] + bytes(data))


dada("good.dada")
dada("bits.dada", NBIT=9)
dada("header.dada", HDR_SIZE=10 ** 6)
dada("empty.dada", data=0)
dada("dspsr.hdr", data=0, HDR_SIZE=None, HDR_VERSION=0.1, NBIT=None, NCHAN=None, UTC_START=None, INSTRUMENT="VDIF", DATAFILE="beam.vdif")
dada("axes.dada", ORDER="FTP", NCHAN=4)
dada("size.dada", HDR_SIZE=1)
dada("start.dada", UTC_START=None)
dada("unknown.dada", UTC_START="UNKNOWN", OBS_OFFSET=0)
dada("unknown-mjd.dada", UTC_START="unknown", MJD_START="58882.25")


def word(name, value=None):
    text = struct.pack("<i", len(name)) + name.encode()
    return text + (b"" if value is None else struct.pack("<i" if isinstance(value, int) else "<d", value))


def fil(name, words=None, data=640, end=True):
    words = {"nchans": 16, "nbits": 8, "nifs": 1, "fch1": 1400.0, "foff": -1.0, "tsamp": 1e-3, "tstart": 58000.0,
             **(words or {})}
    text = word("HEADER_START") + b"".join(word(*item) for item in words.items()) + (word("HEADER_END") if end else b"")
    open(name, "wb").write(text + bytes(data))


fil("good.fil")
fil("bits.fil", {"nbits": 7})
fil("channels.fil", {"nchans": -16})
fil("word.fil", {"surprise": 1})
fil("lost.fil", {"surprise": 1}, end=False)
fil("endless.fil", end=False)
fil("empty.fil", data=3)
fil("time.fil", {"tsamp": 0.0})
def fits(name, *keys, length=2880):
    cards = {"SIMPLE": "T".rjust(20), "BITPIX": 8, "NAXIS": 0, "FITSTYPE": "'PSRFITS'"}
    text = b"".join(card(key, f"{cards[key]:>20}") for key in keys or cards) + b"END".ljust(80)
    open(name, "wb").write(text.ljust(length))


fits("none.fits")
fits("cut.fits", length=0)
fits("order.fits", "SIMPLE", "NAXIS", "FITSTYPE")
fits("other.fits", "SIMPLE", "BITPIX", "NAXIS")


def put(name, *pieces):
    open(name, "wb").write(b"".join(pieces))


def vdif(bits, version=0, legacy=0, edv=0):
    sizes = 960 + (16 if legacy else 32)
    for i in range(8):
        words = [1000 | legacy << 30, 30 << 24 | i, version << 29 | sizes // 8, (bits - 1) << 26 | 0x4142]
        words += [] if legacy else [edv << 24 | 64, 0xacabfeed if edv else 0, 0, 0]
        yield struct.pack(f"<{len(words)}I", *words) + bytes(range(192)) * 5


def mark4(tracks):
    return (bytes(8 * tracks) + b"\xff" * (4 * tracks) + bytes(2488 * tracks)) * 3


put("three.vdif", *vdif(3))
put("five.vdif", *vdif(5, legacy=1))
put("version.vdif", *vdif(2, version=3))
put("torn.vdif", next(vdif(2, edv=3))[:500])
put("sg", struct.pack("<7I", 0xfeed6666, 2, 5 * 2032 + 8, 0, 2032, 0, 5 * 2032 + 8) + b"".join(
    struct.pack("<4I", 100, 30 << 24 | i, 2032 // 8, 1 << 26) + bytes(16 + 2000) for i in range(5)))
put("net.pcap", struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + bytes(3000))
put("m5b", (struct.pack("<4I", 0xabaddeed, 1, 0x12345678, 0) + bytes(range(100)) * 100) * 3)
put("m4", b"abc" * 5, mark4(64))
put("m4.32", mark4(32))
put("codif", (struct.pack("<5Q2I2Q", 1 | 100 << 32, 40 | 8 << 8, 0, 1 | 125 << 32, 0, 0xfeedcafe, 0, 0, 0) + bytes(1000)) * 8)
put("tbn.dat", b"\xde\xc0\xde\x5c" + bytes(range(200)) * 5)
put("noend.raw", open("endless.raw", "rb").read()[:1040], b"\1\2\3" * 9999)
put("late.raw", b"\1\2" * 256, open("good.raw", "rb").read())
put("size.txt", open("good.dada", "rb").read().replace(b"HDR_", b"XXX_"))
put("short.dada", b"HDR_VERSION 1.0\nHDR_SIZE 4096\n")
put("big.fil", b"\0\0\0\x0cHEADER_START", bytes(100))
put("good.fil.gz", b"\x1f\x8b\x08", bytes(100))
put("zeros.raw", bytes(9999))
put("few.raw", b"few")
put("none.raw0")
put("cut.h5", b"\x89HDF\r\n\x1a\n")
with h5py.File("part.h5", "w") as file:
    file["x"] = [1.0] * 1000
put("part.h5", open("part.h5", "rb").read()[:60])
put("version.h5", b"\x89HDF\r\n\x1a\n\x63", bytes(5000))
PY

# --- several files are one observation
for what in 'next.raw good.raw' '[gn][oe][ox][dt].raw'; do
    # shellcheck disable=SC2086
    same "info of $what" "complex, 384 " "$(set -f; "$voltmill" info $what | grep -o 'complex, [0-9]* ')"
done
fails "info of a pattern without files" 4 'no file matches input\.files: x\*\.raw' "$voltmill" info 'x*.raw'
fails "info of files that do not belong together" 4 'frequency\.raw' "$voltmill" info good.raw frequency.raw
fails "info of a file and the devices" 2 'expected files or --devices' "$voltmill" info --devices good.raw

job() { # job FILES: a job of voltages
    printf 'input: {files: %s}\nproducts: [{kind: voltages, file: out.h5}]\n' "$1" >job.yaml
}
bank() {
    printf 'input: {files: %s}\ndedisperse: {dm: [1], file: out.h5}\n' "$1" >job.yaml
}
bad() { # bad NAME FILES PATTERN
    job "$2"
    fails "$1" 4 "$3" "$voltmill" run --force job.yaml
}
bad_bank() {
    bank "$2"
    fails "$1" 4 "$3" "$voltmill" run --force job.yaml
}

job good.raw && runs "GUPPI RAW" "$voltmill" run --force job.yaml
job '[next.raw, good.raw]' && runs "a sequence, listed the wrong way round" "$voltmill" run --force job.yaml
bad "OBSNCHAN is no number" channels.raw 'channels\.raw: .*OBSNCHAN = nonsense, expected a whole number'
bad "no channels" none.raw 'none\.raw: .*OBSNCHAN = 0, expected a whole number from 1'
bad "no block" size.raw 'size\.raw: .*BLOCSIZE = 0, expected a whole number from 1'
bad "a header without END" endless.raw 'endless\.raw|no header of a GUPPI RAW block'
bad "a block that is cut off" torn.raw 'torn\.raw: .*samples 192 \.\. 256 are unreadable: torn\.raw is cut off: it ends with 524 of 1024 bytes'
bad "a block twice" twice.raw 'twice\.raw: .*PKTIDX 16, the one before it 16: blocks are repeated or out of order'
bad "blocks out of order" order.raw 'order\.raw: .*PKTIDX 16, the one before it 32'
bad "a word that changes" changes.raw 'changes\.raw: OBSFREQ is 1400\.0 in the header of the first block, but 1500\.0'
bad "blocks half as long as the header says" half.raw 'half\.raw: no header of a GUPPI RAW block at byte [0-9]+, where a block of BLOCSIZE = 512 bytes ends'
bad "blocks twice as long" double.raw 'double\.raw: no header of a GUPPI RAW block at byte [0-9]+, where a block of BLOCSIZE = 2048 bytes ends'
bad "a band that rises and falls" width.raw 'CHAN_BW = -1 MHz, but OBSBW / channels is 1 MHz: whether frequency rises or falls is unknown'
bad "channels of two widths" spacing.raw 'CHAN_BW = 1 MHz, but OBSBW / channels is 0\.5 MHz'
bad "two counts of lost packets" counts.raw 'says DROPSTAT = 2/8, but NDROP = 3.*input\.layout\.dropped: ignore'
bad "another rate" '[good.raw, rate.raw]' 'sample rates differ, 1000000 Hz and 1250000 Hz'
bad "another frequency" '[good.raw, frequency.raw]' 'freq_hz differ, coarse channel 0 is at 1398500000 Hz and 1498500000 Hz'
bad "another station" '[good.raw, station.raw]' 'telescopes differ, GBT and Parkes'
bad "files that overlap" '[good.raw, overlaps.raw]' 'overlaps\.raw starts 128\.0 samples before the end'
printf 'input: {files: good.dada, layout: {format: dada, dropped: ignore}}\nproducts: [{kind: voltages, file: out.h5}]\n' >job.yaml
fails "lost packets of a format that counts none" 2 'input\.layout\.dropped is of GUPPI RAW' "$voltmill" run --force job.yaml
job torn.raw
runs "what is there of a file that is cut off" "$voltmill" run --force job.yaml --set 'input.select.samples=[0, 192]'
printf 'input: {files: torn.raw}\nchannelise: {channels: 16, taps: 1}\nproducts: [{kind: power, file: out.h5}]\n' >job.yaml
status=0
"$voltmill" run --force job.yaml --set run.on_bad=nan >/dev/null 2>stderr || status=$?
same "or all of it, with holes: never in silence" 6 "$status"
"$voltmill" info torn.raw >info.txt && grep -q 'lost  *samples 192 \.\. 256: torn\.raw is cut off: it ends with 524' info.txt
ok $? "info of a file that is cut off"
fails "info of a text" 4 'job\.yaml is not an HDF5 file \([0-9]+ bytes\), and shows no other format \(npy, wav, sigmf, guppi, mwax, dada' "$voltmill" info job.yaml

# --- commands that take products
while read -r file is expects command; do
    # shellcheck disable=SC2086
    fails "$command of $file" "${is%:*}" "error: $file is an? ${is#*:}, expected ${expects//_/ }: .voltmill run JOB. " \
        "$voltmill" $command "$file"
done <<'EOF'
good.raw 2:archive.\(guppi\) a_product_in_HDF5 verify
good.dada 2:archive.\(dada\) a_product_in_HDF5 verify --crc
good.dada 2:archive.\(dada\) a_product_in_HDF5 status
good.raw 2:archive.\(guppi\) a_product_in_HDF5 export --format kerchunk
good.raw 2:archive.\(guppi\) candidates export --format csv
good.fil 2:filterbank.\(sigproc\) candidates export --format heimdall
good.fil 2:filterbank.\(sigproc\) dedispersed_series export --format tim --dms 0..9
good.raw 4:archive.\(guppi\) a_filterbank export --format fil
good.dada 4:archive.\(dada\) a_filterbank ddplan --dms 0..9
EOF
fails "join" 2 'good.raw is an archive \(guppi\), expected a product in HDF5' "$voltmill" join -o out.h5 good.raw next.raw

# --- no format that is read: what it looks like
while read -r file says; do
    fails "info of $file" 4 "error: $file .*$says" "$voltmill" info "$file"
done <<'EOF'
three.vdif is not an HDF5 file \(7936 bytes\): it looks like VDIF \(version 0, numbers of 3 bits\), expected .* 1, 2, 4, 8, 16 or 32 bits
five.vdif looks like VDIF \(version 0, numbers of 5 bits\)
version.vdif looks like VDIF \(version 3, numbers of 2 bits\), expected version 0 or 1
torn.vdif \(500 bytes\): it looks like VDIF .*no frame follows
m5b looks like Mark 5B .*: convert it to VDIF
sg looks like one of the files among which a Mark 6 scattered a recording
net.pcap is a capture of a network
m4 looks like Mark 4 of 64 tracks
m4.32 looks like Mark 4 of 32 tracks
codif looks like CODIF .*: convert it to VDIF
tbn.dat looks like LWA packets .* no whole DRX packet
noend.raw looks like GUPPI RAW, but its first header has no END before byte 1040
late.raw looks like GUPPI RAW, but does not begin with a header \(BLOCSIZE is at byte 512\)
size.txt looks like PSRDADA, but its header has neither HDR_SIZE nor HDR_VERSION
short.dada \(30 bytes\): it looks like PSRDADA, but its header has none of NBIT
other.fits is FITS, but no search-mode PSRFITS
big.fil looks like a SIGPROC file of a big-endian machine
good.fil.gz is compressed with gzip
zeros.raw begins with zeros where its header should be
few.raw .*\(3 bytes\): it is shorter than any header
none.raw0 is not an HDF5 file \(0 bytes\): it is empty
cut.h5 cannot be opened, is it truncated\? It contains 8 bytes \(HDF5: .*\)
part.h5 is truncated: it ends after 60 bytes, before its first group \(HDF5: .*\)
version.h5 cannot be opened.*\(HDF5: bad superblock version number\)
EOF

job good.dada && runs "PSRDADA" "$voltmill" run --force job.yaml
bad "NBIT" bits.dada 'bits\.dada: NBIT = 9, expected 1, 2, 4, 8, 16 or 32'
bad "a header longer than the file" header.dada 'header\.dada: HDR_SIZE = 1000000, but the file has 5696 bytes'
bad "a header for dspsr alone" dspsr.hdr 'dspsr\.hdr describes, for dspsr, the samples in DATAFILE = beam\.vdif: that file is the one to read'
bad "no samples" empty.dada 'empty\.dada contains 0 bytes after its header'
bad "a header that ends at once" size.dada 'size\.dada: HDR_SIZE = 1, but HDR_SIZE = 1 is not before that byte'
"$voltmill" info start.dada >info.txt && grep -q 'UTC_START is not there: the start is unknown' info.txt
ok $? "PSRDADA without a start: told"
"$voltmill" info unknown.dada >info.txt && grep -q 'UTC_START = UNKNOWN is no date: the start is unknown' info.txt
ok $? "PSRDADA of an unknown start: told"
"$voltmill" info unknown-mjd.dada >info.txt && grep -q 'UTC_START = unknown is no date: MJD_START = 58882.25 is used' info.txt &&
    grep -q 2020-02-03T06:00:00 info.txt
ok $? "PSRDADA that has MJD_START alone: used"
bad "an order of axes" axes.dada 'axes\.dada: ORDER = FTP of 4 channels'

bank good.fil && runs "SIGPROC" "$voltmill" run --force job.yaml
bad_bank "nbits" bits.fil 'bits\.fil: 7 bits, expected 1, 2, 4, 8, 16 or 32'
bad_bank "nchans" channels.fil 'channels\.fil: nchans -16'
bank word.fil && runs "SIGPROC with an unknown keyword" "$voltmill" run --force job.yaml
bad_bank "an unknown keyword without an end" lost.fil 'lost\.fil: no keyword that is known follows surprise'
bad_bank "a header without its end" endless.fil 'endless\.fil: '
bad_bank "not one spectrum" empty.fil 'empty\.fil contains 3 bytes after its header, but one spectrum has 16'
bad_bank "tsamp" time.fil 'time\.fil: a spectrum every 0 s'
bad_bank "PSRFITS without its table" none.fits 'none\.fits contains no binary table SUBINT'
bad_bank "PSRFITS that is cut off" cut.fits 'cut\.fits: cannot read its FITS unit 1: error reading from FITS file$'
bad_bank "PSRFITS that is no FITS" order.fits 'order\.fits: cannot read its FITS unit 1: second keyword not BITPIX'
job good.fil
fails "a filterbank contains no voltages" 4 'good\.fil is a SIGPROC filterbank: it contains powers' "$voltmill" run --force job.yaml

echo "1..$count"
