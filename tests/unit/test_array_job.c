/* Files .im of DiFX: the scan at a moment, delays with the sign of arrival, damaged files. */
#include "input/array_job.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/test_array_job.XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkstemp(path) >= 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

/* Two scans of two telescopes and three sources, two polynomials each; `changed`: the key of a line
 * that is written otherwise. */
static void write_table(const char *changed, const char *otherwise)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("CALC SERVER:        NONE\nPOLYNOMIAL ORDER:   2\nINTERVAL (SECS):    120\n"
          "ABERRATION CORR:    UNCORRECTED\nNUM TELESCOPES:     2\nTELESCOPE 0 NAME:   CHIME\n"
          "TELESCOPE 1 NAME:   ARO10m\nNUM SCANS:          2\n",
          file);
    for (int scan = 0; scan < 2; scan++) {
        const int is_lost = changed && strcmp(changed, "POINTING SRC") == 0;
        fprintf(file, "SCAN %d %s\nSCAN %d NUM PHS CTRS:1\n", scan,
                is_lost ? "START (S):0" : "POINTING SRC:B0531+21", scan);
        fprintf(file, "SCAN %d PHS CTR %s SRC:C%d\nSCAN %d NUM POLY:    2\n", scan,
                is_lost ? otherwise : "0", scan, scan);
        for (int i = 0; i < 8; i++) {
            char key[64];
            if (i % 4 == 0) {
                snprintf(key, sizeof key, "SCAN %d POLY %d SEC:", scan, i / 4);
                fprintf(file, "SCAN %d POLY %d MJD:  59153\n%s  %s\n", scan, i / 4, key,
                        changed && strcmp(changed, key) == 0 ? otherwise
                        : scan == 0 && i == 0                ? "39000"
                        : scan == 0                          ? "39120"
                        : i == 0                             ? "40000"
                                                             : "40120");
            }
            char value[64];
            snprintf(key, sizeof key, "SRC %d ANT %d DELAY (us):", i / 2 % 2, i % 2);
            snprintf(value, sizeof value, "%d.5e+02\t %d.0e-02 -3.0e-05", 1 + scan, i);
            fprintf(file, "%s %s\nSRC 0 ANT 0 DRY (us): 8.1e-03\t-6.1e-09\t1.4e-11\n", key,
                    changed && strcmp(changed, key) == 0 ? otherwise : value);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void scans_are_read(void **state)
{
    (void)state;
    struct calc_table *calc = NULL;
    write_table(NULL, NULL);
    assert_int_equal(calc_table_read(path, (struct utc){59153, 40130}, &calc), STATUS_OK);
    assert_int_equal(calc->table.nstations, 2);
    assert_int_equal(calc->table.ndirections, 2);
    assert_int_equal(calc->table.nintervals, 2);
    assert_int_equal(calc->table.terms, 3);
    assert_string_equal(calc->stations[1], "ARO10m");
    assert_string_equal(calc->directions[0], "B0531+21");
    assert_string_equal(calc->directions[1], "C1");
    assert_true(calc->table.first.mjd_day == 59153 && calc->table.first.second == 40000);
    /* [direction 1][station 1][interval 1] is the last of the scan. */
    const double *c = calc->table.delay_s + 7 * 3;
    assert_true(fabs(c[0] + 250e-6) < 1e-15 && fabs(c[1] + 7e-8) < 1e-20 &&
                fabs(c[2] - 3e-11) < 1e-22);
    assert_true(fabs(calc->table.delay_s[3 * 3 + 1] + 5e-8) < 1e-20); /* [0][1][1] */
    calc_table_destroy(calc);
}

static void fails(struct utc utc, const char *message)
{
    struct calc_table *calc = NULL;
    assert_int_equal(calc_table_read(path, utc, &calc), STATUS_DATA);
    if (!strstr(report_cause(), message)) {
        fail_msg("%s", report_cause());
    }
    report_clear();
    calc_table_destroy(calc);
}

static void damage_is_reported(void **state)
{
    (void)state;
    write_table(NULL, NULL);
    fails((struct utc){59153, 39500}, "no scan with polynomials at 2020-10-31T10:58:20");
    write_table("SRC 1 ANT 0 DELAY (us):", "1.0 2.0");
    fails((struct utc){59153, 39010}, "polynomial 0 of source 1, telescope 0 is missing");
    write_table("SCAN 0 POLY 1 SEC:", "39180");
    fails((struct utc){59153, 39010}, "begins 180 s after its first, expected 120 s");
    write_table("POINTING SRC", "4294967295"); /* one more is 0 in 32 bits: the pointing's place */
    fails((struct utc){59153, 39010}, "0 sources, 2 telescopes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scans_are_read),
                                       cmocka_unit_test(damage_is_reported)};
    return cmocka_run_group_tests_name("calc_table", tests, begin, end);
}
