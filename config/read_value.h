/* Reads single values into members. Part of the engine of read.h. */
#pragma once

#include "config/parse.h"
#include "config/read.h"

/* For all kinds except SECTION, LIST, MAP and RULE. After a problem the member is unchanged. */
void kw_read_value(kw_read *read, const kw_setting *setting, const kw_node *node, void *into);

/* Stores the value of a member if the file omits the setting and there is no fallback. */
void kw_read_nothing(const kw_setting *setting, void *into);
