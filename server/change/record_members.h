/* Private to this module: the members of records of changes in JSON (record_json.c prints them,
 * record_parse.c parses them). Each group of members is present only if the record needs it: see
 * kw_change_group below. Every member of a present group is required, and must have its type. Unknown members
 * are an error. They need not be ignored, because a release that adds members also changes the form of the
 * facts, which earlier releases then cannot read. */
#pragma once

#include "change/record.h"

typedef enum kw_change_form {
    KW_CHANGE_TEXT,
    KW_CHANGE_FLAG,
    KW_CHANGE_COUNT,
    KW_CHANGE_NUMBER,
    KW_CHANGE_BYTES,
    KW_CHANGE_RULE,
    KW_CHANGE_VERSION_NAME,
    KW_CHANGE_PLACE,
    KW_CHANGE_WRITERS,
    KW_CHANGE_PASS,
    KW_CHANGE_PATHS
} kw_change_form;

typedef struct kw_change_member {
    const char *name;
    kw_change_form form;
    size_t offset; /* in kw_change_record */
} kw_change_member;

/* Members that belong together. */
typedef struct kw_change_group {
    const kw_change_member *members;
    size_t count;
} kw_change_group;

extern const kw_change_group kw_change_of_record;
extern const kw_change_group kw_change_of_change;          /* under way */
extern const kw_change_group kw_change_of_several_writers; /* in a store that several gateways write */
/* Of a change that adds paths, or sweeps a second placement. */
extern const kw_change_group kw_change_of_parts;
/* Of a change that allows or forbids atomic operations. */
extern const kw_change_group kw_change_of_atomics;
/* Of a change with another share of the time than the default. */
extern const kw_change_group kw_change_of_share;

/* The texts of the values of an enum. */
typedef struct kw_change_names {
    const char *const *names;
    size_t count;
} kw_change_names;

extern const kw_change_names kw_change_writers_names;
extern const kw_change_names kw_change_pass_names;
