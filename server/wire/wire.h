/* The Thrift codec for the binary and the compact protocol, framed and unframed. It is driven by tables that
 * the generator in thrift/ writes from the IDL at build time.
 *
 * Decoding fills plain C structs. Every byte string is a slice of the frame; every array is allocated in the
 * arena, after its size was compared with the rest of the frame and with the limits. Unknown fields are
 * skipped without recursion. Encoding appends to a kw_buffer, optionally within a limit. No I/O, no clock, no
 * locks; any thread.
 *
 * Generated names (prefix kw_api_ for keyway.thrift, kw_hb_ for hbase2.thrift; headers "thrift/keyway_wire.h"
 * and "thrift/hbase2_wire.h"):
 *   struct, union, exception X   typedef struct kw_api_X, table `kw_api_X_wire`
 *   enum E { A = 1 }             enumerators KW_API_E_A; a field of type E is an int32_t
 *   typedef of a container T     typedef kw_api_T, the type of every member and element of the same shape. If
 *                                T is a map, an element of its `items` is a kw_api_T_item, and a value can
 *                                contain such a map
 *   method m of service S        kw_api_S_m_args, kw_api_S_m_result (success, one member per exception),
 *                                enumerator KW_API_S_m, row kw_api_methods[KW_API_S_m]; KW_API_METHOD_COUNT
 *                                rows
 *
 * Names are spelled as in the IDL: KW_API_Code_NOT_FOUND, KW_API_Data_putMany. Members keep their IDL names.
 *
 *   bool, i8 to i64, double      bool, int8_t to int64_t, double
 *   string, binary               kw_bytes
 *   struct Y                     const kw_api_Y *, but elements of lists and maps are stored in `items`
 *   list<T>, set<T>              KW_WIRE_LIST(T)
 *   map<K, V>                    KW_WIRE_MAP(K, V)
 *
 * Every member that is not `required` is preceded by a `bool has_<member>`. An absent member with a default
 * value holds the default.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"

#define KW_WIRE_LIST(type)                                                                                   \
    struct {                                                                                                 \
        type *items;                                                                                         \
        uint32_t count;                                                                                      \
    }

#define KW_WIRE_MAP(key_type, value_type)                                                                    \
    struct {                                                                                                 \
        struct {                                                                                             \
            key_type key;                                                                                    \
            value_type value;                                                                                \
        } * items;                                                                                           \
        uint32_t count;                                                                                      \
    }

typedef enum kw_wire_protocol { KW_WIRE_BINARY, KW_WIRE_COMPACT } kw_wire_protocol;

typedef struct kw_wire_form {
    kw_wire_protocol protocol;
    bool framed;
} kw_wire_form;

typedef struct kw_wire_struct kw_wire_struct; /* see wire/table.h */
typedef struct kw_wire_container kw_wire_container;

typedef struct kw_wire_method {
    const char *service;
    const char *name;
    const kw_wire_struct *args;
    const kw_wire_struct *result;
    bool oneway;
} kw_wire_method;

typedef enum kw_wire_message_type {
    KW_WIRE_CALL = 1,
    KW_WIRE_REPLY = 2,
    KW_WIRE_EXCEPTION = 3,
    KW_WIRE_ONEWAY = 4
} kw_wire_message_type;

typedef struct kw_wire_message {
    kw_bytes name; /* slice of the payload, at most 255 bytes */
    kw_wire_message_type type;
    int32_t sequence_id;
    kw_bytes body; /* the struct after the head */
} kw_wire_message;

typedef struct kw_wire_limits {
    size_t decoded_bytes; /* maximum arena memory for decoding one message */
    uint32_t depth;       /* nesting of structs and containers */
} kw_wire_limits;

#define KW_WIRE_DEPTH_DEFAULT 64

/* Thrift's TApplicationException. */
typedef enum kw_wire_exception_type {
    KW_WIRE_EXCEPTION_UNKNOWN = 0,
    KW_WIRE_EXCEPTION_UNKNOWN_METHOD = 1,
    KW_WIRE_EXCEPTION_INVALID_MESSAGE_TYPE = 2,
    KW_WIRE_EXCEPTION_WRONG_METHOD_NAME = 3,
    KW_WIRE_EXCEPTION_BAD_SEQUENCE_ID = 4,
    KW_WIRE_EXCEPTION_MISSING_RESULT = 5,
    KW_WIRE_EXCEPTION_INTERNAL_ERROR = 6,
    KW_WIRE_EXCEPTION_PROTOCOL_ERROR = 7
} kw_wire_exception_type;

/* --- one message in memory ----------------------------------------------------------------------- */

/* Reads the head of a payload (a frame without its length). INVALID if it is not a strict binary or compact
 * head. */
bool kw_wire_message_decode(kw_wire_protocol protocol, kw_bytes payload, kw_wire_message *ret_message,
                            kw_error *ret_error);

/* Fills *ret_value (of the table's C type) from a message body; the body must hold exactly one struct.
 * INVALID for malformed bytes or a missing required field, which the error names; LIMIT if a limit is
 * exceeded. */
bool kw_wire_struct_decode(const kw_wire_struct *table, kw_wire_protocol protocol, kw_bytes body,
                           kw_wire_limits limits, kw_arena *arena, void *ret_value, kw_error *ret_error);

/* Appends a message head. name is at most 255 bytes. */
void kw_wire_message_encode(kw_buffer *out, kw_wire_protocol protocol, kw_bytes name,
                            kw_wire_message_type type, int32_t sequence_id);

void kw_wire_struct_encode(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                           const void *value);

/* Appends a struct. False if it would have more than `most` bytes: then nothing is appended, and no more than
 * `most` bytes were allocated for it. */
bool kw_wire_struct_encode_within(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                                  const void *value, size_t most);

/* A long list can be encoded in pieces: kw_wire_struct_encode_around encodes the struct without the list's
 * items, and returns in *ret_at where they belong. Then kw_wire_items_encode encodes some items at a time.
 * Both return false if there would be more than `most` bytes. */
typedef struct kw_wire_hole {
    const void *list; /* the KW_WIRE_LIST member, anywhere in the value; it can be empty there */
    uint32_t count;   /* number of items to be encoded for it */
} kw_wire_hole;
bool kw_wire_struct_encode_around(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                                  const void *value, kw_wire_hole hole, size_t most, size_t *ret_at);
bool kw_wire_items_encode(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_container *list,
                          const void *items, uint32_t count, size_t most);

/* The body of a KW_WIRE_EXCEPTION message. */
void kw_wire_exception_encode(kw_buffer *out, kw_wire_protocol protocol, kw_wire_exception_type type,
                              const char *text);
bool kw_wire_exception_decode(kw_wire_protocol protocol, kw_bytes body, kw_wire_exception_type *ret_type,
                              kw_bytes *ret_text, kw_error *ret_error);

/* Reserves space for a frame's length if the form is framed. Returns the mark for kw_wire_frame_end. */
size_t kw_wire_frame_begin(kw_buffer *out, kw_wire_form form);
void kw_wire_frame_end(kw_buffer *out, kw_wire_form form, size_t mark);

/* The row with this name, or NULL. A name "Service:method" (multiplexed) finds the method of that service. */
const kw_wire_method *kw_wire_method_find(const kw_wire_method *methods, size_t count, kw_bytes name);

/* --- a stream of messages ------------------------------------------------------------------------ */

/* Finds where messages end in the bytes of one connection. Fixed state, no allocation. */
typedef struct kw_wire_reader kw_wire_reader;

typedef enum kw_wire_progress {
    KW_WIRE_MORE,    /* the message is incomplete: more bytes are needed */
    KW_WIRE_MESSAGE, /* one whole message */
    KW_WIRE_BROKEN   /* not Thrift, or too long: close the connection */
} kw_wire_progress;

kw_wire_reader *kw_wire_reader_new(size_t frame_limit_bytes);
void kw_wire_reader_free(kw_wire_reader *reader);

/* `input` contains the bytes since the start of the present message. After MORE, pass the same bytes again
 * and those that have arrived since; bytes already parsed are not parsed again. On MESSAGE, *ret_payload is a
 * slice of input and *ret_consumed is where the next message starts. On BROKEN, the error says why. On MORE,
 * *ret_wanted (if ret_wanted is not NULL) is a lower bound of the total size needed. */
kw_wire_progress kw_wire_reader_next(kw_wire_reader *reader, kw_bytes input, kw_bytes *ret_payload,
                                     size_t *ret_consumed, size_t *ret_wanted, kw_error *ret_error);

/* The form of the connection; valid after the first MESSAGE. */
kw_wire_form kw_wire_reader_form(const kw_wire_reader *reader);
