/* HTML by hand: a few elements, and one style for all. */
#include "plot/page.h"

#include "base/display.h"

#include <string.h>

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
    "border-bottom:1px solid var(--line)}\n"
    "th{font-weight:normal;color:var(--soft);width:9.5rem}td{white-space:pre-wrap}\n"
    "pre{background:var(--card);padding:.7em;border-radius:.4em;overflow-x:auto;font-size:.85rem;"
    "white-space:pre-wrap}\n"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));"
    "gap:.7rem;margin:.6em 0}\n"
    ".pictures img{display:block;width:100%;height:auto;background:#fff;border-radius:.4em;"
    "border:1px solid var(--line)}\n"
    "@media(prefers-color-scheme:dark){.pictures img{filter:brightness(.9)}}\n";

static status_t page_text(struct text *page, const char *text)
{
    status_t st = STATUS_OK;
    size_t left = strlen(text);
    while (left > 0) {
        size_t bytes = display_character(text, left);
        const char *word = *text == '<'   ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '&' ? "&amp;"
                           : *text == '"' ? "&quot;"
                                          : NULL;
        if (word) {
            TRY(text_add(page, "%s", word));
        } else if (bytes > 0 || *text == '\n') {
            TRY(text_add_bytes(page, text, bytes ? bytes : 1));
        } else {
            TRY(text_add(page, *text == '\t' ? " " : "\\x%02x", (unsigned)(unsigned char)*text));
        }
        bytes = bytes ? bytes : 1;
        text += bytes;
        left -= bytes;
    }
out:
    return st;
}

status_t page_add(struct text *page, const char *form, const char *text)
{
    status_t st = STATUS_OK;
    const char *at = strchr(form, '%');
    TRY(text_add_bytes(page, form, (size_t)(at - form)));
    TRY(page_text(page, text));
    TRY(text_add(page, "%s", at + 1));
out:
    return st;
}

status_t page_begin(struct text *page, const char *title)
{
    status_t st = STATUS_OK;
    TRY(text_add(page, "%s", begin));
    TRY(text_add(page,
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"));
    TRY(page_add(page, "<title>%</title>\n", title));
    TRY(text_add(page, "<style>\n%s</style>\n</head>\n<body>\n", style));
    TRY(page_add(page, "<h1>%</h1>\n", title));
out:
    return st;
}

status_t page_row(struct text *page, const char *name, const char *value)
{
    status_t st = STATUS_OK;
    if (value && *value) {
        TRY(page_add(page, "<tr><th scope=\"row\">%</th>", name));
        TRY(page_add(page, "<td>%</td></tr>\n", value));
    }
out:
    return st;
}
