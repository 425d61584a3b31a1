/* Transforms there and back within a team of work-items, for what is multiplied in between: the
 * frequencies stay in bit-reversed order, so nothing is ever reordered. Comes behind butterflies.cl.
 *
 * POINTS points, STAGES stages of radix RADIX0 .. (powers of two from 4 on). A team of
 * SC_ITEMS = POINTS / VALUES work-items holds them in registers, v[VALUES] each. In stage i, whose
 * radix is R, butterfly u joins the points
 *
 *   u / S (R S) + u % S + q S,   q = 0 .. R - 1,   S = POINTS / (RADIX0 .. RADIXi)
 *
 * and item t owns the butterflies u = t + p SC_ITEMS: value q of the p-th is v[p R + q]. There:
 * stages 0, 1, ..; x(z) mod (z^2n - r^2) becomes x mod (z^n - r) and x mod (z^n + r), so factors
 * depend on the block alone, and those of the first stage are constants. Point p ends as frequency
 * bit-reverse(p). Back: the stages in opposite order, and factors depend on the place in the block.
 * Either way a butterfly is a + r b, a - r b: 6 fused multiply-adds, 3 N log2 N for a transform.
 *
 * Between stages the points change owners through local memory. Points never move: who has read a
 * place writes it next, so one barrier between writing and reading is enough. With IN_WARP (NVIDIA
 * only) it is one of 32 work-items wherever the exchange stays among them.
 *
 * Rows of a longer transform: FIRST_BLOCKS blocks of POINTS points stand beside each other, of which
 * the team has number `sc_block`.
 *
 *   factors   float4 [..]: two complex numbers each. For each stage there (overlap_factors() of
 *             the host) [R / 4][FIRST_BLOCKS done], done = RADIX0 .. RADIX(i-1): by block;
 *             then for each stage back [R / 4][S]: by place */

#ifndef POINTS
#define POINTS 4096
#define VALUES 16
#define STAGES 3
#define RADIX0 16
#define RADIX1 16
#define RADIX2 16
#define RADIX3 1
#define PAD 4      /* local memory has one spare place behind 2^PAD */
#define PARTS 1    /* a power of two: the parts of the points that go through local memory */
#define IN_WARP 0  /* 1: NVIDIA's barriers of 32 work-items */
#endif
#ifndef FIRST_BLOCKS
#define FIRST_BLOCKS 1
#endif

#define SC_ITEMS (POINTS / VALUES)
#define SC_LOG(r) ((r) == 2 ? 1 : (r) == 4 ? 2 : (r) == 8 ? 3 : (r) == 16 ? 4 : (r) == 32 ? 5 : 6)

/* Points before stage i in a block's chain, and from one point of its butterflies to the next. */
#define SC_DONE0 1
#define SC_DONE1 RADIX0
#define SC_DONE2 (RADIX0 * RADIX1)
#define SC_DONE3 (RADIX0 * RADIX1 * RADIX2)
#define SC_STEP0 (POINTS / RADIX0)
#define SC_STEP1 (POINTS / (RADIX0 * RADIX1))
#define SC_STEP2 (POINTS / (RADIX0 * RADIX1 * RADIX2))
#define SC_STEP3 1

/* Where the factors of a stage begin. */
#define SC_THERE(r, done) ((r) / 4 * (FIRST_BLOCKS) * (done))
#define SC_BACK(r, step) ((r) / 4 * (step))
#define SC_THERE0 0
#define SC_THERE1 SC_THERE(RADIX0, SC_DONE0)
#define SC_THERE2 (SC_THERE1 + SC_THERE(RADIX1, SC_DONE1))
#define SC_THERE3 (SC_THERE2 + (STAGES > 2 ? SC_THERE(RADIX2, SC_DONE2) : 0))
#define SC_BACK0 (SC_THERE3 + (STAGES > 3 ? SC_THERE(RADIX3, SC_DONE3) : 0))
#define SC_BACK1 (SC_BACK0 + SC_BACK(RADIX0, SC_STEP0))
#define SC_BACK2 (SC_BACK1 + SC_BACK(RADIX1, SC_STEP1))
#define SC_BACK3 (SC_BACK2 + (STAGES > 2 ? SC_BACK(RADIX2, SC_STEP2) : 0))

/* cos(pi k / 32), and 32 times the bits of 2 c behind the point: the constant factors. */
__constant float sc_cosines[17] = {
    1.0f,         0.995184727f, 0.980785280f, 0.956940336f, 0.923879533f, 0.881921264f,
    0.831469612f, 0.773010453f, 0.707106781f, 0.634393284f, 0.555570233f, 0.471396737f,
    0.382683432f, 0.290284677f, 0.195090322f, 0.098017140f, 0.0f};
__constant int sc_order[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

/* *a + r *b and *a - r *b */
static inline void sc_butterfly(float2 *a, float2 *b, float2 r)
{
    const float2 sum = (float2)(fma(-r.y, b->y, fma(r.x, b->x, a->x)),
                                fma(r.y, b->x, fma(r.x, b->y, a->y)));
    *b = (float2)(fma(2.0f, a->x, -sum.x), fma(2.0f, a->y, -sum.y));
    *a = sum;
}
static inline void sc_plain(float2 *a, float2 *b, float2 turned)
{
    const float2 sum = *a + turned;
    *b = *a - turned;
    *a = sum;
}

/* Level l there: 2^l sub-blocks; factor number 2^l / 2 + c / 2, for odd c times -i. Of constant
 * factors (`w` is not looked at) the angle is -pi k / 32. */
#define SC_LEVEL_THERE(values, radix, w, constant)                                                 \
    BF_LOOP(l, SC_LOG(radix))                                                                      \
    BF_LOOP(i, (radix) / 2)                                                                        \
    {                                                                                              \
        const int apart = (radix) >> (l + 1), c = i / apart, first = 2 * apart * c + i % apart;    \
        if (constant) {                                                                            \
            const int k = sc_order[c / 2];                                                         \
            const float2 r = (float2)(sc_cosines[k], -sc_cosines[16 - k]);                         \
            if (c < 2) {                                                                           \
                sc_plain(&values[first], &values[first + apart],                                   \
                         c ? BF_QUARTER(values[first + apart]) : values[first + apart]);           \
            } else {                                                                               \
                sc_butterfly(&values[first], &values[first + apart], c % 2 ? (float2)(r.y, -r.x) : r);\
            }                                                                                      \
        } else {                                                                                   \
            const float2 r = w[(1 << l) / 2 + c / 2];                                              \
            sc_butterfly(&values[first], &values[first + apart], c % 2 ? (float2)(r.y, -r.x) : r); \
        }                                                                                          \
    }

/* Level l back: halves of 2^l; factor number 2^l / 2 + g % (2^l / 2), in the upper half of the g
 * times i. Of constant factors the angle is pi k / 32. */
#define SC_LEVEL_BACK(values, radix, w, constant)                                                  \
    BF_LOOP(l, SC_LOG(radix))                                                                      \
    BF_LOOP(i, (radix) / 2)                                                                        \
    {                                                                                              \
        const int apart = 1 << l, g = i % apart, first = 2 * (i - g) + g;                          \
        const int low = l ? g % (apart / 2 + !l) : 0, upper = g != low;                            \
        if (constant) {                                                                            \
            const int k = (32 >> l) * low;                                                         \
            const float2 r = (float2)(sc_cosines[k], sc_cosines[16 - k]);                          \
            if (low == 0) {                                                                        \
                sc_plain(&values[first], &values[first + apart],                                   \
                         upper ? -BF_QUARTER(values[first + apart]) : values[first + apart]);      \
            } else {                                                                               \
                sc_butterfly(&values[first], &values[first + apart], upper ? (float2)(-r.y, r.x) : r);\
            }                                                                                      \
        } else {                                                                                   \
            const float2 r = w[apart / 2 + low];                                                   \
            sc_butterfly(&values[first], &values[first + apart], upper ? (float2)(-r.y, r.x) : r); \
        }                                                                                          \
    }

/* The factors of one butterfly: number `at` of `count`. */
#define SC_FACTORS(radix, from, count, at)                                                         \
    float2 w[(radix) / 2];                                                                         \
    BF_LOOP(e, (radix) / 4)                                                                        \
    {                                                                                              \
        const float4 two = factors[(from) + e * (count) + (at)];                                   \
        w[2 * e] = two.xy;                                                                         \
        w[2 * e + 1] = two.zw;                                                                     \
    }

#define SC_STAGE_THERE(radix, done, step, from)                                                    \
    BF_LOOP(p, VALUES / (radix))                                                                   \
    {                                                                                              \
        const uint u = item + p * SC_ITEMS;                                                        \
        if ((FIRST_BLOCKS) * (done) == 1) {                                                        \
            const float2 *w = 0;                                                                   \
            SC_LEVEL_THERE((v + p * (radix)), radix, w, 1)                                         \
        } else {                                                                                   \
            SC_FACTORS(radix, from, (FIRST_BLOCKS) * (done), sc_block * (done) + u / (step))       \
            SC_LEVEL_THERE((v + p * (radix)), radix, w, 0)                                         \
        }                                                                                          \
    }
#define SC_STAGE_BACK(radix, step, from)                                                           \
    BF_LOOP(p, VALUES / (radix))                                                                   \
    {                                                                                              \
        const uint u = item + p * SC_ITEMS;                                                        \
        if ((step) == 1) {                                                                         \
            const float2 *w = 0;                                                                   \
            SC_LEVEL_BACK((v + p * (radix)), radix, w, 1)                                          \
        } else {                                                                                   \
            SC_FACTORS(radix, from, step, u % (step))                                              \
            SC_LEVEL_BACK((v + p * (radix)), radix, w, 0)                                          \
        }                                                                                          \
    }

/* Local memory: the cell of a point. Sums of numbers that share no bit have cells that add. Points go
 * through it in PARTS, one quarter (say) of them after the other: those parts are butterflies of an
 * item, in the first stage values of its butterflies, so all items have the same share. */
#define SC_CELLS (POINTS / PARTS + (POINTS / PARTS >> PAD))
#define SC_CELL(point) ((point) + ((point) >> PAD))
#define SC_IS_FIRST(radix, step) ((radix) * (step) == POINTS)
#define SC_EACH(radix, step, part, body)                                                           \
    BF_LOOP(p, VALUES / (radix))                                                                   \
    {                                                                                              \
        const int shift_p = SC_IS_FIRST(radix, step) ? 0 : (part) * (VALUES / (radix) / PARTS);    \
        const int shift_q = SC_IS_FIRST(radix, step) ? (part) * ((radix) / PARTS) : 0;             \
        const uint u = item + (p - shift_p) * SC_ITEMS;                                            \
        const uint base = SC_CELL(u / (step) * ((radix) * (step)) + u % (step));                   \
        BF_LOOP(q, radix)                                                                          \
        if (SC_IS_FIRST(radix, step) ? q / ((radix) / PARTS) == (part)                             \
                                     : p * PARTS / (VALUES / (radix)) == (part)) {                 \
            const uint cell = base + SC_CELL((q - shift_q) * (step));                              \
            const int value = p * (radix) + q;                                                     \
            body;                                                                                  \
        }                                                                                          \
    }

/* Whether points stay among 32 neighbouring work-items between stages i and i + 1. */
#define SC_NEAR(r, step, rr)                                                                       \
    (IN_WARP && (SC_ITEMS <= 32 || ((r) == (rr) && (step) <= 32)))
#if IN_WARP
#define SC_WARP __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define SC_WARP barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define SC_BARRIER(near)                                                                           \
    if (near) {                                                                                    \
        SC_WARP;                                                                                   \
    } else {                                                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }

#define SC_EXCHANGE(r, step, rr, sstep, near)                                                      \
    {                                                                                              \
        float2 got[VALUES];                                                                        \
        BF_LOOP(part, PARTS)                                                                       \
        {                                                                                          \
            if (part > 0) {                                                                        \
                SC_BARRIER(near)                                                                   \
            }                                                                                      \
            SC_EACH(r, step, part, cells[cell] = v[value])                                         \
            SC_BARRIER(near)                                                                       \
            SC_EACH(rr, sstep, part, got[value] = cells[cell])                                     \
        }                                                                                          \
        BF_LOOP(i, VALUES) v[i] = got[i];                                                          \
    }

/* All stages there, and back: `item`, `cells`, `factors`, `v` (and sc_block) are the
 * kernel's. */
#define SC_SWAP(r, step, rr, sstep) SC_EXCHANGE(r, step, rr, sstep, SC_NEAR(r, step, rr))
#define SC_SWAP_BACK(r, step, rr, sstep) SC_EXCHANGE(r, step, rr, sstep, SC_NEAR(rr, sstep, r))
#if STAGES == 2
#define SC_LAST RADIX1
#elif STAGES == 3
#define SC_LAST RADIX2
#else
#define SC_LAST RADIX3
#endif
#if STAGES > 2
#define SC_MORE_THERE2                                                                             \
    SC_SWAP(RADIX1, SC_STEP1, RADIX2, SC_STEP2)                                                    \
    SC_STAGE_THERE(RADIX2, SC_DONE2, SC_STEP2, SC_THERE2)
#define SC_MORE_BACK2                                                                              \
    SC_STAGE_BACK(RADIX2, SC_STEP2, SC_BACK2)                                                      \
    SC_SWAP_BACK(RADIX2, SC_STEP2, RADIX1, SC_STEP1)
#else
#define SC_MORE_THERE2
#define SC_MORE_BACK2
#endif
#if STAGES > 3
#define SC_MORE_THERE3                                                                             \
    SC_SWAP(RADIX2, SC_STEP2, RADIX3, SC_STEP3)                                                    \
    SC_STAGE_THERE(RADIX3, SC_DONE3, SC_STEP3, SC_THERE3)
#define SC_MORE_BACK3                                                                              \
    SC_STAGE_BACK(RADIX3, SC_STEP3, SC_BACK3)                                                      \
    SC_SWAP_BACK(RADIX3, SC_STEP3, RADIX2, SC_STEP2)
#else
#define SC_MORE_THERE3
#define SC_MORE_BACK3
#endif
#define SC_TRANSFORM_THERE                                                                         \
    SC_STAGE_THERE(RADIX0, SC_DONE0, SC_STEP0, SC_THERE0)                                          \
    SC_SWAP(RADIX0, SC_STEP0, RADIX1, SC_STEP1)                                                    \
    SC_STAGE_THERE(RADIX1, SC_DONE1, SC_STEP1, SC_THERE1)                                          \
    SC_MORE_THERE2                                                                                 \
    SC_MORE_THERE3
#define SC_TRANSFORM_BACK                                                                          \
    SC_MORE_BACK3                                                                                  \
    SC_MORE_BACK2                                                                                  \
    SC_STAGE_BACK(RADIX1, SC_STEP1, SC_BACK1)                                                      \
    SC_SWAP_BACK(RADIX1, SC_STEP1, RADIX0, SC_STEP0)                                               \
    SC_STAGE_BACK(RADIX0, SC_STEP0, SC_BACK0)

/* Times a response, float4 [R / 2][POINTS / R], R the last stage's radix: see filter_fused.cl. */
#define SC_PRODUCT(response)                                                                       \
    BF_LOOP(p, VALUES / SC_LAST)                                                                   \
    BF_LOOP(e, SC_LAST / 2)                                                                        \
    {                                                                                              \
        const float4 two = (response)[e * (POINTS / SC_LAST) + item + p * SC_ITEMS];               \
        const int i = p * SC_LAST + 2 * e;                                                         \
        v[i] = BF_MULTIPLY(v[i], two.xy);                                                          \
        v[i + 1] = BF_MULTIPLY(v[i + 1], two.zw);                                                  \
    }
