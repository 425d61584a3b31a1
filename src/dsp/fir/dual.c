/* The systems of all residues, each solved by Householder's reflections. */
#include "dsp/fir/dual.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beside the equations stand others that ask for x = 0, with this weight relative to the norm of g:
 * among solutions that are equally good the smallest is taken, and what is left is not more than a
 * square of that. */
static const double smallness = 1e-8;

/* Matrix elements of a residue's system at most; some 250 taps there and back. Time grows with the
 * third power. */
enum { MOST_NUMBERS = 1 << 18 };

/* The system of one residue: unknowns are g at places `at`, at + hop, ... of its own. */
struct dual_system {
    const struct dual_bank *bank;
    int64_t length;     /* of g */
    int64_t first;      /* of g */
    int64_t least;      /* k of the first equation */
    size_t equations;   /* at most */
    size_t unknowns;    /* at most */
    double *matrix;     /* [unknowns][equations + unknowns], by columns */
    double *right;      /* [equations + unknowns] */
    double *x;          /* [unknowns] */
    double weight;      /* of the equations x = 0 */
    double energy_b;    /* sum of b^2 */
    double error, norm; /* summed over residues: what is left, squared; g^2 */
};

static int64_t dual_first(const struct dual_bank *bank, uint32_t taps)
{
    const int64_t points = bank->points;
    return -(((int64_t)taps * points - (int64_t)bank->taps * points) >> 1);
}

SCOPED_CALLS(dual_end, struct dual_system, MEMORY_FREE(at->matrix, at->right, at->x))

/* Allocates the system. g[i] is at i + first; b at the same place and k C from it: 0 <= i + first +
 * k C < T C. */
static status_t dual_begin(const struct dual_bank *bank, uint32_t taps, int64_t first,
                           struct dual_system *out)
{
    const int64_t points = bank->points;
    const int64_t length = (int64_t)taps * points;
    *out = (struct dual_system){.bank = bank, .length = length, .first = first};
    out->least = -((first + length - 1) / points) - 1;
    const int64_t most = ((int64_t)bank->taps * points - 1 - first) / points + 1;
    REQUIRE(most > out->least, STATUS_USAGE, "a synthesis filter that lies beside its bank's");
    out->equations = (size_t)(most - out->least + 1);
    out->unknowns = (size_t)((length + bank->hop - 1) / bank->hop);
    const size_t rows = out->equations + out->unknowns;
    REQUIRE(out->unknowns <= MOST_NUMBERS / rows, STATUS_USAGE,
            "a synthesis filter of %u taps for a bank of %u: %zu equations for each of its samples "
            "are more than can be solved, expected fewer taps",
            taps, bank->taps, out->equations);
    TRY(memory_zeroed(out->unknowns * rows, sizeof *out->matrix, "equations", &out->matrix));
    TRY(memory_zeroed(rows, sizeof *out->right, "equations", &out->right));
    TRY(memory_zeroed(out->unknowns, sizeof *out->x, "equations", &out->x));
    for (size_t i = 0; i < (size_t)bank->taps * bank->points; i++) {
        out->energy_b += bank->coeff[i] * bank->coeff[i];
    }
    REQUIRE(out->energy_b > 0 && isfinite(out->energy_b), STATUS_USAGE,
            "a filter bank's prototype that is zero, or not finite, has no synthesis");
    /* About the norm of a column. */
    out->weight = smallness * sqrt(out->energy_b * (double)points);
    return STATUS_OK;
}

/* Returns the factor of g[i] in equation k. */
static double dual_factor(const struct dual_system *system, int64_t i, int64_t k)
{
    const struct dual_bank *bank = system->bank;
    const int64_t at = i + system->first + k * bank->points;
    return at >= 0 && at < (int64_t)bank->taps * bank->points
               ? bank->coeff[at] * (double)bank->points
               : 0;
}

/* Fills in a residue's equations, and after them weight x = 0. */
static void dual_fill(struct dual_system *system, uint32_t residue, size_t unknowns)
{
    const size_t rows = system->equations + unknowns;
    memset(system->right, 0, rows * sizeof *system->right);
    system->right[-system->least] = 1;
    for (size_t j = 0; j < unknowns; j++) {
        double *column = system->matrix + j * rows;
        const int64_t i = residue + (int64_t)j * system->bank->hop;
        for (size_t e = 0; e < system->equations; e++) {
            column[e] = dual_factor(system, i, system->least + (int64_t)e);
        }
        memset(column + system->equations, 0, unknowns * sizeof *column);
        column[system->equations + j] = system->weight;
    }
}

/* Computes y -= 2 v (v y) / (v v) for `rows` rows. */
static void dual_reflect(const double *v, double norm, size_t rows, double *y)
{
    double dot = 0;
    for (size_t e = 0; e < rows; e++) {
        dot += v[e] * y[e];
    }
    dot *= 2 / norm;
    for (size_t e = 0; e < rows; e++) {
        y[e] -= dot * v[e];
    }
}

/* x of least squares: column after column becomes one number (what the reflection leaves of it,
 * kept in x), and all others are reflected with it. No column is zero: `weight` is in it. */
static void dual_solve(struct dual_system *system, size_t unknowns)
{
    const size_t rows = system->equations + unknowns;
    /* The equations x = 0 of later unknowns are still zero in this column. */
    const size_t count = system->equations + 1;
    for (size_t j = 0; j < unknowns; j++) {
        double *v = system->matrix + j * rows + j;
        double norm = 0;
        for (size_t e = 0; e < count; e++) {
            norm += v[e] * v[e];
        }
        const double left = v[0] > 0 ? -sqrt(norm) : sqrt(norm);
        norm = 2 * (norm - v[0] * left); /* of v - left */
        v[0] -= left;
        system->x[j] = left;
        for (size_t other = j + 1; other < unknowns; other++) {
            dual_reflect(v, norm, count, system->matrix + other * rows + j);
        }
        dual_reflect(v, norm, count, system->right + j);
    }
    for (size_t j = unknowns; j-- > 0;) {
        double sum = system->right[j];
        for (size_t other = j + 1; other < unknowns; other++) {
            sum -= system->matrix[other * rows + j] * system->x[other];
        }
        system->x[j] = sum / system->x[j];
    }
}

/* Adds the squared residuals that system->x leaves in a residue's equations, and the squares of
 * x. */
static void dual_add(struct dual_system *system, uint32_t residue, size_t unknowns)
{
    for (size_t e = 0; e < system->equations; e++) {
        const int64_t k = system->least + (int64_t)e;
        double left = k == 0 ? -1 : 0;
        for (size_t j = 0; j < unknowns; j++) {
            const int64_t i = residue + (int64_t)j * system->bank->hop;
            left += dual_factor(system, i, k) * system->x[j];
        }
        system->error += left * left;
    }
    for (size_t j = 0; j < unknowns; j++) {
        system->norm += system->x[j] * system->x[j];
    }
}

/* Goes through `count` of the residues, evenly. Solves each, and puts its coefficients into `dual`,
 * or, with `is_given`, takes those that are there (NULL: neither). Then means over the residues are
 * known. */
static void dual_go(struct dual_system *system, uint32_t count, struct dual *dual, int is_given)
{
    const uint32_t hop = system->bank->hop;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t residue = (uint32_t)((uint64_t)i * hop / count);
        const int64_t left = system->length - residue;
        const size_t unknowns = left > 0 ? (size_t)((left + hop - 1) / hop) : 0;
        if (!is_given) {
            dual_fill(system, residue, unknowns);
            dual_solve(system, unknowns);
        }
        for (size_t j = 0; dual->coeff && j < unknowns; j++) {
            double *coeff = &dual->coeff[residue + j * hop];
            system->x[j] = is_given ? *coeff : system->x[j];
            *coeff = system->x[j];
        }
        dual_add(system, residue, unknowns);
    }
    dual->error_db = 10 * log10(system->error / count + DBL_MIN);
    dual->noise = system->norm / count * system->bank->points * system->energy_b;
}

/* Estimates the error of a dual of `taps` taps from some of the residues. */
static status_t dual_estimate(const struct dual_bank *bank, uint32_t taps, double *error_db)
{
    enum { RESIDUES = 32 };
    SCOPED(dual_end) struct dual_system system = {0};
    struct dual dual = {.coeff = NULL};
    TRY(dual_begin(bank, taps, dual_first(bank, taps), &system));
    dual_go(&system, bank->hop < RESIDUES ? bank->hop : RESIDUES, &dual, 0);
    *error_db = dual.error_db;
    return STATUS_OK;
}

status_t dual_create(const struct dual_bank *bank, uint32_t taps, struct dual *out)
{
    SCOPED(dual_end) struct dual_system system = {0};
    struct dual dual = {.taps = taps, .first = dual_first(bank, taps)};
    TRY(dual_begin(bank, taps, dual.first, &system));
    TRY(memory_zeroed((size_t)taps * bank->points, sizeof *dual.coeff, "coefficients",
                      &dual.coeff));
    dual_go(&system, bank->hop, &dual, 0);
    *out = dual;
    return STATUS_OK;
}

status_t dual_design(const struct dual_bank *bank, double error_db, uint32_t most, struct dual *out)
{
    SCOPED(dual_free) struct dual found = {0};
    uint32_t least = 1;
    uint32_t taps = most;
    while (least < taps) {
        const uint32_t middle = least + (taps - least) / 2;
        double reached;
        TRY(dual_estimate(bank, middle, &reached));
        if (reached <= error_db) {
            taps = middle;
        } else {
            least = middle + 1;
        }
    }
    TRY(dual_create(bank, taps, &found));
    while (found.error_db > error_db && taps < most) {
        free(memory_move(&found.coeff));
        TRY(dual_create(bank, ++taps, &found));
    }
    *out = found;
    found.coeff = NULL;
    return STATUS_OK;
}

status_t dual_measure(const struct dual_bank *bank, struct dual *dual)
{
    SCOPED(dual_end) struct dual_system system = {0};
    TRY(dual_begin(bank, dual->taps, dual->first, &system));
    dual_go(&system, bank->hop, dual, 1);
    return STATUS_OK;
}
