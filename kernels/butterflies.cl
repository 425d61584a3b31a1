/* Small discrete Fourier transforms in registers: bf_fft2, bf_fft4, bf_fft8, bf_fft16; with factors
 * before also 32 points.
 *
 *   x   float2 [radix], replaced by X[q] = sum over k of x[k] exp(-2 pi i q k / radix)
 *
 * A work-item owns all of x; every index is a constant once loops are unrolled, so x stays in
 * registers. Products that are added are written as fma(): with contraction off, the same values
 * give the same bits wherever the code is inlined.
 *
 * The factors 1 of the last level are free, those of sqrt(1/2) cost one multiplication a part (two
 * of the four in radix 8 go into the additions). Radix 16 is 4 x 4. Split radix would save a
 * twelfth of the operations of radix 16, and nothing of the time: local memory binds. */

/* Runs a body n times with i = 0 .. n - 1 known to the compiler. */
#define BF_LOOP(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)

/* a w, both complex */
#define BF_MULTIPLY(a, w)                                                                          \
    ((float2)(fma((a).x, (w).x, -((a).y * (w).y)), fma((a).x, (w).y, (a).y * (w).x)))

/* cos(pi / 4), cos(pi / 8), sin(pi / 8) */
#define BF_HALF 0.70710678118654752f
#define BF_COS 0.92387953251128674f
#define BF_SIN 0.38268343236508977f

/* Times exp(-2 pi i / 4), exp(-2 pi i / 8), exp(-2 pi i 3 / 8). */
#define BF_QUARTER(a) ((float2)((a).y, -(a).x))
#define BF_EIGHTH(a) ((float2)(BF_HALF * ((a).x + (a).y), BF_HALF * ((a).y - (a).x)))
#define BF_3_EIGHTHS(a) ((float2)(BF_HALF * ((a).y - (a).x), -BF_HALF * ((a).x + (a).y)))

static inline void bf_fft2(float2 *x)
{
    const float2 difference = x[0] - x[1];
    x[0] = x[0] + x[1];
    x[1] = difference;
}

static inline void bf_fft4(float2 *x)
{
    const float2 a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    const float2 e = BF_QUARTER(d);
    x[0] = a + c;
    x[1] = b + e;
    x[2] = a - c;
    x[3] = b - e;
}

static inline void bf_fft8(float2 *x)
{
    float2 even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    bf_fft4(even);
    bf_fft4(odd);
    /* odd[1], odd[3] times their factors, but for sqrt(1/2) */
    const float2 one = (float2)(odd[1].x + odd[1].y, odd[1].y - odd[1].x);
    const float2 two = BF_QUARTER(odd[2]);
    const float2 three = (float2)(odd[3].y - odd[3].x, -(odd[3].x + odd[3].y));
    x[0] = even[0] + odd[0];
    x[4] = even[0] - odd[0];
    x[1] = (float2)(fma(BF_HALF, one.x, even[1].x), fma(BF_HALF, one.y, even[1].y));
    x[5] = (float2)(fma(-BF_HALF, one.x, even[1].x), fma(-BF_HALF, one.y, even[1].y));
    x[2] = even[2] + two;
    x[6] = even[2] - two;
    x[3] = (float2)(fma(BF_HALF, three.x, even[3].x), fma(BF_HALF, three.y, even[3].y));
    x[7] = (float2)(fma(-BF_HALF, three.x, even[3].x), fma(-BF_HALF, three.y, even[3].y));
}

static inline void bf_fft16(float2 *x)
{
    /* exp(-2 pi i n / 16), n = 1, 3, 9 */
    const float2 w1 = (float2)(BF_COS, -BF_SIN), w3 = (float2)(BF_SIN, -BF_COS);
    const float2 w9 = (float2)(-BF_COS, BF_SIN);
    float2 y[16];
    BF_LOOP(i, 4)
    {
        float2 column[4] = {x[i], x[i + 4], x[i + 8], x[i + 12]};
        bf_fft4(column);
        BF_LOOP(q, 4) y[4 * q + i] = column[q];
    }
    y[5] = BF_MULTIPLY(y[5], w1);
    y[6] = BF_EIGHTH(y[6]);
    y[7] = BF_MULTIPLY(y[7], w3);
    y[9] = BF_EIGHTH(y[9]);
    y[10] = BF_QUARTER(y[10]);
    y[11] = BF_3_EIGHTHS(y[11]);
    y[13] = BF_MULTIPLY(y[13], w3);
    y[14] = BF_3_EIGHTHS(y[14]);
    y[15] = BF_MULTIPLY(y[15], w9);
    BF_LOOP(q, 4)
    {
        bf_fft4(&y[4 * q]);
        BF_LOOP(r, 4) x[q + 4 * r] = y[4 * q + r];
    }
}

/* The same with factors before: of x[k] w^k, k = 0 .. radix - 1. Each pair takes six fused
 * operations, its factor included, which multiply and add would take ten for. `table` holds the
 * powers that are needed, quarter turns of them left out:
 *
 *   radix  2: w
 *   radix  4: w^2, w
 *   radix  8: w^4, w^2, w, w e
 *   radix 16: w^8, w^4, w^2, w^2 e, w, w e, w h, w h e, with e = exp(-2 pi i / 8),
 *             h = exp(-2 pi i / 16)
 *   radix 32: w^16, w^8, w^4, w^4 e, w^2, w^2 e, w^2 h, w^2 h e, and those of w of radix 16, then
 *             the same times exp(-2 pi i / 32)
 *
 * Halves of a transform follow each other (decimation in time), so results come bit-reversed and
 * are put in order at the end, which costs nothing: all indices are constants. */
#define BF_FACTORS_2 1
#define BF_FACTORS_4 2
#define BF_FACTORS_8 4
#define BF_FACTORS_16 8
#define BF_FACTORS_32 16
#define BF_TURNED(w) ((float2)((w).y, -(w).x))

/* a + w b and a - w b */
static inline void bf_pair(float2 *a, float2 *b, float2 w)
{
    const float2 sum = (float2)(fma(-w.y, b->y, fma(w.x, b->x, a->x)),
                                fma(w.y, b->x, fma(w.x, b->y, a->y)));
    *b = (float2)(fma(2.0f, a->x, -sum.x), fma(2.0f, a->y, -sum.y));
    *a = sum;
}

static inline void bf_swap(float2 *a, float2 *b)
{
    const float2 kept = *a;
    *a = *b;
    *b = kept;
}

/* The last two layers of four points whose factor is w. */
static inline void bf_four(float2 *x, float2 square, float2 w)
{
    bf_pair(&x[0], &x[2], square);
    bf_pair(&x[1], &x[3], square);
    bf_pair(&x[0], &x[1], w);
    bf_pair(&x[2], &x[3], BF_TURNED(w));
}

/* The last three layers of eight points. */
static inline void bf_eight(float2 *x, float2 fourth, float2 square, float2 w, float2 other)
{
    BF_LOOP(k, 4) bf_pair(&x[k], &x[k + 4], fourth);
    bf_four(x, square, w);
    bf_four(x + 4, BF_TURNED(square), other);
}

static inline void bf_twiddled2(float2 *x, const float2 *table)
{
    bf_pair(&x[0], &x[1], table[0]);
}

static inline void bf_twiddled4(float2 *x, const float2 *table)
{
    bf_four(x, table[0], table[1]);
    bf_swap(&x[1], &x[2]);
}

static inline void bf_twiddled8(float2 *x, const float2 *table)
{
    bf_eight(x, table[0], table[1], table[2], table[3]);
    bf_swap(&x[1], &x[4]);
    bf_swap(&x[3], &x[6]);
}

/* The last four layers of sixteen points. */
static inline void bf_sixteen(float2 *x, float2 eighth, float2 fourth, const float2 *squares,
                              const float2 *ws)
{
    BF_LOOP(k, 8) bf_pair(&x[k], &x[k + 8], eighth);
    bf_eight(x, fourth, squares[0], ws[0], ws[1]);
    bf_eight(x + 8, BF_TURNED(fourth), squares[1], ws[2], ws[3]);
}

static inline void bf_twiddled16(float2 *x, const float2 *table)
{
    bf_sixteen(x, table[0], table[1], table + 2, table + 4);
    bf_swap(&x[1], &x[8]);
    bf_swap(&x[2], &x[4]);
    bf_swap(&x[3], &x[12]);
    bf_swap(&x[5], &x[10]);
    bf_swap(&x[7], &x[14]);
    bf_swap(&x[11], &x[13]);
}

static inline void bf_twiddled32(float2 *x, const float2 *table)
{
    BF_LOOP(k, 16) bf_pair(&x[k], &x[k + 16], table[0]);
    bf_sixteen(x, table[1], table[2], table + 4, table + 8);
    bf_sixteen(x + 16, BF_TURNED(table[1]), table[3], table + 6, table + 12);
    bf_swap(&x[1], &x[16]);
    bf_swap(&x[2], &x[8]);
    bf_swap(&x[3], &x[24]);
    bf_swap(&x[5], &x[20]);
    bf_swap(&x[6], &x[12]);
    bf_swap(&x[7], &x[28]);
    bf_swap(&x[9], &x[18]);
    bf_swap(&x[11], &x[26]);
    bf_swap(&x[13], &x[22]);
    bf_swap(&x[15], &x[30]);
    bf_swap(&x[19], &x[25]);
    bf_swap(&x[23], &x[29]);
}
