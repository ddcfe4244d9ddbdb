/* Components: the pieces that a key rule is made of, and the one table of their kinds.
 *
 *   component.c      kinds[]  <- one row per kind
 *   components/X.c   everything about kind X: its settings, compile, encode, decode, fan-out
 *
 * A kind is a vtable; a component is one compiled use of a kind in one rule: immutable, in the policy's
 * arena, pure (no clock, lock or I/O), any thread. The planner works from the members of kw_component
 * and three questions: enumerate (which pieces may there be?), edge (where does a value lie in the
 * order of the pieces?) and encode. It knows no kind by name.
 */
#pragma once

#include "rule/layout.h"
#include "rule/zone.h"

/* Most components of one rule; bounds every per-component array on the stack. */
#define KW_RULE_COMPONENTS_MAX 32

/* Most bytes of a piece that carries no field (hash, salt, literal). */
#define KW_DERIVED_PIECE_MAX 64

/* Most buckets of one enumerable component. */
#define KW_BUCKETS_MAX 65536

typedef struct kw_component kw_component;
typedef struct kw_component_kind kw_component_kind;

/* What is wrong with a component's settings, though rows can have been written so (kw_hazard). */
typedef struct kw_component_hazard {
    kw_mark mark;
    const char *text;
    const char *hint;
} kw_component_hazard;

struct kw_component {
    const kw_component_kind *kind;
    const kw_field_set *table;
    kw_mark mark;
    const char *text; /* names everything that decides the bytes, but the fields' types */

    const size_t *inputs; /* fields that encode reads */
    size_t inputs_count;
    bool of_rest;          /* encode reads the bytes that follow in the key, too; width is fixed then */
    kw_choice_kind choice; /* the bucket does not follow from the record: it is handed in */

    int field;          /* whose value can be read back from the piece; -1: none */
    int64_t unit;       /* ... to so many of the field's units: 1 exactly, more is coarser */
    const char *grain;  /* a coarser unit that is no number of units, in words ("MM dd in UTC"); else NULL */
    const size_t *also; /* further fields that the piece holds exactly */
    size_t also_count;
    size_t also_before;     /* clocks: so many of them stand before the time */
    int clock;              /* the timestamp field whose span `count` and `runs` understand; -1: none */
    int64_t cell_s;         /* clocks: what a piece tells apart, in seconds, at least 1 */
    int64_t period_s;       /* clocks: after so many seconds pieces come again; 0: they do not */
    const char *zone;       /* clocks: by whose days and years they are told */
    const kw_zone *offsets; /* calendars: that zone's; else NULL */
    bool refuses_twice; /* calendars: a local time that came twice before 1992 is refused, as the layout says
                         */
    bool millis;        /* clocks: pieces tell milliseconds apart */
    int direction;      /* order of the pieces = order of the field's values: +1, reversed: -1, neither: 0 */

    uint32_t width;   /* bytes; 0: varies */
    bool delimited;   /* no piece is the beginning of another: its end shows in its own bytes */
    uint64_t buckets; /* pieces there are at most, when a reader can list them; else 0 */
    const kw_component_hazard *hazard; /* NULL: none */
    uint64_t cuts; /* pieces or beginnings of pieces, equally likely, that piece() names in order; else 0 */
};

/* What one enumerated piece says. */
typedef struct kw_bucket {
    kw_bytes bytes;
    int field; /* the piece gives this field a value; -1: it does not */
    kw_value value;
    bool narrowed; /* here the range field can only be within least..most (numbers) */
    int64_t least;
    int64_t most;
    bool timed; /* the piece stands for other times, too: rows count only when the field lies within them */
} kw_bucket;

/* Pieces from `low` to `high` that follow one another as the clock's field does. */
typedef struct kw_piece_run {
    kw_bytes low; /* of the same size */
    kw_bytes high;
    uint32_t skip; /* bytes of the piece that runs of the same times need not have in common: behind them,
                      rows of all those runs compare in the order of time */
    bool sized;    /* pieces of other sizes can lie between them */
    bool narrowed; /* rows here have the clock's field within least..most, if it is asked about */
    int64_t least;
    int64_t most;
    bool timed; /* as kw_bucket's */
} kw_piece_run;

/* What a component with a clock makes of a question. */
typedef struct kw_piece_runs {
    kw_piece_run *items; /* NULL: there are none */
    size_t count;
    bool loose; /* pieces of values outside of the span lie among them, too */
} kw_piece_runs;

/* One range condition. NONE: that end is open. */
typedef struct kw_span {
    int field; /* -1: no range */
    kw_value from;
    kw_value to;
    bool from_inclusive;
    bool to_inclusive;
} kw_span;

/* Whether a value, of the kind of the span's ends, lies between them. */
bool kw_span_holds(const kw_span *span, kw_value value);

/* The range of numbers that a span asks of a field: closed, least..most. False when nothing can match. */
bool kw_span_numbers(const kw_span *span, int64_t *ret_least, int64_t *ret_most);

/* Where a value lies among the pieces of a component that keeps order. */
typedef struct kw_edge {
    kw_bytes bytes; /* the piece nearest to the value */
    int side;       /* the value is equal to that piece's value (0), beyond (+1) or before it (-1), with
                       no other piece's value between them */
    bool loose;     /* the piece also stands for values on the other side of the edge */
} kw_edge;

/* Where a component stands while its rule is compiled. */
typedef struct kw_site {
    const kw_field_set *table;
    const kw_model_path *path;
    const kw_model_component *model;
    bool last;
    kw_arena *arena;
    kw_diagnostics *diagnostics;
} kw_site;

struct kw_component_kind {
    const kw_component_schema *schema;

    /* NULL after a diagnostic. */
    const kw_component *(*compile)(const kw_site *site);

    /* Appends the piece. values has one slot per field of the table; rest is the encoded remainder of
     * the key when of_rest. INVALID naming table, field, value and reason. */
    bool (*encode)(const kw_component *self, const kw_value *values, kw_bytes rest, kw_buffer *out,
                   kw_error *ret_error);

    /* Can a record have these values (NONE where not known) at once? NULL: whatever they are. */
    bool (*agrees)(const kw_component *self, const kw_value *values);

    /* Can the piece hold this value of one of its fields, whatever the others are? NULL: it holds any.
     * INVALID naming table, field, value and reason. */
    bool (*takes)(const kw_component *self, size_t field, kw_value value, kw_error *ret_error);

    /* For components that hold their field coarsely: a number that two values have in common exactly when
     * their pieces hold them alike. False: no piece holds the value. */
    bool (*code)(const kw_component *self, kw_value value, int64_t *ret_code);

    /* Reads the field back (one in a coarser unit is only checked). NULL: carries nothing, and the mechanism
     * compares the piece with what encode makes. CORRUPT. */
    bool (*decode)(const kw_component *self, kw_bytes piece, kw_arena *arena, kw_value *values,
                   kw_error *ret_error);

    /* Appends the piece of bucket `choice` (below buckets); and the bucket that a piece is of, UINT32_MAX
     * when it is of none. For components with a choice, which have no encode; enumerate lists their buckets
     * in order. */
    void (*choose)(const kw_component *self, uint32_t choice, kw_buffer *out);
    uint32_t (*chosen)(const kw_component *self, kw_bytes piece);

    /* Length of the piece at the head of bytes; SIZE_MAX: none ends there. For delimited components
     * whose width varies. */
    size_t (*measure)(const kw_component *self, kw_bytes bytes);

    /* The pieces that rows within the span may have, in the arena. For components with buckets. */
    size_t (*enumerate)(const kw_component *self, const kw_span *span, kw_arena *arena,
                        const kw_bucket **ret_buckets);

    /* For components with a direction. False: nothing better than an open end is known. `lower`: the
     * value is a range's lower end. Bytes in the arena. */
    bool (*edge)(const kw_component *self, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge);

    /* For components with a clock. How many runs there are (at most) when the fields `known` are known, and
     * single pieces when `pieces` (only where the piece is of the clock alone); UINT64_MAX: nobody can tell.
     * A span about no field is open on both sides. */
    uint64_t (*count)(const kw_component *self, const bool *known, const kw_span *span, bool pieces);

    /* Those runs, in the order of time. values: NONE where not known. INVALID when one cannot be in a key. */
    bool (*runs)(const kw_component *self, const kw_value *values, const kw_span *span, kw_arena *arena,
                 kw_piece_runs *ret_runs, kw_error *ret_error);

    /* For components with a clock. When the span has more than `most` runs (or pieces, as count says them of
     * a time that is not known): the last value of the first part of it that has no more, or only one;
     * falling: the first value of the last part. Parts end where a unit of the clock ends. False: it has not.
     */
    bool (*reach)(const kw_component *self, const kw_span *span, bool pieces, uint64_t most, bool falling,
                  int64_t *ret_value);

    /* The index-th of `cuts` pieces in key order. */
    kw_bytes (*piece)(const kw_component *self, uint64_t index, kw_arena *arena);
};

/* NULL when there is none of that name. */
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
/* The setting's place; the component's when it was not given. */
kw_mark kw_site_mark(const kw_site *site, const char *setting);

/* The field that a setting names; -1 after a diagnostic. */
int kw_site_field(const kw_site *site, const char *setting);

/* The fields that a setting of texts names, in the arena; false after a diagnostic. */
bool kw_site_fields(const kw_site *site, const char *setting, const size_t **ret_fields, size_t *ret_count);

/* Starts a component of `size` bytes, its kw_component at the head: no field, one-piece defaults. */
kw_component *kw_site_component(const kw_site *site, size_t size, const kw_component_kind *kind);

/* Notes what is wrong with the component, though rows can have been written so. text and hint: as in
 * kw_diagnostics_add. */
void kw_site_hazard(const kw_site *site, kw_component *component, kw_mark mark, const char *hint,
                    const char *text);

/* "a, b" for texts of components. */
const char *kw_site_field_names(const kw_site *site, const size_t *fields, size_t count);
