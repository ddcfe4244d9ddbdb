/* One suite of tests that every store must pass: the contract in store.h, with HBase's cell semantics.
 *
 * A program passes a function that opens a store, adds the tests, runs them, and finishes. The prefix is part
 * of the tables' names, so that several runs can share one HBase. Most tests share one table and use their
 * own rows.
 *
 *   g_test_init(...);
 *   kw_contract_add_tests("kwc_1234", open_my_store);
 *   int failed = g_test_run();
 *   kw_contract_finish();
 *
 * Error codes that every store must return: NOT_FOUND for an unknown table and INVALID for an unknown family,
 * both with the name; INVALID for what the store handle rejects.
 */
#pragma once

#include "store/store.h"

/* A new store; ends the test if it cannot be opened. Each test opens one and frees it. */
typedef kw_store *(*kw_contract_factory)(void);

void kw_contract_add_tests(const char *prefix, kw_contract_factory factory);
/* Adds tests that are only for a store with several writers: copies, sweeps and atomic operations. The
 * factory opens store/order. */
void kw_contract_add_tests_of_order(const char *prefix, kw_contract_factory factory);

/* True if the store cannot give new tables the attributes of families, because its server is framed. */
extern bool kw_contract_loses_attributes;

/* Drops the tables that the tests created. */
void kw_contract_finish(void);
