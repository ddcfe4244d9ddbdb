/* The order in which the committer writes pending commits: small ones first, so that they wait for at most
 * one large one. Large commits take turns. Runs on the committer's thread. */
#pragma once

#include "store/embedded/embedded_internal.h"

/* A commit with more entries than this is large. */
#define KW_TURNS_SMALL_ENTRIES 1024
/* A round ends when the large commits that it has written have together as many entries as this. Collecting
 * and writing so many takes about 15 ms. */
#define KW_TURNS_ROUND_ENTRIES 16384

/* Of a MANY commit, its next slice counts. */
bool kw_turns_is_large(const kw_commit *commit);

/* Moves the small commits before the large ones, up to the first change of tables, and changes no other
 * order. A small commit stays after a large one that changes one of its rows, so a removal that was
 * submitted after a put gets no smaller timestamp. */
void kw_turns_arrange(kw_commit **pending);
