/* The FIR of an oversampled filter bank: part of kernels.c.
 *
 * The window contains whole raw spectra of the observation's own grid, and spectra come out rotated
 * as their transforms need them. Samples and results are aligned whatever the hop is; only
 * coefficients are loaded from any address. If a spectrum begins at place `turn` of a raw spectrum,
 * its columns before that place are a raw spectrum later. */

enum { HOP_BLOCKS = 4 /* that are summed side by side: additions need not wait for each other */ };

/* Sums `taps` taps of `count` <= HOP_BLOCKS blocks of LANES columns, into sum [count][parts].
 * Strides are floats from a tap to the next. `count` and `parts` (2: complex) are constants where
 * this is inlined. */
INLINE void hop_sum_taps(const float *window, size_t window_stride, const float *coeff,
                         size_t coeff_stride, size_t taps, const int count, const int parts,
                         lanes_t *sum)
{
    const lanes_t *x = (const lanes_t *)window;
    lanes_t total[2 * HOP_BLOCKS];
    UNROLLED
    for (int i = 0; i < parts * count; i++) {
        total[i] = (lanes_t){0};
    }
    for (size_t t = 0; t < taps; t++, x += window_stride / LANES, coeff += coeff_stride) {
        UNROLLED
        for (int block = 0; block < count; block++) {
            lanes_t c;
            memcpy(&c, coeff + block * LANES, sizeof c);
            UNROLLED
            for (int part = 0; part < parts; part++) {
                total[block * parts + part] += x[block * parts + part] * c;
            }
        }
    }
    UNROLLED
    for (int i = 0; i < parts * count; i++) {
        sum[i] = total[i];
    }
}

/* Sums all h->taps taps as hop_sum_taps(), at strides of h->window_stride and h->samples floats.
 * Adds the sums of every FIR_PIECE taps in double. */
INLINE void hop_sum(const float *window, const struct fir_hops *h, const float *coeff,
                    const int count, const int parts, lanes_t *sum)
{
    if (h->taps <= FIR_PIECE) {
        hop_sum_taps(window, h->window_stride, coeff, h->samples, h->taps, count, parts, sum);
        return;
    }
    double total[2 * HOP_BLOCKS][LANES] = {{0}};
    for (size_t t = 0; t < h->taps; t += FIR_PIECE) {
        size_t taps = h->taps - t < FIR_PIECE ? h->taps - t : FIR_PIECE;
        hop_sum_taps(window + t * h->window_stride, h->window_stride, coeff + t * h->samples,
                     h->samples, taps, count, parts, sum);
        lanes_add_pieces(sum, parts * count, total);
    }
    lanes_of_pieces(total, parts * count, sum);
}

/* Stores a block of LANES numbers, or of pairs from real and imaginary parts, times `sign`. Real
 * ones are stored as they are. */
static inline void hop_store(const struct fir_hops *h, lanes_t *sum, float sign, const int parts,
                             float *out)
{
    if (parts == 2) {
        store_pairs(sum[0] * sign, sum[1] * sign, h->conjugate ? -1.0F : 1.0F, out);
    } else {
        memcpy(out, sum, sizeof *sum);
    }
}

/* Filters blocks from .. end - 1 of a spectrum, whose columns are all on one side of its beginning.
 * `window`, `coeff` and `out` are floats from block 0 and tap 0 on; pairs are times `sign`, 1 or
 * -1. */
INLINE void hop_blocks(const struct fir_hops *h, const float *window, const float *coeff,
                       size_t from, size_t end, float sign, const int parts, float *out)
{
    const size_t width = LANES * (size_t)parts;
    lanes_t sum[2 * HOP_BLOCKS];
    for (; from + HOP_BLOCKS <= end; from += HOP_BLOCKS) {
        hop_sum(window + from * width, h, coeff + from * LANES, HOP_BLOCKS, parts, sum);
        for (size_t i = 0; i < HOP_BLOCKS; i++) {
            hop_store(h, sum + i * (size_t)parts, sign, parts, out + (from + i) * width);
        }
    }
    for (; from < end; from++) {
        hop_sum(window + from * width, h, coeff + from * LANES, 1, parts, sum);
        hop_store(h, sum, sign, parts, out + from * width);
    }
}

/* Filters the block in which a spectrum begins, `lanes` columns after the block's first, into `out`
 * [LANES][parts]; pairs are times `sign`, 1 or -1. The first `lanes` columns are of `before` and
 * `coeff_before`, the others of `behind` and `coeff_behind`, floats from this block and tap 0 on.
 */
INLINE void hop_border(const struct fir_hops *h, const float *before, const float *coeff_before,
                       const float *behind, const float *coeff_behind, int32_t lanes, float sign,
                       const int parts, float *out)
{
    const mask_t lane = {EACH_LANE(LANE_NUMBER, 0)};
    const mask_t is_before = lane < lanes;
    lanes_t first[2];
    lanes_t second[2];
    hop_sum(before, h, coeff_before, 1, parts, first);
    hop_sum(behind, h, coeff_behind, 1, parts, second);
    for (int part = 0; part < parts; part++) {
        first[part] = lanes_choose(is_before, first[part], second[part]);
    }
    hop_store(h, first, sign, parts, out);
}

/* Filters as struct fir_hops says; `parts` is 2 if numbers are complex, else 1. */
INLINE void hops(const struct fir_hops *h, const int parts)
{
    const size_t width = LANES * (size_t)parts;
    const size_t end = h->column + h->blocks * LANES;
    for (size_t s = 0; s < h->spectra; s++) {
        const size_t at = h->turn + s * h->hop;
        const size_t turn = at % h->samples;
        const float sign = h->is_shifted && at % 2 != 0 ? -1.0F : 1.0F;
        const float *behind = h->window + at / h->samples * h->window_stride;
        const float *before = behind + h->window_stride;
        const float *coeff_behind = h->coeff + ((ptrdiff_t)h->column - (ptrdiff_t)turn);
        const float *coeff_before = coeff_behind + h->samples;
        float *out = h->out + s * h->out_stride;
        if (h->touch) {
            for (size_t i = 0; i < h->blocks * width; i += 16) {
                __builtin_prefetch(h->touch + s * h->touch_stride + i, 1, 2);
            }
        }
        /* Blocks of this column before the beginning, and the lane in which it is. */
        size_t first = turn < h->column ? 0 : (turn - h->column) / LANES;
        int32_t lanes = turn < h->column ? 0 : (int32_t)((turn - h->column) % LANES);
        if (turn >= end) {
            first = h->blocks;
            lanes = 0;
        }
        hop_blocks(h, before, coeff_before, 0, first, sign, parts, out);
        if (lanes > 0) {
            hop_border(h, before + first * width, coeff_before + first * LANES,
                       behind + first * width, coeff_behind + first * LANES, lanes, sign, parts,
                       out + first * width);
            first++;
        }
        hop_blocks(h, behind, coeff_behind, first, h->blocks, sign, parts, out);
    }
}

/* Filters real samples, as struct fir_hops says. */
static void hops_real(const struct fir_hops *hops_of)
{
    hops(hops_of, 1);
}

/* Filters complex samples, as struct fir_hops says. */
static void hops_pairs(const struct fir_hops *hops_of)
{
    hops(hops_of, 2);
}
