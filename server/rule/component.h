/* Components: the pieces that key rules consist of, and the one table of their kinds.
 *
 *   component.c      kinds[]  <- one row per kind
 *   components/X.c   everything about kind X: its settings, compile, encode, decode, fan-out
 *
 * A kind is a vtable; a component is one compiled use of a kind in one rule: immutable, in the policy's
 * arena, pure (no clock, lock or I/O), any thread. The planner uses the members of kw_component and some
 * functions: encode, agrees, enumerate (all pieces that are possible) and edge (the position of a value in
 * the order of the pieces); of clocks also count, runs and reach. It has no special case for any kind.
 */
#pragma once

#include "rule/layout.h"
#include "rule/zone.h"

/* Most components of one rule; bounds every per-component array on the stack. */
#define KW_RULE_COMPONENTS_MAX 32

/* Most bytes of a piece that stores no field (hash, salt, literal). */
#define KW_DERIVED_PIECE_MAX 64

/* Most buckets of one enumerable component. */
#define KW_BUCKETS_MAX 65536

typedef struct kw_component kw_component;
typedef struct kw_component_kind kw_component_kind;

/* A defect of a component's settings under which rows may already exist (kw_hazard). */
typedef struct kw_component_hazard {
    kw_mark mark;
    const char *text;
    const char *hint;
} kw_component_hazard;

struct kw_component {
    const kw_component_kind *kind;
    const kw_field_set *table;
    kw_mark mark;
    const char *text; /* names everything that determines the bytes, except the fields' types */

    const size_t *inputs; /* fields that encode reads */
    size_t inputs_count;
    bool of_rest;          /* encode also reads the following bytes of the key; width is fixed then */
    kw_choice_kind choice; /* the bucket does not follow from the record: the caller passes it */

    int field;    /* the field that can be decoded from the piece; -1: none */
    int64_t unit; /* unit of that field in the piece, in units of the field: 1 is exact, more is coarser */
    const char
        *grain; /* a coarser unit that is not a multiple of units, as text ("MM dd in UTC"); otherwise NULL */
    const size_t *also; /* other fields that the piece stores exactly */
    size_t also_count;
    size_t also_before;     /* clocks: how many of the `also` fields precede the time */
    int clock;              /* the timestamp field whose spans `count` and `runs` accept; -1: none */
    int64_t cell_s;         /* clocks: resolution of a piece in seconds, at least 1 */
    int64_t period_s;       /* clocks: pieces repeat after this many seconds; 0: they do not */
    const char *zone;       /* clocks: the zone of their days and years */
    const kw_zone *offsets; /* calendars: that zone; otherwise NULL */
    bool rejects_repeated;  /* calendars: rejects local times that occurred twice before 1992 (set by the
                               layout) */
    bool millis;            /* clocks: pieces distinguish milliseconds */
    int direction; /* order of the pieces = order of the field's values: +1, reversed: -1, neither: 0 */

    uint32_t width;   /* bytes; 0: varies */
    bool delimited;   /* no piece is a prefix of another: its own bytes mark its end */
    uint64_t buckets; /* upper bound of the number of pieces, if they can be enumerated; otherwise 0 */
    const kw_component_hazard *hazard; /* NULL: none */
    double fullest; /* what the fullest bucket gets if each hash is equally likely, as a multiple of the mean;
                       0: that is not known */
    uint64_t
        cuts; /* equally likely pieces, or prefixes of pieces, that piece() returns in order; otherwise 0 */
};

/* The meaning of one enumerated piece. */
typedef struct kw_bucket {
    kw_bytes bytes;
    int field; /* the field whose value the piece determines; -1: none */
    kw_value value;
    bool narrowed; /* the range field can only be within least..most here (numbers) */
    int64_t least;
    int64_t most;
    bool timed; /* the piece also encodes other times: only rows with the field within least..most count */
} kw_bucket;

/* Pieces from `low` to `high` that are in the order of the clock's field. */
typedef struct kw_piece_run {
    kw_bytes low; /* of the same size */
    kw_bytes high;
    uint32_t skip; /* prefix of the piece that can differ between runs of the same times: after it, rows of
                      all those runs sort by time */
    bool sized;    /* pieces of other sizes can be between them */
    bool narrowed; /* rows here have the clock's field within least..most, if the query has a condition on it
                    */
    int64_t least;
    int64_t most;
    bool timed; /* as in kw_bucket */
} kw_piece_run;

/* How a component with a clock answers a query. */
typedef struct kw_piece_runs {
    kw_piece_run *items; /* NULL: there are none */
    size_t count;
    bool loose; /* pieces of values outside of the span are among them */
} kw_piece_runs;

/* One range condition. NONE: that end is open. */
typedef struct kw_value_span {
    int field; /* -1: no range */
    kw_value from;
    kw_value to;
    bool from_inclusive;
    bool to_inclusive;
} kw_value_span;

/* True if a value, of the kind of the span's ends, is within the span. */
bool kw_value_span_holds(const kw_value_span *span, kw_value value);

/* The closed range of integers, least..most, that a span selects. False if it is empty. */
bool kw_value_span_numbers(const kw_value_span *span, int64_t *ret_least, int64_t *ret_most);

/* The position of a value among the pieces of a component that keeps order. */
typedef struct kw_edge {
    kw_bytes bytes; /* the piece nearest to the value */
    int side;       /* the value is equal to that piece's value (0), greater (+1) or less (-1), with no other
                       piece's value between them */
    bool loose;     /* the piece also encodes values on the other side of the edge */
} kw_edge;

/* The context in which a component is compiled. */
typedef struct kw_site {
    const kw_field_set *table;
    const kw_model_path *path;
    const kw_model_component *model;
    bool last;
    struct kw_rings *rings; /* rule/rings.h; NULL: rings do not share their points */
    kw_arena *arena;
    kw_diagnostics *diagnostics;
} kw_site;

struct kw_component_kind {
    const kw_component_schema *schema;

    /* NULL after a diagnostic. */
    const kw_component *(*compile)(const kw_site *site);

    /* Appends the piece. values has one slot per field of the table; rest is the encoded remainder of the key
     * if of_rest. INVALID naming table, field, value and reason. */
    bool (*encode)(const kw_component *self, const kw_value *values, kw_bytes rest, kw_buffer *out,
                   kw_error *ret_error);

    /* True if a record can have these values (NONE where unknown) at the same time. NULL: always true. */
    bool (*agrees)(const kw_component *self, const kw_value *values);

    /* True if the piece can store this value of one of its fields, whatever the other fields are. NULL: it
     * can store any value. INVALID naming table, field, value and reason. */
    bool (*accepts)(const kw_component *self, size_t field, kw_value value, kw_error *ret_error);

    /* For components that store their field coarsely: a number that is equal for two values exactly if their
     * pieces store them alike. False: no piece stores the value. */
    bool (*code)(const kw_component *self, kw_value value, int64_t *ret_code);

    /* Decodes the field (one in a coarser unit is only checked). NULL: the piece stores nothing, so its bytes
     * are compared with their encoding. CORRUPT. */
    bool (*decode)(const kw_component *self, kw_bytes piece, kw_arena *arena, kw_value *values,
                   kw_error *ret_error);

    /* choose appends the piece of bucket `choice` (less than buckets). chosen returns the bucket of a piece,
     * UINT32_MAX if there is none. For components with a choice: encode must not be called for these, and
     * enumerate lists their buckets in order. */
    void (*choose)(const kw_component *self, uint32_t choice, kw_buffer *out);
    uint32_t (*chosen)(const kw_component *self, kw_bytes piece);

    /* Length of the piece at the beginning of bytes; SIZE_MAX: no piece ends there. For delimited components
     * of variable width. */
    size_t (*measure)(const kw_component *self, kw_bytes bytes);

    /* The pieces that rows within the span can have, in the arena. For components with buckets. */
    size_t (*enumerate)(const kw_component *self, const kw_value_span *span, kw_arena *arena,
                        const kw_bucket **ret_buckets);

    /* For components with a direction. False: only an open end is known. `lower`: the value is a range's
     * lower end. Bytes are in the arena. */
    bool (*edge)(const kw_component *self, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge);

    /* For components with a clock. Upper bound of the number of runs if the fields `known` are known; with
     * `pieces`, of single pieces (only if the piece depends on the clock alone). UINT64_MAX: unknown. A span
     * about no field is open on both sides. */
    uint64_t (*count)(const kw_component *self, const bool *known, const kw_value_span *span, bool pieces);

    /* Those runs, in the order of time. values: NONE where unknown. INVALID if no key can contain one of
     * the values. */
    bool (*runs)(const kw_component *self, const kw_value *values, const kw_value_span *span, kw_arena *arena,
                 kw_piece_runs *ret_runs, kw_error *ret_error);

    /* For components with a clock. Cuts off a part of a span that has more than `most` runs (or pieces,
     * counted as by `count` for an unknown time). Returns the last value of the first part, which has at most
     * `most` of them, but at least one. falling: returns the first value of the last such part. A part ends
     * where a unit of the clock ends. False: the span has at most `most`. */
    bool (*reach)(const kw_component *self, const kw_value_span *span, bool pieces, uint64_t most,
                  bool falling, int64_t *ret_value);

    /* The index-th of `cuts` pieces in key order. */
    kw_bytes (*piece)(const kw_component *self, uint64_t index, kw_arena *arena);
};

/* NULL if there is none of that name. */
const kw_component_kind *kw_component_kind_find(const char *name);

/* --- for the planner ------------------------------------------------------------------------------- */

const kw_component *kw_layout_component(const kw_layout *layout, size_t index);

/* Encodes values (one slot per field) as kw_layout_encode_chosen does. */
bool kw_layout_encode_values(const kw_layout *layout, const kw_value *values, uint32_t choice, kw_buffer *out,
                             kw_error *ret_error);

/* --- for components' compile ------------------------------------------------------------------------ */

/* Settings with their fallback. */
const char *kw_site_text(const kw_site *site, const char *setting, const char *fallback);
int64_t kw_site_number(const kw_site *site, const char *setting, int64_t fallback);
bool kw_site_flag(const kw_site *site, const char *setting, bool fallback);
/* The setting's position; the component's position if it was not given. */
kw_mark kw_site_mark(const kw_site *site, const char *setting);

/* The field that a setting names; -1 after a diagnostic. */
int kw_site_field(const kw_site *site, const char *setting);

/* The fields that a setting lists, in the arena; false after a diagnostic. */
bool kw_site_fields(const kw_site *site, const char *setting, const size_t **ret_fields, size_t *ret_count);

/* Allocates a component of `size` bytes that begins with a kw_component: delimited, without field and clock;
 * unit and cell_s are 1, all other members are 0. */
kw_component *kw_site_component(const kw_site *site, size_t size, const kw_component_kind *kind);

/* Adds a hazard: a defect of the component under which rows may already exist. text and hint: as in
 * kw_diagnostics_add. */
void kw_site_hazard(const kw_site *site, kw_component *component, kw_mark mark, const char *hint,
                    const char *text);

/* Appends a value to a component's text, after ", " unless it is the first of a list. Values are cut at
 * `shown_max` bytes, at most 4 * KW_DERIVED_PIECE_MAX + 8: the size is part of the rule's fingerprint. */
void kw_site_list_value(GString *text, bool first, kw_value value, size_t shown_max);

/* "a, b" for texts of components. */
const char *kw_site_field_names(const kw_site *site, const size_t *fields, size_t count);
