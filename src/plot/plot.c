/* Names and protection of what `voltmill plot` and `run --report` write. */
#include "plot/plot.h"

#include "base/memory.h"
#include "input/coefficients.h"
#include "io/file.h"
#include "product/export/export_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
static const struct plot_signature page =
    SIGNATURE("<!DOCTYPE html>", "<meta name=\"generator\" content=\"voltmill\">");

static int plot_has(const char *path, const struct plot_signature *of)
{
    char begin[MARK_BLOCK];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t count = fd >= 0 ? read(fd, begin, sizeof begin) : 0;
    file_close(fd);
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
    return plot_has(path, &page);
}

status_t plot_check_new(const char *path, enum mark mark, int force)
{
    int is_ours = mark == MARK_RUN ? plot_is_page(path) : plot_is_picture(path);
    return file_check_new(path, force || is_ours);
}

status_t plot_publish(const char *path, const struct text *text, enum mark mark, int force,
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
    status_t st = STATUS_OK;
    char *part = NULL;
    TRY_OUT(file_part_name(output, &part));
    const char *const names[] = {output, part};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int is_same = 0;
        TRY_OUT(file_is_same(names[i], data, &is_same));
        REQUIRE_OUT(!is_same, STATUS_USAGE, "%s: picture and numbers cannot be one file", names[i]);
    }
out:
    free(part);
    return st;
}

/* No file that is read is written, nor both to one file. */
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

static status_t plot_draw(const struct plot_options *o, const char *format, struct drawn *drawn)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    if (o->of == PLOT_FILTER) {
        TRY_OUT(job_load(o->files[0], o->sets, o->nsets, &job));
        REQUIRE_OUT(
            !job_needs_rate(job), STATUS_USAGE,
            "%s: channelise.width or products.integrate needs the rate of the input, which is "
            "not opened here: expected numbers",
            o->files[0]);
        TRY_OUT(coefficients_read(job));
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
    TRY_OUT(drawing_make(&drawing, drawn));
out:
    job_destroy(job);
    return st;
}

status_t plot_make(const struct plot_options *o, struct text *said)
{
    status_t st = STATUS_OK;
    struct guard guard = {.count = 0};
    struct drawn drawn = {.said = {0}};
    const char *format = NULL;
    char *output = NULL;
    int has_numbers = 1;
    int has_picture = 0;
    if (!o->is_text) {
        TRY_OUT(plot_name(o, &output, &format));
        TRY_OUT(plot_protect(o, output, &guard));
    }
    TRY_OUT(plot_draw(o, format, &drawn));
    if (!drawn.picture.data) {
        TRY_OUT(text_add_bytes(said, drawn.said.data, drawn.said.length));
        goto out;
    }
    if (o->data) {
        TRY_OUT(plot_publish(o->data, &drawn.numbers, MARK_PLOT, o->force, &guard, &has_numbers));
    }
    TRY_OUT(plot_publish(output, &drawn.picture, MARK_PLOT, o->force, &guard, &has_picture));
    if (has_numbers && has_picture) {
        TRY_OUT(text_add_shown(said, "complete before: %s\n", output));
    } else {
        TRY_OUT(text_add_shown(said, "%s: ", output));
        TRY_OUT(text_add_bytes(said, drawn.said.data, drawn.said.length));
    }
out:
    guard_free(&guard);
    drawn_free(&drawn);
    free(output);
    return st;
}
