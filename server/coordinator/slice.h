/* Private to the coordinator: what the slices of all kinds of work have in common. work.c starts all
 * slices and contains those of the copy and the comparison; passes.c contains those of passes and
 * sweeps. */
#pragma once

#include "coordinator/coordinator_internal.h"

/* The record that the slice was for. False if the progress in the record is not that with which the slice
 * began: the change has ended, the comparison has started again, or the policy was loaded with earlier
 * progress. Its texts live as long as `set`. */
bool kw_change_slice_record(const kw_coordinator *self, const kw_change_set *set,
                            kw_change_record *ret_record);
/* `rows` were visited. progress: 0 to 1, of the present work. */
void kw_change_slice_note_rows(kw_coordinator *self, const kw_change_record *record, uint64_t rows,
                               double progress);
/* Sets the rates of the work in the record, which other gateways show. Resets them at the `end` of the work,
 * and in a store with one writer. */
void kw_change_slice_set_rates(kw_coordinator *self, bool end, kw_change_record *record);
/* Ends a slice that failed. It is repeated after a pause. */
void kw_change_slice_fail(kw_coordinator *self, const char *doing, const kw_error *error);
/* Ends the phase whose rows were all visited. `text` is logged. */
void kw_change_slice_end_phase(kw_coordinator *self, const kw_change_record *record, const char *text);
void kw_change_slice_end(kw_coordinator *self);

/* Completes the request of a copy, pass or sweep, and stores it in self->copy. */
void kw_change_slice_prepare(kw_coordinator *self, const kw_change_record *record, kw_copy_request request);
/* True if slices make no pauses for callers, because callers or the operator wait for the work. */
bool kw_change_slice_hurries(const kw_change_record *record);

/* --- passes.c ----------------------------------------------------------------------------------- */

void kw_change_start_pass(kw_coordinator *self, const kw_change_record *record, const kw_path *path);
void kw_change_start_sweep(kw_coordinator *self, const kw_change_record *record, const kw_path *path);
