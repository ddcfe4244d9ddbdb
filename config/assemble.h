/* Draft to model: the last step, taken only when nothing was wrong. */
#pragma once

#include "config/read.h"

/* Everything of the model but file and text; memory from the reader's. */
kw_model kw_assemble(kw_read *read, const kw_draft *draft);
