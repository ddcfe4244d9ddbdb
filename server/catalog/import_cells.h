/* Checks the cells of an import, which come from a file. */
#pragma once

#include "catalog/transfer.h"

/* INVALID for a cell that Keyway does not write, or whose value cannot be read. */
bool kw_import_check(const kw_catalog_import *import, kw_arena *arena, kw_error *ret_error);
