/* Plain values packed into bytes and back: messages of rank 0 to the others, and of children
 * (io/apart.h). The reader never trusts a size: past the end it returns zeros and records that it
 * failed, and why. */
#ifndef VOLTMILL_IO_PACK_H
#define VOLTMILL_IO_PACK_H

#include "base/text.h"

#include <stdint.h>

struct unpack {
    const char *data;
    size_t length;
    size_t at;
    int failed; /* bits: 1, or UNPACK_NO_MEMORY */
};

enum { UNPACK_NO_MEMORY = 2 };

/* Appends a number in 8 bytes, which unpack_u64() restores. Fails with DEVICE (memory): as
 * text_add(), the status stays in out->status. */
status_t pack_u64(struct text *out, uint64_t value);
/* Appends a text, which unpack_text() restores; NULL is restored as NULL. Fails with DEVICE
 * (memory): part of it may be appended, and the status stays in out->status. */
status_t pack_text(struct text *out, const char *value);

/* Returns the next number, which pack_u64() packed. Past the end, or after a failure, returns 0 and
 * sets in->failed. */
uint64_t unpack_u64(struct unpack *in);
/* Unpacks the next `bytes` bytes into `out`. If there are fewer, or after a failure, sets `out` to
 * zeros, and sets in->failed. */
void unpack_bytes(struct unpack *in, void *out, size_t bytes);
/* Returns the next text, which pack_text() packed, for free(); NULL if NULL was packed. Past the
 * end, without memory, or after a failure, returns NULL and sets in->failed. */
char *unpack_text(struct unpack *in);

/* The fields of a struct as a table, by which they are packed and unpacked in its order: texts,
 * numbers of 32 bits and enums; other plain values (numbers, arrays, structs without pointers) byte
 * by byte; lists of items, which are structs, texts or numbers. Numbers that do not fit their
 * field, and counts that contradict each other, make unpacking fail. */
struct pack_type;
struct pack_field {
    size_t offset;
    enum pack_kind {
        PACK_BYTES,
        PACK_U32, /* in 8 bytes */
        PACK_TEXT,
        PACK_LIST_OWN,     /* its count is packed with it */
        PACK_LIST_COUNTED, /* its count is a field before it, or it is NULL */
        PACK_HERE          /* a list that this process keeps: empty after unpacking */
    } kind;
    size_t bytes; /* of the field; of a list: of its count */
    size_t count_offset;
    const struct pack_type *item;
};
#define PACK_FIELD(type, field)                                                                      \
    {                                                                                                \
        .offset = offsetof(type, field),                                                           \
        .kind = _Generic(((type *)0)->field, uint32_t                                              \
                         : PACK_U32, char *                                                        \
                         : PACK_TEXT, const char *                                                 \
                         : PACK_TEXT, default                                                      \
                         : PACK_BYTES),                                                            \
        .bytes = sizeof(((type *)0)->field) \
    }
/* A pointer and its count (32 or 64 bits), both fields of the struct. */
#define PACK_LIST_AS(list_kind, type, list, count, items)                                          \
    {                                                                                              \
        .offset = offsetof(type, list), .kind = (list_kind), .bytes = sizeof(((type *)0)->count),  \
        .count_offset = offsetof(type, count), .item = (items)                                     \
    }
#define PACK_LIST(type, list, count, items) PACK_LIST_AS(PACK_LIST_OWN, type, list, count, items)
#define PACK_COUNTED(type, list, count, items)                                                     \
    PACK_LIST_AS(PACK_LIST_COUNTED, type, list, count, items)

#define PACK_KEPT(type, list, count, items) PACK_LIST_AS(PACK_HERE, type, list, count, items)

struct pack_type {
    size_t size; /* of the struct */
    const struct pack_field *fields;
    size_t nfields;
    int is_whole; /* the struct is packed byte by byte; `fields` are its pointers, all of them */
};
/* A struct that is packed field by field: `table` is an array of its fields. */
#define PACK_TYPE(type, table)                                                                     \
    {                                                                                              \
        .size = sizeof(type), .fields = (table), .nfields = sizeof(table) / sizeof *(table)        \
    }
/* Between processes of this program: a member that is no pointer needs no row. */
#define PACK_WHOLE(type, pointers)                                                                 \
    {                                                                                              \
        .size = sizeof(type), .fields = (pointers),                                                \
        .nfields = sizeof(pointers) / sizeof *(pointers), .is_whole = 1                            \
    }
/* The same of a struct without pointers. */
#define PACK_PLAIN(type)                                                                           \
    {                                                                                              \
        .size = sizeof(type), .is_whole = 1                                                        \
    }
/* Items of lists: a text; a number of 8 bytes; two of them. */
extern const struct pack_type pack_texts, pack_numbers, pack_pairs;

/* Appends those fields of the struct `from` that the table `fields` [count] lists, in its order.
 * Fails with DEVICE (memory): some may be appended, and the status stays in out->status. */
status_t pack_fields(struct text *out, const void *from, const struct pack_field *fields,
                     size_t count);
/* unpack_fields(): unpacks the fields that the table `fields` [count] lists into `to`, a struct
 * that was zeroed. unpack_struct(): unpacks a struct by its type, likewise. Failures are recorded
 * in in->failed (unpack_check()); the other fields are zeros then. The caller frees what the struct
 * then points to (pack_free()), also after a failure. */
void unpack_fields(struct unpack *in, void *to, const struct pack_field *fields, size_t count);
/* Appends a struct by its type, which unpack_struct() restores. Fails with DEVICE (memory): some
 * may be appended, and the status stays in out->status. */
status_t pack_struct(struct text *out, const void *from, const struct pack_type *type);
/* Unpacks a struct by its type into `to`, which was zeroed. Failures are recorded in in->failed
 * (unpack_check()); the other fields are zeros then. The caller frees what the struct then points
 * to (pack_free()), also after a failure. */
void unpack_struct(struct unpack *in, void *to, const struct pack_type *type);
/* Makes a new struct of this type, called `what` in messages, and unpacks it. `out` points to a
 * pointer, which becomes the struct's, for pack_destroy(). Fails with DATA (bytes are missing, or
 * values wrong), DEVICE (memory): that pointer is unchanged. */
status_t unpack_new(struct unpack *in, const struct pack_type *type, const char *what, void *out);
/* Frees all that the struct at `at` points to by its type, and makes those pointers NULL. The
 * struct itself and its counts stay. */
void pack_free(void *at, const struct pack_type *type);
/* Frees `items`, a list of `count` structs of a type, and all that they point to; takes NULL. */
void pack_free_list(void *items, uint64_t count, const struct pack_type *type);
/* Frees the struct at `at`, and all that it points to by its type; takes NULL. */
void pack_destroy(void *at, const struct pack_type *type);

/* Checks a reader at its end. Fails with DEVICE if there was no memory for a text or a list, with
 * DATA if bytes were missing or values wrong. `what` names the message. Bytes that are left are no
 * failure. */
status_t unpack_check(const struct unpack *in, const char *what);

#endif
