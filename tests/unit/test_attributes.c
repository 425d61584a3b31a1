/* Attributes written, read back and shown as JSON: of products that have all of them, and of those
 * that have few. */
#include "base/report.h"
#include "product/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A file in memory alone. */
static hid_t new_file(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    assert_true(H5Pset_fapl_core(access, 1 << 16, 0) >= 0);
    hid_t file = H5Fcreate("attributes", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    assert_true(file >= 0);
    return file;
}

static struct archive archive = {
    .sample_rate_hz = 2e6, .is_complex = 1, .sideband = -1, .first_sample = 77};

static struct product_spec small_spec(void)
{
    return (struct product_spec){.kind = PRODUCT_POWER,
                                 .archive = &archive,
                                 .integrate = UINT64_C(1) << 33,
                                 .frequencies = 0,
                                 .bank = {.channels = 64,
                                          .taps = 8,
                                          .samples_per_spectrum = 64,
                                          .hop = 64,
                                          .oversample = {1, 1},
                                          .nchannels = 64}};
}

static void put_and_get(enum attribute_at at, const struct product_spec *spec, struct product *out)
{
    hid_t file = new_file();
    memset(out, 0, sizeof *out);
    out->path = (char *)"attributes";
    assert_int_equal(attributes_put(file, at, spec), STATUS_OK);
    assert_int_equal(attributes_get(file, at, out), STATUS_OK);
    H5Fclose(file);
}

static void a_bank_comes_back(void **state)
{
    (void)state;
    struct product found;
    struct product_spec spec = small_spec();
    put_and_get(AT_BANK, &spec, &found);
    assert_int_equal(found.bank.channels, 64);
    assert_int_equal(found.bank.taps, 8);
    assert_true(found.integrate == UINT64_C(1) << 33);
    assert_true(found.bank.sample_rate_hz == 2e6);
    assert_true(found.bank.oversample.num == 0 && found.bank.hop == 0);

    spec.bank.oversample = (struct ratio){4, 3};
    spec.bank.hop = 48;
    put_and_get(AT_BANK, &spec, &found);
    assert_true(found.bank.oversample.num == 4 && found.bank.oversample.den == 3);
    assert_int_equal(found.bank.hop, 48);
}

static void what_is_needed_must_be_there(void **state)
{
    (void)state;
    struct product found = {.path = (char *)"attributes"};
    struct product_spec spec = small_spec();
    hid_t file = new_file();
    assert_int_equal(attributes_put(file, AT_BANK, &spec), STATUS_OK);
    assert_true(H5Adelete(file, "taps") >= 0);
    assert_int_equal(attributes_get(file, AT_BANK, &found), STATUS_DATA);
    assert_string_equal(report_cause(),
                        "attributes: attribute taps is missing: not a whole product");
    report_clear();
    int32_t negative = -1;
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t taps = H5Acreate2(file, "taps", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(taps, H5T_NATIVE_INT32, &negative) >= 0);
    H5Aclose(taps);
    H5Sclose(scalar);
    assert_int_equal(attributes_get(file, AT_BANK, &found), STATUS_DATA);
    assert_string_equal(report_cause(), "attributes: attribute taps is negative or too large");
    report_clear();
    H5Fclose(file);
}

static void rows_of_power_come_back(void **state)
{
    (void)state;
    struct product found;
    struct product_spec spec = small_spec();
    spec.combine.polarisation = POLARISATION_IQUV;
    spec.combine.stokes.feed = FEED_LINEAR;
    spec.combine.sums_beams = 1;
    put_and_get(AT_IFS, &spec, &found);
    assert_string_equal(found.ifs.pol_type, "IQUV");
    assert_string_equal(found.ifs.feed, feed_name(FEED_LINEAR));
    assert_string_equal(found.ifs.v, stokes_v_name(spec.combine.stokes.v));
    assert_string_equal(found.ifs.sum_of, "beams");

    struct json json = {.depth = 0};
    json_begin(&json, NULL);
    attributes_json(&json, AT_IFS, &found);
    json_end(&json);
    assert_non_null(strstr(json.text.data, "\"sum_of\": \"beams\""));
    json_free(&json);
    free(found.ifs.pol_type);
    free(found.ifs.feed);
    free(found.ifs.v);
    free(found.ifs.sum_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bank_comes_back),
        cmocka_unit_test(what_is_needed_must_be_there),
        cmocka_unit_test(rows_of_power_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
