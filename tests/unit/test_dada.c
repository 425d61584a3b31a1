/* PSRDADA: headers, times, and where samples lie. */
#include "input/format/formats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/voltmill-dada-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink("a.dada");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static const char usual[] =
    "HDR_VERSION 1.0\nHDR_SIZE 4096 # bytes\nNBIT 8\nNDIM 2\nNPOL 2\n"
    "NCHAN 4\nTSAMP 0.25\nFREQ 1400\nBW -16\nUTC_START 2013-07-02-01:37:40\n"
    "OBS_OFFSET 32000000\nTELESCOPE\tDish # far\nSOURCE B1 2\n";

/* Whether one of the lines has the key with which `line` begins. */
static int has_key(const char *lines, const char *line)
{
    const size_t length = strcspn(line, " \t\n");
    for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (strncmp(at, line, length) == 0 && strchr(" \t\n", at[length])) {
            return 1;
        }
    }
    return 0;
}

/* Lines of the test in place of the usual ones of these keys. */
static void make_file(const char *lines, size_t header, size_t data)
{
    FILE *file = fopen("a.dada", "wb");
    assert_non_null(file);
    fprintf(file, "HEADER DADA\n%s", lines);
    for (const char *line = usual; *line; line += strcspn(line, "\n") + 1) {
        if (!has_key(lines, line)) {
            fprintf(file, "%.*s\n", (int)strcspn(line, "\n"), line);
        }
    }
    fprintf(file, "# end of header\n");
    while ((size_t)ftell(file) < header) {
        fputc(0, file);
    }
    for (size_t i = 0; i < data; i++) {
        fputc((int)(i & 0xff), file);
    }
    assert_int_equal(fclose(file), 0);
}

static status_t open_file(struct archive **out)
{
    char path[] = "a.dada";
    char *paths[] = {path};
    const struct job_layout layout = {.automatic = 1, .files_along = AXIS_TIME};
    const struct format_input input = {paths, 1, &layout};
    *out = NULL;
    return formats_open(&input, out);
}

/* Its message contains `message`; "": it is read. */
static void open_bad(const char *message)
{
    struct archive *archive = NULL;
    status_t st = open_file(&archive);
    if (*message ? st != STATUS_DATA || !strstr(report_cause(), message) : st != STATUS_OK) {
        fail_msg("%s, expected: %s", report_cause(), message);
    }
    report_clear();
    archive_destroy(archive);
}

static struct archive *open_good(void)
{
    struct archive *archive = NULL;
    if (open_file(&archive) != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
    return archive;
}

static void samples_in_one_piece(void **state)
{
    (void)state;
    make_file("", 4096, 16 * 100 + 3);
    struct archive *archive = open_good();
    const struct archive_part *part = &archive->parts[0];
    assert_int_equal(part->samples, 100);
    assert_int_equal(part->nextents, 1);
    assert_int_equal(part->extents[0].file_offset, 4096);
    assert_int_equal(part->extents[0].bytes, 1600);
    assert_true(archive->sample_rate_hz == 4e6);
    assert_int_equal(archive->sideband, -1);
    assert_true(archive->freq_hz[0] == 1406e6 && archive->freq_hz[3] == 1394e6);
    /* 32,000,000 bytes are 2,000,000 samples: half a second. */
    assert_int_equal(archive->sky.start.mjd_day, 56475);
    assert_true(archive->sky.start.second == 5860.5);
    assert_string_equal(archive->sky.telescope, "Dish");
    assert_string_equal(archive->sky.source, "B1 2");
    const enum axis axes[] = {AXIS_TIME, AXIS_CHAN, AXIS_POL, AXIS_REIM};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(archive->shape.dims[i].axis, axes[i]);
    }
    archive_destroy(archive);
    make_file("HDR_SIZE 8192\nORDER TPF\nOBS_OVERLAP 160\n", 8192, 16 * 100);
    archive = open_good();
    assert_int_equal(archive->parts[0].extents[0].file_offset, 8192);
    assert_int_equal(archive->parts[0].samples, 100); /* no file repeats the last ones */
    assert_int_equal(archive->shape.dims[1].axis, AXIS_POL);
    archive_destroy(archive);
}

static void heaps_are_a_run(void **state)
{
    (void)state;
    make_file("INSTRUMENT MKBF\n", 4096, 3 * 256 * 16 + 5);
    struct archive *archive = open_good();
    const struct archive_run *run = archive->parts[0].runs;
    assert_int_equal(archive->parts[0].nruns, 1);
    assert_int_equal(run->pieces, 3);
    assert_int_equal(run->stored, 256);
    assert_int_equal(run->steps, 256);
    assert_int_equal(run->piece_bytes, 256 * 16);
    assert_int_equal(run->file_offset, 4096);
    const enum axis axes[] = {AXIS_POL, AXIS_CHAN, AXIS_TIME, AXIS_REIM};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(archive->shape.dims[i].axis, axes[i]);
    }
    archive_destroy(archive);
}

static void times_by_the_better_word(void **state)
{
    (void)state;
    const struct {
        const char *lines;
        double second;
    } cases[] = {
        {"MJD_START 56475.06782407407407407\n", 5860.5},
        {"MJD_START 56475.06782\n", 5860.5},                       /* too few digits */
        {"MJD_START 56475.067831308\n", .067831308 * 86400 + 0.5}, /* UTC_START was cut */
        {"MJD_START 0\n", 5860.5},                                 /* no day */
        {"UTC_START 2013-07-02-01:37:41.25\nPICOSECONDS 250000000000\n", 5861.75}, /* the same */
        {"UTC_START 2013-07-02-01:37:40.5\n", 5861},                               /* fractions */
        {"UTC_START unset\nMJD_START 56475.5\n", 43200.5}, /* the only one */
        {"UTC_START 2013-07-02-01:37:41\nPICOSECONDS 250000000000\nMJD_START "
         "56475.06783564814814\n",
         5861.75},
        {"UTC_START 2013-07-02-01:37:40.998315\nMJD_START 56475.067835628651\n",
         .067835628651 * 86400 + 0.5},
    };
    report_quiet(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_file(cases[i].lines, 4096, 16);
        struct archive *archive = open_good();
        if (fabs(archive->sky.start.second - cases[i].second) > 1e-9) {
            fail_msg("%s: %.12f", cases[i].lines, archive->sky.start.second);
        }
        archive_destroy(archive);
    }
}

/* The coarser of two words says how far they may be apart. */
static void times_that_contradict(void **state)
{
    (void)state;
    const struct {
        const char *lines, *message;
    } cases[] = {
        {"MJD_START 56475.067847222222222\n",
         "UTC_START = 2013-07-02-01:37:40 and MJD_START = 56475.067847222222222 are 2 s apart: "
         "input.layout.start says"},
        {"MJD_START 56475.06783564814\n", ""}, /* a second later: UTC_START says no more */
        {"MJD_START 56475.0679\n", ""},        /* 6.6 s later, good to 8.6 s */
        {"MJD_START 56475.0680\n", "are 15.2 s apart"},
        {"MJD_START 56476.0678\n", "are 86397.9 s apart"},
        {"UTC_START 2013-07-02-01:37:40.50\nMJD_START 56475.06783\n", ""},
        {"UTC_START 2013-07-02-01:37:40.50\nMJD_START 56475.0678299\n", ""},
        {"UTC_START 2013-07-02-01:37:40.50\nMJD_START 56475.0678255\n", "are 0.3768 s apart"},
        {"UTC_START 2013-07-02-01:37:40.5\nPICOSECONDS 250000000000\n",
         "UTC_START = 2013-07-02-01:37:40.5 has a fraction of a second, and PICOSECONDS"},
        {"PICOSECONDS 250000000000\nMJD_START 56475.06786\n", "are 2.85"},
        {"UTC_START unset\nMJD_START 56475,5\n", "MJD_START = 56475,5, expected a day such as"},
        {"UTC_START unset\nMJD_START 56475.5e-3\n", "MJD_START = 56475.5e-3, expected a day"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_file(cases[i].lines, 4096, 16);
        open_bad(cases[i].message);
    }
}

/* Samples a second of a channel for each Hz of it: 1 if complex, 2 if real, times OS_FACTOR. */
static void rates_that_contradict(void **state)
{
    (void)state;
    const struct {
        const char *lines, *message;
    } cases[] = {
        {"TSAMP 2.5\n", "give 0.1 samples a second for each Hz of the band, expected 1 (NDIM = 2"},
        {"TSAMP 0.21093750\n", "`oversampling: 32/27` in input.layout"},
        {"TSAMP 0.125\n", "`oversampling: 2/1` in input.layout"},
        {"OS_FACTOR 4/3\n", "expected 1.33333 (NDIM = 2, OS_FACTOR 4/3)"},
        {"TSAMP 0.1875\nOS_FACTOR 4/3\n", ""},
        {"TSAMP 0.2109375\nOS_FACTOR 1.185185\n", ""},
        {"OS_FACTOR 3/4\n", "OS_FACTOR = 3/4, expected a ratio of at least 1"},
        {"OS_FACTOR x\n", "OS_FACTOR = x, expected"},
        {"OS_FACTOR unset\n", ""},
        {"NDIM 1\n", "expected 2 (NDIM = 1"},
        {"NDIM 1\nTSAMP 0.125\n", ""},
        {"NDIM 1\nTSAMP 0.09375\nOS_FACTOR 4/3\n", "OS_FACTOR = 4/3 and NDIM = 1"},
        {"TSAMP 0.333333\nBW 12.0\n", ""}, /* digits that are missing */
        {"TSAMP 0.333333\nBW 12.2\n", "give 0.983"},
        {"NCHAN 8\nOBS_OFFSET 0\n", "`oversampling: 2/1`"},
        {"DSB 2\n", "DSB = 2, expected a whole number from 0 to 1"},
        {"STATE Intensity\n", "STATE = Intensity: it contains detected powers"},
        {"STATE analytic\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_file(cases[i].lines, 4096, 1600);
        open_bad(cases[i].message);
    }
    make_file("TSAMP 0.1875\nOS_FACTOR 4/3\nDSB 0\n", 4096, 1600);
    struct archive *archive = open_good();
    assert_int_equal(archive->oversample.num, 4);
    assert_int_equal(archive->oversample.den, 3);
    assert_true(archive->stored.is_dc_at_edge);
    archive_destroy(archive);
    make_file("TSAMP 0.125\nNDIM 1\nDSB 0\n", 4096, 1600);
    archive = open_good();
    assert_false(archive->stored.is_dc_at_edge);
    archive_destroy(archive);
}

/* Words that nothing else rests on, or that are not there. */
static void doubts_are_noted(void **state)
{
    (void)state;
    static const char said[] = "ORDER TFP\nENCODING TWOSCOMPLEMENT\n";
    const struct {
        const char *lines, *sentence;
        uint64_t samples;
    } cases[] = {
        {"", NULL, 100},
        {"BYTES_PER_SECOND 64000000.0\n", NULL, 100},
        {"BYTES_PER_SECOND 32000000\n", "BYTES_PER_SECOND = 32000000 and 64000000 by TSAMP", 100},
        {"RESOLUTION 1\n", NULL, 100},
        {"RESOLUTION 4096\n", NULL, 100},
        {"RESOLUTION 24\n", "RESOLUTION = 24 bytes and time steps of 128 bits", 100},
        {"FILE_SIZE 1600\n", NULL, 100},
        {"FILE_SIZE 160000\n", NULL, 100},
        {"FILE_SIZE 640\n", "FILE_SIZE = 640 and 1600 bytes behind the header differ", 40},
        {"FILE_SIZE 0\n", "FILE_SIZE = 0 and 1600 bytes", 100},
        {"TRANSFER_SIZE 800\n", "TRANSFER_SIZE = 800 and 1600 bytes of samples differ", 100},
        {"FILE_NUMBER 3\n", NULL, 100},
        {"FILE_NUMBER 3\nOBS_OFFSET 0\n", "FILE_NUMBER = 3 and OBS_OFFSET = 0 differ", 100},
        {"STATE Nyquist\n", "STATE = Nyquist and NDIM = 2 differ", 100},
        {"UTC_START unset\nMJD_START 56475.5\n", "UTC_START = unset is no date", 100},
        {"UTC_START\nMJD_START 56475.5\n", "UTC_START is not there: MJD_START = 56475.5", 100},
        {"MJD_START 0\n", "MJD_START = 0 is no Modified Julian Day", 100},
        {"NBIT 16\nOBS_OFFSET 0\n", "ENDIAN is not there: numbers are little-endian", 50},
        {"ENDIAN ?\n", NULL, 100},
        {"NBIT 32\nENDIAN LITTLE\n",
         "ENCODING = TWOSCOMPLEMENT is that of integers, but NBIT is 32", 25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[300];
        snprintf(lines, sizeof lines, "%s%s", cases[i].lines, said);
        make_file(lines, 4096, 1600);
        struct archive *archive = open_good();
        const char *found = archive->assumed ? archive->assumed : "";
        if (cases[i].sentence ? !strstr(found, cases[i].sentence) : *found != '\0') {
            fail_msg("%s: %s", cases[i].lines, found);
        }
        assert_int_equal(archive->parts[0].samples, cases[i].samples);
        archive_destroy(archive);
    }
    make_file("HDR_SIZE 6000\n", 6000, 1600);
    struct archive *archive = open_good();
    assert_non_null(strstr(archive->assumed, "HDR_SIZE = 6000 is no multiple of 4096"));
    assert_non_null(strstr(archive->assumed, "ORDER is not there: [time][channel][pol]"));
    assert_non_null(strstr(archive->assumed, "ENCODING is not there: numbers are two's"));
    archive_destroy(archive);
    make_file("HDR_SIZE 8192\n", 4096, 16 * 1000);
    archive = open_good();
    assert_non_null(strstr(archive->assumed, "HDR_SIZE = 8192, but byte 4097 of the header"));
    archive_destroy(archive);
}

static void numbers_of_all_widths(void **state)
{
    (void)state;
    const struct {
        const char *lines;
        enum sample_format format;
        enum number_kind kind;
        uint64_t samples; /* in 1600 bytes */
    } cases[] = {{"NBIT 1\n", SAMPLE_F32, NUMBER_LEVELS, 800},
                 {"NBIT 2\n", SAMPLE_F32, NUMBER_LEVELS, 400},
                 {"NBIT 4\n", SAMPLE_I4, NUMBER_PLAIN, 200},
                 {"NBIT 4\nNDIM 1\nTSAMP 0.125\n", SAMPLE_I8, NUMBER_SIGNED, 400},
                 {"NBIT 8\nENCODING OFFSETBINARY\n", SAMPLE_I8, NUMBER_UNSIGNED, 100},
                 {"NBIT 16\n", SAMPLE_I16, NUMBER_PLAIN, 50},
                 {"NBIT 32\n", SAMPLE_F32, NUMBER_PLAIN, 25}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_file(cases[i].lines, 4096, 1600);
        struct archive *archive = open_good();
        if (cases[i].kind != NUMBER_LEVELS) { /* levels of one bit are whole numbers */
            assert_int_equal(archive->format, cases[i].format);
        }
        assert_int_equal(archive->stored.number.kind, cases[i].kind);
        assert_int_equal(archive->parts[0].samples, cases[i].samples);
        archive_destroy(archive);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *lines, *message;
    } cases[] = {
        {"NBIT 7\n", "NBIT = 7, expected 1, 2, 4, 8, 16 or 32"},
        {"NBIT -8\n", "NBIT = -8, expected 1, 2, 4, 8, 16 or 32"},
        {"NDIM 3\n", "NDIM = 3"},
        {"NCHAN 0\n", "NCHAN = 0"},
        {"NCHAN 99999999999\n", "NCHAN = 99999999999"},
        {"HDR_SIZE 1000000\n", "HDR_SIZE = 1000000, but the file has 5696 bytes"},
        {"HDR_SIZE 0\n", "HDR_SIZE = 0"},
        {"TSAMP 0\n", "TSAMP = 0"},
        {"TSAMP x\n", "TSAMP = x"},
        {"BW 0\n", "BW = 0 MHz"},
        {"OBS_OFFSET 33\n", "OBS_OFFSET = 33 bytes, expected whole time steps of 128 bits"},
        {"ORDER FTP\n", "ORDER = FTP of 4 channels and 2 polarisations: time is not the slowest"},
        {"ORDER TFPX\n", "ORDER = TFPX, expected"},
        {"ORDER TTTTTT\n", "ORDER = TTTTTT says nothing of 4 channels and 2 polarisations"},
        {"UTC_START 2013-07-02\nUTC_START\n", ""},
        {"UTC_START 2013-13-02\n",
         "UTC_START = 2013-13-02, expected 2013-07-02-01:37:40 (input.layout.start"},
        {"FREQ 1382e6\n", "FREQ = 1.382e+09 MHz, expected at most 1e6: is it in Hz?"},
        {"ENCODING ?\n", "ENCODING = ?, expected TWOSCOMPLEMENT or OFFSET"},
        {"ENCODING 1\nNBIT 16\n", "ENCODING = 1, expected TWOSCOMPLEMENT or OFFSET"},
        {"ENDIAN ?\nNBIT 16\n", "ENDIAN = ?, expected LITTLE or BIG"},
        {"HDR_SIZE 1\n", "HDR_SIZE = 1, but HDR_SIZE = 1 is not before that byte"},
        {"HDR_SIZE 60\n", "HDR_SIZE = 60, but "},
        {"NCHAN 4096\nOBS_OFFSET 0\nTSAMP 256\n",
         "contains 1600 bytes after its header of 4096: not one time step"},
        {"INSTRUMENT MKBF\n", "contains 1600 bytes after its header of 4096: not one heap"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_file(cases[i].lines, 4096, 1600);
        open_bad(cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_in_one_piece),     cmocka_unit_test(heaps_are_a_run),
        cmocka_unit_test(times_by_the_better_word), cmocka_unit_test(times_that_contradict),
        cmocka_unit_test(rates_that_contradict),    cmocka_unit_test(doubts_are_noted),
        cmocka_unit_test(numbers_of_all_widths),    cmocka_unit_test(nonsense_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    report_quiet(1);
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
