/* A play over any store: records of a table whose association goes with them, removed while one operation
 * after the other fails. */
#pragma once

#include "store/store.h"

/* Takes the store over. name: of the store tables that it makes there. */
void gone_play(kw_store *store, const char *name);
