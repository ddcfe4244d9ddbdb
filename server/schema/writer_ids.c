/* With HBase, a put of some of the fields in a path's key is written on condition that kw:w has not changed.
 * "kw:w is absent" must not come back while such a put can still be applied: then the fields that it has read
 * can have changed. */
#include "schema/policy_internal.h"

/* A field that is kept longer than the kw:w of its puts; NULL if no field is. */
static const kw_field *
find_outliving(const kw_table *table, int64_t ttl_s)
{
    for (size_t index = 0; index < table->fields_count; index++) {
        const kw_field *field = &table->fields[index];
        const kw_model_family *family = field->stored ? kw_table_find_family(table, field->family) : NULL;
        if (field->stored && (!family || family->ttl_seconds == 0 || family->ttl_seconds > ttl_s))
            return field;
    }
    return NULL;
}

bool
kw_writer_ids_check(const kw_model *model, const kw_table *table, kw_diagnostics *diagnostics)
{
    if (model->store.kind != KW_STORE_HBASE || table->tuples_count == 0 || table->model->atomics == 0)
        return true;
    const kw_model_family *family = kw_table_find_family(table, table->default_family);
    int64_t least_s = (kw_writer_ttl_ms(model->store.hbase.late_ms) + 999) / 1000;
    if (!family || family->ttl_seconds == 0 || family->ttl_seconds >= least_s)
        return true;
    const kw_field *field = find_outliving(table, family->ttl_seconds);
    return !field || kw_diagnostics_add(
                         diagnostics, table->model->mark,
                         "give the family a longer ttl, or the table another family, or set atomics: false",
                         "table %s: the ttl of family %s must be at least %" G_GINT64_FORMAT
                         "s (twice store.late plus 90s), because field %s is kept longer than this family, "
                         "and paths of "
                         "the table have fields that change in their keys",
                         table->name, family->name, least_s, field->name);
}
