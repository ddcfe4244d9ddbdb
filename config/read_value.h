/* Single values into members, as a row says. Part of the engine of read.h. */
#pragma once

#include "config/parse.h"
#include "config/read.h"

/* Any kind but SECTION, LIST, MAP and RULE. On a problem the member keeps what it had. */
void kw_read_value(kw_read *read, const kw_setting *setting, const kw_node *node, void *into);

/* What the member holds when the file leaves the setting out and there is no fallback. */
void kw_read_nothing(const kw_setting *setting, void *into);
