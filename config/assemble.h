/* Draft to model: the last step. */
#pragma once

#include "config/read.h"

/* Everything of the model except file and text, without the tables that have problems; uses the memory of the
 * reader. */
kw_model kw_assemble(kw_read *read, const kw_draft *draft);
