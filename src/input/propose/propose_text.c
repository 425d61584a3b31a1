/* Texts, numbers and facts as lines of a job have them. */
#include "input/propose/propose_parts.h"

#include "base/display.h"
#include "job/yaml/tree_yaml.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Names that are no UTF-8 cannot be written in YAML: they stay open. */
static int text_is_yaml(const char *text)
{
    static const char no_character[] = "\xef\xbf"; /* U+FFFE and U+FFFF begin so */
    size_t left = strlen(text);
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t bytes = c < 0x80 ? 1 : display_character(text, left);
        int is_none = bytes == 3 && memcmp(text, no_character, 2) == 0 && (text[2] & 0x3E) == 0x3E;
        if (bytes == 0 || is_none) {
            return 0;
        }
        text += bytes;
        left -= bytes;
    }
    return 1;
}

status_t propose_add_quoted(struct text *out, const char *text)
{
    return tree_quote(text_is_yaml(text) ? text : "???", out);
}

status_t propose_add_path(struct text *out, const char *path)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    static const char *const others[] = {"y",   "n",    "yes",   "no",  "on",
                                         "off", "true", "false", "null"};
    int is_plain = (*path == '/' || isalpha((unsigned char)*path)) &&
                   path[strspn(path, safe)] == '\0' && path[1] != '\0';
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        is_plain = is_plain && strcasecmp(path, others[i]) != 0;
    }
    return is_plain ? text_add(out, "%s", path) : propose_add_quoted(out, path);
}

status_t propose_add_number(struct text *out, double value)
{
    status_t st = STATUS_OK;
    char text[UNITS_TEXT];
    units_exact(value, text);
    size_t digits = strcspn(text, "e");
    if (value == floor(value) && fabs(value) < 1e15) {
        TRY(text_add(out, "%.0f", value));
    } else if (text[digits] && !strchr(text, '.')) {
        TRY(text_add(out, "%.*s.0%s", (int)digits, text, text + digits));
    } else {
        TRY(text_add(out, "%s", text));
    }
out:
    return st;
}

status_t propose_add_fact(struct text *out, const struct propose_fact *fact)
{
    static const char *const names[] = {
        [UNIT_HZ] = " Hz",   [UNIT_KHZ] = " kHz",  [UNIT_MHZ] = " MHz", [UNIT_GHZ] = " GHz",
        [UNIT_S] = " s",     [UNIT_MS] = " ms",    [UNIT_US] = " us",   [UNIT_NS] = " ns",
        [UNIT_MJD] = " MJD", [UNIT_UNIX] = " unix"};
    status_t st = STATUS_OK;
    const char *unit = names[fact->unit];
    if (fact->text) {
        TRY(text_add_shown(out, "%s = \"%.60s\"", fact->where, fact->text));
    } else {
        TRY(text_add_shown(out, "%s = ", fact->where));
        TRY(propose_add_number(out, fact->first));
        TRY(text_add(out, "%s", unit ? unit : ""));
    }
out:
    return st;
}
