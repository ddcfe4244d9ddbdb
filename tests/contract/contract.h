/* One suite of tests that every store must pass: what store.h promises, with HBase's cell semantics.
 *
 * A program says how a store is opened, adds the tests, runs them, and finishes. Tables are named with the
 * prefix, so that several runs share one HBase; most tests share one table and keep to rows of their own.
 *
 *   g_test_init(...);
 *   kw_contract_add_tests("kwc_1234", open_my_store);
 *   int failed = g_test_run();
 *   kw_contract_finish();
 *
 * Codes that the suite holds stores to: an unknown table is NOT_FOUND, an unknown family INVALID, both by
 * name; what the store handle refuses is INVALID.
 */
#pragma once

#include "store/store.h"

/* A new store; ends the test when it cannot. Each test opens one and frees it. */
typedef kw_store *(*kw_contract_factory)(void);

void kw_contract_add_tests(const char *prefix, kw_contract_factory factory);

/* Drops the tables that were made. */
void kw_contract_finish(void);
