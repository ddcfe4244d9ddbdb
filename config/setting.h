/* The one typed table of settings. The reader, the checks, the reference and the JSON Schema use it.
 *
 * A section is a map in the file and a struct in memory; a setting is one key of the map and one member of
 * the struct. A setting that the file omits is read from its `fallback` text by the same code that reads
 * the file, so a default cannot differ from the documentation. settings.c has the sections. */
#pragma once

#include "config/model.h"

typedef enum kw_kind {
    KW_KIND_BOOL,    /* bool */
    KW_KIND_SWITCH,  /* int: -1: not set, 0, 1 */
    KW_KIND_INT,     /* int64_t */
    KW_KIND_SIZE,    /* int64_t bytes */
    KW_KIND_MS,      /* int64_t, a duration in milliseconds */
    KW_KIND_SECONDS, /* int64_t, a duration in seconds */
    KW_KIND_TEXT,    /* const char *; offset2: kw_mark of the value */
    KW_KIND_CHOICE,  /* const char *: one of choices */
    KW_KIND_ENUM,    /* int: index into choices */
    KW_KIND_EITHER,  /* bool: choices[0] false, choices[1] true */
    KW_KIND_TEXTS,   /* const char **; offset2: size_t count */
    KW_KIND_ADDRESS, /* const char * host; offset2: uint16_t port */
    KW_KIND_SECTION, /* a struct */
    KW_KIND_LIST,    /* pointer to structs, one per item; offset2: size_t count. One map is a list of one */
    KW_KIND_MAP,     /* the same, keys are names */
    KW_KIND_RULE     /* kw_model_component *; offset2: size_t count */
} kw_kind;

/* The form that a text or a map's key must have in addition to its length. */
typedef enum kw_name_rule {
    KW_NAME_ANY,
    KW_NAME_FIELD,       /* fields and paths: a-z, 0-9, _ */
    KW_NAME_TABLE,       /* a logical table; also legal as a store table's name */
    KW_NAME_STORE_TABLE, /* HBase's table name, with or without a namespace */
    KW_NAME_FAMILY,      /* HBase's column family */
    KW_NAME_COLUMN,      /* family:qualifier */
    KW_NAME_SPLIT_KEY,   /* bytes as text with \xNN */
    KW_NAME_HOST         /* a host name */
} kw_name_rule;

typedef struct kw_section kw_section;
struct kw_read;
struct kw_node;

#define KW_SETTING_REQUIRED 1u
#define KW_SETTING_SECRET 2u   /* never printed; removed from the text */
#define KW_SETTING_NULLABLE 4u /* absent text: NULL instead of "" */
#define KW_SETTING_UNIX 8u     /* ADDRESS: can be unix:/PATH; the host is then the whole text, the port 0 */

typedef struct kw_setting {
    const char *name; /* NULL ends the list */
    kw_kind kind;
    unsigned flags;
    size_t offset;
    size_t offset2;
    /* Numbers: bounds. TEXT, TEXTS: bytes of one text (most 0: 1,000). LIST, MAP, RULE: items. ADDRESS:
     * least is the smallest port, most is 0. */
    int64_t least, most;
    uint16_t port;              /* ADDRESS: the default port; 0: a port is required */
    const char *fallback;       /* in the syntax of the file; NULL: absent */
    int64_t absent;             /* value of an absent INT, SIZE, MS, SECONDS without fallback */
    const char *const *choices; /* of CHOICE, ENUM, EITHER, and of each text of TEXTS if not NULL */
    kw_name_rule rule;
    const kw_section *section;
    unsigned only;     /* kinds (1u << kind) of the section that have it; 0: all */
    const char *about; /* one or two sentences */
    const char *holds; /* documentation of a default that is not a fixed text */
} kw_setting;

/* A setting that a section had once: a file that still has it gets this reason. */
typedef struct kw_unneeded_setting {
    const char *name; /* NULL ends the list */
    const char *reason;
} kw_unneeded_setting;

#define KW_OFFSET_NONE SIZE_MAX

struct kw_section {
    const char *title; /* "a listener" */
    const char *about;
    const kw_setting *settings;
    const kw_unneeded_setting *unneeded; /* NULL: none */
    const char *shorthand;               /* the setting for a plain value; NULL: a map is required */
    size_t size;                         /* of the struct */
    size_t mark_offset;                  /* kw_mark: where it begins (in a MAP: its name) */
    size_t name_offset;                  /* const char *: its name in a MAP */
    size_t switch_offset;                /* bool: `off` makes it false, anything else true */
    bool on;                             /* value of the switch if the section is absent */
    size_t valid_offset;                 /* bool: true if the section has no problem; 0: not needed */
    kw_name_rule key_rule;               /* of the names in a MAP */
    bool check_always;                   /* even if something inside is invalid */
    void (*check)(struct kw_read *read, const struct kw_node *node, void *section);
};

/* The whole file is read into these structs; assemble.c builds the model from them. */
typedef struct kw_draft_field {
    kw_model_field field;
    const char *column;
    kw_mark column_mark;
    bool stored; /* has a column, named or default */
    bool valid;  /* has no problem */
} kw_draft_field;

typedef struct kw_draft_path {
    kw_model_path path;
    kw_mark store_table_mark;
} kw_draft_path;

typedef struct kw_draft_table {
    kw_model_table table; /* without its arrays */
    bool valid;           /* has no problem */
    kw_draft_path primary;
    kw_draft_path *paths;
    size_t paths_count;
    kw_draft_field *fields;
    size_t fields_count;
    bool fields_known; /* no name of a field is missing from the list */
    kw_model_family *families;
    size_t families_count;
    const char *marker; /* as in the file */
    const char *marker_value;
    kw_mark marker_mark;
    kw_mark marker_value_mark;
} kw_draft_table;

typedef struct kw_draft {
    kw_model model; /* without tables */
    kw_mark catalog_mark;
    kw_mark gateway_id_mark;
    kw_mark cursor_mark;
    kw_draft_table *tables;
    size_t tables_count;
} kw_draft;

/* The whole file, read into a kw_draft. */
extern const kw_section kw_policy_section;
extern const kw_section kw_access_section;   /* kw_model_access; settings_access.c */
extern const kw_section kw_store_section;    /* kw_draft; settings_store.c */
extern const kw_section kw_table_section;    /* kw_draft_table; settings_table.c */
extern const kw_section kw_generate_section; /* kw_model_generate; settings_generate.c */

/* NULL if the section has no such setting. */
const kw_setting *kw_section_find(const kw_section *section, const char *name);

/* Names of the settings, NULL-terminated; for "did you mean". Caller frees the array with g_free. */
const char **kw_section_names(const kw_section *section);

/* True if the component stores the field: a TEXT setting called field or name names it. Such a field of
 * the primary rule is stored in the row key and has no column unless it names one. Other settings that
 * name fields (such as the list of fields of a hash) do not make a value decodable from the key. */
bool kw_setting_holds_field(const kw_model_setting *setting, const char *field);
