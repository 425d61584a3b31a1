/* Names and protection of what `voltmill plot` and `run --report` write; and the page about a run:
 * the job, the lines it printed, and its products. */
#include "plot/plot.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "input/coefficients.h"
#include "io/file.h"
#include "io/folder.h"
#include "job/job.h"
#include "product/export/export_file.h"
#include "product/product.h"
#include "ranks/stop.h"
#include "run/share.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

/* First bytes of files of ours, and bytes that come soon after them. */
struct plot_signature {
    const char *start;
    size_t start_bytes;
    const char *word;
    size_t word_bytes;
};
#define SIGNATURE(start, word)                                                                     \
    {                                                                                              \
        start, sizeof(start) - 1, word, sizeof(word) - 1                                           \
    }

static const struct plot_signature pictures[] = {
    SIGNATURE("\x89PNG", "tEXtSoftware\0voltmill plot"),
    SIGNATURE("<?xml", "<!-- voltmill plot -->"), SIGNATURE("panel,title,line,x,y,value\n", "")};
static const struct plot_signature page_signature =
    SIGNATURE("<!DOCTYPE html>", "<meta name=\"generator\" content=\"voltmill\">");

static int plot_has(const char *path, const struct plot_signature *of)
{
    char begin[MARK_BLOCK];
    SCOPED(file_close_at) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t count = fd >= 0 ? read(fd, begin, sizeof begin) : 0;
    return count >= (ssize_t)of->start_bytes && memcmp(begin, of->start, of->start_bytes) == 0 &&
           memmem(begin, (size_t)count, of->word, of->word_bytes);
}

static int plot_is_picture(const char *path)
{
    int is_one = 0;
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        is_one |= plot_has(path, &pictures[i]);
    }
    return is_one;
}

static int plot_is_page(const char *path)
{
    return plot_has(path, &page_signature);
}

/* Fails with USAGE if `path` exists, unless forced, or a file of the same command, or cannot be
 * made; with DATA if that is unknown; with DEVICE (memory). */
static status_t plot_check_new(const char *path, enum mark mark, int force)
{
    int is_ours = mark == MARK_RUN ? plot_is_page(path) : plot_is_picture(path);
    return file_check_new(path, force || is_ours);
}

/* Writes a picture, table or page: as FILE.part, then renamed. An older file of the same command is
 * replaced. Fails with NO_SPACE, DATA, DEVICE; with USAGE where `path` is one of the files that
 * `reads` knows, or another file, unless forced. `is_before`: nothing was written, the same was
 * there. */
static status_t plot_publish(const char *path, const struct text *text, enum mark mark, int force,
                             const struct guard *reads, int *is_before)
{
    const struct export_plan plan = {.path = path,
                                     .mark = mark,
                                     .force = force,
                                     .bytes = text->length,
                                     .head = text,
                                     .is_ours = mark == MARK_RUN ? plot_is_page : plot_is_picture};
    return export_file_write(&plan, reads, is_before);
}

/* Numbers are neither the picture, nor the name under which it is written. */
static status_t plot_check_apart(const char *output, const char *data)
{
    SCOPED(free_at) char *part = NULL;
    TRY(file_part_name(output, &part));
    const char *const names[] = {output, part};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int is_same = 0;
        TRY(file_is_same(names[i], data, &is_same));
        REQUIRE(!is_same, STATUS_USAGE, "%s: picture and numbers cannot be one file", names[i]);
    }
    return STATUS_OK;
}

/* Checks that no input would be overwritten, and that the two outputs differ. */
static status_t plot_protect(const struct plot_options *o, const char *output, struct guard *guard)
{
    for (uint32_t i = 0; i < o->nfiles; i++) {
        TRY(guard_add(guard, "the input file", o->files[i]));
    }
    TRY(guard_check_part(guard, "the output", output));
    TRY(plot_check_new(output, MARK_PLOT, o->force));
    if (o->data) {
        TRY(guard_check_part(guard, "the output", o->data));
        TRY(plot_check_new(o->data, MARK_PLOT, o->force));
        TRY(plot_check_apart(output, o->data));
    }
    return STATUS_OK;
}

static status_t plot_name(const struct plot_options *o, char **out, const char **format)
{
    const char *first = o->files[0];
    const char *base = text_basename(first);
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    int exists = 0;
    /* A pattern counts as far as it is a name: x-look.png of x.*.raw. */
    TRY(file_exists(first, &exists));
    length = exists ? length : min_u64(length, max_u64(strcspn(base, "*?["), 1));
    while (!exists && length > 1 && strchr("._", base[length - 1])) {
        length--;
    }
    TRY(o->output ? memory_text(o->output, out)
                  : memory_format(out, "%.*s%s.png", (int)(base - first) + (int)length, first,
                                  o->of == PLOT_LOOK ? "-look" : ""));
    REQUIRE(text_ends(*out, ".png") || text_ends(*out, ".svg"), STATUS_USAGE,
            "%s: expected a name that ends in .png or .svg", *out);
    *format = strrchr(*out, '.') + 1;
    /* The name of a picture of a pattern is none. */
    for (char *c = *out + (text_basename(*out) - *out); !o->output && *c; c++) {
        *c = strchr("*?[]", *c) ? '_' : *c;
    }
    return STATUS_OK;
}

/* Pictures are put beside their files by default, and archives are often only readable: what `look`
 * measures needs no picture. `format` becomes NULL then. */
static status_t plot_check_place(const struct plot_options *o, const char *output,
                                 const char **format)
{
    int is_there = 0;
    status_t st = o->output ? STATUS_OK : folder_check(output, &is_there);
    if (st == STATUS_USAGE && o->of == PLOT_LOOK) {
        report_note("no picture: %s (-o FILE puts it elsewhere)", report_cause());
        report_clear();
        *format = NULL;
        return STATUS_OK;
    }
    return st == STATUS_USAGE ? report_again(st, "%s (-o FILE puts it elsewhere)", report_cause())
                              : st;
}

static status_t plot_draw(const struct plot_options *o, const char *format, struct drawn *drawn)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    if (o->of == PLOT_FILTER) {
        TRY(job_load(o->files[0], o->sets, o->nsets, &job));
        REQUIRE(!job_needs_rate(job), STATUS_USAGE,
                "%s: channelise.width or products.integrate needs the rate of the input, which is "
                "not opened here: expected numbers",
                o->files[0]);
        TRY(coefficients_read(job));
    }
    const struct drawing drawing = {.of = o->of,
                                    .files = o->files,
                                    .nfiles = o->nfiles,
                                    .job = job,
                                    .format = format,
                                    .is_wanted = o->output != NULL,
                                    .is_served = o->is_served,
                                    .has_numbers = o->data != NULL,
                                    .choice = o->choice};
    return drawing_make(&drawing, drawn);
}

status_t plot_make(const struct plot_options *o, struct text *said)
{
    SCOPED(free_at) char *output = NULL;
    SCOPED(drawn_free) struct drawn drawn = {.said = {0}};
    SCOPED(guard_free) struct guard guard = {.count = 0};
    const char *format = NULL;
    int has_numbers = 1;
    int has_picture = 0;
    if (!o->is_text) {
        TRY(plot_name(o, &output, &format));
        TRY(plot_check_place(o, output, &format));
        TRY(format ? plot_protect(o, output, &guard) : STATUS_OK);
    }
    TRY(plot_draw(o, format, &drawn));
    if (!drawn.picture.data) {
        return text_add_bytes(said, drawn.said.data, drawn.said.length);
    }
    if (o->data) {
        TRY(plot_publish(o->data, &drawn.numbers, MARK_PLOT, o->force, &guard, &has_numbers));
    }
    TRY(plot_publish(output, &drawn.picture, MARK_PLOT, o->force, &guard, &has_picture));
    /* The first line is the picture's size, the others are what was found. */
    size_t skipped = has_numbers && has_picture ? strcspn(drawn.said.data, "\n") + 1 : 0;
    TRY(text_add_shown(said, skipped ? "complete before: %s\n" : "%s: ", output));
    return text_add_bytes(said, drawn.said.data + skipped, drawn.said.length - skipped);
}

/* A page of HTML that is one file: no link leads out of it, all text of others is escaped, pictures
 * are inside. Reads well at the width of a phone, light and dark. page.status is the first failure
 * (memory).
 *
 * HTML by hand: a few elements, and one style for all. */

static const char begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"generator\" content=\"voltmill\">\n";

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--card:#f4f4f2;--text:#1a1a1a;--soft:#5a5a5a;"
    "--line:#d8d8d4}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#16181b;--card:#212429;--text:#e6e6e3;"
    "--soft:#a6a6a2;--line:#3a3e44}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:84rem;padding:1rem;background:var(--back);color:var(--text);"
    "font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.6em 0 .5em;"
    "border-bottom:1px solid var(--line)}\n"
    "p{margin:.4em 0;color:var(--soft);white-space:pre-line}\n"
    "table{border-collapse:collapse;width:100%;max-width:60rem}\n"
    "th,td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0;"
    "border-bottom:1px solid var(--line)}td{white-space:pre-wrap}\n"
    "th{font-weight:normal;color:var(--soft);width:min(9.5rem,32vw);overflow-wrap:normal}\n"
    "pre{background:var(--card);padding:.7em;border-radius:.4em;overflow-x:auto;font-size:.85rem;"
    "white-space:pre-wrap}\n"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));"
    "gap:.7rem;margin:.6em 0}\n"
    ".pictures img{display:block;width:100%;height:auto;background:#fff;border-radius:.4em;"
    "border:1px solid var(--line)}\n"
    "@media(prefers-color-scheme:dark){.pictures img{filter:brightness(.9)}}\n";

static void page_text(struct text *page, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t bytes = display_character(text, left);
        const char *word = *text == '<'   ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '&' ? "&amp;"
                           : *text == '"' ? "&quot;"
                                          : NULL;
        if (word) {
            text_add(page, "%s", word);
        } else if (bytes > 0 || *text == '\n') {
            text_add_bytes(page, text, bytes ? bytes : 1);
        } else {
            text_add(page, *text == '\t' ? " " : "\\x%02x", (unsigned)(unsigned char)*text);
        }
        bytes = bytes ? bytes : 1;
        text += bytes;
        left -= bytes;
    }
}

/* Appends HTML in which a text of anybody's is in place of the '%', "<p>%</p>": nothing in the text
 * means anything to HTML, or steers a terminal. */
static void page_add(struct text *page, const char *form, const char *text)
{
    const char *at = strchr(form, '%');
    text_add_bytes(page, form, (size_t)(at - form));
    page_text(page, text);
    text_add(page, "%s", at + 1);
}

/* Adds a row to a table, unless the value is empty. */
static void page_row(struct text *page, const char *name, const char *value)
{
    if (value && *value) {
        page_add(page, "<tr><th scope=\"row\">%</th>", name);
        page_add(page, "<td>%</td></tr>\n", value);
    }
}

enum { HOST = 256 };
/* Bytes of a product that are read for its pictures. */
enum { MOST_BYTES = 1 << 30 };

static struct text said; /* by this process since report_begin() */

static void report_keep_line(const char *line)
{
    (void)text_add(&said, "%s", line);
}

static void report_keep_message(enum report_kind kind, const char *message)
{
    (void)text_add(&said, "%s: %s\n", report_word(kind), message);
}

status_t report_begin(const struct report_run *run)
{
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    TRY(watchdog_begin_file(run->patience, 0, run->path, "looked up", &watchdog));
    TRY(plot_check_new(run->path, MARK_RUN, run->force));
    display_copy(report_keep_line);
    report_copy(report_keep_message);
    return STATUS_OK;
}

void report_end(void)
{
    display_copy(NULL);
    report_copy(NULL);
    text_free(&said);
}

/* Pictures and tables of products, on a page. */
struct glance {
    struct text *page;
    int is_blind; /* no Python draws */
    watchdog_t *watchdog;
};

/* Memory is the only failure that may stop the page; others are said on it. */
static status_t glance_excuse(struct glance *glance, status_t st, const char *what)
{
    SCOPED(text_free) struct text words = {0};
    if (st == STATUS_OK) {
        return st;
    }
    st = text_add_shown(&words, "%s: no picture: %s", what, report_cause());
    report_clear();
    TRY(st);
    page_add(glance->page, "<p>%</p>\n", words.data);
    report_warn("%s", words.data);
    return STATUS_OK;
}

/* Pictures of a product (`path`) or of the job's filter bank. Without Python there is one warning
 * for all. */
static status_t glance_draw(struct glance *glance, const struct drawing *drawing, const char *what)
{
    SCOPED(drawn_free) struct drawn drawn = {.said = {0}};
    watchdog_moved(glance->watchdog);
    status_t st = drawing_make(drawing, &drawn);
    if (st == STATUS_OK) {
        return text_add_bytes(glance->page, drawn.picture.data, drawn.picture.length);
    }
    glance->is_blind = st == STATUS_DEVICE;
    return glance_excuse(glance, st, glance->is_blind ? "report" : what);
}

static status_t glance_add_losses(struct glance *glance, const struct product *p)
{
    char text[2 * UNITS_TEXT];
    uint64_t holes = 0;
    struct product_weights weights = {.count = 0};
    SCOPED(file_close_at) int fd = -1;
    if (p->kind != PRODUCT_VOLTAGES) {
        TRY(file_open_read(p->path, &fd));
        TRY(product_count_holes(fd, p->path, &p->place, &holes));
        TRY(product_weigh(p, &weights));
    }
    page_row(glance->page, "missing samples", units_count(p->missing));
    page_row(glance->page, "samples in gaps", units_count(p->gaps));
    if (p->kind != PRODUCT_VOLTAGES) {
        page_row(glance->page, "rows with NaN for unread input", units_count(holes));
    } else {
        page_row(glance->page, "clipped numbers", units_count(p->clipped));
    }
    if (p->place.scale_rows > 0) {
        page_row(glance->page, "numbers clipped low", units_count(weights.clips.low));
        page_row(glance->page, "numbers clipped high", units_count(weights.clips.high));
    }
    if (weights.count > 0) {
        snprintf(text, sizeof text, "%.6g", weights.mean);
        page_row(glance->page, "mean weight", text);
    }
    return STATUS_OK;
}

static status_t glance_add_table(struct glance *glance, const struct product *p)
{
    SCOPED(text_free) struct text size = {0};
    int is_search = p->kind == PRODUCT_CANDIDATES;
    int is_series = p->kind == PRODUCT_DEDISPERSED || is_search;
    TRY(text_add(&size, "%s %s x ", units_count(p->rows),
                 is_series ? units_plural(p->rows, "DM", "DMs")
                           : units_plural(p->rows, "row", "rows")));
    TRY(is_series ? STATUS_OK
                  : text_add(&size, "%s %s x ", units_count(p->streams),
                             p->ifs.pol_type ? units_plural(p->streams, "pol", "pols")
                                             : units_plural(p->streams, "stream", "streams")));
    TRY(text_add(&size, "%s %s, %s", units_count(p->frequencies),
                 is_search   ? "cells"
                 : is_series ? "times"
                             : units_plural(p->frequencies, "channel", "channels"),
                 units_bytes(p->place.file_bytes)));
    text_add(glance->page, "<table>\n");
    page_row(glance->page, "kind", product_name(p->kind));
    page_row(glance->page, "size", size.data);
    if (is_search) {
        page_row(glance->page, "candidates", units_count(p->candidates));
    }
    if (p->kind != PRODUCT_VOLTAGES) {
        page_row(glance->page,
                 is_search   ? "a cell"
                 : is_series ? "a sample"
                             : "a row",
                 units_seconds(p->time_step));
    }
    page_row(glance->page, "filters", p->origin.filters);
    TRY(glance_excuse(glance, glance_add_losses(glance, p), "losses"));
    text_add(glance->page, "</table>\n");
    return STATUS_OK;
}

/* Chooses the part for a picture: of a large product only the beginning is read. */
static struct plot_choice glance_choice(const struct product *p)
{
    struct plot_choice choice = {.has_time = 0};
    double times =
        (double)(p->kind == PRODUCT_DEDISPERSED || p->kind == PRODUCT_CANDIDATES ? p->frequencies
                                                                                 : p->rows);
    double bytes = (double)p->rows * (double)p->place.row_bytes;
    if (bytes > MOST_BYTES) {
        choice.has_time = 1;
        choice.time[1] = ceil(times * MOST_BYTES / bytes) * p->time_step;
    }
    return choice;
}

static status_t glance_at_product(struct glance *glance, const char *path)
{
    SCOPED(product_destroy_at) struct product *product = NULL;
    watchdog_moved(glance->watchdog);
    page_add(glance->page, "<h2>%</h2>\n", path);
    if (file_format_of(path) != FILE_HDF5) {
        page_add(glance->page, "<p>%</p>\n",
                 file_format_of(path) == FILE_FIL
                     ? "A SIGPROC filterbank: voltmill info says what is in it."
                     : "Search-mode PSRFITS: voltmill info says what is in it.");
        return STATUS_OK;
    }
    status_t st = product_open(path, &product);
    if (st != STATUS_OK || !product) {
        return glance_excuse(glance, st, path);
    }
    TRY(glance_add_table(glance, product));
    if (!glance->is_blind && product->kind != PRODUCT_VOLTAGES) {
        char *const file = product->path;
        const struct drawing drawing = {
            .files = &file, .nfiles = 1, .format = "html", .choice = glance_choice(product)};
        TRY(glance_draw(glance, &drawing, path));
        if (drawing.choice.has_time) {
            page_add(glance->page, "<p>%</p>\n", "Only its first GiB is shown.");
        }
    }
    return STATUS_OK;
}

/* Adds the observation to the page, as its first product describes it. */
static void report_add_observation(const struct product *product, struct text *page)
{
    char start[UNITS_TEXT + sizeof " UTC"];
    page_row(page, "telescope", product->sky.telescope);
    page_row(page, "source", product->sky.source);
    if (product->sky.has_start) {
        snprintf(start, sizeof start, "%s UTC", units_utc(product->sky.start));
        page_row(page, "observation from", start);
    }
    page_row(page, "made of", product->origin.inputs);
    page_row(page, "computed by", product->origin.arithmetic);
}

static status_t report_add_summary(const struct report_run *run, const struct job *job,
                                   struct text *page)
{
    char host[HOST] = "";
    char began[32] = "";
    struct tm utc;
    SCOPED(text_free) struct text words = {0};
    SCOPED(product_destroy_at) struct product *product = NULL;
    page_add(page, "<p>%</p>\n", run->holes ? run->holes : "All products are complete.");
    text_add(page, "<table>\n");
    page_row(page, "job", run->job);
    for (uint32_t i = 0; i < run->nsets; i++) {
        page_row(page, i ? "" : "set", run->sets[i]);
    }
    TRY(report_forgive(product_open(job_file(job, 0), &product)));
    if (product) {
        report_add_observation(product, page);
    }
    (void)gethostname(host, sizeof host - 1);
    strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%S", gmtime_r(&run->began, &utc));
    TRY(text_add(&words, "%s UTC, for %s, on %d %s", began,
                 units_seconds((double)(long long)(1e3 * run->seconds) / 1e3), run->ranks,
                 units_plural((uint64_t)run->ranks, "rank", "ranks")));
    TRY(text_add_shown(&words, ", rank 0 on %s", host));
    page_row(page, "ran", words.data);
    page_row(page, "program", "voltmill " VOLTMILL_VERSION);
    text_add(page, "</table>\n");
    return STATUS_OK;
}

static status_t report_compose(const struct report_run *run, const struct job *job,
                               watchdog_t *watchdog, struct text *page)
{
    SCOPED(text_free) struct text title = {0};
    SCOPED(text_free) struct text text = {0}; /* the job's */
    struct glance glance = {.page = page, .watchdog = watchdog};
    const struct drawing filter = {.of = PLOT_FILTER, .job = job, .format = "html"};
    TRY(text_add_shown(&title, "voltmill: %s", text_basename(run->job)));
    text_add(page, "%s", begin);
    text_add(page, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    page_add(page, "<title>%</title>\n", title.data);
    text_add(page, "<style>\n%s</style>\n</head>\n<body>\n", style);
    page_add(page, "<h1>%</h1>\n", title.data);
    TRY(report_add_summary(run, job, page));
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        TRY(glance_at_product(&glance, job_file(job, i)));
    }
    if (job->nbanks > 0) {
        page_add(page, "<h2>%</h2>\n", "The filter bank");
        TRY(glance.is_blind ? STATUS_OK : glance_draw(&glance, &filter, "filter bank"));
    }
    if (said.length > 0) {
        page_add(page, "<h2>%</h2>\n", "What the run said");
        page_add(page, "<pre>%</pre>\n", said.data);
    }
    TRY(share_read_job(run->job, run->given, run->patience, &text));
    page_add(page, "<h2>%</h2>\n", "The job");
    page_add(page, "<pre>%</pre>\n", text.data ? text.data : "");
    text_add(page, "</body>\n</html>\n");
    return STATUS_OK;
}

status_t report_write(const struct report_run *run)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    SCOPED(text_free) struct text page = {0};
    const struct guard reads = {0};
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    int is_before = 0;
    TRY(watchdog_begin_file(run->patience, SILENT_SECONDS, run->path, "composed", &watchdog));
    TRY(share_load_job(run->job, run->given, run->sets, run->nsets, &job));
    TRY(report_compose(run, job, watchdog, &page));
    TRY(page.status);
    TRY(watchdog_begin_file(run->patience, 0, run->path, "written", &watchdog));
    TRY(plot_publish(run->path, &page, MARK_RUN, run->force, &reads, &is_before));
    display_print("%s: the report\n", run->path);
    return STATUS_OK;
}
