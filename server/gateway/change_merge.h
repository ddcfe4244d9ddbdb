/* Internal to gateway: several gateways write the record of a change. Pure.
 *
 *   the holder      versions, and the progress of its work
 *   any gateway     what the operator orders: goal, pause, limit, comparison (which resets the progress)
 *   another one     itself as the holder, when the holder has disappeared
 *
 * Each write changes the record as it was read, on the condition that the catalog still has it so. The holder
 * writes its progress every few seconds only, so an order can reset the progress in between. Then the
 * progress of the holder since its last write does not count, because the work begins again.
 */
#pragma once

#include "catalog/changes.h"

/* A change with one writer has the progress of that one.
 *
 * The record with what the catalog has (`theirs`), and with the progress of this gateway (`mine`), unless
 * another gateway has changed the progress since the catalog had `base`. NULL: there is none. Texts are
 * those of the arguments. */
kw_change_record kw_change_merge(const kw_change_record *base, const kw_change_record *mine,
                                 const kw_change_record *theirs);

/* True if the records have the same progress. */
bool kw_change_same_progress(const kw_change_record *a, const kw_change_record *b);
