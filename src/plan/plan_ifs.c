/* Polarisations by their names; weights of sums from their file. */
#include "plan/plan_ifs.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "base/units.h"
#include "product/ifs.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers by which stations or beams are multiplied before they are added up, from a text file:
 * blanks or line ends between them, # begins a comment.
 *
 * Word by word, so that mistakes have lines. */

/* Takes the numbers of a line. */
static status_t sum_factors_take(const char *path, size_t line, char *text, uint32_t count,
                                 double *out, uint32_t *found)
{
    status_t st = STATUS_OK;
    static const char blanks[] = " \t\r\n\v\f,";
    char *rest = NULL;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest)) {
        double value = 0;
        REQUIRE(units_parse_f64(word, &value) && value >= 0 && isfinite(value), STATUS_DATA,
                "%s, line %zu: '%.40s' is no weight, expected a number of at least 0", path, line,
                word);
        if (*found < count) {
            out[*found] = value;
        }
        (*found)++;
    }
out:
    return st;
}

/* Reads `count` of them, which `whose` of a message: "stations". None is negative, some are more
 * than 0. free() returns them. Fails with DATA: file, line, what was expected. */
static status_t sum_factors_read(const char *path, uint32_t count, const char *whose, double **out)
{
    status_t st = STATUS_OK;
    FILE *file = NULL;
    char *text = NULL;
    size_t room = 0;
    double *weights = NULL;
    double sum = 0;
    uint32_t found = 0;
    TRY(text_open(path, "the weights of sums in ", 0, &file));
    TRY(memory_zeroed(count, sizeof *weights, "weights of sums", &weights));
    for (size_t line = 1; getline(&text, &room, file) >= 0; line++) {
        TRY(sum_factors_take(path, line, text, count, weights, &found));
    }
    REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", path, strerror(errno));
    REQUIRE(found == count, STATUS_DATA, "%s has %u weights, but %u %s are added up", path, found,
            count, whose);
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    REQUIRE(sum > 0 && isfinite(sum), STATUS_DATA, "%s: the sum of its weights is %g", path, sum);
    *out = weights;
    weights = NULL;
out:
    if (file) {
        fclose(file);
    }
    free(text);
    free(weights);
    return st;
}

struct channelise_output plan_ifs_output(const struct job_product *job)
{
    int is_crossed = job->combine.polarisation == POLARISATION_IQUV ||
                     job->combine.polarisation == POLARISATION_COHERENCY;
    return (struct channelise_output){
        .quantity = is_crossed ? QUANTITY_COHERENCY : product_quantity(job->kind),
        .integrate = job->is_flagged ? job->flag.spectra : job->integrate};
}

/* Which is which of two polarisations, where that matters. */
static status_t plan_ifs_settle_feed(const struct channelise_plan *work, uint32_t i,
                                     struct stokes *stokes)
{
    status_t st = STATUS_OK;
    const struct job_product *job = &work->job->products[i];
    const struct archive *archive = work->seen;
    const uint64_t *at = archive->selected[AXIS_POL];
    char **names = archive->names[AXIS_POL];
    enum feed feed = FEED_AUTO;
    int is_swapped = 0;
    int is_known = names && stokes_of_names(names[at[0]], names[at[1]], &feed, &is_swapped);
    REQUIRE(is_known || job->combine.stokes.feed != FEED_AUTO, STATUS_USAGE,
            "%s: products.%u.polarisation is IQUV, but the polarisations of %s are %s%s%s%s: "
            "products.%u.feed: linear (the first one is X) or circular (R)",
            work->job->path, i, archive->parts[0].path, names ? names[at[0]] : "without names",
            names ? " and " : "", names ? names[at[1]] : "",
            names ? ", of which it is not known what receives them" : "", i);
    REQUIRE(!is_known || job->combine.stokes.feed == FEED_AUTO || job->combine.stokes.feed == feed,
            STATUS_USAGE,
            "%s: products.%u.feed is %s, but the polarisations are called %s and %s: those of %s "
            "feeds",
            work->job->path, i, feed_name(job->combine.stokes.feed), names[at[0]], names[at[1]],
            feed_name(feed));
    *stokes = (struct stokes){.feed = is_known ? feed : job->combine.stokes.feed,
                              .is_swapped = is_known && is_swapped,
                              .v = job->combine.stokes.v};
out:
    return st;
}

static status_t plan_ifs_settle_sum(struct channelise_plan *work, uint32_t i)
{
    status_t st = STATUS_OK;
    const struct job_product *job = &work->job->products[i];
    const struct archive *archive = work->seen;
    struct channelise_plan_product *product = &work->products[i];
    struct product_spec *spec = &product->spec;
    uint32_t count = 1;
    for (uint32_t j = 0; j < job->nsums; j++) {
        enum axis axis = job->sums[j];
        const char *name = axis == AXIS_STATION ? "stations" : "beams";
        REQUIRE(archive->present[axis], STATUS_USAGE,
                "%s: products.%u.sum: %s, but %s has none that it tells apart", work->job->path, i,
                name, archive->parts[0].path);
        *(axis == AXIS_STATION ? &spec->combine.sums_stations : &spec->combine.sums_beams) = 1;
        count *= archive->nselected[axis];
    }
    if (job->sum_file) {
        TRY(sum_factors_read(job->sum_file, count,
                             job->nsums > 1                ? "beams of all stations"
                             : spec->combine.sums_stations ? "stations"
                                                           : "beams",
                             &product->sum_factors));
        spec->combine.weights = product->sum_factors;
        spec->combine.nweights = count;
    }
out:
    return st;
}

status_t plan_ifs_settle(struct channelise_plan *work, uint32_t i)
{
    status_t st = STATUS_OK;
    const struct job_product *job = &work->job->products[i];
    struct product_spec *spec = &work->products[i].spec;
    uint32_t pols = work->seen->nselected[AXIS_POL];
    spec->combine = job->combine;
    REQUIRE(job->combine.polarisation == POLARISATION_SEPARATE || pols == 2, STATUS_USAGE,
            "%s: products.%u.polarisation is %s, which takes two polarisations, but %s selected",
            work->job->path, i, polarisation_name(job->combine.polarisation),
            pols == 1 ? "there is one" : "there are more");
    if (job->combine.polarisation == POLARISATION_IQUV) {
        TRY(plan_ifs_settle_feed(work, i, &spec->combine.stokes));
    }
    TRY(plan_ifs_settle_sum(work, i));
    spec->nifs = ifs_count(spec);
out:
    return st;
}
