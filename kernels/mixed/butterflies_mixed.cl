/* Small discrete Fourier transforms whose radix is no power of two: bf_fft3, bf_fft5, bf_fft6,
 * bf_fft9, bf_fft10, bf_fft12, bf_fft15, bf_fft18, bf_fft20, bf_fft24, bf_fft25, bf_fft30. Comes
 * behind butterflies.cl, with its rules.
 *
 *   x   float2 [radix], replaced by X[q] = sum over k of x[k] exp(-2 pi i q k / radix)
 *
 * Radix A * B of coprime A and B is A by B without factors (Good 1958; Thomas 1963): x[n] with
 * n = B n1 + A n2 mod A B becomes X[k] with k = k1 mod A, k = k2 mod B. 9 and 25 have factors
 * between (Cooley, Tukey 1965). Of 3 and 5, sines are taken out of the sums of differences, so that
 * all products are fused. */

/* sin(2 pi / 3); cos(2 pi / 5), cos(4 pi / 5), sin(2 pi / 5), sin(4 pi / 5) / sin(2 pi / 5) */
#define BF_SIN_3 0.86602540378443865f
#define BF_COS_5 0.30901699437494742f
#define BF_COS_5_2 -0.80901699437494742f
#define BF_SIN_5 0.95105651629515357f
#define BF_RATIO_5 0.61803398874989485f

/* a - i s b and a + i s b */
#define BF_MINUS_I(a, s, b) ((float2)(fma(s, (b).y, (a).x), fma(-(s), (b).x, (a).y)))
#define BF_PLUS_I(a, s, b) ((float2)(fma(-(s), (b).y, (a).x), fma(s, (b).x, (a).y)))
/* a + s b, s real */
#define BF_PLUS(a, s, b) ((float2)(fma(s, (b).x, (a).x), fma(s, (b).y, (a).y)))

static inline void bf_fft3(float2 *x)
{
    const float2 sum = x[1] + x[2], difference = x[1] - x[2];
    const float2 middle = BF_PLUS(x[0], -0.5f, sum);
    x[0] = x[0] + sum;
    x[1] = BF_MINUS_I(middle, BF_SIN_3, difference);
    x[2] = BF_PLUS_I(middle, BF_SIN_3, difference);
}

static inline void bf_fft5(float2 *x)
{
    const float2 outer = x[1] + x[4], inner = x[2] + x[3];
    const float2 far = x[1] - x[4], near = x[2] - x[3];
    const float2 once = BF_PLUS(BF_PLUS(x[0], BF_COS_5, outer), BF_COS_5_2, inner);
    const float2 twice = BF_PLUS(BF_PLUS(x[0], BF_COS_5_2, outer), BF_COS_5, inner);
    const float2 d1 = BF_PLUS(far, BF_RATIO_5, near);
    const float2 d2 = (float2)(fma(BF_RATIO_5, far.x, -near.x), fma(BF_RATIO_5, far.y, -near.y));
    x[0] = x[0] + (outer + inner);
    x[1] = BF_MINUS_I(once, BF_SIN_5, d1);
    x[4] = BF_PLUS_I(once, BF_SIN_5, d1);
    x[2] = BF_MINUS_I(twice, BF_SIN_5, d2);
    x[3] = BF_PLUS_I(twice, BF_SIN_5, d2);
}

/* ua: 1 mod a and 0 mod b, ub: 0 mod a and 1 mod b. */
#define BF_COPRIME(a, b, ua, ub)                                                                   \
    float2 y[(a) * (b)];                                                                           \
    BF_LOOP(n, b)                                                                                  \
    {                                                                                              \
        float2 column[a];                                                                          \
        BF_LOOP(m, a) column[m] = x[((b)*m + (a)*n) % ((a) * (b))];                                \
        bf_fft##a(column);                                                                         \
        BF_LOOP(m, a) y[m * (b) + n] = column[m];                                                  \
    }                                                                                              \
    BF_LOOP(m, a)                                                                                  \
    {                                                                                              \
        bf_fft##b(&y[m * (b)]);                                                                    \
        BF_LOOP(n, b) x[(m * (ua) + n * (ub)) % ((a) * (b))] = y[m * (b) + n];                     \
    }

/* exp(-2 pi i n / 9), exp(-2 pi i n / 25) */
#define BF_NINTH(n) ((float2)(bf_ninths[n][0], bf_ninths[n][1]))
#define BF_25TH(n) ((float2)(bf_25ths[n][0], bf_25ths[n][1]))
__constant const float bf_ninths[][2] = {
    {1.0f, 0.0f},
    {0.76604444311897801f, -0.64278760968653925f},
    {0.17364817766693041f, -0.98480775301220802f},
    {-0.49999999999999978f, -0.86602540378443871f},
    {-0.93969262078590832f, -0.34202014332566888f}};
__constant const float bf_25ths[][2] = {
    {1.0f, 0.0f},
    {0.96858316112863108f, -0.24868988716485479f},
    {0.87630668004386358f, -0.48175367410171532f},
    {0.72896862742141155f, -0.68454710592868862f},
    {0.53582679497899655f, -0.84432792550201508f},
    {0.30901699437494745f, -0.95105651629515353f},
    {0.062790519529313527f, -0.99802672842827156f},
    {-0.1873813145857246f, -0.98228725072868872f},
    {-0.42577929156507272f, -0.90482705246601947f},
    {-0.63742398974868975f, -0.77051324277578925f},
    {-0.80901699437494734f, -0.58778525229247325f},
    {-0.92977648588825135f, -0.36812455268467814f},
    {-0.99211470131447776f, -0.12533323356430454f},
    {-0.99211470131447788f, 0.12533323356430429f},
    {-0.92977648588825146f, 0.36812455268467792f},
    {-0.80901699437494778f, 0.58778525229247269f},
    {-0.63742398974868952f, 0.77051324277578936f}};

/* a by a points with factors w(n) between */
#define BF_SQUARE(a, w)                                                                            \
    float2 y[(a) * (a)];                                                                           \
    BF_LOOP(n, a)                                                                                  \
    {                                                                                              \
        float2 column[a];                                                                          \
        BF_LOOP(m, a) column[m] = x[(a)*m + n];                                                    \
        bf_fft##a(column);                                                                         \
        BF_LOOP(m, a)                                                                              \
        y[m * (a) + n] = m * n > 0 ? BF_MULTIPLY(column[m], w(m *n)) : column[m];                  \
    }                                                                                              \
    BF_LOOP(m, a)                                                                                  \
    {                                                                                              \
        bf_fft##a(&y[m * (a)]);                                                                    \
        BF_LOOP(n, a) x[m + (a)*n] = y[m * (a) + n];                                               \
    }

static inline void bf_fft9(float2 *x)
{
    BF_SQUARE(3, BF_NINTH)
}

static inline void bf_fft25(float2 *x)
{
    BF_SQUARE(5, BF_25TH)
}

static inline void bf_fft6(float2 *x)
{
    BF_COPRIME(2, 3, 3, 4)
}

static inline void bf_fft10(float2 *x)
{
    BF_COPRIME(2, 5, 5, 6)
}

static inline void bf_fft12(float2 *x)
{
    BF_COPRIME(4, 3, 9, 4)
}

static inline void bf_fft15(float2 *x)
{
    BF_COPRIME(3, 5, 10, 6)
}

static inline void bf_fft18(float2 *x)
{
    BF_COPRIME(2, 9, 9, 10)
}

static inline void bf_fft20(float2 *x)
{
    BF_COPRIME(4, 5, 5, 16)
}

static inline void bf_fft24(float2 *x)
{
    BF_COPRIME(8, 3, 9, 16)
}

static inline void bf_fft30(float2 *x)
{
    BF_COPRIME(6, 5, 25, 6)
}

/* Factors before: of x[k] w^k, k = 0 .. radix - 1; `table` holds w, w^2 .. w^(radix - 1). */
#define BF_BEFORE(radix)                                                                           \
    static inline void bf_twiddled##radix(float2 *x, const float2 *table)                          \
    {                                                                                              \
        BF_LOOP(k, radix - 1) x[k + 1] = BF_MULTIPLY(x[k + 1], table[k]);                          \
        bf_fft##radix(x);                                                                          \
    }
BF_BEFORE(3)
BF_BEFORE(5)
BF_BEFORE(6)
BF_BEFORE(9)
BF_BEFORE(10)
BF_BEFORE(12)
BF_BEFORE(15)
BF_BEFORE(18)
BF_BEFORE(20)
BF_BEFORE(24)
BF_BEFORE(25)
BF_BEFORE(30)

/* Numbers of a table for each radix. */
#define BF_FACTORS_3 2
#define BF_FACTORS_5 4
#define BF_FACTORS_6 5
#define BF_FACTORS_9 8
#define BF_FACTORS_10 9
#define BF_FACTORS_12 11
#define BF_FACTORS_15 14
#define BF_FACTORS_18 17
#define BF_FACTORS_20 19
#define BF_FACTORS_24 23
#define BF_FACTORS_25 24
#define BF_FACTORS_30 29
