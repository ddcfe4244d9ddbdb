/* Private to libkeyway: creates errors of the public domain. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

void kw_client_error_set(GError **error, kw_client_code code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Marks an error of this domain: the write may have been applied. NULL and other domains are ignored. */
void kw_client_error_mark_maybe_applied(GError *error);

/* Converts the thrown exception, or the failure of one record, to an error. */
GError *kw_client_error_from_thrown(const KeywayKeywayError *thrown);
GError *kw_client_error_from_failure(const KeywayFailure *failure);
