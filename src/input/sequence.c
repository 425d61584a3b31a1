/* Names of files as regular expressions. */
#include "input/sequence.h"

#include <regex.h>
#include <string.h>

#define TIME "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}"

/* Groups: folder, stem, rest of the name. The pattern is folder, stem, `middle`, rest, `end`. */
enum { FOLDER = 1, STEM, REST, GROUPS };
static const struct sequence_kind {
    const char *name, *middle, *end;
    int opens_others;
} kinds[] = {{"^(.*/)?([^/]+)()\\.[0-9]{4}\\.raw$", ".[0-9][0-9][0-9][0-9].raw", "", 0},
             {"^(.*/)?([^/]+)()_[0-9]{16}\\.[0-9]{6}\\.dada$", "_[0-9]*.[0-9]*.dada", "", 0},
             {"^(.*/)?([^/]+)_S[0-3](_[^/]*)\\.h5$", "_S[0-3]", ".h5", 1},
             {"^(.*/)?([^/]+)()/" TIME "$", "/[0-9]*-*T*", "", 0},
             {"^(.*/)?([^/]+)()/" TIME "/rf@[^/]*\\.h5$", "/[0-9]*-*T*/rf@*.h5", "", 0},
             {"^(.*/)?(\\.?[^/]+)()\\.[^./]*$", NULL, NULL, 0}, /* no sequence */
             {"^(.*/)?([^/]+)()$", NULL, NULL, 0}};

/* Appends a part of the path that glob() takes as it is. */
static status_t sequence_add(const char *path, regmatch_t part, struct text *out)
{
    for (regoff_t i = part.rm_so; i >= 0 && i < part.rm_eo; i++) {
        TRY(strchr("*?[\\", path[i]) ? text_add(out, "\\") : STATUS_OK);
        TRY(text_add_bytes(out, path + i, 1));
    }
    return STATUS_OK;
}

status_t sequence_of(const char *path, struct text *pattern, struct text *name, int *opens_others)
{
    const struct sequence_kind *kind = kinds;
    regmatch_t part[GROUPS];
    for (int is_found = 0; !is_found && kind < kinds + sizeof kinds / sizeof *kinds; kind++) {
        regex_t form;
        REQUIRE(regcomp(&form, kind->name, REG_EXTENDED) == 0, STATUS_DEVICE,
                "out of memory: names of files");
        is_found = regexec(&form, path, GROUPS, part, 0) == 0;
        regfree(&form);
        if (!is_found) {
            continue;
        }
        *opens_others = kind->opens_others;
        for (int i = STEM; i <= REST; i++) {
            TRY(text_add_bytes(name, path + part[i].rm_so,
                               (size_t)(part[i].rm_eo - part[i].rm_so)));
        }
        if (kind->middle) {
            TRY(sequence_add(path, part[FOLDER], pattern));
            TRY(sequence_add(path, part[STEM], pattern));
            TRY(text_add(pattern, "%s", kind->middle));
            TRY(sequence_add(path, part[REST], pattern));
            TRY(text_add(pattern, "%s", kind->end));
        }
    }
    return STATUS_OK;
}
