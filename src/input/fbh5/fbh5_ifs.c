/* What the ifs of a filterbank are, as pol_type names them: "IQUV", "I,Q,U,V", "AABBCRCI"
 * (PSRFITS), "XX,YY,XY,YX", "Re(XY)". Powers may be added up; Stokes parameters but I, and products
 * of two polarisations, may be below 0, and their sums with others mean nothing. */
#include "input/fbh5/fbh5.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 16 };
static const char separators[] = ",;/| ";

/* The at-th name in a list. Returns how many there are. */
static uint32_t fbh5_find_listed(const char *list, uint32_t at, char name[NAME])
{
    uint32_t count = 0;
    for (list += strspn(list, separators); *list; list += strspn(list, separators)) {
        size_t length = strcspn(list, separators);
        if (count == at) {
            size_t kept = length < NAME ? length : NAME - 1;
            memcpy(name, list, kept);
            name[kept] = '\0';
        }
        count++;
        list += length;
    }
    return count;
}

/* How many ifs pol_type names: all; of ours those of one station and beam, and the others are
 * alike. */
static uint32_t fbh5_named(const struct fbh5 *fbh5)
{
    char name[NAME];
    uint32_t listed = 0;
    if (!fbh5->is_ours || !fbh5->pols) {
        return fbh5->nifs;
    }
    if (strpbrk(fbh5->pols, separators)) {
        listed = fbh5_find_listed(fbh5->pols, 0, name);
    } else {
        listed = (uint32_t)strlen(fbh5->pols) / (strncmp(fbh5->pols, "AA", 2) == 0 ? 2 : 1);
    }
    return listed > 0 && fbh5->nifs % listed == 0 ? listed : fbh5->nifs;
}

/* Names are listed, or letters (or pairs of them) stand side by side. Returns 0 when there are not
 * as many as ifs. */
static int fbh5_find_name(const struct fbh5 *fbh5, uint32_t at, char name[NAME])
{
    const char *pols = fbh5->pols ? fbh5->pols : "";
    size_t length = strlen(pols);
    uint32_t named = fbh5_named(fbh5);
    size_t each = length / named;
    at %= named;
    int is_found = fbh5_find_listed(pols, at, name) == named;
    if (!is_found && !strpbrk(pols, separators) && each * named == length &&
        (each == 1 || each == 2)) {
        memcpy(name, pols + at * each, each);
        name[each] = '\0';
        is_found = 1;
    }
    for (char *letter = name; is_found && *letter; letter++) {
        *letter = (char)toupper((unsigned char)*letter);
    }
    return is_found;
}

/* Else V is a vertical feed. */
static int fbh5_has_stokes(const struct fbh5 *fbh5)
{
    char name[NAME] = "";
    for (uint32_t i = 0; i < fbh5->nifs; i++) {
        if (fbh5_find_name(fbh5, i, name) && strlen(name) == 1 && strchr("IQU", name[0])) {
            return 1;
        }
    }
    return 0;
}

int fbh5_is_power(const struct fbh5 *fbh5, uint32_t at)
{
    char name[NAME] = "";
    if (!fbh5->pols) {
        return 1;
    }
    if (!fbh5_find_name(fbh5, at, name)) {
        return !strpbrk(fbh5->pols, "QUqu"); /* parts of Stokes parameters */
    }
    if (strlen(name) == 1) {
        return !strchr("QU", name[0]) && (name[0] != 'V' || !fbh5_has_stokes(fbh5));
    }
    int is_part = strncmp(name, "RE", 2) == 0 || strncmp(name, "IM", 2) == 0;
    int is_pair = strlen(name) == 2 && strchr("ABCHIJLPQRSUVXY", name[0]) &&
                  strchr("ABCHIJLPQRSUVXY", name[1]);
    return !is_part && !(is_pair && name[0] != name[1]);
}

status_t fbh5_name_if(const struct fbh5 *fbh5, uint32_t at, struct text *out)
{
    char name[NAME] = "";
    return fbh5_find_name(fbh5, at, name) ? text_add(out, "%s", name) : STATUS_OK;
}

status_t fbh5_name_pol(const struct fbh5 *fbh5, uint32_t at, struct text *out)
{
    size_t length = 0;
    const char *name = text_line(fbh5->pol_names, at, &length);
    return length > 0 ? text_add(out, "%.*s", (int)length, name) : fbh5_name_if(fbh5, at, out);
}

static int fbh5_is_called(const struct fbh5 *fbh5, uint32_t at, const char *word, size_t length)
{
    size_t given = 0;
    char listed[NAME] = "";
    const char *name = text_line(fbh5->pol_names, at, &given);
    return (given == length && given > 0 && strncmp(name, word, length) == 0) ||
           (fbh5_find_name(fbh5, at, listed) && strlen(listed) == length &&
            strncmp(listed, word, length) == 0);
}

int fbh5_find_pol(const struct fbh5 *fbh5, const char *word, size_t length, uint32_t *out)
{
    char *end = NULL;
    unsigned long number = strtoul(word, &end, 10);
    *out = (uint32_t)number;
    if (isdigit((unsigned char)word[0]) && end == word + length && number < fbh5->nifs) {
        return 1;
    }
    for (*out = 0; *out < fbh5->nifs; ++*out) {
        if (fbh5_is_called(fbh5, *out, word, length)) {
            return 1;
        }
    }
    return 0;
}

status_t fbh5_list_pols(const struct fbh5 *fbh5, struct text *out)
{
    status_t st = STATUS_OK;
    enum { LISTED = 16 };
    struct text name = {0};
    TRY(text_add(out, "%u", fbh5->nifs));
    for (uint32_t i = 0; i < fbh5->nifs && i < LISTED; i++) {
        name.length = 0;
        TRY(fbh5_name_pol(fbh5, i, &name));
        TRY(name.length ? text_add(out, "%s%s", i ? ", " : ": ", name.data) : STATUS_OK);
    }
    TRY(name.length && fbh5->nifs > LISTED ? text_add(out, ", ...") : STATUS_OK);
out:
    text_free(&name);
    return st;
}

status_t fbh5_powers(const struct fbh5 *fbh5, struct text *out)
{
    status_t st = STATUS_OK;
    size_t before = out->length;
    for (uint32_t i = 0; i < fbh5->nifs; i++) {
        char name[NAME] = "?";
        if (fbh5_is_power(fbh5, i) && fbh5_find_name(fbh5, i, name)) {
            TRY(text_add(out, "%s%u (", out->length > before ? ", " : "", i));
            TRY(fbh5_name_pol(fbh5, i, out));
            TRY(text_add(out, ")"));
        }
    }
    if (out->length == before) {
        TRY(text_add(out, "none"));
    }
out:
    return st;
}
