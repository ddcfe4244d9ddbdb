/* Problems of a policy file and their positions.
 *
 * The problems of a file, up to 100, are collected in one run and printed as
 *   file:line:column: error: message / hint: what to do
 * A mark with line 0 means that there is no position (a default, a command line). Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kw_mark {
    uint32_t line;   /* from 1; 0: no position */
    uint32_t column; /* from 1, in characters */
} kw_mark;

typedef struct kw_problem {
    kw_mark mark;
    char *message;
    char *hint;   /* can be NULL */
    bool warning; /* does not reject the policy */
} kw_problem;

typedef struct kw_diagnostics kw_diagnostics;

/* file: the name printed with each problem (copied; control characters become escapes). */
kw_diagnostics *kw_diagnostics_new(const char *file);
const char *kw_diagnostics_file(const kw_diagnostics *diagnostics); /* borrowed */
void kw_diagnostics_free(kw_diagnostics *diagnostics);

/* Adds a problem; hint can be NULL. At most 100 are kept; the others are counted. Returns false, so that a
 * check can `return kw_diagnostics_add(...)`. */
bool kw_diagnostics_add(kw_diagnostics *diagnostics, kw_mark mark, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a warning about settings that are allowed but likely to cause trouble. Printed as "warning", in the
 * order of the errors. */
void kw_diagnostics_warn(kw_diagnostics *diagnostics, kw_mark mark, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns true if the work that a text causes can continue. bytes: the memory that its result uses so far. */
typedef bool (*kw_diagnostics_watcher)(void *user, size_t bytes);

/* For texts from untrusted callers. Without a watcher, work always continues. */
void kw_diagnostics_watch(kw_diagnostics *diagnostics, kw_diagnostics_watcher watcher, void *user);

/* Called between the steps of long work. False: stop without a result; later calls also return false. */
bool kw_diagnostics_may_continue(kw_diagnostics *diagnostics, size_t bytes);

/* The number of errors, and of warnings. */
size_t kw_diagnostics_count(const kw_diagnostics *diagnostics);
size_t kw_diagnostics_warnings(const kw_diagnostics *diagnostics);
/* Problems in the order of their positions; index is less than the number kept. Borrowed. */
size_t kw_diagnostics_kept(const kw_diagnostics *diagnostics);
const kw_problem *kw_diagnostics_get(const kw_diagnostics *diagnostics, size_t index);

/* All problems as text, one line each ("file:line:column: error: ... / hint: ..."). Caller frees
 * with g_free. */
char *kw_diagnostics_text(const kw_diagnostics *diagnostics);

/* The same for programs: one JSON object per line, with the members file, line, column, severity ("error" or
 * "warning"), message and hint. line and column are absent if there is no position, hint if there is none.
 * Caller frees with g_free. */
char *kw_diagnostics_json(const kw_diagnostics *diagnostics);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_diagnostics, kw_diagnostics_free)

/* The name in `names` (NULL-terminated) that is most similar to `wrong`, for "did you mean"; NULL if none
 * is similar. */
const char *kw_nearest_name(const char *wrong, const char *const *names);
