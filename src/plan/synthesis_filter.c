/* From a prototype of the bank's points to the synthesis filter of the stream's. */
#include "plan/synthesis_filter.h"

#include "base/memory.h"
#include "dsp/fir/dual.h"
#include "dsp/resample.h"
#include "dsp/telescope.h"
#include "input/coefficients/coefficients.h"
#include "plan/synthesis_bank.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Beyond that many taps nothing is looked for: oversampled banks of `taps` need less, critically
 * sampled ones gain little. */
enum { MORE_TAPS = 16, TIMES_TAPS = 2 };

/* A prototype, and how it was come by. */
struct synthesis_prototype {
    double *coeff; /* [taps][points] */
    uint32_t taps, points;
};

static status_t synthesis_read_file(const struct job *job, struct synthesis_prototype *out)
{
    status_t st = STATUS_OK;
    const struct job_synthesise *synthesise = &job->synthesise;
    const struct telescope *telescope = telescope_find(synthesise->prototype);
    uint64_t count = 0;
    if (telescope) {
        out->taps = telescope->taps;
        out->points = telescope->points;
        TRY(telescope_prototype(telescope, &out->coeff));
        goto out;
    }
    REQUIRE(synthesise->prototype_taps > 0, STATUS_USAGE,
            "%s: synthesise.prototype_taps is missing, expected how many taps the prototype of %s "
            "has",
            job->path, synthesise->prototype);
    TRY(coefficients_read_real(synthesise->prototype, &out->coeff, &count));
    out->taps = synthesise->prototype_taps;
    out->points = (uint32_t)(count / out->taps);
    REQUIRE(count % out->taps == 0 && out->points >= 2, STATUS_USAGE,
            "%s: synthesise.prototype: %s holds %" PRIu64 " numbers, which %u taps do not divide",
            job->path, synthesise->prototype, count, out->taps);
out:
    return st;
}

/* What the job says of the bank must not be another one than the archive's own. */
static status_t synthesis_check_own(const struct job *job, const struct synthesis_bank *bank,
                                    const struct synthesis_prototype *prototype)
{
    status_t st = STATUS_OK;
    if (bank->own_points == 0) {
        return STATUS_OK;
    }
    REQUIRE(prototype->taps == bank->own_taps && prototype->points == bank->own_points,
            STATUS_USAGE,
            "%s: synthesise.prototype has %u taps of %u points, but the archive's channels were "
            "made with %u taps of %u points",
            job->path, prototype->taps, prototype->points, bank->own_taps, bank->own_points);
    REQUIRE(job->synthesise.origin == 0, STATUS_USAGE,
            "%s: synthesise.origin is %" PRIu64
            ", expected 0: phases of spectra of voltmill count from their first sample",
            job->path, (uint64_t)job->synthesise.origin);
out:
    return st;
}

static status_t synthesis_take_own(const struct job *job, const struct archive *archive,
                                   const struct synthesis_bank *bank,
                                   struct synthesis_prototype *out)
{
    status_t st = STATUS_OK;
    REQUIRE(bank->own_points > 0, STATUS_USAGE,
            "%s: synthesise.prototype is missing: the archive does not say by which filter its "
            "channels were made, expected the path of a file with the prototype",
            job->path);
    REQUIRE(archive->bank.nprototype > 0, STATUS_USAGE,
            "%s: synthesise: a prototype of %u points and %u taps is too long", job->path,
            bank->own_points, bank->own_taps);
    out->taps = bank->own_taps;
    out->points = bank->own_points;
    TRY(memory_zeroed((size_t)archive->bank.nprototype, sizeof *out->coeff, "a prototype",
                      &out->coeff));
    for (uint64_t i = 0; i < archive->bank.nprototype; i++) {
        out->coeff[i] = archive->bank.prototype[i];
    }
out:
    return st;
}

/* The dual, of as many taps as the job says, or its accuracy takes. */
static status_t synthesis_design(const struct job *job, const struct dual_bank *bank,
                                 struct dual *out)
{
    status_t st = STATUS_OK;
    const struct job_synthesise *synthesise = &job->synthesise;
    if (synthesise->taps > 0) {
        TRY(dual_create(bank, synthesise->taps, out));
        goto out;
    }
    const uint32_t most = TIMES_TAPS * bank->taps + MORE_TAPS;
    TRY(dual_design(bank, -synthesise->accuracy, most, out));
    REQUIRE(out->error_db <= -synthesise->accuracy, STATUS_USAGE,
            "%s: synthesise.accuracy is %g dB, but %u taps leave an error of %.1f dB: expected "
            "synthesise.taps, or an accuracy that is reached",
            job->path, synthesise->accuracy, out->taps, out->error_db);
out:
    return st;
}

status_t synthesis_filter_make(struct job *job, const struct archive *archive)
{
    status_t st = STATUS_OK;
    struct job_synthesise *synthesise = &job->synthesise;
    struct synthesis_prototype prototype = {.coeff = NULL};
    struct synthesis_bank bank;
    struct dual made = {.coeff = NULL};
    double *resampled = NULL;
    if (!job->is_synthesised) {
        return STATUS_OK;
    }
    TRY(synthesis_bank_find(job, archive, &bank));
    TRY(synthesise->prototype ? synthesis_read_file(job, &prototype)
                              : synthesis_take_own(job, archive, &bank, &prototype));
    TRY(synthesis_check_own(job, &bank, &prototype));
    if (prototype.points != bank.points) {
        TRY(prototype_resample(prototype.coeff, prototype.taps, prototype.points, bank.points,
                               RESAMPLE_KEEPS_FIRST, &resampled));
        free(prototype.coeff);
        prototype.coeff = resampled;
        resampled = NULL;
    }
    const struct dual_bank of = {
        .coeff = prototype.coeff, .points = bank.points, .taps = prototype.taps, .hop = bank.hop};
    TRY(synthesis_design(job, &of, &made));
    free(synthesise->coeff);
    synthesise->coeff = made.coeff;
    made.coeff = NULL;
    synthesise->ncoeff = (uint64_t)made.taps * bank.points;
    synthesise->made_taps = made.taps;
    synthesise->bank_taps = prototype.taps;
    synthesise->first = made.first;
    synthesise->error_db = made.error_db;
    synthesise->noise = made.noise;
out:
    free(prototype.coeff);
    free(resampled);
    free(made.coeff);
    return st;
}

static const struct pack_field filter_fields[] = {
    PACK_LIST(struct job_synthesise, coeff, ncoeff, &pack_numbers),
    PACK_FIELD(struct job_synthesise, made_taps),
    PACK_FIELD(struct job_synthesise, bank_taps),
    PACK_FIELD(struct job_synthesise, first),
    PACK_FIELD(struct job_synthesise, error_db),
    PACK_FIELD(struct job_synthesise, noise),
};
static const struct pack_type filter_type = PACK_TYPE(struct job_synthesise, filter_fields);

status_t synthesis_filter_pack(const struct job *job, struct text *out)
{
    return job->is_synthesised ? pack_struct(out, &job->synthesise, &filter_type) : STATUS_OK;
}

status_t synthesis_filter_unpack(struct unpack *in, struct job *job)
{
    status_t st = STATUS_OK;
    struct job_synthesise made = {.coeff = NULL};
    if (!job->is_synthesised) {
        return STATUS_OK;
    }
    unpack_struct(in, &made, &filter_type);
    TRY(unpack_check(in, "a synthesis filter"));
    struct job_synthesise *to = &job->synthesise;
    free(to->coeff);
    to->coeff = made.coeff;
    to->ncoeff = made.ncoeff;
    to->made_taps = made.made_taps;
    to->bank_taps = made.bank_taps;
    to->first = made.first;
    to->error_db = made.error_db;
    to->noise = made.noise;
    made.coeff = NULL;
out:
    free(made.coeff);
    return st;
}
