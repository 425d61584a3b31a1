/* Short forms for the fields of libcyaml schemas. */
#ifndef VOLTMILL_JOB_YAML_SCHEMA_H
#define VOLTMILL_JOB_YAML_SCHEMA_H

#include <cyaml/cyaml.h>

enum { SCHEMA_OPTIONAL = CYAML_FLAG_OPTIONAL, SCHEMA_REQUIRED = CYAML_FLAG_DEFAULT };

/* A text that is not empty: char *. */
#define SCHEMA_TEXT(key, need, type, member)                                                       \
    CYAML_FIELD_STRING_PTR(key, (need) | CYAML_FLAG_POINTER, type, member, 1, CYAML_UNLIMITED)

/* One of the `names`: an int or enum. */
#define SCHEMA_CHOICE(key, need, type, member, names)                                              \
    CYAML_FIELD_ENUM(key, (need) | CYAML_FLAG_STRICT, type, member, names, CYAML_ARRAY_LEN(names))

/* The same behind a pointer, which is NULL where the key is not there. */
#define SCHEMA_CHOICE_PTR(key, need, type, member, names)                                          \
    CYAML_FIELD_ENUM_PTR(key, (need) | CYAML_FLAG_STRICT, type, member, names,                     \
                         CYAML_ARRAY_LEN(names))

/* A list of `least` to `most` entries and its count. */
#define SCHEMA_LIST(key, need, type, member, count, entry, least, most)                            \
    CYAML_FIELD_SEQUENCE_COUNT(key, (need) | CYAML_FLAG_POINTER, type, member, count, &(entry),    \
                               least, most)

/* A pointer to exactly two values. */
#define SCHEMA_PAIR(key, need, type, member, entry)                                                \
    CYAML_FIELD_SEQUENCE_FIXED(key, (need) | CYAML_FLAG_POINTER, type, member, &(entry), 2)

#endif
