/* Draft to model: the last step, which runs only if there was no error. */
#pragma once

#include "config/read.h"

/* Everything of the model except file and text; uses the memory of the reader. */
kw_model kw_assemble(kw_read *read, const kw_draft *draft);
