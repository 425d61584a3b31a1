/* Candidates of a search: found among peaks and grouped; their table, written and read back. */
#include "product/candidates.h"

#include "base/memory.h"
#include "base/report.h"
#include "base/units.h"
#include "dsp/boxes.h"
#include "input/fbh5/fbh5_header.h"
#include "io/file.h"
#include "product/kind/dedispersed_kind.h"
#include "product/kind/parts.h"

#include <inttypes.h>
#include <math.h>

enum { NEAR_DMS = 2, FAR_DMS = 32 };

struct linking {
    const struct burst *bursts;
    size_t *of;     /* [count] */
    size_t *begins; /* [ndms + 1] the first of each DM */
    const uint32_t *spans;
    uint32_t ndms;
};

static size_t groups_root(size_t *of, size_t i)
{
    while (of[i] != i) {
        of[i] = of[of[i]];
        i = of[i];
    }
    return i;
}

static int groups_are_near(const struct burst *a, const struct burst *b, uint32_t steps,
                           uint32_t smear)
{
    uint32_t reach = a->width > b->width ? a->width : b->width;
    uint64_t a_end = (uint64_t)a->first + a->width;
    uint64_t b_end = (uint64_t)b->first + b->width;
    return (steps <= NEAR_DMS || smear <= reach) && a->first <= b_end + reach &&
           b->first <= a_end + reach;
}

/* Links the bursts of one DM to those of another, or to each other; `widest` is the longest box. */
static void groups_link(struct linking *l, uint32_t dm, uint32_t other, uint32_t widest)
{
    uint32_t smear = l->spans[other] - l->spans[dm];
    size_t low = l->begins[other];
    for (size_t i = l->begins[dm]; i < l->begins[dm + 1]; i++) {
        const struct burst *a = &l->bursts[i];
        uint64_t end = (uint64_t)a->first + a->width + widest;
        while (low < l->begins[other + 1] &&
               (uint64_t)l->bursts[low].first + 2 * (uint64_t)widest < a->first) {
            low++;
        }
        for (size_t j = low; j < l->begins[other + 1] && l->bursts[j].first <= end; j++) {
            if (i != j && groups_are_near(a, &l->bursts[j], other - dm, smear)) {
                size_t one = groups_root(l->of, i);
                size_t two = groups_root(l->of, j);
                l->of[one < two ? two : one] = one < two ? one : two;
            }
        }
    }
}

static void groups_link_all(struct linking *l, size_t count)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        widest = l->bursts[i].width > widest ? l->bursts[i].width : widest;
    }
    for (uint32_t dm = 0; dm < l->ndms; dm++) {
        if (l->begins[dm] == l->begins[dm + 1]) {
            continue;
        }
        for (uint32_t other = dm; other < l->ndms && other - dm <= FAR_DMS; other++) {
            if (other - dm > NEAR_DMS && l->spans[other] - l->spans[dm] > widest) {
                break;
            }
            groups_link(l, dm, other, widest);
        }
    }
}

static void groups_add(struct burst_group *group, const struct burst *burst)
{
    uint64_t end = (uint64_t)burst->first + burst->width;
    if (group->members == 0) {
        *group = (struct burst_group){*burst, 0, burst->dm, burst->dm, burst->first, end};
    }
    group->best = burst->snr > group->best.snr ? *burst : group->best;
    group->most_dm = burst->dm > group->most_dm ? burst->dm : group->most_dm;
    group->first = min_u64(group->first, burst->first);
    group->end = max_u64(group->end, end);
    group->members++;
}

static int groups_compare(const void *left, const void *right)
{
    const struct burst *a = &((const struct burst_group *)left)->best;
    const struct burst *b = &((const struct burst_group *)right)->best;
    uint64_t at = 2 * (uint64_t)a->first + a->width;
    uint64_t bt = 2 * (uint64_t)b->first + b->width;
    return at != bt ? (at > bt) - (at < bt) : (a->dm > b->dm) - (a->dm < b->dm);
}

/* The roots get the numbers of their groups; the peaks after them know their root by then. */
static status_t groups_gather(struct linking *l, size_t count, struct burst_group **out,
                              size_t *ngroups)
{
    SCOPED(free_at) struct burst_group *groups = NULL;
    size_t found = 0;
    SCOPED(free_at) size_t *number = NULL;
    for (size_t i = 0; i < count; i++) {
        found += l->of[i] == i;
    }
    TRY(memory_zeroed(found, sizeof *groups, "candidates", &groups));
    TRY(memory_zeroed(count, sizeof *number, "candidates", &number));
    *ngroups = found;
    found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t root = groups_root(l->of, i);
        number[i] = root == i ? found++ : number[root];
        groups_add(&groups[number[i]], &l->bursts[i]);
    }
    qsort(groups, found, sizeof *groups, groups_compare);
    *out = memory_move(&groups);
    return STATUS_OK;
}

status_t burst_groups_find(const struct burst *bursts, size_t count, const uint32_t *spans,
                           uint32_t ndms, struct burst_group **out, size_t *ngroups)
{
    SCOPED(free_at) size_t *of = NULL;
    SCOPED(free_at) size_t *begins = NULL;
    TRY(memory_zeroed(count, sizeof *of, "candidates", &of));
    TRY(memory_zeroed((size_t)ndms + 1, sizeof *begins, "candidates", &begins));
    struct linking l = {bursts, of, begins, spans, ndms};
    for (size_t i = 0; i < count; i++) {
        l.of[i] = i;
        l.begins[bursts[i].dm + 1]++;
    }
    for (uint32_t dm = 0; dm < ndms; dm++) {
        l.begins[dm + 1] += l.begins[dm];
    }
    groups_link_all(&l, count);
    return groups_gather(&l, count, out, ngroups);
}

/* Positive floats are ordered as the integers that their bits are. */
enum { PIECE_ROWS_BYTES = 1 << 20, BINS = 1 << 16, BIN_SHIFT = 15 };

struct finding {
    const struct product_spec *spec;
    struct candidates *out;
    struct peak *cells; /* some rows */
    uint64_t *bins;     /* [BINS] peaks by S/N */
    float all_above;    /* of this S/N and more all are kept, */
    float least;        /* and as many as `spare` of this and more, the first ones */
    uint64_t spare;
    struct burst *bursts;
    size_t count;
};

static void find_count(struct finding *f, uint32_t dm, uint64_t cell, const struct peak *peak)
{
    (void)dm;
    (void)cell;
    uint32_t bits;
    memcpy(&bits, &peak->snr, sizeof bits);
    f->bins[bits >> BIN_SHIFT]++;
    f->out->peaks++;
    f->out->above += peak->above;
}

static void find_keep(struct finding *f, uint32_t dm, uint64_t cell, const struct peak *peak)
{
    int is_strong = peak->snr >= f->all_above;
    int is_spare = !is_strong && peak->snr >= f->least && f->spare > 0;
    f->spare -= (uint64_t)is_spare;
    if (is_strong || is_spare) {
        f->bursts[f->count++] = (struct burst){.snr = peak->snr,
                                               .dm = dm,
                                               .first = (uint32_t)(cell * PEAK_CELL) + peak->offset,
                                               .width = peak->width};
    }
}

/* Hands on every peak that the file holds. */
static status_t
find_walk(struct finding *f, int fd, const char *path, const struct product_place *place,
          void (*take)(struct finding *f, uint32_t dm, uint64_t cell, const struct peak *peak))
{
    uint64_t cells = place->row_bytes / sizeof *f->cells;
    uint64_t rows = max_u64(PIECE_ROWS_BYTES / place->row_bytes, 1);
    for (uint64_t row = 0; row < place->rows; row += rows) {
        uint64_t count = min_u64(rows, place->rows - row);
        TRY(file_read(fd, path, place->data_offset + row * place->row_bytes, f->cells,
                      count * place->row_bytes));
        for (uint64_t i = 0; i < count * cells; i++) {
            if (f->cells[i].snr > 0) {
                take(f, (uint32_t)(row + i / cells), i % cells, &f->cells[i]);
            }
        }
    }
    return STATUS_OK;
}

static float find_bin(uint32_t bin)
{
    uint32_t bits = bin << BIN_SHIFT;
    float snr;
    memcpy(&snr, &bits, sizeof snr);
    return snr;
}

/* The strongest, if there are more than are wanted: whole bins, and of the next one the first. */
static uint64_t find_settle_least(struct finding *f)
{
    const struct dedispersed_search *search = &f->spec->series->search;
    uint64_t kept = 0;
    uint32_t bin = BINS;
    while (bin > 0 && kept + f->bins[bin - 1] <= search->most) {
        kept += f->bins[--bin];
    }
    if (bin > 0) {
        f->all_above = find_bin(bin);
        f->least = find_bin(bin - 1);
        f->spare = search->most - kept;
        kept = search->most;
    }
    f->out->kept_above = bin > 0 ? (double)f->all_above : search->boxes->threshold;
    return kept;
}

/* Computes the samples between the largest and the smallest delay of each DM, which rise with the
 * DM. */
static status_t find_spans(const struct dispersion *delays, uint32_t **out)
{
    SCOPED(free_at) uint32_t *spans = NULL;
    SCOPED(free_at) uint32_t *of = NULL;
    TRY(memory_zeroed(delays->ndms, sizeof *spans, "DMs", &spans));
    TRY(memory_zeroed(delays->nchannels, sizeof *of, "delays", &of));
    for (uint32_t dm = 0; dm < delays->ndms; dm++) {
        dispersion_rows(delays, dm, 1, of);
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        for (uint32_t c = 0; c < delays->nchannels; c++) {
            least = of[c] < least ? of[c] : least;
            most = of[c] > most ? of[c] : most;
        }
        spans[dm] = most - least;
        spans[dm] = dm > 0 && spans[dm] < spans[dm - 1] ? spans[dm - 1] : spans[dm];
    }
    *out = memory_move(&spans);
    return STATUS_OK;
}

static struct candidate find_row(const struct dedispersed_spec *series,
                                 const struct burst_group *group)
{
    struct time_axis time = series->search.time;
    const struct burst *best = &group->best;
    double middle = (double)best->first + 0.5 * ((double)best->width - 1);
    double seconds = time.first + middle * time.step;
    const struct fbh5 *input = series->input;
    return (struct candidate){
        .snr = (double)best->snr,
        .dm = series->dms[best->dm],
        .time_s = seconds,
        .mjd = input->sky.has_start ? utc_mjd(utc_add(input->sky.start, seconds)) : 0,
        .width = best->width,
        .beam = input->head.ibeam,
        .sample = best->first,
        .members = group->members,
        .dm_least = series->dms[group->least_dm],
        .dm_most = series->dms[group->most_dm],
        .time_first_s = time.first + (double)group->first * time.step,
        .time_last_s = time.first + (double)(group->end - 1) * time.step};
}

static status_t find_group(struct finding *f)
{
    const struct dedispersed_spec *series = f->spec->series;
    SCOPED(free_at) struct burst_group *groups = NULL;
    SCOPED(free_at) uint32_t *spans = NULL;
    size_t count = 0;
    TRY(find_spans(series->delays, &spans));
    TRY(burst_groups_find(f->bursts, f->count, spans, series->delays->ndms, &groups, &count));
    TRY(memory_zeroed(count, sizeof *f->out->rows, "candidates", &f->out->rows));
    f->out->count = count;
    for (size_t i = 0; i < count; i++) {
        f->out->rows[i] = find_row(series, &groups[i]);
    }
    return STATUS_OK;
}

void candidates_free(struct candidates *candidates)
{
    free(candidates->rows);
    *candidates = (struct candidates){.count = 0};
}

SCOPED_CALLS(finding_free, struct finding, MEMORY_FREE(at->cells, at->bins, at->bursts))

status_t candidates_find(const struct product_spec *spec, int fd, const char *path,
                         const struct product_place *place, struct candidates *out)
{
    SCOPED(finding_free) struct finding f = {.spec = spec, .out = out};
    *out = (struct candidates){.count = 0};
    TRY(memory_aligned((size_t)max_u64(PIECE_ROWS_BYTES, place->row_bytes), 1, "peaks", &f.cells));
    TRY(memory_zeroed(BINS, sizeof *f.bins, "peaks", &f.bins));
    TRY(find_walk(&f, fd, path, place, find_count));
    uint64_t kept = find_settle_least(&f);
    if (kept < out->peaks) {
        report_warn(
            "%s: %s peaks reach S/N %g, more than search.most: the %s strongest, from S/N %.4g on, "
            "are grouped. Interference? A mask, zero_dm, or a higher threshold leaves it out",
            path, units_count(out->peaks), spec->series->search.boxes->threshold, units_count(kept),
            (double)f.least);
    }
    TRY(memory_zeroed((size_t)kept, sizeof *f.bursts, "peaks", &f.bursts));
    TRY(find_walk(&f, fd, path, place, find_keep));
    return find_group(&f);
}

static const char table_name[] = "candidates";
enum { MOST_CANDIDATES = 1 << 28 };

struct column {
    const char *name;
    size_t at;
    enum { COLUMN_F64, COLUMN_U64, COLUMN_I32 } type;
};
#define COLUMN(name, type)                                                                         \
    {                                                                                              \
#name, offsetof(struct candidate, name), COLUMN_##type                                     \
    }
static const struct column columns[] = {
    COLUMN(snr, F64),     COLUMN(dm, F64),           COLUMN(time_s, F64),
    COLUMN(mjd, F64),     COLUMN(width, U64),        COLUMN(beam, I32),
    COLUMN(sample, U64),  COLUMN(members, U64),      COLUMN(dm_least, F64),
    COLUMN(dm_most, F64), COLUMN(time_first_s, F64), COLUMN(time_last_s, F64)};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Creates the type of a row: as in memory, or packed as in the file. */
static status_t table_type(int is_stored, hid_t *out)
{
    const hid_t types[][2] = {[COLUMN_F64] = {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE},
                              [COLUMN_U64] = {H5T_NATIVE_UINT64, H5T_STD_U64LE},
                              [COLUMN_I32] = {H5T_NATIVE_INT32, H5T_STD_I32LE}};
    struct parts_field fields[COLUMNS];
    size_t bytes = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns[i];
        hid_t number = types[column->type][is_stored];
        fields[i] = (struct parts_field){column->name, is_stored ? bytes : column->at, number};
        bytes += H5Tget_size(number);
    }
    return parts_compound(is_stored ? bytes : sizeof(struct candidate), fields, COLUMNS,
                          "candidates", out);
}

static status_t table_put_words(hid_t table, const struct candidates *candidates)
{
    static const struct candidates none = {.count = 0};
    const struct candidates *of = candidates ? candidates : &none;
    TRY(h5_put_text(table, "long_name",
                    "groups of peaks, by the time of the best one's middle; snr, dm, time_s, mjd, "
                    "width and sample are those of its best box"));
    TRY(h5_put_text(table, "time_convention",
                    "time_s is in seconds after the observation's start, and mjd the same as "
                    "Modified Julian Day (UTC), both when the burst arrives at "
                    "/provenance/reference_hz; width and sample in samples of tsamp_s"));
    TRY(h5_put_u64(table, "peaks", of->peaks));
    TRY(h5_put_u64(table, "samples_above", of->above));
    return h5_put_f64(table, "kept_above", of->kept_above);
}

status_t candidates_put(hid_t file, const struct candidates *candidates)
{
    SCOPED(h5_close_at) hid_t stored = -1;
    SCOPED(h5_close_at) hid_t memory = -1;
    SCOPED(h5_close_at) hid_t table = -1;
    hsize_t count = candidates ? candidates->count : 0;
    TRY(table_type(1, &stored));
    TRY(table_type(0, &memory));
    TRY(h5_create_dataset(file, table_name, stored, 1, &count, &table));
    if (count > 0) {
        H5_TRY(H5Dwrite(table, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, candidates->rows),
               "%s cannot be written", table_name);
    }
    return table_put_words(table, candidates);
}

status_t candidates_csv(const struct candidates *candidates, struct text *out)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        text_add(out, "%s%c", columns[i].name, i + 1 < COLUMNS ? ',' : '\n');
    }
    for (uint64_t i = 0; i < candidates->count; i++) {
        const struct candidate *row = &candidates->rows[i];
        text_add(out,
                 "%.6g,%.12g,%.9f,%.12f,%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64
                 ",%.12g,%.12g,%.9f,%.9f\n",
                 row->snr, row->dm, row->time_s, row->mjd, row->width, row->beam, row->sample,
                 row->members, row->dm_least, row->dm_most, row->time_first_s, row->time_last_s);
    }
    return out->status;
}

static status_t table_read(hid_t file, const char *path, struct candidates *out)
{
    SCOPED(h5_dataset_close) struct h5_dataset table = {0};
    SCOPED(h5_close_at) hid_t memory = -1;
    int found = 0;
    TRY(h5_dataset_open(file, path, table_name, &table));
    TRY(h5_refuse_external(table.id, path, table_name));
    REQUIRE(table.rank == 1 && table.count <= MOST_CANDIDATES &&
                H5Tget_class(table.type) == H5T_COMPOUND,
            STATUS_DATA, "%s: /candidates is no table of candidates", path);
    TRY(table_type(0, &memory));
    TRY(memory_zeroed((size_t)table.count, sizeof *out->rows, "candidates", &out->rows));
    out->count = table.count;
    if (table.count > 0) {
        H5_TRY(H5Dread(table.id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out->rows),
               "%s: /candidates cannot be read", path);
    }
    TRY(parts_need_u64(table.id, path, "peaks", &out->peaks));
    TRY(parts_need_u64(table.id, path, "samples_above", &out->above));
    return h5_get_f64(table.id, path, "kept_above", &out->kept_above, &found);
}

static status_t table_read_search(hid_t file, const char *path, struct candidates_file *to)
{
    SCOPED(h5_close_at) hid_t peaks = -1;
    uint64_t widths = 0;
    int found = 0;
    peaks = H5Dopen2(file, "peaks", H5P_DEFAULT);
    H5_TRY(peaks, "%s: /peaks cannot be opened", path);
    TRY(parts_need_f64(peaks, path, "threshold", &to->threshold));
    TRY(parts_need_f64(peaks, path, "tsamp_s", &to->tsamp));
    TRY(parts_need_f64(peaks, path, "first_time", &to->first_time));
    TRY(parts_need_u64(peaks, path, "widths", &widths));
    REQUIRE(isfinite(to->tsamp) && to->tsamp > 0 && widths > 0 && widths <= UINT32_MAX, STATUS_DATA,
            "%s: boxes of %llu samples of %g s", path, (unsigned long long)widths, to->tsamp);
    to->widths = (uint32_t)widths;
    SCOPED(h5_close_at) hid_t group = H5Gopen2(file, "provenance", H5P_DEFAULT);
    H5_TRY(group, "%s has no provenance", path);
    TRY(h5_get_text(group, path, "filterbank", &to->filterbank, &found));
    TRY(parts_need_f64(group, path, "reference_hz", &to->reference_hz));
    TRY(parts_need_f64(group, path, "constant", &to->constant));
    TRY(h5_get_text(file, path, "source", &to->source, &found));
    TRY(h5_get_text(file, path, "telescope", &to->telescope, &found));
    return h5_read_f64s(file, path, "dm", &to->dms, &to->ndms);
}

static status_t candidates_open_here(const char *path, struct candidates_file **out)
{
    SCOPED(candidates_close_at) struct candidates_file *to = NULL;
    struct start start = {0};
    SCOPED(h5_close_at) hid_t file = -1;
    int found = 0;
    TRY(memory_zeroed(1, sizeof *to, "candidates", &to));
    TRY(h5_open_file(path, &file));
    TRY(h5_has(file, path, table_name, &found));
    REQUIRE(found, STATUS_DATA, "%s contains no candidates: expected what dedisperse.search writes",
            path);
    TRY(table_read(file, path, &to->found));
    TRY(table_read_search(file, path, to));
    TRY(start_read_root(file, path, &start, &found));
    to->has_start = start.is_known;
    to->start = start.utc;
    *out = memory_move(&to);
    return STATUS_OK;
}

void candidates_close(struct candidates_file *file)
{
    if (file) {
        candidates_free(&file->found);
        MEMORY_FREE(file->filterbank, file->source, file->telescope, file->dms, file);
    }
}

static status_t candidates_describe(const struct apart_request *request, void **out)
{
    SCOPED(candidates_close_at) struct candidates_file *file = NULL;
    (void)out;
    return candidates_open_here(request->path, &file);
}

const struct description candidates_description = {"candidates", NULL, candidates_describe};

status_t candidates_open(const char *path, struct candidates_file **out)
{
    TRY(apart_try(&candidates_description, &(struct apart_request){.path = path}));
    return candidates_open_here(path, out);
}
