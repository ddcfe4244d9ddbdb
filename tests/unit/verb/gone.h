/* A test for any store: removes records of a table with an association while, one after the other, each store
 * operation fails. */
#pragma once

#include "store/store.h"

/* Takes ownership of the store. name: the prefix of the store tables that the test creates. */
void gone_integration_test(kw_store *store, const char *name);
