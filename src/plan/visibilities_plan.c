/* Pairs of stations by their names, and the specification of their correlation. */
#include "plan/visibilities_plan.h"

void visibilities_plan_destroy(struct visibilities_plan *plan)
{
    if (plan) {
        MEMORY_FREE(plan->pairs, plan->autos, plan->antennas, plan);
    }
}

/* The name of a selected station: the archive's, or in an archive without names the table's. */
static const char *pairs_name(const struct channelise_plan *work, uint32_t i)
{
    const struct array_plan *array = work->array;
    char **names = work->seen->names[AXIS_STATION];
    return names ? names[work->seen->selected[AXIS_STATION][i]]
                 : array->table->stations[array->station_of[i]].name;
}

/* The place of a station among the selected ones, by its name, else by its number in the archive;
 * the number of stations if there is none. */
static uint32_t pairs_station(const struct channelise_plan *work, const char *name, size_t length)
{
    const struct archive *archive = work->seen;
    const uint32_t count = archive->nselected[AXIS_STATION];
    char digits[24];
    for (uint32_t i = 0; i < count; i++) {
        const char *own = pairs_name(work, i);
        if (strlen(own) == length && strncmp(own, name, length) == 0) {
            return i;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        snprintf(digits, sizeof digits, "%llu",
                 (unsigned long long)archive->selected[AXIS_STATION][i]);
        if (strlen(digits) == length && strncmp(digits, name, length) == 0) {
            return i;
        }
    }
    return count;
}

static int pairs_order(const void *left, const void *right)
{
    const uint32_t *a = left;
    const uint32_t *b = right;
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

static status_t pairs_push(struct visibilities_plan *plan, uint32_t a, uint32_t b)
{
    TRY(memory_grown(plan->npairs + 1, sizeof *plan->pairs, "pairs", &plan->pairs));
    plan->pairs[plan->npairs][0] = a < b ? a : b;
    plan->pairs[plan->npairs++][1] = a < b ? b : a;
    return STATUS_OK;
}

/* Adds the pairs that one word of products.N.pairs stands for. */
static status_t pairs_add(const struct channelise_plan *work, uint32_t i, const char *word,
                          struct visibilities_plan *plan)
{
    const uint32_t stations = work->seen->nselected[AXIS_STATION];
    const int has_crosses = strcmp(word, "autos") != 0;
    const int has_autos = strcmp(word, "crosses") != 0;
    if (has_crosses && has_autos && strcmp(word, "all") != 0) {
        const char *star = strchr(word, '*');
        uint32_t a = star ? pairs_station(work, word, (size_t)(star - word)) : stations;
        uint32_t b = star ? pairs_station(work, star + 1, strlen(star + 1)) : stations;
        REQUIRE(a < stations && b < stations, STATUS_USAGE,
                "%s: products.%u.pairs: '%s': expected all, crosses, autos, or two of the %u "
                "selected stations, such as 0*1 or %s*%s",
                work->job->path, i, word, stations, pairs_name(work, 0),
                pairs_name(work, stations - 1));
        return pairs_push(plan, a, b);
    }
    for (uint32_t a = 0; a < stations; a++) {
        for (uint32_t b = a; b < stations; b++) {
            int is_used = (a == b ? has_autos : has_crosses) &&
                          !array_plan_is_flagged(work->array, a) &&
                          !array_plan_is_flagged(work->array, b);
            TRY(is_used ? pairs_push(plan, a, b) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

/* Lists the pairs, each once, in ascending order. */
static status_t pairs_find(const struct channelise_plan *work, uint32_t i,
                           struct visibilities_plan *plan)
{
    static const char *const all = "all";
    const struct job_product *job = &work->job->products[i];
    uint32_t count = 0;
    for (uint32_t at = 0; at < max_u64(job->npairs, 1); at++) {
        TRY(pairs_add(work, i, job->npairs > 0 ? job->pairs[at] : all, plan));
    }
    REQUIRE(plan->npairs > 0, STATUS_USAGE, "%s: products.%u.pairs: none is left", work->job->path,
            i);
    qsort(plan->pairs, plan->npairs, sizeof *plan->pairs, pairs_order);
    for (uint32_t at = 0; at < plan->npairs; at++) {
        if (at == 0 || pairs_order(plan->pairs[at], plan->pairs[count - 1]) != 0) {
            memmove(plan->pairs[count++], plan->pairs[at], sizeof *plan->pairs);
        }
    }
    plan->npairs = plan->spec.npairs = count;
    return STATUS_OK;
}

/* Adds the autocorrelations by which rows are judged. */
static status_t pairs_add_autos(struct visibilities_plan *plan)
{
    const uint32_t listed = plan->npairs;
    const uint32_t stations = plan->spec.stations;
    TRY(memory_zeroed(stations, sizeof *plan->autos, "pairs", &plan->autos));
    memset(plan->autos, 0xff, stations * sizeof *plan->autos);
    for (uint32_t i = 0; i < listed; i++) {
        if (plan->pairs[i][0] == plan->pairs[i][1]) {
            plan->autos[plan->pairs[i][0]] = i;
        }
    }
    for (uint32_t a = 0; a < stations; a++) {
        if (plan->autos[a] == UINT32_MAX) {
            plan->autos[a] = plan->npairs;
            TRY(pairs_push(plan, a, a));
        }
    }
    plan->spec.npairs = plan->npairs;
    plan->npairs = listed;
    return STATUS_OK;
}

/* Directions and apparent place of a row's centre, for its uvw. */
static status_t visibilities_look(const void *context, uint64_t row, double seconds,
                                  struct visibilities_sky *out)
{
    const struct visibilities_plan *plan = context;
    const struct array_plan *array = plan->array;
    const struct moment moment = moment_of_utc(utc_add(plan->start, seconds));
    struct apparent apparent = {0};
    (void)row;
    earth_place_axes(&array->observer.place, out->uvw);
    if (plan->is_steered) { /* else drift data: east, north, up */
        TRY(geometry_axes(&array->observer, moment, &plan->towards, out->uvw));
    }
    TRY(geometry_apparent(&array->observer, moment, (const double(*)[3])out->uvw, &apparent));
    out->lst = apparent.lst_rad;
    out->app_ra = plan->is_steered ? apparent.ra_rad : apparent.lst_rad;
    out->app_dec = plan->is_steered ? apparent.dec_rad : array->observer.place.lat_rad;
    out->frame_pa = plan->is_steered ? apparent.frame_pa_rad : 0;
    return STATUS_OK;
}

/* Fills the description of the array in the file. */
static status_t visibilities_describe(const struct channelise_plan *work, uint32_t i,
                                      struct visibilities_plan *plan)
{
    static const double deg_per_rad = 180 / 3.14159265358979323846;
    const struct job_direction *own = &work->job->products[i].centre;
    const int has_own = own->kind != DIRECTION_NONE || own->name;
    const struct job_direction *centre = has_own ? own : &work->job->array.centre;
    REQUIRE(centre->kind != DIRECTION_AZEL, STATUS_USAGE,
            "%s: the centre of %s is an azimuth and elevation, but visibilities have a phase "
            "centre in ra_deg and dec_deg, or none",
            work->job->path, has_own ? work->job->products[i].file : "array");
    plan->direction = has_own ? 1 + work->job->nbeams + i : 0;
    plan->is_steered = has_own || work->array->is_steered;
    plan->towards = (struct direction){.lon_rad = centre->lon_deg / deg_per_rad,
                                       .lat_rad = centre->lat_deg / deg_per_rad};
    const struct array_plan *array = work->array;
    const struct earth_place *place = &array->observer.place;
    plan->array = array;
    plan->start = work->archive->sky.start;
    TRY(memory_zeroed(array->stations, sizeof *plan->antennas, "stations", &plan->antennas));
    for (uint32_t k = 0; k < array->stations; k++) {
        const struct array_station *station = &array->table->stations[array->station_of[k]];
        plan->antennas[k].name = station->name;
        memcpy(plan->antennas[k].itrf, station->itrf_m, sizeof station->itrf_m);
    }
    plan->centre = (struct visibilities_centre){

        .name = centre->name                ? centre->name
                : work->archive->sky.source ? work->archive->sky.source
                                            : "centre",
        .ra_deg = centre->lon_deg,
        .dec_deg = centre->lat_deg};
    plan->product = (struct visibilities_spec){
        .npairs = plan->npairs,
        .npols = plan->products,
        .pairs = (const uint32_t(*)[2])plan->pairs,
        .nantennas = array->stations,
        .antennas = plan->antennas,
        .name = array->table->name             ? array->table->name
                : work->archive->sky.telescope ? work->archive->sky.telescope
                                               : "array",
        .place = {place->xyz_m[0], place->xyz_m[1], place->xyz_m[2]},
        .latitude_deg = place->lat_rad * deg_per_rad,
        .longitude_deg = place->lon_rad * deg_per_rad,
        .altitude_m = place->height_m,
        .centre = plan->is_steered ? &plan->centre : NULL,
        .look = visibilities_look,
        .context = plan};
    return STATUS_OK;
}

status_t visibilities_plan_create(const struct channelise_plan *work, uint32_t i,
                                  struct visibilities_plan **out)
{
    const struct archive *archive = work->seen;
    const struct job_product *job = &work->job->products[i];
    const uint32_t *selected = archive->nselected;
    const uint32_t nchannels = channelise_plan_bank_of(work, i)->channelise.nchannels;
    SCOPED(visibilities_plan_destroy_at) struct visibilities_plan *plan = NULL;
    TRY(memory_zeroed(1, sizeof *plan, "visibilities", &plan));
    REQUIRE(work->array, STATUS_USAGE,
            "%s: products.%u.kind is visibilities, expected `array`, which says where the stations "
            "are",
            work->job->path, i);
    REQUIRE(!work->array->table->is_nowhere, STATUS_USAGE,
            "%s: products.%u.kind is visibilities, but %s does not say where its stations are: "
            "expected array.table",
            work->job->path, i, archive->parts[0].path);
    REQUIRE(work->archive->sky.has_start, STATUS_USAGE,
            "%s: products.%u.kind is visibilities, but the archive does not say when it starts "
            "(input.layout.start sets it)",
            work->job->path, i);
    REQUIRE(selected[AXIS_BEAM] == 1 && selected[AXIS_POL] <= 2, STATUS_USAGE,
            "%s: products.%u.kind is visibilities, expected one beam and one or two polarisations, "
            "but there are %u and %u: input.select takes some",
            work->job->path, i, selected[AXIS_BEAM], selected[AXIS_POL]);
    REQUIRE(nchannels % job->average == 0, STATUS_USAGE,
            "%s: products.%u.average is %u, expected a number that divides the %u channels of a "
            "coarse channel",
            work->job->path, i, job->average, nchannels);
    plan->products = selected[AXIS_POL] * selected[AXIS_POL];
    plan->spec =
        (struct correlate_spec){.stations = selected[AXIS_STATION],
                                .pols = selected[AXIS_POL],
                                .coarse = selected[AXIS_CHAN],
                                .nchannels = nchannels,
                                .average = job->average,
                                .integrate = job->integrate,
                                .gains = work->array ? work->array->gains[job->bank] : NULL,
                                .is_turned = work->array != NULL};
    TRY(pairs_find(work, i, plan));
    TRY(work->is_judged ? pairs_add_autos(plan) : STATUS_OK);
    plan->spec.pairs = (const uint32_t(*)[2])plan->pairs;
    TRY(visibilities_describe(work, i, plan));
    *out = memory_move(&plan);
    return STATUS_OK;
}

void visibilities_plan_spec(const struct channelise_plan *work, uint32_t i, uint64_t units,
                            struct correlate_spec *out)
{
    *out = work->products[i].visibilities->spec;
    out->max_spectra = units * channelise_plan_bank_of(work, i)->ratio;
    out->threads = work->threads;
    out->simd = channelise_plan_bank_of(work, i)->channelise.simd;
}
