/* A model with its memory and reference count. The model is immutable; only the count changes (any
 * thread). */
#pragma once

#include "config/memory.h"
#include "config/read.h"

typedef struct kw_model_box {
    _Atomic int references;
    kw_memory *memory; /* NULL: a model that consists of two others, `own` and `shared` */
    GArray *secrets;   /* of kw_secret_span, ascending */
    kw_model *own;     /* from the gateway's file; NULL: this model was read from one text */
    kw_model *shared;  /* from the catalog */
    kw_model model;
} kw_model_box;

static inline kw_model_box *
kw_model_box_of(const kw_model *model)
{
    return (kw_model_box *)(uintptr_t)((const char *)model - offsetof(kw_model_box, model));
}
