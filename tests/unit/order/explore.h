/* Exhaustive search of a small model: every order of its possible steps, each state visited once.
 *
 *   explore() --> expand(state) --> explore_step(next state) --> expand(...) --> ...
 *                      \--> explore_wrong(): ends the search; the steps so far are the counterexample
 *
 * A state is plain bytes; equal states must have equal padding. Visited states are stored as 128-bit hashes.
 * The trace is the path of the depth-first search.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct explorer explorer;

typedef struct explored {
    uint64_t states;
    char *wrong;   /* NULL: no counterexample; otherwise the error and the steps to it (free with g_free) */
    bool complete; /* false: the search stopped at its limit of states */
} explored;

/* Searches from `state` of `bytes` bytes. expand must call explore_step for each possible step of a state. */
explored explore(const void *state, size_t bytes, void (*expand)(explorer *of, const void *state, void *user),
                 void *user, uint64_t states_max);

/* A step: `action` of `actor` (-1: of the world) leads to `next`. `action` must outlive the search. */
void explore_step(explorer *of, const void *next, const char *action, int actor);

/* Reports that the present state is wrong. */
void explore_wrong(explorer *of, const char *why);

/* True if a counterexample was found or the limit was reached: expand can return early. */
bool explore_over(const explorer *of);

/* Returns `large` if KW_EXPLORE is set, else `small`, so that the largest searches do not run in CI. */
uint64_t explore_bound(uint64_t small, uint64_t large);
