/* Where something stands in a policy file, and what is wrong there.
 *
 * Every problem of a file is collected in one run and printed as
 *   file:line:column: error: message / hint: what to do
 * A mark with line 0 means "no place" (a default, a command line). Not thread safe.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kw_mark {
    uint32_t line;   /* from 1; 0: none */
    uint32_t column; /* from 1, in characters */
} kw_mark;

typedef struct kw_problem {
    kw_mark mark;
    char *message;
    char *hint;   /* may be NULL */
    bool warning; /* refuses nothing */
} kw_problem;

typedef struct kw_diagnostics kw_diagnostics;

/* file: the name that problems are printed with (copied). */
kw_diagnostics *kw_diagnostics_new(const char *file);
void kw_diagnostics_free(kw_diagnostics *diagnostics);

/* Adds a problem; hint may be NULL. At most 100 are kept, the rest are counted. Returns false, so
 * that a check can `return kw_diagnostics_add(...)`. */
bool kw_diagnostics_add(kw_diagnostics *diagnostics, kw_mark mark, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds what is allowed but likely to be regretted: printed as "warning" among the errors. */
void kw_diagnostics_warn(kw_diagnostics *diagnostics, kw_mark mark, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Asks whether the work that the text causes may go on, while its result holds so many bytes. */
typedef bool (*kw_diagnostics_watcher)(void *user, size_t bytes);

/* For texts that nobody vouches for. Without a watcher work always goes on. */
void kw_diagnostics_watch(kw_diagnostics *diagnostics, kw_diagnostics_watcher watcher, void *user);

/* Called between the steps of long work. False: the work must end without a result. It then stays false. */
bool kw_diagnostics_may_go_on(kw_diagnostics *diagnostics, size_t bytes);

/* Errors only; and warnings only. */
size_t kw_diagnostics_count(const kw_diagnostics *diagnostics);
size_t kw_diagnostics_warnings(const kw_diagnostics *diagnostics);
/* Ordered by place; index < the number kept. Borrowed. */
size_t kw_diagnostics_kept(const kw_diagnostics *diagnostics);
const kw_problem *kw_diagnostics_get(const kw_diagnostics *diagnostics, size_t index);

/* All problems as text, one line each ("file:line:column: error: ... / hint: ..."). Caller frees
 * with g_free. */
char *kw_diagnostics_text(const kw_diagnostics *diagnostics);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_diagnostics, kw_diagnostics_free)

/* The name nearest to `wrong` among names (NULL-terminated), NULL when none is near: "did you mean". */
const char *kw_nearest_name(const char *wrong, const char *const *names);
