/* Inside libkeyway: making errors of the public domain. */
#pragma once

#include "keyway.h"

#include "keyway_keyway_types.h"

void kw_client_error_set(GError **error, kw_client_code code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Marks an error of this domain: the write may have happened. NULL and other domains are left alone. */
void kw_client_error_mark_maybe_applied(GError *error);

/* The thrown exception, and a failure that stands for one record, as an error. */
GError *kw_client_error_from_thrown(const KeywayKeywayError *thrown);
GError *kw_client_error_from_failure(const KeywayFailure *failure);
