/* Paths that are added to a table with rows while two gateways serve it, in the catalog: what each step needs
 * of the other one, the order of writes, and which policies are admitted meanwhile. */
#include "changing.h"

#include "catalog/catalog_internal.h"

#define ATOMICS "    atomics: true\n"
#define NO_ATOMICS "    atomics: false\n"
#define STAMP "    order: stamp\n"
#define TWO_PATHS                                                                                            \
    "    paths: {by_ts: {key: [{field: ts}, {field: id}]}, by_n: {key: [{hash: {of: [id]}}, {field: ts}, "   \
    "{field: id}]}}\n"
#define THREE_PATHS                                                                                          \
    "    paths: {by_ts: {key: [{field: ts}, {field: id}]}, by_n: {key: [{hash: {of: [id]}}, {field: ts}, "   \
    "{field: id}]}, by_x: {key: [{hash: {of: [ts]}}, {field: ts}, {field: id}]}}\n"

#define BY_N "    paths: {by_n: {key: [{field: n}, {field: id}, {field: ts}]}}\n"

typedef struct adding {
    town *in;
    gateway *a; /* holds the change */
    gateway *b;
    gateway *more_followers[2]; /* NULL: only b follows */
    kw_policy *before, *text;   /* without and with the paths */
    GPtrArray *served;          /* policies of the followers */
    kw_policy *placed;          /* of the last version */
    kw_added_path more;
    kw_change_record record, base;
    kw_change_step step;
} adding;

static void
serve(adding *self, gateway *by, kw_policy *policy)
{
    g_assert_cmpint(gateway_admit(by, policy), ==, KW_OK);
    g_ptr_array_add(self->served, kw_policy_ref(policy));
}

static kw_change_record
record_of(const adding *self, bool several, bool store_order)
{
    return (kw_change_record){.table = "t",
                              .path = "by_ts",
                              .given = {1, "t_by_ts"},
                              .now = {1, "t_by_ts"},
                              .old = {1, "t"},
                              .old_given = {1, "t"},
                              .old_version = {1, "0123456789abcdef0123456789abcdef"},
                              .new_version = 2,
                              .adds = true,
                              .more = &self->more,
                              .more_count = several,
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .store_order = store_order,
                              .holder = kw_catalog_instance(self->a->catalog),
                              .started_ms = 1000,
                              .author = "ann",
                              .reason = "",
                              .example = ""};
}

/* Both gateways serve the table without the paths. */
static adding *
adding_new(const char *before, const char *text, bool store_order)
{
    adding *self = g_new0(adding, 1);
    bool several = strstr(text, "by_n") != NULL;
    self->in = town_new();
    self->served = g_ptr_array_new_with_free_func((GDestroyNotify)kw_policy_unref);
    self->before = test_policy(before);
    self->text = test_policy(text);
    self->a = gateway_new(self->in, "a", true);
    self->b = gateway_new(self->in, "b", true);
    self->more = (kw_added_path){"by_n", {1, "t_by_n"}};
    serve(self, self->a, self->before);
    serve(self, self->b, self->before);
    town_put(self->in, "t", "row");
    self->record = record_of(self, several, store_order);
    return self;
}

/* The path by_n, whose key has a field that can change. */
static adding *
adding_new_hints(const char *before, const char *text, bool store_order)
{
    adding *self = adding_new(before, text, store_order);
    self->record.path = "by_n";
    self->record.given = self->record.now = (kw_placed_rule){1, "t_by_n"};
    self->record.more_count = 0;
    self->record.hints = true;
    self->record.goal = KW_OLD(BOTH);
    return self;
}

static void
adding_free(adding *self)
{
    gateway_stop(self->a);
    gateway_stop(self->b);
    for (size_t i = 0; i < G_N_ELEMENTS(self->more_followers); i++)
        if (self->more_followers[i])
            gateway_stop(self->more_followers[i]);
    kw_policy_unref(self->before);
    kw_policy_unref(self->text);
    g_ptr_array_unref(self->served);
    g_clear_pointer(&self->placed, kw_policy_unref);
    town_free(self->in);
    g_free(self);
}

/* The policy of the version. */
static kw_policy *
place(adding *self)
{
    g_clear_pointer(&self->placed, kw_policy_unref);
    self->placed = changing_compile(&self->record, self->text, self->before);
    return self->placed;
}

static kw_code
admit(adding *self, kw_policy *policy, bool had_base, bool has_record)
{
    self->step = (kw_change_step){
        .records = &self->record, .count = has_record, .base = &self->base, .base_count = had_base};
    kw_code code = gateway_admit_step(self->a, policy, &self->step);
    if (code != KW_OK)
        self->record = self->base;
    return code;
}

static kw_code
try_step(adding *self, kw_change_place version)
{
    bool began = self->record.under_way;
    self->base = self->record;
    self->record.under_way = true;
    self->record.place = version;
    self->record.place_at_ms++;
    self->record.step++;
    return admit(self, place(self), began, true);
}

/* The change ends with the paths, or without them. */
static kw_code
try_end(adding *self, bool with)
{
    self->base = self->record;
    kw_policy *policy = with ? self->text : self->before;
    return admit(self, policy, true, false);
}

static void
report(const adding *self, gateway *by)
{
    const kw_change_record *record = &self->record;
    kw_change_report given = {
        .table = record->table, .path = record->path, .started_ms = record->started_ms, .step = record->step};
    kw_catalog_report_changes(by->catalog, &given, 1);
    while (by->catalog->renewing || by->catalog->stored_revision != by->catalog->revision)
        uv_run(kw_loop_uv(by->town->loop), UV_RUN_ONCE);
}

static void
step(adding *self, kw_change_place version)
{
    g_assert_cmpint(try_step(self, version), ==, KW_OK);
    report(self, self->a);
}

static void
follow(adding *self)
{
    serve(self, self->b, self->placed);
    report(self, self->b);
    for (size_t i = 0; i < G_N_ELEMENTS(self->more_followers); i++) {
        if (!self->more_followers[i])
            continue;
        serve(self, self->more_followers[i], self->placed);
        report(self, self->more_followers[i]);
    }
}

static void
walk(adding *self, const kw_change_place *versions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        step(self, versions[i]);
        follow(self);
    }
}

#define WALK(self, ...)                                                                                      \
    walk(self, (const kw_change_place[]){__VA_ARGS__},                                                       \
         sizeof((const kw_change_place[]){__VA_ARGS__}) / sizeof(kw_change_place))

#define ENTER KW_OLD(UNSTAMPED), KW_OLD(HELD), KW_OLD(RAISED), KW_OLD(STAMPED), KW_OLD(ALONE)

/* --- whole additions ------------------------------------------------------------------------------- */

/* The catalog has order: store until the path is complete. Atomic operations stay allowed. */
KW_TEST(test_store_order, "/catalog/paths-added-by-several/store-order")
{
    adding *self = adding_new(BASE, BASE BY_TS, true);
    WALK(self, ENTER, KW_OLD(OPENING), KW_OLD(SPACED));
    town_assert_facts(self->in, "\"order\":\"store\",\"atomics\":true", true);
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"filling\"}", true);
    town_put(self->in, "t_by_ts", "row");
    WALK(self, KW_OLD(FILLED), KW_OLD(FILLED)); /* the second time for another sweep */
    town_assert_facts(self->in, "\"order\":\"stamp\",\"atomics\":true", true);
    town_assert_facts(self->in, "changing_placements", false);
    g_assert_cmpint(try_end(self, true), ==, KW_OK);
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"complete\",\"verified\":true}",
                      true);
    serve(self, self->b, self->text);
    g_assert_cmpint(gateway_check(self->b, self->before), ==, KW_REFUSED); /* drops a path that a serves */
    adding_free(self);
}

KW_TEST(test_stamp_order, "/catalog/paths-added-by-several/stamp-order")
{
    adding *self = adding_new(STAMP BASE, STAMP BASE TWO_PATHS, false);
    WALK(self, KW_OLD(ALONE), KW_OLD(OPENING), KW_OLD(SPACED));
    town_assert_facts(self->in, "\"store_table\":\"t_by_n\",\"state\":\"filling\"}", true);
    town_put(self->in, "t_by_ts", "row");
    town_put(self->in, "t_by_n", "row");
    WALK(self, KW_OLD(FILLED));
    g_assert_cmpint(try_end(self, true), ==, KW_OK);
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"complete\",\"verified\":true}",
                      true);
    town_assert_facts(self->in, "\"store_table\":\"t_by_n\",\"state\":\"complete\",\"verified\":true}", true);
    adding_free(self);
}

/* The table keeps its order of writes, because the path has no records. */
static void
add_hints(const char *order, bool store_order)
{
    g_autofree char *before = g_strconcat(order, BASE, NULL), *text = g_strconcat(before, BY_N, NULL);
    g_autofree char *fact = g_strdup_printf("\"order\":\"%s\"", store_order ? "store" : "stamp");
    adding *self = adding_new_hints(before, text, store_order);
    if (store_order)
        WALK(self, KW_OLD(UNSTAMPED), KW_OLD(MARKED), KW_OLD(BOTH));
    else
        WALK(self, KW_OLD(ALONE), KW_OLD(HINTING), KW_OLD(BOTH));
    town_put(self->in, "t_by_n", "row");
    town_assert_facts(self->in, "\"store_table\":\"t_by_n\",\"state\":\"filling\"}", true);
    WALK(self, KW_OLD(FILLED));
    town_assert_facts(self->in, fact, true);
    g_assert_cmpint(try_end(self, true), ==, KW_OK);
    town_assert_facts(self->in, fact, true);
    town_assert_facts(self->in, "\"store_table\":\"t_by_n\",\"state\":\"complete\",\"verified\":true}", true);
    adding_free(self);
}

KW_TEST(test_hints, "/catalog/paths-added-by-several/hints")
{
    add_hints("", true);
    add_hints(STAMP, false);
}

/* A cancelled addition ends where it began. A gateway that still serves the last version stays admitted. */
static void
cancel(const char *before, const char *text, bool store_order)
{
    adding *self = adding_new(before, text, store_order);
    if (store_order)
        WALK(self, ENTER);
    else
        WALK(self, KW_OLD(ALONE));
    WALK(self, KW_OLD(OPENING), KW_OLD(SPACED));
    town_put(self->in, "t_by_ts", "row");
    if (self->record.more_count)
        town_put(self->in, "t_by_n", "row");
    g_assert_cmpint(try_end(self, false), ==, KW_REFUSED);
    gateway_assert_text(self->a, "are not those of the next place");
    WALK(self, KW_OLD(OPENING), KW_OLD(ALONE));
    if (store_order)
        WALK(self, KW_OLD(STAMPED), KW_OLD(RAISED), KW_OLD(HELD));
    report(self, self->b);
    g_assert_cmpint(try_end(self, false), ==, KW_OK);
    town_assert_facts(self->in, store_order ? "\"order\":\"store\"" : "\"order\":\"stamp\"", true);
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"retired\"", true);
    g_assert_cmpint(gateway_admit(self->a, self->before), ==, KW_OK);
    serve(self, self->b, self->before);
    adding_free(self);
}

KW_TEST(test_cancel, "/catalog/paths-added-by-several/cancel")
{
    cancel(BASE, BASE BY_TS, true);
    cancel(BASE, ATOMICS BASE TWO_PATHS, true);
    cancel(NO_ATOMICS BASE, STAMP BASE BY_TS, true);
    cancel(STAMP BASE, STAMP BASE TWO_PATHS, false);
    cancel(STAMP ATOMICS BASE, STAMP BASE TWO_PATHS, false);
    cancel(STAMP BASE, BASE BY_TS, false);
}

/* Calls of the version before rely on the control cells of all writes, so a policy that adds a path neither
 * allows atomic operations nor ends them. */
KW_TEST(test_atomics, "/catalog/paths-added-by-several/atomics")
{
    static const struct {
        const char *before, *text;
        bool store_order;
        const char *says;
    } cases[] = {
        {BASE, NO_ATOMICS BASE BY_TS, true, "with atomics: true, and this policy has atomics: false"},
        {NO_ATOMICS BASE, ATOMICS BASE BY_TS, true, "with atomics: false, and this policy has atomics: true"},
        {STAMP BASE, STAMP ATOMICS BASE BY_TS, false,
         "with atomics: false, and this policy has atomics: true"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        adding *self = adding_new(cases[i].before, cases[i].text, cases[i].store_order);
        kw_change_place first = cases[i].store_order ? KW_OLD(UNSTAMPED) : KW_OLD(ALONE);
        g_assert_cmpint(try_step(self, first), ==, KW_REFUSED);
        gateway_assert_text(self->a, cases[i].says);
        adding_free(self);
    }
}

/* --- drops ------------------------------------------------------------------------------------------ */

/* A drop goes back through the versions of an addition. Each step waits until the other gateway has followed
 * the one before. */
static void
drop(const char *before, const char *text)
{
    adding *self = adding_new(before, text, false);
    self->record.drops = true;
    self->record.goal = KW_OLD(ALONE);
    self->record.more_count = strstr(before, "by_n") != NULL;
    town_put(self->in, "t_by_ts", "row");
    g_assert_cmpint(gateway_check(self->a, self->text), ==, KW_REFUSED); /* b serves the path */
    g_assert_cmpint(try_step(self, KW_OLD(ALONE)), ==, KW_REFUSED);
    step(self, KW_OLD(SPACED));
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"filling\"", true);
    town_assert_facts(self->in, "\"order\":\"stamp\"", true);
    kw_code early = try_step(self, KW_OLD(OPENING)); /* b still serves the path, or has not reported */
    g_assert_true(early == KW_BUSY || early == KW_UNAVAILABLE);
    place(self);
    follow(self);
    g_assert_cmpint(try_end(self, true), ==, KW_REFUSED);
    WALK(self, KW_OLD(OPENING), KW_OLD(ALONE));
    g_assert_cmpint(try_end(self, true), ==, KW_OK);
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"retired\"", true);
    town_assert_facts(self->in, "\"order\":\"stamp\"", true);
    g_assert_cmpint(gateway_admit(self->a, self->text), ==, KW_OK);
    serve(self, self->b, self->text);
    adding_free(self);
}

KW_TEST(test_drop, "/catalog/paths-added-by-several/drop")
{
    drop(BASE BY_TS, BASE);
    drop(BASE BY_TS, NO_ATOMICS BASE);
    drop(ATOMICS BASE BY_TS, BASE);
    drop(STAMP BASE BY_TS, BASE);
    drop(BASE TWO_PATHS, STAMP BASE);
}

/* The table keeps its order. */
static void
drop_hints(const char *order, bool store_order)
{
    g_autofree char *text = g_strconcat(order, BASE, NULL), *before = g_strconcat(text, BY_N, NULL);
    adding *self = adding_new_hints(before, text, store_order);
    self->record.drops = true;
    self->record.goal = kw_change_first_place(store_order);
    town_put(self->in, "t_by_n", "row");
    g_assert_cmpint(gateway_check(self->a, self->text), ==, KW_REFUSED);
    gateway_assert_text(self->a, "or drop it while the table is in use");
    kw_change_place below = store_order ? KW_OLD(MARKED) : KW_OLD(HINTING);
    g_assert_cmpint(try_step(self, below), ==, KW_REFUSED);
    WALK(self, KW_OLD(BOTH));
    town_assert_facts(self->in, "\"store_table\":\"t_by_n\",\"state\":\"filling\"", true);
    WALK(self, below);
    if (!store_order)
        WALK(self, KW_OLD(ALONE));
    g_assert_cmpint(try_end(self, true), ==, KW_OK);
    town_assert_facts(self->in, "\"store_table\":\"t_by_n\",\"state\":\"retired\"", true);
    town_assert_facts(self->in, store_order ? "\"order\":\"store\"" : "\"order\":\"stamp\"", true);
    serve(self, self->b, self->text);
    adding_free(self);
}

KW_TEST(test_drop_hints, "/catalog/paths-added-by-several/drop-hints")
{
    drop_hints("", true);
    drop_hints(STAMP, false);
}

/* The holder ends the drop of these paths, and the other gateways follow, one after another. */
static void
drop_while_several_follow(adding *self, const char *path, const char *store_table, bool several)
{
    self->record.path = path;
    self->record.given = self->record.now = (kw_placed_rule){1, store_table};
    self->record.more_count = several;
    self->record.drops = true;
    self->record.under_way = false;
    self->record.step = 0;
    self->record.goal = KW_OLD(ALONE);
    self->record.started_ms++;
    WALK(self, KW_OLD(SPACED), KW_OLD(OPENING), KW_OLD(ALONE));
    g_assert_cmpint(try_end(self, true), ==, KW_OK);
    serve(self, self->a, self->text);
    serve(self, self->b, self->text);
    for (size_t i = 0; i < G_N_ELEMENTS(self->more_followers); i++)
        serve(self, self->more_followers[i], self->text);
}

/* Gateways that have not followed the end of a drop yet accept each other, whatever paths were retired
 * before it. */
static void
drop_twice(bool rows)
{
    adding *self = adding_new(STAMP BASE THREE_PATHS, STAMP BASE TWO_PATHS, false);
    self->more_followers[0] = gateway_new(self->in, "c", true);
    self->more_followers[1] = gateway_new(self->in, "d", true);
    serve(self, self->more_followers[0], self->before);
    serve(self, self->more_followers[1], self->before);
    if (rows) {
        town_put(self->in, "t_by_ts", "row");
        town_put(self->in, "t_by_n", "row");
        town_put(self->in, "t_by_x", "row");
    }
    drop_while_several_follow(self, "by_x", "t_by_x", false);
    kw_policy_unref(self->before);
    self->before = self->text;
    self->text = test_policy(STAMP BASE);
    drop_while_several_follow(self, "by_ts", "t_by_ts", true);
    adding_free(self);
}

KW_TEST(test_drop_twice, "/catalog/paths-added-by-several/drop-twice")
{
    drop_twice(true);
    drop_twice(false);
}

/* --- the other gateway ------------------------------------------------------------------------------ */

KW_TEST(test_reports, "/catalog/paths-added-by-several/reports")
{
    adding *self = adding_new(STAMP BASE, STAMP BASE BY_TS, false);
    step(self, KW_OLD(ALONE));
    g_assert_cmpint(try_step(self, KW_OLD(OPENING)), ==, KW_BUSY);
    gateway_assert_text(self->a, "does not serve the current policy version");
    place(self);
    serve(self, self->b, self->placed);
    g_assert_cmpint(try_step(self, KW_OLD(OPENING)), ==, KW_UNAVAILABLE);
    gateway_assert_text(self->a, "has not reported the place alone-old of the change yet");
    place(self);
    report(self, self->b);
    step(self, KW_OLD(OPENING));
    follow(self);
    g_assert_cmpint(try_step(self, KW_OLD(FILLED)), ==, KW_REFUSED); /* not the next one */
    adding_free(self);
}

/* While a path is added, a gateway can serve neither the policy without the path nor the text with the path,
 * but only a policy that was compiled for the version in the catalog. */
KW_TEST(test_admitted, "/catalog/paths-added-by-several/admitted")
{
    adding *self = adding_new(BASE, BASE BY_TS, true);
    WALK(self, KW_OLD(UNSTAMPED));
    g_assert_cmpint(gateway_check(self->b, self->before), ==, KW_REFUSED);
    gateway_assert_text(self->b, "a change of table t, path by_ts is under way");
    g_assert_cmpint(gateway_check(self->b, self->text), ==, KW_REFUSED);
    WALK(self, KW_OLD(HELD));
    g_assert_cmpint(gateway_admit(self->b, self->placed), ==, KW_OK);
    self->record.place = KW_OLD(UNSTAMPED);
    g_assert_cmpint(gateway_check(self->b, place(self)), ==, KW_UNAVAILABLE);
    gateway_assert_text(self->b, "has another place than this policy was loaded with");
    self->record.place = KW_OLD(HELD);
    adding_free(self);
}

/* A change begins with its first version, and only if the store table of the added path holds no other
 * rows. */
KW_TEST(test_begin, "/catalog/paths-added-by-several/begin")
{
    adding *self = adding_new(BASE, BASE BY_TS, true);
    g_assert_cmpint(try_step(self, KW_OLD(SPACED)), ==, KW_REFUSED);
    gateway_assert_text(self->a, "are not those of the next place");
    town_put(self->in, "t_by_ts", "row");
    g_assert_cmpint(try_step(self, KW_OLD(UNSTAMPED)), ==, KW_REFUSED);
    gateway_assert_text(self->a, "holds rows that were not written under this path");
    adding_free(self);
}
