/* The Thrift codec: binary and compact, framed and unframed, driven by tables that the generator in
 * thrift/ makes from the IDL at build time.
 *
 * Decoding fills plain C structs; every byte string is a slice of the frame and every array is the
 * arena's. Nothing is allocated before its size was compared with what is left of the frame and of
 * the limits; unknown fields are skipped without recursion. Encoding appends to a kw_buffer, if need be
 * within a limit. Pure: no I/O, no clock, no lock; any thread.
 *
 * Generated names (prefix kw_api_ for keyway.thrift, kw_hb_ for hbase2.thrift; headers
 * "thrift/keyway_wire.h" and "thrift/hbase2_wire.h"):
 *   struct, union, exception X   typedef struct kw_api_X, table `kw_api_X_wire`
 *   enum E { A = 1 }             enumerators KW_API_E_A; a field of type E is an int32_t
 *   typedef of a container T     typedef kw_api_T; every member and element of the same shape has it; what a
 *                                map's `items` are is kw_api_T_item then, and a value may hold such a map
 *   method m of service S        kw_api_S_m_args, kw_api_S_m_result (success, one member per
 *                                exception), enumerator KW_API_S_m, row kw_api_methods[KW_API_S_m],
 *                                KW_API_METHOD_COUNT rows
 * Names are put together as they stand in the IDL: KW_API_Code_NOT_FOUND, KW_API_Data_putMany.
 * Members keep their IDL names. bool, int8_t .. int64_t, double as they are; string and binary are
 * kw_bytes; a struct is a `const kw_api_Y *`; list<T> and set<T> are KW_WIRE_LIST(T); map<K, V> is
 * KW_WIRE_MAP(K, V); elements of type struct stand flat in `items`. Every member that is not
 * `required` has a `bool has_<member>` in front; one with a default value that is absent holds
 * the default.
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
    kw_bytes body; /* the struct behind the head */
} kw_wire_message;

typedef struct kw_wire_limits {
    size_t decoded_bytes; /* memory that decoding one message may take from the arena */
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

/* --- one message in memory ------------------------------------------------------------------ */

/* Reads the head of a payload (a frame without its length). INVALID when it is not a strict binary
 * or compact head. */
bool kw_wire_message_decode(kw_wire_protocol protocol, kw_bytes payload, kw_wire_message *ret_message,
                            kw_error *ret_error);

/* Fills *ret_value (of the table's C type) from a message body; the body must hold exactly one
 * struct. INVALID for malformed bytes or a missing required field (named), LIMIT for a limit. */
bool kw_wire_struct_decode(const kw_wire_struct *table, kw_wire_protocol protocol, kw_bytes body,
                           kw_wire_limits limits, kw_arena *arena, void *ret_value, kw_error *ret_error);

/* Appends a message head. name is at most 255 bytes. */
void kw_wire_message_encode(kw_buffer *out, kw_wire_protocol protocol, kw_bytes name,
                            kw_wire_message_type type, int32_t sequence_id);

void kw_wire_struct_encode(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                           const void *value);

/* False when it would have more than `most` bytes: then nothing is appended, and no more memory than that was
 * taken for it. */
bool kw_wire_struct_encode_within(kw_buffer *out, kw_wire_protocol protocol, const kw_wire_struct *table,
                                  const void *value, size_t most);

/* A long list can be encoded in pieces: first the struct around it, with the list's items left out; then
 * they, some at a time, to stand where *ret_at says. Both are false when there would be more than `most`
 * bytes. */
typedef struct kw_wire_hole {
    const void *list; /* the KW_WIRE_LIST member, somewhere in the value; it may be empty there */
    uint32_t count;   /* items that it will have */
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

/* Room for a frame's length when the form is framed; returns the mark for frame_end. */
size_t kw_wire_frame_begin(kw_buffer *out, kw_wire_form form);
void kw_wire_frame_end(kw_buffer *out, kw_wire_form form, size_t mark);

/* The row with this name, NULL when there is none. A name "Service:method" (multiplexed) finds the
 * method of that service. */
const kw_wire_method *kw_wire_method_find(const kw_wire_method *methods, size_t count, kw_bytes name);

/* --- a stream of messages ------------------------------------------------------------------- */

/* Finds where messages end in the bytes of one connection. Fixed state, no allocation. */
typedef struct kw_wire_reader kw_wire_reader;

typedef enum kw_wire_progress {
    KW_WIRE_MORE,    /* the message is not complete: give more bytes */
    KW_WIRE_MESSAGE, /* one whole message */
    KW_WIRE_BROKEN   /* not Thrift, or beyond the limit: close the connection */
} kw_wire_progress;

kw_wire_reader *kw_wire_reader_new(size_t frame_limit_bytes);
void kw_wire_reader_free(kw_wire_reader *reader);

/* `input` are the bytes since the start of the present message (the same bytes again, plus what came
 * since, after MORE; the work already done is remembered). On MESSAGE: *ret_payload is a slice of
 * input and *ret_consumed is where the next message starts. On BROKEN: error says why. On MORE:
 * *ret_wanted (may be NULL) is a lower bound of the total size needed. */
kw_wire_progress kw_wire_reader_next(kw_wire_reader *reader, kw_bytes input, kw_bytes *ret_payload,
                                     size_t *ret_consumed, size_t *ret_wanted, kw_error *ret_error);

/* The form that the first bytes told; valid after the first MESSAGE. */
kw_wire_form kw_wire_reader_form(const kw_wire_reader *reader);
