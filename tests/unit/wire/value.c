/* Random values and equality, by traversing the tables. */
#include "unit/wire/value.h"

#include "base/utf8.h"

static uint64_t
next(test_random *random)
{
    /* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 */
    uint64_t value = random->state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint32_t
test_random_below(test_random *random, uint32_t bound)
{
    return (uint32_t)(next(random) % bound);
}

/* Returns small, large and extreme numbers. */
static int64_t
number(test_random *random)
{
    static const int64_t special[] = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN};
    if (test_random_below(random, 4) == 0)
        return special[test_random_below(random, G_N_ELEMENTS(special))];
    return (int64_t)next(random) >> test_random_below(random, 64);
}

static kw_bytes
string(test_random *random, kw_arena *arena)
{
    static const uint32_t sizes[] = {1, 4, 8, 16, 17, 33, 128, 300, 2000};
    uint32_t size = test_random_below(random, sizes[test_random_below(random, G_N_ELEMENTS(sizes))]);
    uint8_t *data = kw_arena_alloc(arena, size);
    for (uint32_t index = 0; index < size; index++)
        data[index] = (uint8_t)('a' + test_random_below(random, 26));
    return kw_bytes_of(data, size);
}

static uint32_t
element_count(test_random *random, unsigned depth)
{
    if (depth == 0)
        return 0;
    return test_random_below(random, 20) == 0 ? test_random_below(random, 40) : test_random_below(random, 4);
}

static void fill(const kw_wire_type *type, test_random *random, unsigned depth, kw_arena *arena, uint8_t *to);

static void
fill_container(const kw_wire_type *type, test_random *random, unsigned depth, kw_arena *arena, uint8_t *to)
{
    const kw_wire_container *container = type->of.container;
    uint32_t count = element_count(random, depth);
    uint8_t *items = kw_arena_array(arena, count, container->item_size);
    for (uint32_t index = 0; index < count; index++) {
        uint8_t *item = items + (size_t)index * container->item_size;
        if (type->kind == KW_WIRE_KIND_MAP)
            fill(&container->key, random, depth - 1, arena, item);
        fill(&container->value, random, depth - 1, arena, item + container->value_offset);
    }
    memcpy(to, &items, sizeof items);
    memcpy(to + sizeof items, &count, sizeof count);
}

static void
fill(const kw_wire_type *type, test_random *random, unsigned depth, kw_arena *arena, uint8_t *to)
{
    switch ((kw_wire_kind)type->kind) {
    case KW_WIRE_KIND_BOOL:
        *(bool *)to = test_random_below(random, 2);
        break;
    case KW_WIRE_KIND_I8:
        *(int8_t *)to = (int8_t)number(random);
        break;
    case KW_WIRE_KIND_I16:
        *(int16_t *)(void *)to = (int16_t)number(random);
        break;
    case KW_WIRE_KIND_I32:
        *(int32_t *)(void *)to = (int32_t)number(random);
        break;
    case KW_WIRE_KIND_I64:
        *(int64_t *)(void *)to = number(random);
        break;
    case KW_WIRE_KIND_DOUBLE:
        *(double *)(void *)to = (double)number(random) / 1024;
        break;
    case KW_WIRE_KIND_TEXT:
    case KW_WIRE_KIND_BYTES:
        *(kw_bytes *)(void *)to = string(random, arena);
        break;
    case KW_WIRE_KIND_STRUCT:
        test_value_fill(type->of.structure, random, depth, arena, to);
        break;
    case KW_WIRE_KIND_LIST:
    case KW_WIRE_KIND_SET:
    case KW_WIRE_KIND_MAP:
        fill_container(type, random, depth, arena, to);
        break;
    }
}

void
test_value_fill(const kw_wire_struct *table, test_random *random, unsigned depth, kw_arena *arena,
                void *ret_value)
{
    uint8_t *to = ret_value;
    memset(to, 0, table->size);
    if (table->defaults)
        memcpy(to, table->defaults, table->size);
    for (uint32_t index = 0; index < table->field_count; index++) {
        const kw_wire_field *field = &table->fields[index];
        bool optional = field->flag != KW_WIRE_NO_FLAG;
        bool is_struct = field->type.kind == KW_WIRE_KIND_STRUCT;
        if (optional && (test_random_below(random, 2) || (is_struct && depth == 0)))
            continue;
        if (optional)
            *(bool *)(to + field->flag) = true;
        uint8_t *member = to + field->offset;
        if (is_struct) {
            uint8_t *pointed = kw_arena_alloc0(arena, field->type.size);
            memcpy(member, &pointed, sizeof pointed);
            test_value_fill(field->type.of.structure, random, depth ? depth - 1 : 0, arena, pointed);
        } else {
            fill(&field->type, random, depth, arena, member);
        }
    }
}

static bool equal(const kw_wire_type *type, const uint8_t *a, const uint8_t *b);

static bool
equal_containers(const kw_wire_type *type, const uint8_t *a, const uint8_t *b)
{
    const kw_wire_container *container = type->of.container;
    const uint8_t *items[2];
    uint32_t counts[2];
    memcpy(&items[0], a, sizeof items[0]);
    memcpy(&items[1], b, sizeof items[1]);
    memcpy(&counts[0], a + sizeof items[0], sizeof counts[0]);
    memcpy(&counts[1], b + sizeof items[0], sizeof counts[1]);
    if (counts[0] != counts[1])
        return false;
    for (size_t index = 0; index < counts[0]; index++) {
        const uint8_t *left = items[0] + index * container->item_size;
        const uint8_t *right = items[1] + index * container->item_size;
        if (type->kind == KW_WIRE_KIND_MAP && !equal(&container->key, left, right))
            return false;
        if (!equal(&container->value, left + container->value_offset, right + container->value_offset))
            return false;
    }
    return true;
}

static bool
equal(const kw_wire_type *type, const uint8_t *a, const uint8_t *b)
{
    switch ((kw_wire_kind)type->kind) {
    case KW_WIRE_KIND_BOOL:
    case KW_WIRE_KIND_I8:
    case KW_WIRE_KIND_I16:
    case KW_WIRE_KIND_I32:
    case KW_WIRE_KIND_I64:
    case KW_WIRE_KIND_DOUBLE:
        return memcmp(a, b, type->size) == 0;
    case KW_WIRE_KIND_TEXT:
        if (!kw_utf8_valid(*(const kw_bytes *)(const void *)a))
            return true;
        G_GNUC_FALLTHROUGH;
    case KW_WIRE_KIND_BYTES:
        return kw_bytes_equal(*(const kw_bytes *)(const void *)a, *(const kw_bytes *)(const void *)b);
    case KW_WIRE_KIND_STRUCT:
        return test_value_equal(type->of.structure, a, b);
    case KW_WIRE_KIND_LIST:
    case KW_WIRE_KIND_SET:
    case KW_WIRE_KIND_MAP:
        return equal_containers(type, a, b);
    }
    return false;
}

bool
test_value_equal(const kw_wire_struct *table, const void *a, const void *b)
{
    const uint8_t *left = a, *right = b;
    for (uint32_t index = 0; index < table->field_count; index++) {
        const kw_wire_field *field = &table->fields[index];
        if (field->flag != KW_WIRE_NO_FLAG && left[field->flag] != right[field->flag])
            return false;
        bool there = field->flag == KW_WIRE_NO_FLAG || left[field->flag];
        if (field->type.kind == KW_WIRE_KIND_STRUCT) {
            const void *pointed[2];
            memcpy(&pointed[0], left + field->offset, sizeof pointed[0]);
            memcpy(&pointed[1], right + field->offset, sizeof pointed[1]);
            if (there && !test_value_equal(field->type.of.structure, pointed[0], pointed[1]))
                return false;
        } else if (!equal(&field->type, left + field->offset, right + field->offset)) {
            return false; /* both absent members hold their default */
        }
    }
    return true;
}
