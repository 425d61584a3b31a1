/* Job files and overrides. Input: the job's text, then overrides, with '\0' between. */
#include "fuzz.h"

#include "base/units.h"
#include "job/job.h"

#include <string.h>

enum { MOST_SETS = 8 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    report_quiet(1);
    return 0;
}

/* The text in a product is a job file: with a file to write it reads as the same product. */
static void check_text(const struct job_product *product)
{
    struct job *again = NULL;
    const char *file = "products.0.file=again.h5";
    status_t st = job_parse("again.yaml", product->text, strlen(product->text), &file, 1, &again);
    EXPECT(st == STATUS_OK);
    EXPECT(again->nproducts == 1);
    EXPECT(again->products[0].kind == product->kind);
    EXPECT(again->products[0].integrate == product->integrate);
    EXPECT(strcmp(again->products[0].text, product->text) == 0);
    job_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *sets[MOST_SETS];
    uint32_t nsets = 0;
    struct job *job = NULL;
    char *copy = fuzz_text(data, size);
    size_t length = strlen(copy);
    for (size_t at = length + 1; at < size && nsets < MOST_SETS; at += strlen(copy + at) + 1) {
        sets[nsets++] = copy + at;
    }
    status_t st = job_parse("fuzz.yaml", copy, length, sets, nsets, &job);
    EXPECT((st == STATUS_OK) == (job != NULL));
    (void)fuzz_expect_cause(st);
    for (uint32_t i = 0; job && i < job->nproducts; i++) {
        check_text(&job->products[i]);
    }
    job_destroy(job);
    free(copy);
    return 0;
}
