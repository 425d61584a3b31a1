/* GUPPI RAW: from headers to runs of blocks, gaps and what is lost, and every header that must be
 * refused. */
#include "base/text.h"
#include "input/format/formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/voltmill-guppi-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink("a.raw");
    unlink("b.raw");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* 2 coarse channels, 2 polarisations, 8 + 8 bits: 8 bytes a step; blocks of 64 samples, of which
 * the next repeats 16; a packet is 8 samples of all streams. */
static const char *const usual =
    "BLOCSIZE=512,OBSNCHAN=2,NPOL=4,NBITS=8,OVERLAP=16,TBIN=1e-6,OBSFREQ=1400,OBSBW=-2,PKTSIZE=64,"
    "STT_IMJD=58000,STT_SMJD=3600,STT_OFFS=0.25,TELESCOP='Dish  ',SRC_NAME='It''s'";

static const char *word_after(const char *words, const char *key)
{
    size_t length = strlen(key);
    for (const char *word = words; word && *word;) {
        if (strncmp(word, key, length) == 0 && word[length] == '=') {
            return word + length + 1;
        }
        word = strchr(word, ',');
        word += word != NULL;
    }
    return NULL;
}

static void put_card(FILE *file, const char *key, const char *value)
{
    char card[81];
    snprintf(card, sizeof card, "%-8.8s= %-70.*s", key, (int)strcspn(value, ","), value);
    assert_int_equal(fwrite(card, 1, 80, file), 80);
}

/* A block: `words` go before the usual ones (KEY=- leaves one out); `data` bytes. */
static void put_block(FILE *file, const char *words, uint64_t packet, size_t data)
{
    char list[1024];
    char number[32];
    snprintf(list, sizeof list, "%s", usual);
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        const char *other = word_after(words, word);
        if (!other || *other != '-' || other[1] != ',') {
            put_card(file, word, other ? other : value);
        }
    }
    for (const char *word = words; word && *word;) {
        char key[16];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "="), word);
        if (!word_after(usual, key)) {
            put_card(file, key, word + strlen(key) + 1);
        }
        word = strchr(word, ',');
        word += word != NULL;
    }
    snprintf(number, sizeof number, "%llu", (unsigned long long)packet);
    put_card(file, "PKTIDX", number);
    fprintf(file, "%-80s", "END");
    int is_direct = word_after(words, "DIRECTIO") != NULL;
    while (is_direct && ftell(file) % 512 != 0) {
        fputc(0, file);
    }
    for (size_t i = 0; i < data; i++) {
        fputc((int)(i & 0xff), file);
    }
}

/* Blocks of the same words, of these PKTIDX (the list ends with -1). */
static void make_file(const char *name, const char *words, const int64_t *packets)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    for (; *packets >= 0; packets++) {
        put_block(file, words, (uint64_t)*packets, 512);
    }
    assert_int_equal(fclose(file), 0);
}

static status_t open_as(const struct job_layout *layout, int files, struct archive **out)
{
    char a[] = "a.raw";
    char b[] = "b.raw";
    char *paths[] = {a, b};
    const struct format_input input = {paths, (size_t)files, layout};
    *out = NULL;
    return formats_open(&input, out);
}

static struct archive *open_files(int files)
{
    const struct job_layout layout = {.automatic = 1, .files_along = AXIS_TIME};
    struct archive *archive = NULL;
    status_t st = open_as(&layout, files, &archive);
    if (st != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
    return archive;
}

static void refuses(int files, const char *message)
{
    const struct job_layout layout = {.automatic = 1, .files_along = AXIS_TIME};
    struct archive *archive = NULL;
    assert_int_equal(open_as(&layout, files, &archive), STATUS_DATA);
    if (!strstr(report_cause(), message)) {
        fail_msg("%s, expected: %s", report_cause(), message);
    }
    report_clear();
    assert_null(archive);
}

#define PACKETS(...)                                                                               \
    (const int64_t[])                                                                              \
    {                                                                                              \
        __VA_ARGS__, -1                                                                            \
    }

static void blocks_at_equal_distances_are_one_run(void **state)
{
    (void)state;
    make_file("a.raw", "", PACKETS(0, 6, 12, 18));
    struct archive *archive = open_files(1);
    const struct archive_part *part = &archive->parts[0];
    assert_int_equal(part->nruns, 2);
    assert_int_equal(part->runs[0].pieces, 1);
    assert_int_equal(part->runs[0].file_offset, 16 * 80);
    assert_int_equal(part->runs[0].steps, 64);
    assert_int_equal(part->runs[0].stored, 64);
    /* Samples of the first block are not read again from the others: 16 samples of 4 bytes. */
    assert_int_equal(part->runs[1].pieces, 3);
    assert_int_equal(part->runs[1].file_offset, 2 * 16 * 80 + 512 + 16 * 4);
    assert_int_equal(part->runs[1].piece_bytes, 16 * 80 + 512);
    assert_int_equal(part->runs[1].first_sample, 64);
    assert_int_equal(part->runs[1].steps, 48);
    assert_int_equal(part->runs[1].stored, 64);
    assert_int_equal(part->samples, 4 * 48 + 16);
    assert_int_equal(archive->count[AXIS_TIME], 4 * 48 + 16);
    assert_int_equal(archive->losses.ngaps, 0);
    assert_int_equal(archive->shape.ndims, 4);
    assert_int_equal(archive->shape.dims[0].axis, AXIS_CHAN);
    assert_int_equal(archive->shape.dims[1].axis, AXIS_TIME);
    assert_int_equal(archive->sideband, -1);
    assert_true(archive->freq_hz[0] == 1400.5e6 && archive->freq_hz[1] == 1399.5e6);
    assert_true(archive->sample_rate_hz == 1e6 && archive->is_complex);
    assert_int_equal(archive->sky.start.mjd_day, 58000);
    assert_true(archive->sky.start.second == 3600.25);
    assert_string_equal(archive->sky.telescope, "Dish");
    assert_string_equal(archive->sky.source, "It's");
    archive_destroy(archive);
}

static void lost_blocks_are_gaps(void **state)
{
    (void)state;
    make_file("a.raw", "DIRECTIO=1", PACKETS(100, 106, 118, 124, 130, 137));
    struct archive *archive = open_files(1);
    const struct archive_part *part = &archive->parts[0];
    const struct {
        uint64_t first, pieces, steps;
    } runs[] = {{0, 1, 64}, {64, 1, 48}, {144, 1, 64}, {208, 2, 48}, {304, 1, 56}};
    assert_int_equal(part->nruns, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(part->runs[i].first_sample, runs[i].first);
        assert_int_equal(part->runs[i].pieces, runs[i].pieces);
        assert_int_equal(part->runs[i].steps, runs[i].steps);
        assert_int_equal(part->runs[i].file_offset % 512, (64 - runs[i].steps) * 4);
        assert_string_equal(part->runs[i].path, "a.raw");
    }
    assert_int_equal(part->samples, 296 + 64);
    assert_int_equal(archive->losses.ngaps, 1);
    assert_int_equal(archive->losses.gaps[0][0], 48 + 64);
    assert_int_equal(archive->losses.gaps[0][1], 32);
    /* Packet 100 is 800 us after STT. */
    assert_true(archive->sky.start.second == 3600.25 + 800e-6);
    archive_destroy(archive);
    make_file("a.raw", "PKTSTART=100", PACKETS(100, 106));
    archive = open_files(1);
    assert_true(archive->sky.start.second == 3600.25);
    archive_destroy(archive);
}

static void headers_of_different_size_begin_runs(void **state)
{
    (void)state;
    FILE *file = fopen("a.raw", "wb");
    put_block(file, "", 0, 512);
    put_block(file, "", 6, 512);
    put_block(file, "ANOTHER=1", 12, 512);
    put_block(file, "ANOTHER=1", 18, 512);
    put_block(file, "ANOTHER=1", 24, 512);
    put_block(file, "", 30, 512);
    fclose(file);
    struct archive *archive = open_files(1);
    assert_int_equal(archive->parts[0].nruns, 3);
    assert_int_equal(archive->parts[0].runs[1].pieces, 4); /* one distance, from header to header */
    assert_int_equal(archive->parts[0].runs[1].piece_bytes, 17 * 80 + 512);
    assert_int_equal(archive->parts[0].runs[2].pieces, 1);
    assert_int_equal(archive->parts[0].runs[2].first_sample, 5 * 48 + 16);
    assert_int_equal(archive->losses.ngaps, 0);
    archive_destroy(archive);
}

static void packets_count_what_the_file_shows(void **state)
{
    (void)state;
    make_file("a.raw", "PIPERBLK=24", PACKETS(0, 24, 72));
    struct archive *archive = open_files(1);
    assert_int_equal(archive->losses.ngaps, 1);
    assert_int_equal(archive->losses.gaps[0][1], 32);
    archive_destroy(archive);
    make_file("a.raw", "PKTSIZE=-,", PACKETS(7, 8, 10));
    archive = open_files(1);
    assert_int_equal(archive->losses.gaps[0][0], 96 + 16);
    assert_int_equal(archive->parts[0].samples, 4 * 48 + 16);
    archive_destroy(archive);
    make_file("a.raw", "", PACKETS(0, 48, 96, 144)); /* samples, whatever PKTSIZE is */
    archive = open_files(1);
    assert_int_equal(archive->losses.ngaps, 0);
    assert_int_equal(archive->parts[0].samples, 4 * 48 + 16);
    archive_destroy(archive);
}

/* Assumptions about a file of the usual words but for these; NULL: it is refused. */
static const char *assumed_of(const char *words)
{
    static char said[2048];
    char list[256];
    const struct job_layout layout = {.automatic = 1, .files_along = AXIS_TIME};
    struct archive *archive = NULL;
    snprintf(list, sizeof list, "PKTFMT='1SFA',%s,", words);
    make_file("a.raw", list, PACKETS(0, 6, 12));
    if (open_as(&layout, 1, &archive) != STATUS_OK) {
        return NULL;
    }
    snprintf(said, sizeof said, "%s", archive->assumed ? archive->assumed : "");
    archive_destroy(archive);
    return said;
}

static void facts_that_are_said_twice_are_compared(void **state)
{
    (void)state;
    const struct {
        const char *words, *said; /* NULL: refused, with a message that begins so */
        const char *message;
    } cases[] = {
        {"CHAN_BW=-1", "", NULL},
        {"CHAN_BW=-3.125", "CHAN_BW -3.125 MHz and OBSBW / channels -1 MHz differ: OBSBW is used",
         0},
        {"CHAN_BW=1", NULL, "CHAN_BW = 1 MHz, but OBSBW / channels is -1 MHz"},
        {"CHAN_BW=-1,OBSBW=-1,NPOL=2", NULL, "CHAN_BW = -1 MHz, but OBSBW / channels is -0.5 MHz"},
        {"CHAN_BW=-1,OBSBW=-1.6875", NULL, "CHAN_BW = -1 MHz, but OBSBW / channels is -0.84375"},
        {"OBSBW=-1", NULL, "NPOL = 4 (two polarisations of complex samples), but"},
        {"NCHAN=2", "", NULL},
        {"NANTS=2,OBSBW=-1,ANTNMS00=a b", "", NULL},
        {"NANTS=2,OBSBW=-1,ANTNMS00=a,ANTNMS01=a", "names, not all different, NANTS is 2", NULL},
        {"NANTS=2,OBSBW=-1,ANTNMS00=a b,ANTNMS01=c", "have 3 names, NANTS is 2: antennas", NULL},
        {"NCHAN=64", "NCHAN 64 and OBSNCHAN / NANTS 2 differ: OBSNCHAN is used", NULL},
        {"RA_STR=12:00:00,DEC_STR=-30:00:00,RA=180.0,DEC=-30.01", "", NULL},
        {"RA_STR=12:00:00,DEC_STR=-30:00:00,RA=180.2,DEC=-30", "RA_STR, DEC_STR (180, -30 deg", 0},
        {"NBITS=-,STTVALID=1", "no NBITS: numbers are taken to have 8 bits", NULL},
        {"OVERLAP=-,PKTSIZE=86", NULL, "expected a whole number from 64 on"},
        {"PIPERBLK=6", "", NULL},
        {"PIPERBLK=6,PKTSIZE=128",
         "PKTSIZE 128 and PIPERBLK 6 (of 384 bytes in a block) differ: PIPERBLK is used", NULL},
        {"PIPERBLK=6,PKTSIZE=0", "PKTSIZE 0 and PIPERBLK 6 (of 384 bytes", NULL},
        {"PIPERBLK=6,OVERLAP=0", NULL,
         "OVERLAP = 0 leaves 64 of 64 samples of a block new (BLOCSIZE"},
        {"PIPERBLK=6,OVERLAP=1", NULL,
         "OVERLAP = 1 leaves 63 of 64 samples of a block new (BLOCSIZE"},
        {"PIPERBLK=6,OVERLAP=8", NULL, "but PIPERBLK and PKTIDX say that these are 6 packets"},
        {"PIPERBLK=6,OVERLAP=32", NULL, "OVERLAP = 32 leaves 32 of 64 samples of a block new"},
        {"PKTSTART=1000000000", "PKTSTART 1000000000 lies behind the first block", NULL},
        {"PKTSTART=9223372036854775807", NULL,
         "PKTSTART = 9223372036854775807, but the first block has PKTIDX 0: too far apart"},
        {"STT_OFFS=-,STTVALID=1", "no STT_OFFS: the start time is taken as a whole second", NULL},
        {"STT_SMJD=-,STTVALID=1", "no STT_SMJD: the start time is unknown", NULL},
        {"STTVALID=0", "STTVALID 0: the start time (STT_) is not believed", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = assumed_of(cases[i].words);
        const char *expected = cases[i].said ? cases[i].said : cases[i].message;
        const char *found = cases[i].said ? said : report_cause();
        int is_right = !said == !cases[i].said && found &&
                       (*expected ? strstr(found, expected) != NULL : *found == '\0');
        if (!is_right) {
            fail_msg("%s: %s, expected: %s", cases[i].words, said ? said : report_cause(),
                     expected);
        }
        report_clear();
    }
}

static void lost_packets_are_shares_of_blocks(void **state)
{
    (void)state;
    const char *const counts[] = {"NPKT=8,NDROP=0", "NPKT=6,NDROP=2", "NPKT=6,NDROP=2",
                                  "NPKT=8,NDROP=8", "NPKT=8,NDROP=1"};
    FILE *file = fopen("a.raw", "wb");
    for (size_t i = 0; i < 5; i++) {
        put_block(file, counts[i], 6 * i, 512);
    }
    fclose(file);
    struct archive *archive = open_files(1);
    const struct archive_part *part = &archive->parts[0];
    /* The first block holds all that it repeats of the second, the fourth does not. */
    assert_int_equal(part->npartials, 2);
    assert_int_equal(part->partials[0].first, 64);
    assert_int_equal(part->partials[0].count, 96);
    assert_int_equal(part->partials[0].lost, LOST_WHOLE / 4);
    assert_int_equal(part->partials[1].first, 4 * 48);
    assert_int_equal(part->partials[1].count, 64);
    assert_int_equal(part->partials[1].lost, LOST_WHOLE / 8);
    assert_int_equal(archive->losses.ngaps, 1);
    assert_int_equal(archive->losses.gaps[0][0], 64 + 96);
    assert_int_equal(archive->losses.gaps[0][1], 32);
    archive->samples = archive->count[AXIS_TIME];
    assert_true(archive_count_partial(archive) > 0);
    archive->samples = 64;
    assert_int_equal(archive_count_partial(archive), 0);
    archive_destroy(archive);
}

static void numbers_of_all_widths(void **state)
{
    (void)state;
    const struct {
        const char *words;
        enum sample_format format;
        enum number_kind kind;
        uint32_t pols;
        int is_complex;
        uint64_t stored;
    } cases[] = {{"NBITS=16", SAMPLE_I16, NUMBER_PLAIN, 2, 1, 32},
                 {"NBITS=4", SAMPLE_I4, NUMBER_PLAIN, 2, 1, 128},
                 {"NBITS=2", SAMPLE_F32, NUMBER_LEVELS, 2, 1, 256},
                 {"NPOL=1", SAMPLE_I8, NUMBER_PLAIN, 1, 1, 128},
                 {"NPOL=2", SAMPLE_I8, NUMBER_PLAIN, 2, 1, 64},
                 {"TBIN=0.5e-6,NPOL=2", SAMPLE_I8, NUMBER_PLAIN, 2, 0, 128},
                 {"TBIN=0.5e-6,NPOL=1,NBITS=4", SAMPLE_I8, NUMBER_SIGNED, 1, 0, 512},
                 {"PKTFMT='SIMPLE  '", SAMPLE_I8, NUMBER_PLAIN, 2, 1, 64},
                 {"NANTS=2,OBSBW=-1", SAMPLE_I8, NUMBER_PLAIN, 2, 1, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_file("a.raw", cases[i].words, PACKETS(0));
        struct archive *archive = open_files(1);
        assert_int_equal(archive->format, cases[i].format);
        assert_int_equal(archive->stored.number.kind, cases[i].kind);
        assert_int_equal(archive->count[AXIS_POL], cases[i].pols);
        assert_int_equal(archive->is_complex, cases[i].is_complex);
        assert_int_equal(archive->parts[0].runs[0].stored, cases[i].stored);
        assert_int_equal(archive->parts[0].samples, cases[i].stored);
        archive_destroy(archive);
    }
    make_file("a.raw", "NANTS=2,OBSBW=-1", PACKETS(0));
    struct archive *archive = open_files(1);
    assert_int_equal(archive->count[AXIS_STATION], 2);
    assert_int_equal(archive->count[AXIS_CHAN], 1);
    assert_int_equal(archive->shape.dims[0].axis, AXIS_STATION);
    assert_null(archive->names[AXIS_STATION]);
    archive_destroy(archive);
    make_file("a.raw", "NANTS=2,OBSBW=-1,TELESCOP=ATA,ANTNMS00='1cB',ANTNMS01='1eB'", PACKETS(0));
    archive = open_files(1);
    assert_string_equal(archive->names[AXIS_STATION][0], "1c");
    assert_string_equal(archive->names[AXIS_STATION][1], "1e");
    assert_non_null(strstr(archive->assumed, "TELESCOP is ATA"));
    archive_destroy(archive);
    make_file("a.raw", "PKTFMT='SIMPLE  '", PACKETS(0));
    archive = open_files(1);
    assert_int_equal(archive->shape.time_dim, 0);
    archive_destroy(archive);
    make_file("a.raw", "OBSBW=1.6875", PACKETS(0));
    archive = open_files(1);
    assert_int_equal(archive->oversample.num, 32);
    assert_int_equal(archive->oversample.den, 27);
    assert_non_null(strstr(
        archive->assumed,
        "1000000 samples a second (1 / TBIN) of coarse channels of 843750 Hz (OBSBW / OBSNCHAN)"));
    archive_destroy(archive);
}

static void what_is_torn_is_lost(void **state)
{
    (void)state;
    FILE *file = fopen("a.raw", "wb");
    put_block(file, "", 0, 512);
    put_block(file, "", 6, 300); /* the first coarse channel and some of the second */
    fclose(file);
    struct archive *archive = open_files(1);
    const struct archive_part *part = &archive->parts[0];
    assert_int_equal(part->samples, 96);
    assert_int_equal(part->nboxes, 1);
    assert_int_equal(part->boxes[0].low[0], 1);
    assert_int_equal(part->boxes[0].high[0], 2);
    assert_int_equal(part->boxes[0].low[1], 64); /* the rest of its samples is in the first block */
    assert_int_equal(part->boxes[0].high[1], 96);
    assert_non_null(strstr(part->boxes[0].why, "300 of 512 bytes"));
    archive_destroy(archive);
    file = fopen("a.raw", "wb");
    put_block(file, "PKTFMT='SIMPLE'", 0, 100); /* 12 steps and a half */
    fclose(file);
    archive = open_files(1);
    assert_int_equal(archive->parts[0].boxes[0].low[0], 12);
    assert_int_equal(archive->parts[0].boxes[0].high[0], 48);
    archive_destroy(archive);
    file = fopen("a.raw", "wb");
    put_block(file, "", 0, 512);
    fprintf(file, "%-80s%-80s", "BLOCSIZE= 512", "PKTIDX  = 6");
    fclose(file);
    archive = open_files(1);
    assert_int_equal(archive->parts[0].samples, 64);
    archive_destroy(archive);
}

static void files_join_by_their_times(void **state)
{
    (void)state;
    make_file("b.raw", "", PACKETS(0, 6));
    make_file("a.raw", "", PACKETS(18, 24));
    struct archive *archive = open_files(2);
    assert_string_equal(archive->parts[0].path, "b.raw");
    assert_int_equal(archive->parts[1].first_sample, 144);
    assert_int_equal(archive->losses.ngaps, 1);
    assert_int_equal(archive->losses.gaps[0][0], 96 + 16); /* no file repeats the OVERLAP */
    assert_int_equal(archive->losses.gaps[0][1], 48 - 16);
    archive_destroy(archive);
    make_file("a.raw", "", PACKETS(6, 12));
    refuses(2, "48.0 samples before the end");
}

static void the_job_knows_better(void **state)
{
    (void)state;
    double frequencies[] = {1e9, 2e9};
    struct archive *archive = NULL;
    struct job_layout layout = {.automatic = 1, .files_along = AXIS_TIME, .has_sideband = 1};
    layout.sideband = 1;
    layout.freq.hz = frequencies;
    layout.freq.count = 2;
    make_file("a.raw", "", PACKETS(0));
    assert_int_equal(open_as(&layout, 1, &archive), STATUS_OK);
    assert_int_equal(archive->sideband, 1);
    assert_true(archive->freq_hz[1] == 2e9);
    archive_destroy(archive);
    layout.freq.count = 1;
    assert_int_equal(open_as(&layout, 1, &archive), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "lists 1 frequencies, but the file has 2"));
    report_clear();
    layout = (struct job_layout){.automatic = 1, .files_along = AXIS_TIME, .time.has_start = 1};
    layout.time.start = (struct utc){58001, 7.5};
    make_file("a.raw", "PKTSTART=9223372036854775807", PACKETS(0, 6));
    assert_int_equal(open_as(&layout, 1, &archive), STATUS_OK);
    assert_int_equal(archive->sky.start.mjd_day, 58001);
    assert_true(archive->sky.start.second == 7.5);
    archive_destroy(archive);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *words, *message;
    } cases[] = {
        {"BLOCSIZE=0", "BLOCSIZE = 0, expected a whole number from 1"},
        {"BLOCSIZE=-", "the header at byte 0 has no BLOCSIZE"},
        {"BLOCSIZE=513", "BLOCSIZE = 513 bytes, expected whole time steps of 64 bits"},
        {"OBSNCHAN=0", "OBSNCHAN = 0, expected"},
        {"OBSNCHAN=-4", "OBSNCHAN = -4, expected"},
        {"OBSNCHAN='many'", "OBSNCHAN = many, expected"},
        {"OBSNCHAN=3,NANTS=2", "OBSNCHAN = 3 coarse channels of NANTS = 2"},
        {"NPOL=3", "NPOL = 3"},
        {"NBITS=7", "NBITS = 7, expected 2, 4, 8, 16 or 32"},
        {"OVERLAP=64", "OVERLAP = 64, expected a whole number from 0 to 63"},
        {"TBIN=0", "TBIN = 0, expected"},
        {"TBIN=nan", "TBIN = nan, expected"},
        {"OBSBW=0", "OBSBW = 0 MHz"},
        {"TBIN=1e-5", "coarse channels of 1e+06 Hz"},
        {"TBIN=0.53e-6", "coarse channels of 1e+06 Hz"},
        {"TBIN=0.5e-6", "NPOL = 4 (two polarisations of complex samples), but a sample every TBIN"},
        {"OBSFREQ=1.4e9", "OBSFREQ = 1.4e+09 MHz, expected at most 1e6: is it in Hz?"},
        {"STT_IMJD=1e12", "STT_IMJD = 1e12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[128];
        snprintf(words, sizeof words, "%s,", cases[i].words);
        make_file("a.raw", words, PACKETS(0));
        refuses(1, cases[i].message);
    }
    make_file("a.raw", "", PACKETS(0, 6, 6));
    refuses(1, "has PKTIDX 6, the one before it 6: blocks are repeated or out of order");
    make_file("a.raw", "", PACKETS(0, 12, 6));
    refuses(1, "has PKTIDX 6, the one before it 12");
    make_file("a.raw", "", PACKETS(0, 3));
    refuses(1, "begins 24 samples after the first one (PKTIDX 3 after 0), expected a whole number "
               "from 48 on");
    make_file("a.raw", "", PACKETS(0, INT64_MAX));
    refuses(1, "too far for one observation");
    FILE *file = fopen("a.raw", "wb");
    put_block(file, "", 0, 512);
    put_block(file, "OBSFREQ=1500", 6, 512);
    fclose(file);
    refuses(1, "OBSFREQ is 1400 in the header of the first block, but 1500 in that at byte 1792");
    file = fopen("a.raw", "wb");
    put_block(file, "NANTS=2,OBSBW=-1,ANTNMS00=a b", 0, 512);
    put_block(file, "NANTS=2,OBSBW=-1,ANTNMS00=b c", 6, 512);
    fclose(file);
    struct archive *archive = open_files(1);
    assert_non_null(strstr(archive->assumed, "ANTNMS00 is a b in the header of the first block, "
                                             "and changes later"));
    assert_string_equal(archive->names[AXIS_STATION][1], "b");
    archive_destroy(archive);
    make_file("a.raw", "", PACKETS(0));
    const struct job_layout wrong = {.automatic = 1,
                                     .files_along = AXIS_TIME,
                                     .time = {.has_sample_rate = 1, .sample_rate_hz = 3.3e5}};
    assert_int_equal(open_as(&wrong, 1, &archive), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "every 1 / input.layout.sample_rate_hz = 3.0303e-06"));
    report_clear();
    file = fopen("a.raw", "wb");
    put_block(file, "", 0, 513);
    put_block(file, "", 6, 512);
    fclose(file);
    refuses(1, "at byte 1792");
    file = fopen("a.raw", "wb");
    put_block(file, "", 0, 0);
    fclose(file);
    refuses(1, "ends with the header of its first block");
    file = fopen("a.raw", "wb");
    fprintf(file, "%-80s%-80s", "BLOCSIZE= 512", "OBSNCHAN= 2");
    fclose(file);
    refuses(1, "no header of a GUPPI RAW block at byte 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_at_equal_distances_are_one_run),
        cmocka_unit_test(lost_blocks_are_gaps),
        cmocka_unit_test(headers_of_different_size_begin_runs),
        cmocka_unit_test(packets_count_what_the_file_shows),
        cmocka_unit_test(facts_that_are_said_twice_are_compared),
        cmocka_unit_test(lost_packets_are_shares_of_blocks),
        cmocka_unit_test(numbers_of_all_widths),
        cmocka_unit_test(what_is_torn_is_lost),
        cmocka_unit_test(files_join_by_their_times),
        cmocka_unit_test(the_job_knows_better),
        cmocka_unit_test(nonsense_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    report_quiet(1);
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
