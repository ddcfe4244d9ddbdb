/* Private to this module: changes the records of changes without a step.
 *
 *   read the cells `id`, `policy` and `changes` -> decide what to write -> put, if the id is still the same
 *     -> BUSY: the catalog was changed since: read and decide again, until the deadline
 *
 * So no writer undoes what another one has written in between.
 */
#pragma once

#include "catalog/put.h"

typedef struct kw_changes_editing kw_changes_editing;

/* Sets the records to put from those that were read (self->image). False: nothing is written. It can be
 * called several times. */
typedef bool (*kw_changes_decide)(kw_changes_editing *self, kw_error *ret_error);

struct kw_changes_editing {
    kw_catalog *catalog;
    kw_arena *arena; /* of the whole call */
    kw_deadline deadline;
    kw_get get;
    kw_catalog_image *image;         /* has only what a put needs, and the version */
    const kw_change_record *records; /* to put */
    size_t count;
    bool unchanged; /* set by `decide` if there is nothing to write */
    kw_changes_decide decide;
    /* Frees nothing; error can be NULL. */
    void (*done)(kw_changes_editing *self, const kw_error *error);
};

/* The editing lives in its arena, which is freed after done. */
void kw_changes_edit(kw_changes_editing *self);
