/* HBase's filter language: parses a text into a tree, and prints a tree as text.
 *
 *   "PrefixFilter('a') AND (SKIP ValueFilter(=, 'binary:x'))"
 *
 *       AND -+- PrefixFilter a            parse.c     operators, parentheses, precedence
 *            '- SKIP -- ValueFilter ...   arguments.c one filter: its name and arguments
 *
 * Accepts what the ParseFilter of HBase 2.6 accepts, including its oddities, except for an unclosed
 * parenthesis, which is an error here. Precedence from high to low: SKIP and WHILE, AND, OR. machine.h
 * applies filters to rows. No I/O; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#define KW_FILTER_TEXT_MAX (256 * 1024)
#define KW_FILTER_NODES_MAX 4096
#define KW_FILTER_DEPTH_MAX 64
/* Maximum number of regular expressions in one filter, and their total bytes. expression.h has the limits of
 * a single expression. */
#define KW_FILTER_EXPRESSIONS_MAX 64
#define KW_FILTER_EXPRESSION_BYTES_MAX (16 * 1024)

typedef enum kw_filter_kind {
    KW_FILTER_AND,
    KW_FILTER_OR,
    KW_FILTER_SKIP,
    KW_FILTER_WHILE,
    KW_FILTER_KEY_ONLY,               /* flag: replace the value by its length */
    KW_FILTER_FIRST_KEY_ONLY,         /* no arguments */
    KW_FILTER_PREFIX,                 /* bytes[0] */
    KW_FILTER_COLUMN_PREFIX,          /* bytes[0] */
    KW_FILTER_MULTIPLE_COLUMN_PREFIX, /* bytes, sorted */
    KW_FILTER_COLUMN_COUNT_GET,       /* numbers[0] */
    KW_FILTER_PAGE,                   /* numbers[0] */
    KW_FILTER_COLUMN_PAGINATION,      /* numbers: limit, offset */
    KW_FILTER_INCLUSIVE_STOP,         /* bytes[0] */
    KW_FILTER_TIMESTAMPS,             /* numbers, sorted, without duplicates */
    KW_FILTER_ROW,                    /* compare */
    KW_FILTER_FAMILY,                 /* compare */
    KW_FILTER_QUALIFIER,              /* compare */
    KW_FILTER_VALUE,                  /* compare */
    KW_FILTER_COLUMN_RANGE,           /* bytes: lowest, highest (empty: no limit); flags: inclusive */
    KW_FILTER_SINGLE_COLUMN_VALUE,    /* bytes: family, qualifier; compare; flags: if missing, latest only */
    KW_FILTER_SINGLE_COLUMN_VALUE_EXCLUDE, /* the same */
    KW_FILTER_DEPENDENT_COLUMN,            /* bytes: family, qualifier; flags: drop; compare or none */
    KW_FILTER_COLUMN_VALUE                 /* bytes: family, qualifier; compare */
} kw_filter_kind;

typedef enum kw_filter_operator {
    KW_FILTER_LESS,
    KW_FILTER_LESS_OR_EQUAL,
    KW_FILTER_EQUAL,
    KW_FILTER_NOT_EQUAL,
    KW_FILTER_GREATER_OR_EQUAL,
    KW_FILTER_GREATER
} kw_filter_operator;

typedef enum kw_filter_comparator {
    KW_FILTER_COMPARE_NOTHING, /* only in DependentColumnFilter */
    KW_FILTER_COMPARE_BINARY,
    KW_FILTER_COMPARE_BINARY_PREFIX,
    KW_FILTER_COMPARE_REGEX,
    KW_FILTER_COMPARE_REGEX_ANY_CASE,
    KW_FILTER_COMPARE_SUBSTRING
} kw_filter_comparator;

typedef struct kw_filter kw_filter;
struct kw_filter {
    kw_filter_kind kind;
    size_t position;            /* position in the text, from 0 */
    const kw_filter **children; /* AND, OR, SKIP, WHILE */
    size_t children_count;
    kw_bytes *bytes;
    size_t bytes_count;
    int64_t *numbers;
    size_t numbers_count;
    bool flags[2];
    kw_filter_operator op;
    kw_filter_comparator comparator;
    kw_bytes operand;    /* of the comparator */
    uint32_t expression; /* index of the regular expression in the filter */
};

/* Returns the tree, allocated in the arena with copies of the bytes. NULL with INVALID if the text is
 * malformed: the error names the position (from 1) and what was expected. NULL with LIMIT if the text is too
 * long or nested too deeply, or if it has too many regular expressions, or one that is too long or too
 * complicated. The expressions are not compiled here, because compiling is slow and this runs on event loops;
 * see prepared.h. */
const kw_filter *kw_filter_parse(kw_bytes text, kw_arena *arena, kw_error *ret_error);
/* The same for the filter of a query: \xNN within quotes is a byte, except in regular expressions. A text of
 * Thrift cannot hold every byte. */
const kw_filter *kw_filter_parse_query(kw_bytes text, kw_arena *arena, kw_error *ret_error);

/* Appends the tree as text. If the caller puts the text in parentheses, HBase parses it as the same tree
 * wherever it stands. */
void kw_filter_print(const kw_filter *filter, kw_buffer *to);
/* The same in printable ASCII, for kw_filter_parse_query. */
void kw_filter_print_for_query(const kw_filter *filter, kw_buffer *to);

/* Joins filters with AND or OR, in the arena. A single filter is returned unchanged. */
const kw_filter *kw_filter_join(kw_filter_kind kind, const kw_filter *const *parts, size_t count,
                                kw_arena *arena);

/* True if the filter keeps state from row to row (PageFilter, WHILE, ColumnCountGetFilter). One machine must
 * then filter all rows. */
bool kw_filter_spans_rows(const kw_filter *filter);

/* True if the filter can remove the values of cells (KeyOnlyFilter). Sets *ret_lengths if it can replace them
 * by their lengths; otherwise does not change it. */
bool kw_filter_removes_values(const kw_filter *filter, bool *ret_lengths);

/* The name in the language: "PageFilter", "AND". */
const char *kw_filter_name(kw_filter_kind kind);

/* Their names in the language, such as "<" and "binary". */
const char *kw_filter_operator_text(kw_filter_operator op);
const char *kw_filter_comparator_text(kw_filter_comparator comparator);
