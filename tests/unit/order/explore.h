/* Exhaustive search of a small model: every order in which its steps can happen, each state visited once.
 *
 *   explore() --> expand(state) --> explore_step(next state) --> expand(...) --> ...
 *                      \--> explore_wrong(): ends the search; the steps that led there are the counterexample
 *
 * A state is plain bytes without padding that differs between equal states. Visited states are remembered by
 * a 128-bit hash. The trace is the path of the depth-first search.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct explorer explorer;

typedef struct explored {
    uint64_t states;
    char *wrong; /* NULL: no counterexample; else what is wrong and the steps to it (g_free) */
    bool whole;  /* false: the search stopped at its limit of states */
} explored;

/* Starts from `state` of `bytes` bytes. expand calls explore_step for each step that is possible in a state.
 */
explored explore(const void *state, size_t bytes, void (*expand)(explorer *of, const void *state, void *user),
                 void *user, uint64_t states_most);

/* One step: `what` by `who` (-1: nobody in particular) leads to `next`. `what` must outlive the search. */
void explore_step(explorer *of, const void *next, const char *what, int who);

/* The state in hand is wrong. */
void explore_wrong(explorer *of, const char *why);

/* True once a counterexample was found or the limit was reached: expand can return early. */
bool explore_over(const explorer *of);

/* The largest searches run only when KW_EXPLORE is set: `small` states in CI, `large` then. */
uint64_t explore_bound(uint64_t small, uint64_t large);
