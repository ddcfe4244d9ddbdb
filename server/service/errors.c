#include "service/errors.h"

#include "base/utf8.h"

/* No default, so that a new code does not compile until it is mapped. */
static int32_t
code_of(kw_code code)
{
    switch (code) {
    case KW_INVALID:
        return KW_API_Code_INVALID;
    case KW_NOT_FOUND:
        return KW_API_Code_NOT_FOUND;
    case KW_DENIED:
        return KW_API_Code_DENIED;
    case KW_LIMIT:
        return KW_API_Code_LIMIT;
    case KW_BUSY:
        return KW_API_Code_BUSY;
    case KW_TIMEOUT:
        return KW_API_Code_TIMEOUT;
    case KW_UNAVAILABLE:
        return KW_API_Code_UNAVAILABLE;
    case KW_REFUSED:
        return KW_API_Code_REFUSED;
    case KW_CORRUPT:
        return KW_API_Code_CORRUPT;
    case KW_OK: /* an error without a code is a bug in Keyway */
    case KW_INTERNAL:
        return KW_API_Code_INTERNAL;
    }
    g_assert_not_reached();
}

/* The texts are our own, but some quote names and values of callers and of stored rows. */
static kw_bytes
message_of(const kw_error *error, kw_arena *arena)
{
    g_auto(kw_buffer) shown = KW_BUFFER_EMPTY;
    kw_utf8_escape(kw_bytes_of_text(error->text), true, &shown);
    return kw_arena_copy(arena, kw_buffer_bytes(&shown));
}

static int32_t
retry_of(const kw_error *error)
{
    return (int32_t)MIN(error->retry_after_ms, (uint32_t)INT32_MAX);
}

const kw_api_KeywayError *
kw_errors_exception(const kw_error *error, const char *request_id, kw_arena *arena)
{
    kw_api_KeywayError *result = KW_ARENA_NEW(arena, kw_api_KeywayError);
    result->code = code_of(error->code);
    result->message = message_of(error, arena);
    result->has_retry_after_ms = error->retry_after_ms > 0;
    result->retry_after_ms = retry_of(error);
    result->has_maybe_applied = error->maybe_applied;
    result->maybe_applied = error->maybe_applied;
    result->has_request_id = request_id != NULL;
    result->request_id = kw_bytes_of_text(request_id);
    return result;
}

const kw_api_Failure *
kw_errors_failure(const kw_error *error, kw_arena *arena)
{
    kw_api_Failure *result = KW_ARENA_NEW(arena, kw_api_Failure);
    result->code = code_of(error->code);
    result->message = message_of(error, arena);
    result->has_retry_after_ms = error->retry_after_ms > 0;
    result->retry_after_ms = retry_of(error);
    result->has_maybe_applied = error->maybe_applied;
    result->maybe_applied = error->maybe_applied;
    return result;
}
