/* Receives one Thrift reply, whole and checked, before the generated code sees a byte of it.
 *
 * The Thrift C GLib runtime believes what it reads: a length of -1, a message that ends early, deep
 * nesting or a binary field that comes twice end or hang the process, and a reply without its result
 * looks like success. So the shape is checked here: lengths and counts against what is left, nesting,
 * doubled fields, message type, method name and the type of the result.
 */
#pragma once

#include "lib/connection.h"

/* What field 0 of the reply must be. */
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

/* message: emptied and filled with the message, without a frame's length. An exception of the Thrift
 * runtime (unknown method and such) is a message too. */
bool kw_message_receive(kw_connection *connection, const kw_message_form *form,
                        const kw_expected_reply *expected, GByteArray *message, GError **error);
