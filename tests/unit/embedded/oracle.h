/* A model of HBase's cell semantics, to compare the embedded store with. It keeps all writes in a list, and
 * a read applies the rules one by one to the whole list. It is slow, so that it can be simple. */
#pragma once

#include "store/store.h"

typedef struct kw_oracle_entry {
    size_t row, qualifier; /* indexes in the test's lists */
    size_t family;
    bool marker;
    bool whole_family; /* of a marker */
    int64_t timestamp;
    char value[24];
    size_t value_size;
    size_t order; /* of writing: of two puts to one cell the later one counts */
} kw_oracle_entry;

typedef struct kw_oracle {
    const kw_family_spec *families; /* sorted by name */
    size_t families_count, rows_count, qualifiers_count;
    GArray *entries; /* kw_oracle_entry */
} kw_oracle;

typedef struct kw_oracle_read_spec {
    bool family_whole[8];
    bool column[8][8]; /* family, qualifier */
    int32_t versions;
    int64_t time_from, time_to; /* both 0: all */
    int64_t now_ms;
} kw_oracle_read_spec;

void kw_oracle_add(kw_oracle *model, kw_oracle_entry entry);

/* Calls `seen` for each visible cell of the row, in HBase's order. */
void kw_oracle_read(const kw_oracle *model, size_t row, const kw_oracle_read_spec *spec,
                    void (*seen)(const kw_oracle_entry *cell, void *user), void *user);
