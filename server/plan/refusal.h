/* What is said of a question that would read a whole table, or that no path can answer in order: what to
 * bind, and why what is bound is of no use. Inside of the room. */
#pragma once

#include "plan/sketch.h"

/* INVALID. The sketches are of the paths that were considered. Returns false. */
bool kw_refuse_whole_table(const kw_terms *terms, const kw_sketch *sketches, size_t count, kw_arena *arena,
                           kw_error *ret_error);

/* Why a path has no order for a question, in the arena. */
const char *kw_refusal_tell_disorder(const kw_sketch *sketch, const kw_terms *terms, kw_arena *arena);
