/* Cards of FITS: 80 letters each, in records of 2,880. */
#include "product/export/psrfits_head.h"

#include "base/units.h"

#include <inttypes.h>
#include <math.h>

enum { CARD = 80, RECORD = 2880, LETTERS = 68 };

static void head_card(struct text *out, const char *key, const char *value, const char *what)
{
    char card[4 * CARD];
    snprintf(card, sizeof card, "%-8s= %20s%s%s", key, value, what ? " / " : "", what ? what : "");
    text_add(out, "%-80.80s", card);
}

/* Letters of ASCII alone; quotes twice; at least eight. */
static void head_text(struct text *out, const char *key, const char *value, const char *what)
{
    char quoted[2 * CARD];
    char padded[2 * CARD];
    size_t at = 0;
    quoted[at++] = '\'';
    for (const char *letter = value ? value : ""; *letter && at < LETTERS; letter++) {
        char kept = *letter >= ' ' && *letter <= '~' ? *letter : '?';
        quoted[at++] = kept;
        if (kept == '\'') {
            quoted[at++] = kept;
        }
    }
    while (at < 9) {
        quoted[at++] = ' ';
    }
    quoted[at++] = '\'';
    quoted[at] = '\0';
    snprintf(padded, sizeof padded, "%-20s", quoted);
    head_card(out, key, padded, what);
}

static void head_count(struct text *out, const char *key, int64_t value, const char *what)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    head_card(out, key, text, what);
}

/* With a point, so that it is no whole number, and every digit. */
static void head_real(struct text *out, const char *key, double value, const char *what)
{
    char text[48];
    snprintf(text, sizeof text, "%.17G", isfinite(value) ? value : 0);
    if (!strpbrk(text, ".E")) {
        strcat(text, ".0");
    }
    head_card(out, key, text, what);
}

static void head_comment(struct text *out, const char *words)
{
    text_add(out, "COMMENT %-72.72s", words);
}

static void head_end(struct text *out)
{
    text_add(out, "%-80s", "END");
    while (out->length % RECORD != 0 && out->status == STATUS_OK) {
        text_add(out, "%80s", "");
    }
}

/* "hh:mm:ss.ssss", or with a sign. */
static void head_sixtieths(double value, int has_sign, char out[32])
{
    struct sixtieths parts = sixtieths_of(value, has_sign ? 360 : 24, 1e4);
    const char *sign = parts.is_negative ? "-" : has_sign ? "+" : "";
    snprintf(out, 32, "%s%02u:%02u:%07.4f", sign, parts.whole, parts.minutes, parts.seconds);
}

static struct utc head_start(const struct fbh5 *in)
{
    return in->sky.has_start ? utc_add(in->sky.start, in->time.first - in->time.step / 2)
                             : utc_of_mjd(in->time.tstart_mjd);
}

static void head_put_receiver(const struct psrfits_head *head, struct text *out)
{
    const struct fbh5 *in = head->in;
    const struct sigproc *header = &head->header;
    double centre = header->fch1 + ((double)header->nchans - 1) / 2 * header->foff;
    /* As PSRFITS has it, A is X, or L. */
    int is_circular = head->stokes.feed == FEED_CIRCULAR;
    head_text(out, "OBSERVER", "", "Observer name(s)");
    head_text(out, "PROJID", "", "Project name");
    head_text(out, "TELESCOP", in->sky.telescope ? in->sky.telescope : "unknown", "Telescope name");
    head_real(out, "ANT_X", 0, "[m] Antenna ITRF X-coordinate: not known");
    head_real(out, "ANT_Y", 0, "[m] Antenna ITRF Y-coordinate: not known");
    head_real(out, "ANT_Z", 0, "[m] Antenna ITRF Z-coordinate: not known");
    head_text(out, "FRONTEND", "unknown", "Receiver ID");
    head_count(out, "IBEAM", header->ibeam, "Beam ID for multibeam systems");
    head_count(out, "NRCVR", header->nifs > 1 ? 2 : 1, "Number of receiver polarisations");
    head_text(out, "FD_POLN", is_circular ? "CIRC" : "LIN", "LIN or CIRC");
    head_count(out, "FD_HAND", is_circular != head->stokes.is_swapped ? -1 : 1,
               "+/- 1. +1 is LIN:A=X,B=Y, CIRC:A=L,B=R");
    head_real(out, "FD_SANG", 0, "[deg] FA of E vect for equal sig in A&B");
    head_real(out, "FD_XYPH", 0, "[deg] Phase of A^* B for injected cal");
    head_text(out, "BACKEND", "voltmill", "Backend ID");
    head_text(out, "BECONFIG", "N/A", "Backend configuration file name");
    head_count(out, "BE_PHASE", 0, "0/+1/-1 BE cross-phase: 0 unknown");
    head_count(out, "BE_DCC", 0, "0/1 BE downconversion conjugation corrected");
    head_real(out, "BE_DELAY", 0, "[s] Backend propn delay from digitiser input");
    head_real(out, "TCYCLE", 0, "[s] On-line cycle time (D)");
    head_text(out, "OBS_MODE", "SEARCH", "(PSR, CAL, SEARCH)");
    head_real(out, "OBSFREQ", centre, "[MHz] Centre frequency for observation");
    head_real(out, "OBSBW", (double)header->nchans * header->foff, "[MHz] Bandwidth");
    head_count(out, "OBSNCHAN", (int64_t)header->nchans, "Number of frequency channels");
    head_real(out, "CHAN_DM", in->coherent.constant > 0 ? in->coherent.dm : 0,
              "[cm-3 pc] DM used for on-line dedispersion");
    head_text(out, "PNT_ID", "", "Name or ID for pointing ctr");
    head_text(out, "SRC_NAME", in->sky.source ? in->sky.source : "unknown", "Source or scan ID");
}

static void head_put_scan(const struct psrfits_head *head, struct text *out)
{
    static const char *const angles[] = {"BMAJ", "BMIN", "BPA"};
    char ra[32];
    char dec[32];
    struct utc start = head_start(head->in);
    head_sixtieths(head->header.raj_hours, 0, ra);
    head_sixtieths(head->header.dej_degrees, 1, dec);
    head_text(out, "COORD_MD", "J2000", "Coordinate mode (J2000, GALACTIC, ECLIPTIC)");
    head_real(out, "EQUINOX", 2000, "Equinox of coords (e.g. 2000.0)");
    head_text(out, "RA", ra, "Right ascension (hh:mm:ss.ssss)");
    head_text(out, "DEC", dec, "Declination (-dd:mm:ss.sss)");
    for (int i = 0; i < 3; i++) {
        head_real(out, angles[i], 0, "[deg] Beam: not known");
    }
    head_text(out, "STT_CRD1", ra, "Start coord 1 (hh:mm:ss.sss or ddd.ddd)");
    head_text(out, "STT_CRD2", dec, "Start coord 2 (-dd:mm:ss.sss or -dd.ddd)");
    head_text(out, "TRK_MODE", "TRACK", "Track mode (TRACK, SCANGC, SCANLAT)");
    head_text(out, "STP_CRD1", ra, "Stop coord 1 (hh:mm:ss.sss or ddd.ddd)");
    head_text(out, "STP_CRD2", dec, "Stop coord 2 (-dd:mm:ss.sss or -dd.ddd)");
    head_real(out, "SCANLEN", (double)head->spectra * head->in->time.step,
              "[s] Requested scan length (E)");
    head_text(out, "FD_MODE", "FA", "Feed track mode - FA, CPA, SPA, TPA");
    head_real(out, "FA_REQ", 0, "[deg] Feed/Posn angle requested (E)");
    head_text(out, "CAL_MODE", "OFF", "Cal mode (OFF, SYNC, EXT1, EXT2)");
    head_real(out, "CAL_FREQ", 0, "[Hz] Cal modulation frequency (E)");
    head_real(out, "CAL_DCYC", 0, "Cal duty cycle (E)");
    head_real(out, "CAL_PHS", 0, "Cal phase (wrt start time) (E)");
    head_count(out, "STT_IMJD", start.mjd_day, "Start MJD (UTC days) (J - long integer)");
    head_count(out, "STT_SMJD", (int64_t)floor(start.second),
               "[s] Start time (sec past UTC 00h) (J)");
    head_real(out, "STT_OFFS", start.second - floor(start.second), "[s] Start time offset (D)");
    head_real(out, "STT_LST", 0, "[s] Start LST (D): not known");
}

static void head_put_file(const struct psrfits_head *head, struct text *out)
{
    head_card(out, "SIMPLE", "T", "file conforms to FITS standard");
    head_count(out, "BITPIX", 8, NULL);
    head_count(out, "NAXIS", 0, NULL);
    head_card(out, "EXTEND", "T", "FITS dataset may contain extensions");
    head_text(out, "CREATOR", "voltmill", "version " VOLTMILL_VERSION);
    head_text(out, "HDRVER", "6.1", "Header version");
    head_text(out, "FITSTYPE", "PSRFITS", "FITS definition for pulsar data files");
    head_text(out, "DATE-OBS", units_utc(head_start(head->in)), "Date of observation (UTC)");
    head_put_receiver(head, out);
    head_put_scan(head, out);
    if (head->comment) {
        head_comment(out, head->comment);
    }
    if (head->stamp) {
        char word[STAMP_WORD];
        stamp_write(head->stamp, word);
        head_comment(out, word);
    }
    head_end(out);
}

struct head_column {
    const char *name, *unit;
    uint64_t count;
    char type;
    uint64_t *place; /* NULL: not needed */
};

enum { COLUMNS = 11 };

static void head_list_columns(struct psrfits_head *head, struct head_column out[COLUMNS])
{
    uint64_t chans = head->header.nchans;
    uint64_t streams = chans * head->header.nifs;
    const char letter = head->header.nbits == 8 ? 'B' : head->header.nbits == 16 ? 'I' : 'E';
    const struct head_column columns[COLUMNS] = {
        {"TSUBINT", "s", 1, 'D', NULL},
        {"OFFS_SUB", "s", 1, 'D', NULL},
        {"RA_SUB", "deg", 1, 'D', NULL},
        {"DEC_SUB", "deg", 1, 'D', NULL},
        {"TEL_AZ", "deg", 1, 'E', NULL},
        {"TEL_ZEN", "deg", 1, 'E', NULL},
        {"DAT_FREQ", "MHz", chans, 'D', &head->table.freqs},
        {"DAT_WTS", "", chans, 'E', &head->table.weights},
        {"DAT_OFFS", "", streams, 'E', &head->table.offsets},
        {"DAT_SCL", "", streams, 'E', &head->table.scales},
        {"DATA", "", streams * head->table.rows_each, letter, &head->table.data}};
    memcpy(out, columns, sizeof columns);
}

static uint64_t head_bytes_of(char type)
{
    return type == 'D' ? 8 : type == 'E' ? 4 : type == 'I' ? 2 : 1;
}

void psrfits_head_place(struct psrfits_head *head)
{
    struct head_column columns[COLUMNS];
    uint64_t at = 0;
    head_list_columns(head, columns);
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].place) {
            *columns[i].place = at;
        }
        at += columns[i].count * head_bytes_of(columns[i].type);
    }
    head->table.row_bytes = at;
}

static void head_put_columns(const struct psrfits_head *head, struct text *out)
{
    struct head_column columns[COLUMNS];
    struct psrfits_head scratch = *head; /* takes the places that are not needed here */
    char key[24];
    char form[80];
    head_list_columns(&scratch, columns);
    for (int i = 0; i < COLUMNS; i++) {
        snprintf(key, sizeof key, "TTYPE%d", i + 1);
        head_text(out, key, columns[i].name, NULL);
        snprintf(key, sizeof key, "TFORM%d", i + 1);
        snprintf(form, sizeof form, "%" PRIu64 "%c", columns[i].count, columns[i].type);
        head_text(out, key, form, NULL);
        snprintf(key, sizeof key, "TUNIT%d", i + 1);
        if (columns[i].unit[0]) {
            head_text(out, key, columns[i].unit, NULL);
        }
    }
    snprintf(form, sizeof form, "(1,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", head->header.nchans,
             head->header.nifs, head->table.rows_each);
    head_text(out, "TDIM11", form, "NBIN, NCHAN, NPOL, NSBLK");
}

static void head_put_table(const struct psrfits_head *head, struct text *out)
{
    const struct sigproc *header = &head->header;
    head_text(out, "XTENSION", "BINTABLE", "***** Subintegration data *****");
    head_count(out, "BITPIX", 8, NULL);
    head_count(out, "NAXIS", 2, NULL);
    head_count(out, "NAXIS1", (int64_t)head->table.row_bytes, "width of table in bytes");
    head_count(out, "NAXIS2", (int64_t)head->table.count, "Number of rows in table (NSUBINT)");
    head_count(out, "PCOUNT", 0, NULL);
    head_count(out, "GCOUNT", 1, NULL);
    head_count(out, "TFIELDS", COLUMNS, "Number of fields per row");
    head_put_columns(head, out);
    head_text(out, "EXTNAME", "SUBINT", "name of this binary table extension");
    head_text(out, "INT_TYPE", "TIME", "Time axis (TIME, BINPHSPERI, BINLNGASC, etc)");
    head_text(out, "INT_UNIT", "SEC", "Unit of time axis (SEC, PHS (0-1), DEG)");
    head_text(out, "SCALE", "UNCAL", "Intensity units (FluxDen/RefFlux/Jansky)");
    head_text(out, "POL_TYPE", head->pol_type, "Polarisation identifier");
    head_count(out, "NPOL", (int64_t)header->nifs, "Nr of polarisations");
    head_real(out, "TBIN", head->in->time.step, "[s] Time per bin or sample");
    head_count(out, "NBIN", 1, "Nr of bins (PSR/CAL mode; else 1)");
    head_count(out, "NBIN_PRD", 1, "Nr of bins/pulse period (for gated data)");
    head_real(out, "PHS_OFFS", 0, "Phase offset of bin 0 for gated data");
    head_count(out, "NBITS", (int64_t)header->nbits, "Nr of bits/datum (SEARCH mode data)");
    head_real(out, "ZERO_OFF", 0, "Zero offset for SEARCH-mode data");
    head_count(out, "SIGNINT", header->nbits == 16, "1 for signed ints in SEARCH-mode data");
    head_count(out, "NSUBOFFS", 0, "Subint offset (Contiguous SEARCH-mode files)");
    head_count(out, "NCHAN", (int64_t)header->nchans, "Number of channels/sub-bands");
    head_real(out, "CHAN_BW", header->foff, "[MHz] Channel/sub-band width");
    head_real(out, "DM", 0, "[cm-3 pc] DM for post-detection dedispersion");
    head_real(out, "RM", 0, "[rad m-2] RM for post-detection deFaraday");
    head_count(out, "NCHNOFFS", 0, "Channel/sub-band offset for split files");
    head_count(out, "NSBLK", (int64_t)head->table.rows_each, "Samples/row (SEARCH mode, else 1)");
    head_count(out, "NSTOT", (int64_t)head->spectra, "Total number of samples (SEARCH mode)");
    head_real(out, "REFFREQ", header->fch1 + ((double)header->nchans - 1) / 2 * header->foff,
              "[MHz] Reference frequency");
    head_end(out);
}

status_t psrfits_head_write(const struct psrfits_head *head, struct text *out)
{
    head_put_file(head, out);
    head_put_table(head, out);
    return out->status;
}
