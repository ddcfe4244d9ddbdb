/* The operations of a history's callers: how often each occurs, and on how many records of which table. */
#pragma once

#include "histories/judge.h"

typedef enum workload_step {
    STEP_PUT,   /* both texts */
    STEP_PUT_A, /* the first text */
    STEP_PUT_B,
    STEP_REMOVE,      /* the record */
    STEP_REMOVE_A,    /* the first text */
    STEP_REMOVE_MAP,  /* both texts, as a whole map */
    STEP_GET,         /* the record */
    STEP_GET_A,       /* the first text */
    STEP_GET_PATH,    /* the record, by its second path */
    STEP_PUT_IF,      /* both texts, if the first one is the value that the caller read last */
    STEP_ADD,         /* increments the first counter */
    STEP_ADD_BOTH,    /* increments both counters */
    STEP_PUT_COUNTER, /* the first counter */
    STEP_PUT_MIXED,   /* the first text and counter */
    STEP_SCAN,        /* page by page */
    STEP_SCAN_FILTER, /* with a filter that the store evaluates */
    STEP_SCAN_MATCH,  /* with a filter on the first text, which puts change */
    STEP_VERSIONS,    /* all versions of the record */
    STEP_NUMBER,      /* puts a record with a field that the gateway generates */
    STEP_FIND,        /* the record, by a hint path and its whole key */
    STEP_PUT_MANY,    /* both texts of several records, in one call */
    STEP_SCAN_PATH,   /* a hint path, with none or some of its sides bound */
    STEPS
} workload_step;

typedef struct workload {
    const char *name;
    const char *table;
    const char *second_path;
    unsigned records; /* few, so that callers use the same records */
    judge_rules rules;
    unsigned shares[STEPS];
    bool has_map;        /* the texts are entries of a map */
    unsigned hint_paths; /* the texts have sides, in the keys of so many paths: operation.h. A further path
                            has as many texts in its key */
    /* In a store that has one order of all writes, the record is judged in one step; in HBase, each field
     * alone. */
    bool is_whole_in_order;
} workload;

const workload *workload_find(const char *name); /* ends the program if the name is unknown */
/* The rules for a history of the workload. paths: "together", "in-order" or "apart" (judge_paths); ends the
 * program if it is another word. exempt: also judge_rules.exempt. With "together", nothing is exempt. */
judge_rules workload_rules(const workload *of, const char *paths, bool exempt);
