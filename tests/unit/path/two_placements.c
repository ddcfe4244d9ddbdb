/* See two_placements.h. The policy gives each path one placement, so this replaces them. */
#include "two_placements.h"

const char two_rules[] = "store: {kind: embedded, path: /tmp/unused}\n"
                         "cursor: {keys: [\"000102030405060708090a0b0c0d0e0f\"]}\n"
                         "tables:\n"
                         "  now:\n"
                         "    fields: {id: string, n: int}\n"
                         "    order: stamp\n"
                         "    key: [salt: {buckets: 4, of: [id]}, field: id]\n"
                         "    layout: 2\n"
                         "  then:\n"
                         "    fields: {id: string, n: int}\n"
                         "    order: stamp\n"
                         "    key: [field: id]\n";

kw_placement placements[2];

kw_table *
two_placements(desk *self, kw_role fresh, kw_role old)
{
    kw_table *table = (kw_table *)desk_table(self, "now");
    kw_path *path = (kw_path *)&table->paths[0];
    const kw_path *then = &desk_table(self, "then")->paths[0];
    placements[0] = (kw_placement){.path = path,
                                   .number = 0,
                                   .layout = path->layout,
                                   .store_table = path->store_table,
                                   .role = fresh,
                                   .complete = true};
    placements[1] = (kw_placement){.path = path,
                                   .number = 1,
                                   .layout = then->layout,
                                   .store_table = then->store_table,
                                   .role = old,
                                   .complete = true};
    path->placements = table->placements = placements;
    path->placements_count = table->placements_count = 2;
    return table;
}
