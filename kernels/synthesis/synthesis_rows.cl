/* Samples of channels become spectra as the transform back wants them. Comes behind samples.cl and
 * missing.cl.
 *
 *   in       anything; spectrum s of channel c of stream i, k = i CHANNELS_IN + c, has its real part
 *            at byte re[k] + s * step and its imaginary part at im[k] + s * step
 *   out      float2 [spectra][streams][POINTS]: spectra from .. from + spectra - 1, as complex
 *            conjugates (the transform is a forward one), channel c at point (FIRST_POINT + c) mod
 *            POINTS, zeros at points without one. Of a real stream all channels but that of point 0
 *            count twice
 *   found    ulong [groups]; each group adds the missing samples of channels, of spectra
 *            counted_first .. counted_first + counted - 1
 *
 * Tiles of TILE_POINTS x TILE_SPECTRA pass through local memory: reading goes along what lies side
 * by side in `in` (ALONG_TIME 1: spectra, 0: channels), writing along points. Groups go round all
 * tiles. */
#ifndef POINTS
#define POINTS 1024
#define CHANNELS_IN 1024
#define FIRST_POINT 512 /* 0 .. POINTS - 1 */
#define IS_REAL_OUT 0
#define ALONG_TIME 0
#define LOOKS 1 /* 0: none can be missing, a stage has made them */
#endif
#define TILE_POINTS 32
#define TILE_SPECTRA 32
#define TILE (TILE_POINTS * TILE_SPECTRA)
/* One more a row: then a column touches other banks. */
#define PITCH (TILE_POINTS + 1)

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
synthesis_rows(const __global uchar *restrict in, const __global ulong *restrict re,
               const __global ulong *restrict im, ulong step, __global float2 *restrict out,
               ulong from, ulong spectra, uint streams, ulong counted_first, ulong counted,
               __global ulong *restrict found)
{
    __local float2 tile[TILE_SPECTRA * PITCH];
    __local uint counts[WIDTH];
    const uint item = get_local_id(0);
    const uint across = (POINTS + TILE_POINTS - 1) / TILE_POINTS;
    const ulong down = (spectra + TILE_SPECTRA - 1) / TILE_SPECTRA;
    const ulong tiles = down * across * streams;
    uint missing = 0;
    for (ulong at = get_group_id(0); at < tiles; at += get_num_groups(0)) {
        const uint point0 = (uint)(at % across) * TILE_POINTS;
        const uint stream = (uint)(at / across % streams);
        const ulong spectrum0 = at / across / streams * TILE_SPECTRA;
        for (uint i = item; i < TILE; i += WIDTH) {
            const uint row = ALONG_TIME ? i % TILE_SPECTRA : i / TILE_POINTS;
            const uint column = ALONG_TIME ? i / TILE_SPECTRA : i % TILE_POINTS;
            const uint point = point0 + column;
            const uint channel = (point + POINTS - FIRST_POINT) % POINTS;
            const ulong s = spectrum0 + row;
            float2 volts = (float2)(0);
            if (point < POINTS && channel < CHANNELS_IN && s < spectra) {
                const uint k = stream * CHANNELS_IN + channel;
                const ulong place = (from + s) * step;
                raw_column stored;
#if FORMAT == FORMAT_I4
                stored = read_number(in + re[k] + place);
                const int none = is_missing(stored);
#else
                stored.x = read_number(in + re[k] + place);
                stored.y = read_number(in + im[k] + place);
                const int none = is_missing(stored.x) | is_missing(stored.y);
#endif
                volts = column_volts(stored);
                volts.y = -volts.y;
#if IS_REAL_OUT
                volts = point == 0 ? volts : 2.0f * volts;
#endif
                if (LOOKS && none) {
                    volts = (float2)(0);
                    missing += from + s - counted_first < counted;
                }
            }
            tile[row * PITCH + column] = volts;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < TILE; i += WIDTH) {
            const uint point = point0 + i % TILE_POINTS;
            const ulong s = spectrum0 + i / TILE_POINTS;
            if (point < POINTS && s < spectra) {
                out[(s * streams + stream) * POINTS + point] =
                    tile[i / TILE_POINTS * PITCH + i % TILE_POINTS];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    add_missing(missing, counts, found);
}
