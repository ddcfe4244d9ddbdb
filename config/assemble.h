/* Draft to model: the last step. */
#pragma once

#include "config/read.h"

/* Everything of the model except file and text; uses the memory of the reader. A table with problems is
 * marked as incomplete, and has only the fields and paths that can still be checked. */
kw_model kw_assemble(kw_read *read, const kw_draft *draft);
