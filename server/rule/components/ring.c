/* ring: the name of the node that consistent hashing of named fields selects.
 *
 * Each node has `replicas` points on a ring of hashes. A record belongs to the node of the first point at or
 * after the record's hash; if there is no such point, to the node of the first point of the ring. So an added
 * node receives its share from all others, and no other key moves. A query that does not bind the fields
 * visits every node.
 *
 * rings.h has the points.
 */
#include "rule/components/kinds.h"
#include "rule/derived.h"
#include "rule/rings.h"

#define SHOWN_MAX (4 * KW_DERIVED_PIECE_MAX + 8) /* a node's name is never cut in the component's text */

typedef struct ring {
    kw_component base;
    kw_digest digest;
    const kw_bytes *nodes; /* in the order of the list */
    const kw_bytes *names; /* sorted */
    size_t count;
    uint32_t replicas;
    const kw_ring_points *points;
} ring;

static int
compare_names(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

/* In sorted order, a name that is a prefix of others is directly before one of them. */
static bool
sort_names(const kw_site *site, ring *self)
{
    kw_bytes *names = KW_ARENA_ARRAY(site->arena, kw_bytes, self->count);
    memcpy(names, self->nodes, self->count * sizeof *names);
    qsort(names, self->count, sizeof *names, compare_names);
    self->names = names;
    self->base.width = (uint32_t)names[0].size;
    for (size_t index = 0; index + 1 < self->count; index++) {
        kw_bytes name = names[index], next = names[index + 1];
        if (kw_bytes_starts_with(next, name))
            return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "nodes"),
                                      "give all nodes names of the same length",
                                      "ring: the node \"%.*s\" is a prefix of \"%.*s\"", (int)name.size,
                                      (const char *)name.data, (int)next.size, (const char *)next.data);
        if (next.size != self->base.width)
            self->base.width = 0;
    }
    return true;
}

static bool
read_nodes(const kw_site *site, ring *self)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, "nodes");
    self->count = found ? found->texts_count : 0;
    self->replicas = (uint32_t)kw_site_number(site, "replicas", 128);
    if (self->count < 2)
        return kw_diagnostics_add(
            site->diagnostics, kw_site_mark(site, "nodes"),
            "name every node, or remove the ring: with one node, all rows are in one place",
            "ring: needs 2 nodes or more, but has %zu", self->count);
    if (self->count * self->replicas > KW_RING_POINTS_MAX)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "replicas"), "use fewer replicas",
                                  "ring: %zu nodes with %u replicas each need %zu points; the maximum is %d",
                                  self->count, self->replicas, self->count * self->replicas,
                                  KW_RING_POINTS_MAX);
    kw_bytes *nodes = KW_ARENA_ARRAY(site->arena, kw_bytes, self->count);
    for (size_t index = 0; index < self->count; index++) {
        kw_mark mark = found->text_marks ? found->text_marks[index] : found->mark;
        nodes[index] = kw_bytes_of_text(found->texts[index]);
        if (nodes[index].size > KW_DERIVED_PIECE_MAX)
            return kw_diagnostics_add(site->diagnostics, mark, NULL,
                                      "ring: the name of a node must have at most %d bytes, not %zu",
                                      KW_DERIVED_PIECE_MAX, nodes[index].size);
    }
    self->nodes = nodes;
    return sort_names(site, self);
}

/* Java's hashes work on text: a number is hashed as its decimal digits. */
static bool
hashes_text(const ring *self)
{
    return self->digest == KW_DIGEST_JAVA_FNV || self->digest == KW_DIGEST_JAVA_FNV_ALT;
}

static bool
read_algorithm(const kw_site *site, ring *self)
{
    bool known = kw_digest_find(kw_site_text(site, "algorithm", "xxh64"), &self->digest);
    g_assert(known);
    for (size_t index = 0; hashes_text(self) && index < self->base.inputs_count; index++) {
        const kw_field *field = &site->table->fields[self->base.inputs[index]];
        kw_value_kind kind = kw_field_value_kind(field->type);
        if (kind != KW_VALUE_TEXT && kind != KW_VALUE_NUMBER)
            return kw_diagnostics_add(
                site->diagnostics, kw_site_mark(site, "of"), "use xxh64",
                "ring: %s hashes strings and the digits of whole numbers; %s is neither",
                kw_digest_name(self->digest), field->name);
    }
    return true;
}

static const char *
text_of(const kw_site *site, const ring *self)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "ring(%s of %s, %u replicas of ", kw_digest_name(self->digest),
                    kw_site_field_names(site, self->base.inputs, self->base.inputs_count), self->replicas);
    for (size_t index = 0; index < self->count; index++) {
        kw_value name = {.kind = KW_VALUE_TEXT, .bytes = self->nodes[index]};
        kw_site_list_value(text, index == 0, name, SHOWN_MAX);
    }
    g_string_append_c(text, ')');
    return kw_arena_text(site->arena, kw_bytes_of(text->str, text->len));
}

static const kw_component *
compile(const kw_site *site)
{
    ring *self = (ring *)kw_site_component(site, sizeof(ring), &kw_component_ring);
    kw_component *base = &self->base;
    if (!kw_site_fields(site, "of", &base->inputs, &base->inputs_count) || !read_algorithm(site, self) ||
        !read_nodes(site, self))
        return NULL;
    kw_ring_nodes nodes = {self->digest, self->nodes, self->count, self->replicas};
    self->points = kw_rings_points(site->rings, &nodes, site->arena);
    base->fullest = self->points->fullest;
    base->buckets = self->count;
    base->cuts = self->count;
    base->text = text_of(site, self);
    return base;
}

static kw_bytes
node_at(const ring *self, uint64_t hash)
{
    const kw_ring_points *points = self->points;
    size_t low = 0, high = points->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points->items[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return self->nodes[points->items[low < points->count ? low : 0].node];
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    (void)rest;
    const ring *self = (const ring *)component;
    uint8_t digest[KW_DIGEST_MAX];
    if (!kw_derived_digest(component, values, self->digest, hashes_text(self), digest, ret_error))
        return false;
    kw_buffer_append(out, node_at(self, kw_ring_place(digest, self->digest)));
    return true;
}

/* No name is a prefix of another, so only the last name that is not greater than the bytes can be their
 * beginning. */
static size_t
measure(const kw_component *component, kw_bytes bytes)
{
    const ring *self = (const ring *)component;
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(self->names[middle], bytes) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && kw_bytes_starts_with(bytes, self->names[low - 1]) ? self->names[low - 1].size
                                                                        : SIZE_MAX;
}

static size_t
enumerate(const kw_component *component, const kw_value_span *span, kw_arena *arena,
          const kw_bucket **ret_buckets)
{
    const ring *self = (const ring *)component;
    (void)span;
    kw_bucket *buckets = KW_ARENA_ARRAY(arena, kw_bucket, self->count);
    for (size_t index = 0; index < self->count; index++)
        buckets[index] = (kw_bucket){.bytes = self->names[index], .field = -1};
    *ret_buckets = buckets;
    return self->count;
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    (void)arena;
    return ((const ring *)component)->names[index];
}

static const char *const algorithms[] = {"xxh64", "java_fnv", "java_fnv_alt", NULL};

static const kw_setting_schema settings[] = {
    {.name = "of",
     .kind = KW_SETTING_TEXTS,
     .required = true,
     .about = "The fields to hash, in this order. The hash selects the node."},
    {.name = "nodes",
     .kind = KW_SETTING_TEXTS,
     .required = true,
     .about = "The names of the nodes, as they appear in the key. No name can be a prefix of another."},
    {.name = "algorithm",
     .kind = KW_SETTING_CHOICE,
     .choices = algorithms,
     .fallback = "xxh64",
     .about = "All but xxh64 are for tables of other programs. They hash a string as it is, and a number "
              "as its decimal text. java_fnv: 32-bit FNV-1a over UTF-16 units, with five shifts and "
              "Math.abs, as in the "
              "common Java function FNV1_32_HASH. java_fnv_alt: the same with offset 216613626111, prime "
              "1677761999 and right shifts of 8 and 18."},
    {.name = "replicas",
     .kind = KW_SETTING_INT,
     .least = 1,
     .most = 4096,
     .fallback = "128",
     .about =
         "Number of points on the ring for each node. More points make the shares of the nodes more even."},
};

static const kw_component_schema schema = {
    .name = "ring",
    .about = "The node of a consistent hash ring. Adding a node moves only the keys assigned to it.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_ring = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .measure = measure,
    .enumerate = enumerate,
    .piece = piece,
};
