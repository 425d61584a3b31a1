/* One table of names; then sums and differences, channel by channel. */
#include "dsp/stokes.h"

#include <strings.h>

int stokes_of_names(const char *a, const char *b, struct stokes *out)
{
    static const struct {
        const char *first, *second;
        enum feed feed;
    } pairs[] = {{"X", "Y", FEED_LINEAR},
                 {"H", "V", FEED_LINEAR},
                 {"0x", "0y", FEED_LINEAR},
                 {"R", "L", FEED_CIRCULAR},
                 {"RCP", "LCP", FEED_CIRCULAR}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *first = pairs[i].first;
        const char *second = pairs[i].second;
        int is_straight = strcasecmp(a, first) == 0 && strcasecmp(b, second) == 0;
        if (is_straight || (strcasecmp(a, second) == 0 && strcasecmp(b, first) == 0)) {
            out->feed = pairs[i].feed;
            out->is_swapped = !is_straight;
            return 1;
        }
    }
    return 0;
}

void stokes_iquv(const struct stokes *stokes, size_t count, const float *const sums[4],
                 float *const out[4])
{
    int is_linear = stokes_is_linear(stokes);
    const float *first = sums[stokes->is_swapped ? 1 : 0];
    const float *second = sums[stokes->is_swapped ? 0 : 1];
    /* Swapping takes A B* to its conjugate. */
    float im_sign = stokes->is_swapped ? -2.0F : 2.0F;
    float v_sign = stokes->v == STOKES_V_IAU ? STOKES_V_OF_RIGHT : -STOKES_V_OF_RIGHT;
    for (size_t k = 0; k < count; k++) {
        float sum = first[k] + second[k];
        float difference = first[k] - second[k];
        float re = 2 * sums[2][k];
        float im = im_sign * sums[3][k];
        out[0][k] = sum;
        out[1][k] = is_linear ? difference : re;
        out[2][k] = is_linear ? re : im;
        out[3][k] = v_sign * (is_linear ? im : difference);
    }
}

void stokes_products(const struct stokes *stokes, const double quv[3], double *difference,
                     double cross[2])
{
    int is_linear = stokes_is_linear(stokes);
    double right = STOKES_V_OF_RIGHT * quv[2];
    *difference = is_linear ? quv[0] : right;
    cross[0] = is_linear ? quv[1] : quv[0];
    cross[1] = is_linear ? right : quv[1];
}
