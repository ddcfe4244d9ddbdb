/* A model with its memory and reference count. The model is immutable; only the count changes (any
 * thread). */
#pragma once

#include "config/memory.h"
#include "config/read.h"

typedef struct kw_model_box {
    _Atomic int references;
    kw_memory *memory;
    GArray *secrets; /* of kw_secret_span, ascending */
    kw_model model;
} kw_model_box;
