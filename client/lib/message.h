/* Receives one complete Thrift reply and validates it before the generated code reads it.
 *
 * The Thrift C GLib runtime does not validate its input: a length of -1, a truncated message, deep nesting
 * or a duplicate binary field makes the process crash or hang, and a reply without its result looks like
 * success. Therefore message.c checks that no length or count exceeds the remaining bytes. It also checks the
 * depth of nesting, the message type, the method name and the type of the result, and rejects duplicate
 * fields. */
#pragma once

#include "lib/connection.h"

/* The type of field 0 of the reply. */
typedef enum kw_result_kind {
    KW_RESULT_VOID,
    KW_RESULT_BOOL,
    KW_RESULT_STRUCT,
    KW_RESULT_LIST,
    KW_RESULT_MAP,
    KW_RESULT_TEXT
} kw_result_kind;

typedef struct kw_message_form {
    bool framed;
    bool compact;
    gsize limit_bytes;
} kw_message_form;

typedef struct kw_expected_reply {
    const char *method;
    kw_result_kind result;
    gint64 deadline_us;
} kw_expected_reply;

/* message: cleared and filled with the message, without a frame's length. An exception of the Thrift
 * runtime (unknown method, for example) is also a message. */
bool kw_message_receive(kw_connection *connection, const kw_message_form *form,
                        const kw_expected_reply *expected, GByteArray *message, GError **error);
