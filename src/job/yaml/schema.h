/* Tables of what a YAML file may hold, key by key, and where in a C struct each value goes.
 *
 * An array of rows describes one mapping and ends with a row without key. One walk over a document
 * checks every value by itself, reports every mistake and fills the struct. What several keys must
 * have in common is for the caller to check, on the tree (job/yaml/tree.h) or the struct. */
#ifndef VOLTMILL_JOB_YAML_SCHEMA_H
#define VOLTMILL_JOB_YAML_SCHEMA_H

#include "base/json.h"
#include "base/units.h"
#include "job/yaml/tree.h"

enum schema_type {
    SCHEMA_TEXT,    /* not empty; char *, which the struct owns */
    SCHEMA_WHOLE,   /* a whole number: uint32_t or uint64_t */
    SCHEMA_NUMBER,  /* double */
    SCHEMA_BYTES,   /* an amount of memory such as 1GiB: uint64_t */
    SCHEMA_UTC,     /* a date and time: struct utc */
    SCHEMA_CHOICE,  /* one of `choices`: int or enum */
    SCHEMA_PARSED,  /* what `parse` makes of the text */
    SCHEMA_MAPPING, /* `members`, in the same struct or in one inside of it */
};

/* A key that another one requires, and its value. */
struct schema_need {
    const char *key;
    const char *values; /* one of these, with | between; NULL: any */
    const char *words;  /* the mistake where it does not */
};

struct schema {
    const char *key;
    enum schema_type type;
    const char *help; /* meaning, for documentation; NULL: none */
    size_t at;        /* offset in the struct: SCHEMA_AT, SCHEMA_LIST, SCHEMA_PAIR; a mapping whose
                         members are in the same struct has 0 */
    size_t size;      /* of the value (of all that `parse` fills), or of one entry */

    /* A list of `least` to `most` entries of that type; most 0: no list. A single entry may stand
     * for a list of one. */
    uint32_t least, most;
    int is_pair;     /* exactly two values, which are in the struct itself */
    size_t count_at; /* of other lists: offset of their uint32_t count */

    struct {
        double min, max; /* of numbers and bytes; no range where min = max; max may be INFINITY */
        int is_above;    /* `min` itself is not allowed */
        int is_even;     /* of a whole number */
        enum units_dimension unit; /* that a number may have: its text becomes the bare number */
        /* A whole number: offset of a double that such a quantity fills instead, for the caller to
         * make the number of; 0: none. */
        size_t amount_at;
    };
    const char *const *choices; /* ends with NULL */
    const int *values;          /* of the choices; NULL: their places in the list, from 0 on */
    const struct schema *members;
    const char *list_key; /* of a mapping: a list stands for a mapping with this member alone */
    const struct schema *instead; /* a mapping that may stand in the place of the value */

    /* Reads `text` into what `out` points to; returns whether it is right. For SCHEMA_TEXT, `text`
     * is the copy that the struct keeps at `out`. */
    int (*parse)(const char *text, void *out);
    /* Returns whether the text of SCHEMA_TEXT is right. May write a reason of its own into
     * `message` (MISTAKE_BYTES); otherwise the mistake gives the expected values. */
    int (*explain)(const char *text, char *message);

    int is_path; /* of a file, or "file:PATH": ~ is expanded, and $ refused unless it is in the name
                  */
    int is_open; /* of the last row, without a key: members that no row describes are ignored */
    int is_required;
    const char *unless;              /* required unless this key stands beside it */
    const struct schema_need *needs; /* the first that fails is reported; ends with a NULL key */
    int may_be_auto;                 /* the word auto stands for leaving the key out */
    const char *otherwise;           /* the value where the key is left out; NULL: zeros */
    struct {
        size_t at; /* offset of an int or enum that becomes `as`, if that is not 0, */
        int as;    /* where the key stands there */
    } given;
    int may_be_empty; /* a mapping for which {} says something; a value: empty is as left out */
    /* Identity: a product says what its bytes depend on. */
    struct {
        unsigned without_effect_on; /* bits that the caller knows: products that do not depend on
                                       it */
        const char *only;           /* the only value that they depend on; NULL: all */
    };
    const char *expected; /* expected value, in words; NULL: by type and range */
    const char *absent;   /* default in words; NULL: by the rest of the row */
    const char *was;      /* an older name of the key that is still read; NULL: none */
};

/* The value is `member` of the struct `type`. */
#define SCHEMA_AT(type, member) .at = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/* The words of a choice; and what must stand beside a key. */
#define SCHEMA_CHOICES(...)                                                                        \
    .choices = (const char *const[])                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define SCHEMA_NEEDS(...)                                                                          \
    .needs = (const struct schema_need[])                                                          \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .key = NULL                                                                            \
        }                                                                                          \
    }

/* `parse` fills all members from `first` to `last`. */
#define SCHEMA_SPAN(type, first, last)                                                             \
    .at = offsetof(type, first),                                                                   \
    .size = offsetof(type, last) + sizeof(((type *)NULL)->last) - offsetof(type, first)

/* `member` points to the entries. */
#define SCHEMA_LIST(type, member, count, fewest, longest)                                          \
    .at = offsetof(type, member), .size = sizeof(*((type *)NULL)->member),                         \
    .count_at = offsetof(type, count), .least = (fewest), .most = (longest)

/* Two numbers or parsed values: the second member follows the first. */
#define SCHEMA_PAIR(type, first) SCHEMA_AT(type, first), .least = 2, .most = 2, .is_pair = 1

/* Where the key stands, `member` of `type`, an int or enum, becomes `value`. */
#define SCHEMA_GIVEN(type, member, value) .given = {offsetof(type, member), (value)}

/* Fills the zeroed struct *out with what `root` says and with defaults, adds the mistakes of `root`
 * and marks the nodes that have them; a value that is wrong leaves its default. Brings the tree
 * into one form: a single entry becomes a list of one, a list a mapping where `list_key` says so,
 * auto and empty optional mappings are dropped, numbers are written in one form, without units.
 * Mappings have at most 32 different keys. Mistakes are no failure: mistakes_report() is asked.
 * Fails with DEVICE (memory). Afterwards, also when it failed, what *out owns is for schema_free().
 */
status_t schema_fill(struct tree *root, const struct schema *rows, struct mistakes *mistakes,
                     void *out);

/* Adds the mistake that `key`, which one of `rows` describes, is missing in the mapping `node`.
 * Does nothing if the key is there or misspelt, or `node` is no mapping, which has been reported
 * before. */
void schema_require(struct mistakes *mistakes, struct tree *node, const struct schema *rows,
                    const char *key);

/* Frees the texts and lists that the struct `out`, filled by `rows`, owns. Pointers to them stay in
 * it: not to be called twice. */
void schema_free(const struct schema *rows, void *out);

/* Stores the value of `text` at `at`, by a row of a single value (no list, no mapping); numbers
 * have no unit. The caller frees the copy of a SCHEMA_TEXT, and one that was at `at` before. *ok =
 * 1; 0 if the text is wrong, perhaps with a reason in `message` (MISTAKE_BYTES, "" before the
 * call); the value is then undefined, a SCHEMA_TEXT unchanged. Fails with DEVICE (memory). */
status_t schema_store(const struct schema *row, const char *text, void *at, char *message, int *ok);

/* Writes the values that `row` allows: "a whole number from 1 to 16", "one of peak, none". Returns
 * `out`. */
const char *words_expected(const struct schema *row, char out[MISTAKE_BYTES]);

#endif
