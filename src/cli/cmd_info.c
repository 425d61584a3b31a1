/* voltmill info FILE... */
#include "base/display.h"
#include "cli/describe.h"
#include "cli/elsewhere.h"
#include "cli/values.h"
#include "compute/backend.h"
#include "input/about.h"
#include "input/format/formats.h"
#include "input/open.h"
#include "input/propose/propose.h"
#include "io/file.h"

/* Attributes of a file, beyond the facts that are read. */

enum { MOST_LISTED = 32, MOST_TEXT = 80, LEAST_WIDTH = 13, MOST_WIDTH = 28 };

/* The attribute of the same object that is called NAME and then `ending`; NULL: none, or no text.
 */
static const struct about_item *about_find(const struct about *about, const struct about_item *item,
                                           const char *ending)
{
    size_t length = strlen(item->name);
    for (size_t i = 0; i < about->count; i++) {
        const struct about_item *other = &about->items[i];
        if (other->text && strcmp(other->object, item->object) == 0 &&
            strncmp(other->name, item->name, length) == 0 &&
            strcmp(other->name + length, ending) == 0) {
            return other;
        }
    }
    return NULL;
}

/* Whether it is the unit or the frame of another attribute, after which it is printed. */
static int about_is_behind(const struct about *about, const struct about_item *item)
{
    int is_behind = 0;
    for (size_t i = 0; i < about->count; i++) {
        const struct about_item *other = &about->items[i];
        is_behind |= other != item && (about_find(about, other, "_UNIT") == item ||
                                       about_find(about, other, "_FRAME") == item);
    }
    return is_behind;
}

static void about_print_value(const struct about *about, const struct about_item *item)
{
    const struct about_item *unit = about_find(about, item, "_UNIT");
    const struct about_item *frame = about_find(about, item, "_FRAME");
    if (item->text) {
        int length = (int)strcspn(item->text, "\n");
        int is_cut = length > MOST_TEXT || item->text[length] != '\0';
        display_print("%.*s%s", length > MOST_TEXT ? MOST_TEXT : length, item->text,
                      is_cut ? " ..." : "");
    }
    for (uint32_t i = 0; !item->text && i < item->count; i++) {
        if (item->is_whole) {
            display_print("%s%lld", i ? ", " : "", (long long)item->whole[i]);
        } else {
            display_print("%s%.12g", i ? ", " : "", item->numbers[i]);
        }
    }
    display_print("%s%s%s%s%s\n", unit ? " " : "", unit ? unit->text : "", frame ? " (" : "",
                  frame ? frame->text : "", frame ? ")" : "");
}

/* Attributes of one object, which are side by side. */
static void about_print_object(const struct about *about, size_t first, size_t end)
{
    int width = LEAST_WIDTH;
    size_t listed = 0;
    for (size_t i = first; i < end; i++) {
        int length = (int)strlen(about->items[i].name);
        int is_shown = length <= MOST_WIDTH && !about_is_behind(about, &about->items[i]);
        width = is_shown && length > width ? length : width;
    }
    display_print("attributes of %s\n", about->items[first].object);
    for (size_t i = first; i < end; i++) {
        const struct about_item *item = &about->items[i];
        if (about_is_behind(about, item)) {
            continue;
        }
        if (listed++ < MOST_LISTED) {
            display_print("  %-*s ", width, item->name);
            about_print_value(about, item);
        }
    }
    if (listed > MOST_LISTED) {
        display_print("  and %zu more: --json has all\n", listed - MOST_LISTED);
    }
}

struct info_settings {
    struct shared shared;
    int devices, json;
};

/* Prints the beginning of a job, if there is one. */
static void info_print_job(const struct text *job)
{
    if (job->data) {
        printf("A job may begin so%s:\n%s",
               strstr(job->data, "???") ? " (replace each ??? first)" : "", job->data);
    }
}

/* An HDF5 file of no known format: its datasets help to write input.layout. */
static status_t info_describe_other(const char *path, struct json *json)
{
    SCOPED(text_free) struct text titles = {0};
    SCOPED(text_free) struct text datasets = {0};
    SCOPED(text_free) struct text attributes = {0};
    SCOPED(text_free) struct text job = {0};
    TRY(formats_add_titles(&titles));
    TRY(holds_describe(path, &datasets));
    TRY(propose_layout(path, &attributes, &job));
    if (json) {
        json_text(json, "kind", "hdf5");
        json_lines(json, "holds", datasets.data);
        json_lines(json, "attributes", attributes.data);
        json_text(json, "proposed", job.data);
        return STATUS_OK;
    }
    display_print("%s is an HDF5 file, but neither %s, nor a product.\nA job can describe it under "
                  "input.layout (docs/archives.md). It contains\n",
                  path, titles.data);
    fputs(datasets.data ? datasets.data : "", stdout);
    fputs(attributes.data ? attributes.data : "", stdout);
    info_print_job(&job);
    return STATUS_OK;
}

static void json_about(struct json *json, const struct about *about)
{
    json_begin(json, "attributes");
    for (size_t i = 0; i < about->count; i++) {
        const struct about_item *item = &about->items[i];
        if (i == 0 || strcmp(about->items[i - 1].object, item->object) != 0) {
            json_begin(json, item->object);
        }
        if (item->text) {
            json_text(json, item->name, item->text);
        } else if (item->count > 1) {
            json_list(json, item->name);
        }
        for (uint32_t j = 0; !item->text && j < item->count; j++) {
            const char *key = item->count > 1 ? NULL : item->name;
            if (item->is_whole) {
                json_i64(json, key, item->whole[j]);
            } else {
                json_f64(json, key, item->numbers[j]);
            }
        }
        if (!item->text && item->count > 1) {
            json_list_end(json);
        }
        if (i + 1 == about->count || strcmp(about->items[i + 1].object, item->object) != 0) {
            json_end(json);
        }
    }
    json_end(json);
}

/* Prints further attributes of the file. */
static status_t info_about(const char *path, const char *dataset, struct json *json)
{
    SCOPED(about_free) struct about about = {0};
    TRY(about_read(path, dataset, &about));
    if (json) {
        json_about(json, &about);
        return STATUS_OK;
    }
    for (size_t i = 0, end = 0; i < about.count; i = end) {
        const char *object = about.items[i].object;
        for (end = i + 1; end < about.count && strcmp(about.items[end].object, object) == 0;
             end++) {
        }
        about_print_object(&about, i, end);
    }
    return STATUS_OK;
}

static status_t info_filterbank(const char *path, struct json *json)
{
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    TRY(fbh5_open(path, FBH5_HEADER, &fbh5));
    if (json) {
        json_text(json, "kind", "filterbank");
        json_filterbank(json, fbh5);
    } else {
        describe_filterbank(fbh5);
    }
    TRY(info_about(path, "data", json));
    return elsewhere_of_filterbank(fbh5, json);
}

/* Describes an archive that leaves required facts to the job. */
static status_t info_unsaid(const char *path, const struct format *format, struct json *json)
{
    SCOPED(text_free) struct text text = {0};
    TRY(propose_said(path, format->name, report_cause(), &text));
    if (json) {
        json_text(json, "kind", "archive");
        json_text(json, "format", format->name);
        json_text(json, "unsaid", report_cause());
        json_text(json, "proposed", text.data);
    } else {
        display_print("archive (%s)\n  %-13s %s\n", format->name, "unsaid", report_cause());
        info_print_job(&text);
    }
    report_clear();
    return STATUS_OK;
}

/* Describes an archive. `format` is set if it is a single file. */
static status_t info_archive(const struct info_settings *s, const struct format *format,
                             struct json *json)
{
    SCOPED(archive_destroy_at) struct archive *archive = NULL;
    status_t st =
        archive_open_files(s->shared.operands, s->shared.noperands, s->shared.layout, &archive);
    if (st == STATUS_USAGE && format) {
        return info_unsaid(s->shared.operand, format, json);
    }
    TRY(st);
    if (json) {
        json_text(json, "kind", "archive");
        json_archive(json, archive);
    } else {
        describe_archive(archive);
    }
    TRY(info_about(archive->parts[0].path, archive->dataset, json));
    return elsewhere_of_archive(archive, json);
}

/* Describes raw numbers of unknown type, measured as each possible type. */
static status_t info_raw_types(const char *path, uint64_t skip, struct json *json)
{
    SCOPED(text_free) struct text lines = {0};
    TRY(raw_types_measure(path, skip, &lines));
    if (json) {
        json_text(json, "kind", "raw");
        json_lines(json, "types", lines.data);
        return STATUS_OK;
    }
    display_print("%s as raw numbers of each type; input.layout.type states which is right.\n"
                  "Sixteenths of the band: real from 0 to rate/2, complex from -rate/2 to rate/2\n",
                  path);
    fputs(lines.data, stdout);
    return STATUS_OK;
}

/* Files as --layout describes them. */
static status_t info_described(const struct info_settings *s, struct json *json)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    TRY(job_parse_layout(s->shared.layout, &job));
    const struct job_layout *said = &job->layout;
    int is_raw = said->format && strcmp(said->format, raw_format.name) == 0;
    return is_raw && said->numbers.type.bits == 0 && !said->numbers.has_packing
               ? info_raw_types(s->shared.operand, said->skip, json)
               : info_archive(s, NULL, json);
}

/* A file that was cut off is no product that can be trusted, but may be an archive that is read as
 * far as it goes. */
static status_t info_open_product(const char *path, const struct format *format,
                                  struct product **out)
{
    if (format && format->is_no_product) {
        return STATUS_OK;
    }
    status_t st = product_open(path, out);
    if (st == STATUS_DATA && format && !format->open_filterbank && !format->is_product) {
        report_clear();
        st = STATUS_OK;
    }
    return st;
}

static status_t info_describe_here(const struct info_settings *s, struct json *json)
{
    const char *path = s->shared.operand;
    const struct format *format = NULL;
    SCOPED(product_destroy_at) struct product *product = NULL;
    struct product_weights weights = {.count = 0};
    TRY(formats_recognise(path, &format));
    TRY(info_open_product(path, format, &product));
    TRY(product ? product_weigh(product, &weights) : STATUS_OK);
    if (product && json) {
        json_text(json, "kind", "product");
        json_product(json, product, &weights);
    } else if (product) {
        describe_product(product, &weights);
    } else if (!format) {
        TRY(info_describe_other(path, json));
    } else {
        TRY(format->open_filterbank ? info_filterbank(path, json) : info_archive(s, format, json));
    }
    return STATUS_OK;
}

static const struct pack_field settings_fields[] = {
    PACK_LIST(struct info_settings, shared.operands, shared.noperands, &pack_texts),
    PACK_FIELD(struct info_settings, shared.layout)};
static const struct pack_type settings_type = PACK_TYPE(struct info_settings, settings_fields);

SCOPED_CALLS(info_settings_free, struct info_settings, pack_free(at, &settings_type))

/* Describes a file in a child process; its printed text reaches stdout. */
static status_t info_open(const struct apart_request *request, void **out)
{
    SCOPED(json_free) struct json json = {.depth = 0};
    struct json *to = request->wants ? &json : NULL;
    SCOPED(info_settings_free) struct info_settings settings = {.json = 0};
    struct unpack in = {.data = request->more.data, .length = request->more.length};
    int exists = 0;
    (void)out;
    unpack_struct(&in, &settings, &settings_type);
    TRY(unpack_check(&in, "names"));
    settings.shared.operand = settings.shared.operands[0];
    if (to) {
        json_begin(to, NULL);
    }
    /* Several files, or what a pattern stands for, are one archive, as in a job. */
    TRY(file_exists(settings.shared.operand, &exists));
    int is_one =
        settings.shared.noperands == 1 && (exists || !strpbrk(settings.shared.operand, "*?["));
    TRY(settings.shared.layout ? info_described(&settings, to)
        : is_one               ? info_describe_here(&settings, to)
                               : info_archive(&settings, NULL, to));
    if (to) {
        json_end(to);
        TRY(json_print(to));
    }
    return STATUS_OK;
}

const struct description info_description = {"info", NULL, info_open};

static status_t info_devices(int is_json)
{
    SCOPED(text_free) struct text text = {0};
    SCOPED(json_free) struct json json = {.depth = 0};
    TRY(backend_devices(&text));
    if (is_json) {
        json_begin(&json, NULL);
        json_lines(&json, "devices", text.data);
        json_end(&json);
        TRY(json_print(&json));
    } else {
        fputs(text.data ? text.data : "no OpenCL platform: is a driver (ICD) installed?\n", stdout);
    }
    return STATUS_OK;
}

static status_t info_check(void *settings)
{
    const struct info_settings *s = settings;
    return REQUIRED(!s->devices || s->shared.noperands == 0, STATUS_USAGE,
                    "info: expected files or --devices, not both; see voltmill info --help");
}

static status_t info_run(void *settings)
{
    const struct info_settings *s = settings;
    SCOPED(text_free) struct text more = {0};
    void *nothing = NULL;
    if (s->devices) {
        return info_devices(s->json);
    }
    TRY(pack_struct(&more, s, &settings_type));
    const struct apart_request request = {.wants = (uint64_t)s->json, .more = more};
    return apart_describe(&info_description, &request, &nothing);
}

static const struct option_row rows[] = {
    {"devices", FLAG(offsetof(struct info_settings, devices)),
     "lists the OpenCL devices of this machine instead"},
    {"json", FLAG(offsetof(struct info_settings, json)), "prints it as a JSON object"},
    {.name = "layout stall-timeout"},
    {.name = NULL}};

const struct command cli_info = {
    .only_prints = 1,
    .name = "info",
    .summary = "describe an archive or a product, or list compute devices",
    .usage = "[OPTION]... FILE...\n--devices",
    .about =
        "Describes an archive of any known format, a filterbank, or a product of voltmill, in "
        "words and units. Of another HDF5 file it lists the datasets and drafts a description. "
        "Several files, or a pattern in quotes, are one archive, as input.files of a job.",
    .operand = "file",
    .ends = "h5|hdf5|raw|vdif|dada|dat|npy|sigmf-meta|sigmf|wav|fil|fits",
    .takes_many = 1,
    .instead = "devices",
    .rows = rows,
    .bytes = sizeof(struct info_settings),
    .check = info_check,
    .run = info_run};
