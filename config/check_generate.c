/* Checks the setting generate of a field: that its parts fit each other, the field and the table. */
#include "config/check.h"

#include "config/parse.h"
#include "config/read.h"

#include <string.h>

static void
check_sequence(kw_read *read, const kw_node *map, const kw_model_generate *generate)
{
    const kw_node *zone = kw_node_find(map, "zone"), *per = kw_node_find(map, "per");
    bool periodic = generate->per != KW_PERIOD_EVER;
    if (generate->from > generate->to)
        kw_read_problem(read, kw_node_find(map, "to")->mark, NULL,
                        "to is less than from (%" G_GINT64_FORMAT ")", (gint64)generate->from);
    if (periodic && !*generate->of)
        kw_read_problem(read, per->mark,
                        "add `of: FIELD`, with the timestamp field that has the record's time",
                        "'per' needs the setting 'of'");
    if (!periodic && *generate->of)
        kw_read_problem(read, kw_node_find(map, "of")->mark, "add for example `per: minute`",
                        "'of' needs the setting 'per'");
    if (!periodic && zone)
        kw_read_problem(read, zone->mark, "add for example `per: minute`", "'zone' needs the setting 'per'");
    kw_refusal refusal;
    if (zone && !kw_parse_zone(generate->zone, &refusal))
        kw_read_problem(read, zone->mark, refusal.hint, "zone: unknown time zone '%.60s'", generate->zone);
}

void
kw_check_generate(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_generate *generate = section;
    if (!node)
        return;
    if (generate->kind == KW_GENERATE_SEQUENCE)
        check_sequence(read, node, generate);
    const kw_node *epoch = kw_node_find(node, "epoch");
    if (generate->partitioned && epoch)
        kw_read_problem(read, epoch->mark, NULL, "epoch can be set only with the form standard");
}

static bool
generates_type(kw_generate_kind kind, kw_field_type type)
{
    switch (kind) {
    case KW_GENERATE_SEQUENCE:
    case KW_GENERATE_SNOWFLAKE:
        return type == KW_FIELD_INT;
    case KW_GENERATE_UUID4:
    case KW_GENERATE_UUID7:
    case KW_GENERATE_OBJECTID:
        return type == KW_FIELD_STRING || type == KW_FIELD_BYTES;
    case KW_GENERATE_NOW:
        return type == KW_FIELD_TIMESTAMP;
    }
    g_assert_not_reached();
}

static int64_t
generated_bytes(const kw_model_field *field)
{
    bool text = field->type == KW_FIELD_STRING;
    switch (field->generate.kind) {
    case KW_GENERATE_UUID4:
    case KW_GENERATE_UUID7:
        return text ? 36 : 16;
    case KW_GENERATE_OBJECTID:
        return text ? 24 : 12;
    case KW_GENERATE_SEQUENCE:
    case KW_GENERATE_SNOWFLAKE:
    case KW_GENERATE_NOW:
        return 0;
    }
    g_assert_not_reached();
}

/* Checks that generated values fit the field. */
void
kw_check_generated(kw_read *read, const kw_node *map, const kw_model_field *field)
{
    const kw_model_generate *generate = &field->generate;
    if (!generates_type(generate->kind, field->type)) {
        kw_read_problem(read, generate->mark,
                        "int: sequence, snowflake; string and bytes: uuid4, uuid7, objectid; timestamp: now",
                        "generate: this kind does not generate values of the field's type");
        return;
    }
    if (field->values_count)
        kw_read_problem(read, generate->mark, NULL, "generate and values cannot be combined");
    if (field->max_bytes && field->max_bytes < generated_bytes(field))
        kw_read_problem(read, kw_node_find(map, "max_bytes")->mark, NULL,
                        "max_bytes is less than the %d bytes of a generated value",
                        (int)generated_bytes(field));
    if (field->form == KW_CELL_RAW_BE4 && field->type == KW_FIELD_INT &&
        (generate->kind == KW_GENERATE_SNOWFLAKE || generate->to > INT32_MAX))
        kw_read_problem(read, kw_node_find(map, "form")->mark, NULL,
                        "form raw4 is too narrow for the generated values");
}

static const kw_model_field *
find_field(const kw_draft_table *table, const char *name)
{
    for (size_t i = 0; i < table->fields_count; i++)
        if (strcmp(table->fields[i].field.name, name) == 0)
            return &table->fields[i].field;
    return NULL;
}

/* Checks that `of` of each sequence names a timestamp field, whose periods restart the sequence. */
void
kw_check_period_fields(kw_read *read, const kw_draft_table *table)
{
    for (size_t i = 0; i < table->fields_count; i++) {
        const kw_model_field *field = &table->fields[i].field;
        const kw_model_generate *generate = &field->generate;
        if (!generate->enabled || generate->kind != KW_GENERATE_SEQUENCE || !generate->of || !*generate->of)
            continue;
        const kw_model_field *of = find_field(table, generate->of);
        if (!of)
            kw_read_problem(read, generate->mark, NULL, "fields.%s.generate.of: there is no field %s",
                            field->name, generate->of);
        else if (of->type != KW_FIELD_TIMESTAMP)
            kw_read_problem(read, generate->mark, NULL, "fields.%s.generate.of: %s is not a timestamp",
                            field->name, generate->of);
    }
}
