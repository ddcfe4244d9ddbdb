/* Internal to service: counts and logs how calls and their records ended.
 *
 * The log has one line for each call that fails, one for each call with records that fail, and one for each
 * message that is no call. At most KW_OUTCOME_LOG_MAX of them are logged per loop and second, separately for
 * mistakes of callers and for the failures that concern the operator. An error contains the id of its call
 * only if the log has it. */
#pragma once

#include "service/exchange.h"

#define KW_OUTCOME_LOG_MAX 50

/* Logs the failure of a call, and drops the outcomes of its records, because the reply does not have them.
 * Returns the id for the error; NULL if the failure was not logged. */
const char *kw_outcome_log_failure(kw_exchange *exchange, const kw_error *error);

/* Counts and logs a message that is not a valid call of a known method. */
void kw_outcome_log_refusal(kw_service_worker *worker, const kw_request *request, kw_bytes method,
                            const char *reason);

/* Notes the outcome of one record of a call with many; NULL: it succeeded. */
void kw_outcome_note_record(kw_exchange *exchange, const kw_error *error);

/* Counts an answered call and its records, and logs that records failed. */
void kw_outcome_count(kw_exchange *exchange, kw_code code);
