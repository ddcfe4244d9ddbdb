/* See skip.h. One loop runs over a stack of open structs and containers:
 *
 *   top is a struct      read a field head; a STOP closes the struct, otherwise skip the value
 *   top is a container   skip one element; close the container when none is left
 *
 * To skip a string or a value of fixed size, its size is added to the position. A list or set whose elements
 * have a fixed size is skipped as a whole, and so is such a map in the binary protocol. A nested struct opens
 * a level, and so does every other container that is not empty.
 */
#include "wire/skip.h"

#include "wire/varint.h"

#include <glib.h>

enum {
    BINARY_STOP = 0,
    BINARY_BOOL = 2,
    BINARY_I8 = 3,
    BINARY_DOUBLE = 4,
    BINARY_I16 = 6,
    BINARY_I32 = 8,
    BINARY_I64 = 10,
    BINARY_STRING = 11,
    BINARY_STRUCT = 12,
    BINARY_MAP = 13,
    BINARY_SET = 14,
    BINARY_LIST = 15,
    BINARY_TYPES = 16
};

enum {
    COMPACT_STOP = 0,
    COMPACT_TRUE = 1,
    COMPACT_FALSE = 2,
    COMPACT_I8 = 3,
    COMPACT_I16 = 4,
    COMPACT_I32 = 5,
    COMPACT_I64 = 6,
    COMPACT_DOUBLE = 7,
    COMPACT_STRING = 8,
    COMPACT_LIST = 9,
    COMPACT_SET = 10,
    COMPACT_MAP = 11,
    COMPACT_STRUCT = 12,
    COMPACT_TYPES = 13
};

/* Bytes of a value by type; 0: variable. */
static const uint8_t binary_sizes[BINARY_TYPES] = {
    [BINARY_BOOL] = 1, [BINARY_I8] = 1,  [BINARY_DOUBLE] = 8,
    [BINARY_I16] = 2,  [BINARY_I32] = 4, [BINARY_I64] = 8,
};

/* The same for elements of containers. A bool that is a field has no bytes: its type is its value. */
static const uint8_t compact_sizes[COMPACT_TYPES] = {
    [COMPACT_TRUE] = 1, [COMPACT_FALSE] = 1, [COMPACT_I8] = 1, [COMPACT_DOUBLE] = 8};

typedef enum step_result { STEP_DONE, STEP_MORE, STEP_BROKEN } step_result;

/* What a step found. */
typedef struct step {
    size_t next;   /* where the next step starts */
    size_t wanted; /* STEP_MORE: the input must have at least this size */
    bool opens;    /* the step opens `level` */
    kw_skip_level level;
} step;

void
kw_skip_begin_struct(kw_skip *skip, kw_wire_protocol protocol, size_t at, size_t limit, uint32_t depth_max)
{
    g_assert(depth_max <= KW_SKIP_DEPTH_MAX);
    skip->at = at;
    skip->limit = limit;
    skip->depth = 1;
    skip->depth_max = depth_max;
    skip->protocol = protocol;
    skip->fault = (kw_decode_error){.kind = KW_DECODE_NONE};
    skip->levels[0] = (kw_skip_level){.is_struct = true};
}

void
kw_skip_begin_value(kw_skip *skip, kw_wire_protocol protocol, uint8_t type, size_t limit, uint32_t depth_max)
{
    kw_skip_begin_struct(skip, protocol, 0, limit, depth_max);
    /* Level 0 is a list of one element, the value. This list is not in the bytes, so it does not count as
     * nesting. */
    skip->depth_max = depth_max + 1;
    skip->levels[0] = (kw_skip_level){.left = 1, .types = {type, type}};
}

static step_result
broken(kw_skip *skip, kw_decode_error_kind kind, int64_t value, size_t at)
{
    size_t left = at < skip->limit ? skip->limit - at : 0;
    skip->fault = (kw_decode_error){.kind = kind, .value = value, .left = left};
    return STEP_BROKEN;
}

/* Checks that `size` bytes of a token are available at `at`. */
static inline step_result
need(kw_skip *skip, kw_bytes input, size_t at, size_t size, step *ret_step)
{
    if (G_UNLIKELY(at + size > skip->limit))
        return broken(skip, KW_DECODE_TRUNCATED, 0, at);
    if (G_LIKELY(at + size <= input.size))
        return STEP_DONE;
    ret_step->wanted = at + size;
    return STEP_MORE;
}

/* Skips `size` bytes, even if they have not arrived yet. */
static inline step_result
advance(kw_skip *skip, size_t at, uint64_t size, step *ret_step)
{
    if (G_UNLIKELY(at > skip->limit || size > skip->limit - at))
        return broken(skip, KW_DECODE_LENGTH, (int64_t)size, at);
    ret_step->next = at + (size_t)size;
    return STEP_DONE;
}

/* Opens a level for count elements. A map's keys and values are counted separately. */
static step_result
open_container(kw_skip *skip, size_t at, uint64_t count, uint8_t even, uint8_t odd, step *ret_step)
{
    ret_step->next = at;
    if (at > skip->limit || count > skip->limit - at)
        return broken(skip, KW_DECODE_COUNT, (int64_t)count, at);
    ret_step->opens = count > 0;
    ret_step->level = (kw_skip_level){.left = (uint32_t)count, .types = {even, odd}};
    return STEP_DONE;
}

static step_result
open_struct(size_t at, step *ret_step)
{
    ret_step->next = at;
    ret_step->opens = true;
    ret_step->level = (kw_skip_level){.is_struct = true};
    return STEP_DONE;
}

/* --- binary -------------------------------------------------------------------------------------- */

static bool
binary_type_known(uint8_t type)
{
    return type < BINARY_TYPES && (binary_sizes[type] || type >= BINARY_STRING);
}

static step_result
binary_list(kw_skip *skip, kw_bytes input, size_t at, step *ret_step)
{
    step_result result = need(skip, input, at, 5, ret_step);
    if (result != STEP_DONE)
        return result;
    uint8_t type = input.data[at];
    int32_t count = (int32_t)kw_be32_load(input.data + at + 1);
    if (count < 0)
        return broken(skip, KW_DECODE_NEGATIVE, count, at);
    if (count > 0 && !binary_type_known(type))
        return broken(skip, KW_DECODE_TYPE, type, at);
    if (count > 0 && binary_sizes[type])
        return advance(skip, at + 5, (uint64_t)count * binary_sizes[type], ret_step);
    return open_container(skip, at + 5, (uint64_t)count, type, type, ret_step);
}

static step_result
binary_map(kw_skip *skip, kw_bytes input, size_t at, step *ret_step)
{
    step_result result = need(skip, input, at, 6, ret_step);
    if (result != STEP_DONE)
        return result;
    uint8_t key = input.data[at], value = input.data[at + 1];
    int32_t count = (int32_t)kw_be32_load(input.data + at + 2);
    if (count < 0)
        return broken(skip, KW_DECODE_NEGATIVE, count, at);
    if (count > 0 && (!binary_type_known(key) || !binary_type_known(value)))
        return broken(skip, KW_DECODE_TYPE, binary_type_known(key) ? value : key, at);
    if (count > 0 && binary_sizes[key] && binary_sizes[value])
        return advance(skip, at + 6, (uint64_t)count * (uint64_t)(binary_sizes[key] + binary_sizes[value]),
                       ret_step);
    return open_container(skip, at + 6, 2 * (uint64_t)count, key, value, ret_step);
}

static step_result
binary_value(kw_skip *skip, kw_bytes input, size_t at, uint8_t type, step *ret_step)
{
    if (type == BINARY_STRING) {
        step_result result = need(skip, input, at, 4, ret_step);
        if (result != STEP_DONE)
            return result;
        int32_t size = (int32_t)kw_be32_load(input.data + at);
        if (size < 0)
            return broken(skip, KW_DECODE_NEGATIVE, size, at);
        return advance(skip, at + 4, (uint64_t)size, ret_step);
    }
    if (type < BINARY_TYPES && binary_sizes[type])
        return advance(skip, at, binary_sizes[type], ret_step);
    switch (type) {
    case BINARY_STRUCT:
        return open_struct(at, ret_step);
    case BINARY_MAP:
        return binary_map(skip, input, at, ret_step);
    case BINARY_SET:
    case BINARY_LIST:
        return binary_list(skip, input, at, ret_step);
    default:
        return broken(skip, KW_DECODE_TYPE, type, at);
    }
}

/* Reads a field of the struct on top. Sets *ret_end to true if it is the STOP, which ends the struct. */
static step_result
binary_field(kw_skip *skip, kw_bytes input, bool *ret_end, step *ret_step)
{
    size_t at = skip->at;
    step_result result = need(skip, input, at, 1, ret_step);
    if (result != STEP_DONE)
        return result;
    uint8_t type = input.data[at];
    *ret_end = type == BINARY_STOP;
    if (*ret_end)
        return advance(skip, at, 1, ret_step);
    if (at + 3 > skip->limit)
        return broken(skip, KW_DECODE_TRUNCATED, 0, at);
    return binary_value(skip, input, at + 3, type, ret_step);
}

/* --- compact ------------------------------------------------------------------------------------- */

static bool
compact_type_known(uint8_t type)
{
    return type > COMPACT_STOP && type < COMPACT_TYPES;
}

/* Reads a number of at most 32 bits (64 if wide) at *at and moves *at past it. */
static step_result
compact_number(kw_skip *skip, kw_bytes input, size_t *at, bool wide, uint64_t *ret_value, step *ret_step)
{
    if (*at >= input.size)
        return need(skip, input, *at, 1, ret_step);
    uint32_t narrow = 0;
    size_t left = input.size - *at;
    int read = wide ? kw_varint_load64(input.data + *at, left, ret_value)
                    : kw_varint_load32(input.data + *at, left, &narrow);
    if (!wide)
        *ret_value = narrow;
    if (read == KW_VARINT_BROKEN)
        return broken(skip, KW_DECODE_NUMBER, 0, *at);
    if (read == KW_VARINT_SHORT)
        return need(skip, input, input.size, 1, ret_step);
    *at += (size_t)read;
    return STEP_DONE;
}

/* Reads a length or count: 32 bits, not negative. */
static step_result
compact_length(kw_skip *skip, kw_bytes input, size_t *at, uint64_t *ret_value, step *ret_step)
{
    step_result result = compact_number(skip, input, at, false, ret_value, ret_step);
    if (result == STEP_DONE && *ret_value > INT32_MAX)
        return broken(skip, KW_DECODE_NEGATIVE, (int32_t)*ret_value, *at);
    return result;
}

static step_result
compact_list(kw_skip *skip, kw_bytes input, size_t at, step *ret_step)
{
    step_result result = need(skip, input, at, 1, ret_step);
    if (result != STEP_DONE)
        return result;
    uint8_t type = input.data[at] & 0x0f;
    uint64_t count = input.data[at] >> 4;
    at++;
    if (count == 15) {
        result = compact_length(skip, input, &at, &count, ret_step);
        if (result != STEP_DONE)
            return result;
    }
    if (count > 0 && !compact_type_known(type))
        return broken(skip, KW_DECODE_TYPE, type, at);
    if (count > 0 && compact_sizes[type])
        return advance(skip, at, count * compact_sizes[type], ret_step);
    return open_container(skip, at, count, type, type, ret_step);
}

static step_result
compact_map(kw_skip *skip, kw_bytes input, size_t at, step *ret_step)
{
    uint64_t count = 0;
    step_result result = compact_length(skip, input, &at, &count, ret_step);
    if (result != STEP_DONE)
        return result;
    if (count == 0)
        return advance(skip, at, 0, ret_step);
    result = need(skip, input, at, 1, ret_step);
    if (result != STEP_DONE)
        return result;
    uint8_t key = input.data[at] >> 4, value = input.data[at] & 0x0f;
    if (!compact_type_known(key) || !compact_type_known(value))
        return broken(skip, KW_DECODE_TYPE, compact_type_known(key) ? value : key, at);
    return open_container(skip, at + 1, 2 * count, key, value, ret_step);
}

static step_result
compact_value(kw_skip *skip, kw_bytes input, size_t at, uint8_t type, step *ret_step)
{
    uint64_t number = 0;
    step_result result;
    switch (type) {
    case COMPACT_TRUE:
    case COMPACT_FALSE:
    case COMPACT_I8:
    case COMPACT_DOUBLE:
        return advance(skip, at, compact_sizes[type], ret_step);
    case COMPACT_I16:
    case COMPACT_I32:
    case COMPACT_I64:
        result = compact_number(skip, input, &at, type == COMPACT_I64, &number, ret_step);
        return result == STEP_DONE ? advance(skip, at, 0, ret_step) : result;
    case COMPACT_STRING:
        result = compact_length(skip, input, &at, &number, ret_step);
        return result == STEP_DONE ? advance(skip, at, number, ret_step) : result;
    case COMPACT_LIST:
    case COMPACT_SET:
        return compact_list(skip, input, at, ret_step);
    case COMPACT_MAP:
        return compact_map(skip, input, at, ret_step);
    case COMPACT_STRUCT:
        return open_struct(at, ret_step);
    default:
        return broken(skip, KW_DECODE_TYPE, type, at);
    }
}

static step_result
compact_field(kw_skip *skip, kw_bytes input, bool *ret_end, step *ret_step)
{
    size_t at = skip->at;
    step_result result = need(skip, input, at, 1, ret_step);
    if (result != STEP_DONE)
        return result;
    uint8_t head = input.data[at];
    uint8_t type = head & 0x0f;
    at++;
    *ret_end = head == COMPACT_STOP;
    if (*ret_end)
        return advance(skip, at, 0, ret_step);
    if (head >> 4 == 0) {
        uint64_t id;
        result = compact_number(skip, input, &at, false, &id, ret_step);
        if (result != STEP_DONE)
            return result;
    }
    if (type == COMPACT_TRUE || type == COMPACT_FALSE)
        return advance(skip, at, 0, ret_step);
    return compact_value(skip, input, at, type, ret_step);
}

/* --- short cuts ---------------------------------------------------------------------------------- */

/* Skips the plain fields of the struct on top: complete strings, numbers and bools. Rows consist of them. Any
 * other field, including a malformed one, is left to the steps. */
static void
binary_plain_fields(kw_skip *skip, kw_bytes input)
{
    size_t at = skip->at, end = MIN(input.size, skip->limit);
    while (at < end && end - at >= 7) {
        uint8_t type = input.data[at];
        size_t left = end - at, size;
        if (type == BINARY_STRING) {
            uint32_t length = kw_be32_load(input.data + at + 3);
            if (length > INT32_MAX)
                break;
            size = 7 + (size_t)length; /* cannot overflow, also where size_t has 32 bits */
        } else if (type < BINARY_TYPES && binary_sizes[type]) {
            size = 3 + (size_t)binary_sizes[type];
        } else {
            break;
        }
        if (size > left)
            break;
        at += size;
    }
    skip->at = at;
}

/* Size of the varint at `from`, where four bytes are available; 0 if it is longer. */
static size_t
short_varint(const uint8_t *from)
{
    for (size_t size = 1; size <= 4; size++) {
        if (from[size - 1] < 0x80)
            return size;
    }
    return 0;
}

/* The size of a plain field, 0 if it is not plain. Six bytes are available. */
static size_t
compact_plain_size(const uint8_t *from)
{
    size_t size;
    if (from[0] <= 0x0f)
        return 0;
    switch (from[0] & 0x0f) {
    case COMPACT_TRUE:
    case COMPACT_FALSE:
        return 1;
    case COMPACT_STRING:
        if (from[1] < 0x80)
            return 2 + (size_t)from[1];
        return from[2] < 0x80 ? 3 + ((size_t)(from[1] & 0x7f) | (size_t)from[2] << 7) : 0;
    case COMPACT_I32:
    case COMPACT_I64:
        size = short_varint(from + 1);
        return size ? 1 + size : 0;
    default:
        return 0;
    }
}

static void
compact_plain_fields(kw_skip *skip, kw_bytes input)
{
    size_t at = skip->at, end = MIN(input.size, skip->limit);
    while (at < end && end - at >= 6) {
        size_t size = compact_plain_size(input.data + at);
        if (size == 0 || size > end - at)
            break;
        at += size;
    }
    skip->at = at;
}

/* --- the loop ------------------------------------------------------------------------------------ */

static step_result
do_step(kw_skip *skip, kw_bytes input, step *ret_step)
{
    kw_skip_level *top = &skip->levels[skip->depth - 1];
    bool binary = skip->protocol == KW_WIRE_BINARY;
    bool end = false;
    step_result result;
    ret_step->opens = false;
    if (top->is_struct) {
        result =
            binary ? binary_field(skip, input, &end, ret_step) : compact_field(skip, input, &end, ret_step);
    } else {
        uint8_t type = top->types[top->left & 1];
        result = binary ? binary_value(skip, input, skip->at, type, ret_step)
                        : compact_value(skip, input, skip->at, type, ret_step);
    }
    if (result != STEP_DONE)
        return result;
    if (ret_step->opens && skip->depth == skip->depth_max)
        return broken(skip, KW_DECODE_DEPTH, skip->depth_max, skip->at);
    skip->at = ret_step->next;
    if (end || (!top->is_struct && --top->left == 0 && !ret_step->opens))
        skip->depth--;
    if (ret_step->opens)
        skip->levels[skip->depth++] = ret_step->level;
    return STEP_DONE;
}

kw_wire_progress
kw_skip_run(kw_skip *skip, kw_bytes input, size_t *ret_wanted)
{
    step next = {0};
    while (skip->depth > 0) {
        /* A container stays open while its last element is a level above it. */
        kw_skip_level *top = &skip->levels[skip->depth - 1];
        if (!top->is_struct && top->left == 0) {
            skip->depth--;
            continue;
        }
        if (skip->at > input.size)
            break;
        if (top->is_struct && skip->protocol == KW_WIRE_BINARY)
            binary_plain_fields(skip, input);
        else if (top->is_struct)
            compact_plain_fields(skip, input);
        step_result result = do_step(skip, input, &next);
        if (result == STEP_BROKEN)
            return KW_WIRE_BROKEN;
        if (result == STEP_MORE) {
            *ret_wanted = next.wanted;
            return KW_WIRE_MORE;
        }
    }
    *ret_wanted = skip->at;
    return skip->at > input.size ? KW_WIRE_MORE : KW_WIRE_MESSAGE;
}
