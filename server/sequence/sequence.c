/* The part shared by the process: the table of counters and leases, and the worker numbers of snowflakes.
 *
 *   prepare: find the policy's needs -> describe the table -> create it, or compare its TTLs -> lease workers
 */
#include "sequence/sequence_internal.h"

#include "base/log.h"
#include "config/file.h"
#include "config/shared.h"

#include <string.h>

#define PASSWORD_FILE_MAX 4096

struct kw_sequences {
    kw_model *model;      /* whose settings apply; NULL: not known yet */
    bool adopts;          /* the settings are those of the first policy in service */
    bool in_use;          /* a policy is in service: the loops use the settings */
    char *redis_password; /* NULL: not known yet */
    int64_t lease_ms;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_worker *workers[2]; /* by partitioned; NULL until one is needed */
    size_t stopping;
    void (*closed)(void *user);
    void *closed_user;
};

const kw_model_sequences *
kw_sequences_settings(const kw_sequences *self)
{
    return self->model ? &self->model->sequences : NULL;
}

const char *
kw_sequences_redis_password(const kw_sequences *self)
{
    return self->redis_password;
}

void
kw_sequences_set_lease(kw_sequences *self, int64_t lease_ms)
{
    self->lease_ms = lease_ms;
}

kw_worker *
kw_sequences_worker(kw_sequences *self, bool partitioned)
{
    return self->workers[partitioned];
}

kw_sequences *
kw_sequences_new(kw_model *model, kw_loop *loop, kw_store_handle *handle)
{
    kw_sequences *self = g_new0(kw_sequences, 1);
    *self = (kw_sequences){.model = model ? kw_model_ref(model) : NULL,
                           .adopts = !model,
                           .loop = loop,
                           .handle = handle,
                           .lease_ms = KW_WORKER_LEASE_MS};
    return self;
}

void
kw_sequences_free(kw_sequences *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(self->workers); i++)
        kw_worker_free(self->workers[i]);
    kw_model_unref(self->model);
    g_free(self->redis_password);
    g_free(self);
}

/* --- preparing ---------------------------------------------------------------------------------------- */

typedef struct preparing {
    kw_sequences *sequences;
    kw_deadline deadline;
    bool keeps[KW_RETENTIONS]; /* the store keeps counters with this retention */
    bool forms[2];             /* snowflake forms, by partitioned */
    kw_family_spec families[KW_RETENTIONS];
    kw_table_spec spec;
    void (*done)(void *user, const kw_error *error);
    void *user;
} preparing;

static void lease_workers(preparing *what);

static void
prepared(preparing *what, const kw_error *error)
{
    what->done(what->user, error);
    g_free(what);
}

static void
needs_of(preparing *what, const kw_model_generate *how)
{
    if (how->kind == KW_GENERATE_SNOWFLAKE)
        what->forms[how->partitioned] = true;
    else if (how->kind == KW_GENERATE_SEQUENCE && !what->sequences->model->sequences.redis)
        what->keeps[kw_retention_of(how->per)] = true;
}

static bool
needs_table(const preparing *what)
{
    bool needed = what->forms[0] || what->forms[1];
    for (size_t i = 0; i < KW_RETENTIONS; i++)
        needed |= what->keeps[i];
    return needed;
}

static void
worker_started(void *user, const kw_error *error)
{
    preparing *what = user;
    if (error)
        prepared(what, error);
    else
        lease_workers(what);
}

static void
lease_workers(preparing *what)
{
    kw_sequences *self = what->sequences;
    for (size_t i = 0; i < G_N_ELEMENTS(self->workers); i++) {
        if (!what->forms[i])
            continue;
        const kw_model_sequences *settings = &self->model->sequences;
        what->forms[i] = false;
        if (!self->workers[i])
            self->workers[i] = kw_worker_new(settings->table, kw_snowflake_form_of(i), self->lease_ms,
                                             self->loop, self->handle);
        kw_worker_start(self->workers[i], worker_started, what);
        return;
    }
    prepared(what, NULL);
}

static void
table_created(void *user, bool created, const kw_error *error)
{
    preparing *what = user;
    const char *table = what->sequences->model->sequences.table;
    if (error) {
        kw_error reported = *error;
        kw_error_prefix(&reported, "table of sequences %s", table);
        prepared(what, &reported);
        return;
    }
    if (created)
        kw_log(KW_LOG_INFO, "sequence", "table of sequences created", KW_LOG_FACT("table", table));
    lease_workers(what);
}

kw_table_spec
kw_sequence_table_spec(const kw_model_sequences *settings, kw_family_spec *families, kw_deadline deadline)
{
    for (int i = 0; i < KW_RETENTIONS; i++)
        families[i] =
            (kw_family_spec){.name = kw_retention_family((kw_retention)i),
                             .ttl_seconds = (int32_t)kw_retention_seconds(settings, (kw_retention)i),
                             .max_versions = 1,
                             .block_cache = -1,
                             .in_memory = -1,
                             .keep_deleted_cells = -1,
                             .replication_scope = -1};
    return (kw_table_spec){.name = kw_bytes_of_text(settings->table),
                           .families = families,
                           .families_count = KW_RETENTIONS,
                           .deadline = deadline};
}

static void
create_table(preparing *what)
{
    const kw_model_sequences *settings = &what->sequences->model->sequences;
    what->spec = kw_sequence_table_spec(settings, what->families, what->deadline);
    kw_store_handle_create_table(what->sequences->handle, &what->spec, table_created, what);
}

/* If the cells of a table expire too early, numbers can be assigned twice. */
static bool
check_family(const preparing *what, const kw_table_facts *facts, kw_retention keeping, kw_error *ret_error)
{
    const kw_model_sequences *settings = &what->sequences->model->sequences;
    int64_t needed = kw_retention_seconds(settings, keeping);
    for (size_t i = 0; i < facts->families_count; i++) {
        const kw_family_spec *family = &facts->families[i];
        if (!g_str_equal(family->name, kw_retention_family(keeping)))
            continue;
        bool lasts = family->ttl_seconds == 0 || (needed != 0 && family->ttl_seconds >= needed);
        return lasts ||
               kw_error_set(
                   ret_error, KW_REFUSED,
                   "table of sequences %s: the family %s drops counters after %d s, but sequences.keep "
                   "needs %" G_GINT64_FORMAT " s; set a longer TTL",
                   settings->table, family->name, family->ttl_seconds, (gint64)needed);
    }
    return kw_error_set(ret_error, KW_REFUSED,
                        "table of sequences %s: has no family %s, so it is not a table of sequences; set "
                        "store.catalog to another name",
                        settings->table, kw_retention_family(keeping));
}

static void
table_described(void *user, kw_table_facts *facts, const kw_error *error)
{
    preparing *what = user;
    kw_error reported = error ? *error : KW_ERROR_NONE;
    bool exists = facts && facts->exists;
    if (error)
        kw_error_prefix(&reported, "table of sequences %s", what->sequences->model->sequences.table);
    /* A store that does not keep rows has no families. */
    if (exists && facts->families_count > 0 && check_family(what, facts, KW_KEEP_EVER, &reported))
        for (int i = KW_KEEP_EVER + 1; i < KW_RETENTIONS && reported.code == KW_OK; i++)
            if (what->keeps[i])
                check_family(what, facts, (kw_retention)i, &reported);
    kw_table_facts_free(facts);
    if (reported.code != KW_OK)
        prepared(what, &reported);
    else if (exists)
        lease_workers(what);
    else
        create_table(what);
}

/* Loops and worker numbers keep the settings that they began with. */
static bool
adopt_settings(kw_sequences *self, kw_model *model, kw_error *ret_error)
{
    bool used = self->in_use || self->workers[0] || self->workers[1];
    if (!self->adopts || (self->model && kw_model_same_counters(self->model, model)))
        return true;
    if (used)
        return kw_error_set(ret_error, KW_REFUSED,
                            "sequences: the policy counts numbers at another place, where they would start "
                            "again");
    kw_model_unref(self->model);
    self->model = kw_model_ref(model);
    return true;
}

static void
warn_if_readable(const char *file)
{
    char permissions[KW_FILE_PERMISSIONS_SIZE];
    if (!kw_file_permits(file, 0077, permissions))
        return;
    g_autofree char *hint = g_strdup_printf("chmod 600 %s", file);
    kw_log(KW_LOG_WARN, "sequence", "other users can read the password for Redis", KW_LOG_FACT("file", file),
           KW_LOG_FACT("permissions", permissions), KW_LOG_FACT("hint", hint));
}

/* The password is the first line of the file. */
static char *
read_password(const char *file, kw_error *ret_error)
{
    char why[KW_FILE_WHY_MAX];
    size_t size;
    char *text = kw_file_read(file, PASSWORD_FILE_MAX, &size, why);
    if (!text) {
        kw_error_set(ret_error, KW_INVALID, "sequences.redis_password_file: %s: %s", file, why);
        return NULL;
    }
    text[strcspn(text, "\r\n")] = '\0';
    if (*text) {
        warn_if_readable(file);
        return text;
    }
    g_free(text);
    kw_error_set(ret_error, KW_INVALID, "sequences.redis_password_file: %s: the first line is empty", file);
    return NULL;
}

/* Later files need a restart, as other changes of these settings. */
static bool
know_password(kw_sequences *self, kw_error *ret_error)
{
    const kw_model_sequences *settings = &self->model->sequences;
    if (self->in_use)
        return true;
    g_clear_pointer(&self->redis_password, g_free);
    self->redis_password = settings->redis && *settings->redis_password_file
                               ? read_password(settings->redis_password_file, ret_error)
                               : g_strdup(settings->redis_password);
    return self->redis_password != NULL;
}

void
kw_sequences_begin_use(kw_sequences *self)
{
    self->in_use = true;
}

void
kw_sequences_prepare(kw_sequences *self, const kw_policy *policy, kw_deadline deadline,
                     void (*done)(void *user, const kw_error *error), void *user)
{
    kw_error refused;
    if (!adopt_settings(self, kw_policy_model(policy), &refused) || !know_password(self, &refused)) {
        done(user, &refused);
        return;
    }
    preparing *what = g_new0(preparing, 1);
    *what = (preparing){.sequences = self, .deadline = deadline, .done = done, .user = user};
    for (size_t i = 0; i < kw_policy_table_count(policy); i++) {
        const kw_table *table = kw_policy_table(policy, i);
        for (size_t j = 0; j < table->generated_count; j++)
            needs_of(what, &table->fields[table->generated[j]].model->generate);
    }
    if (needs_table(what))
        kw_store_handle_describe_table(self->handle, kw_bytes_of_text(self->model->sequences.table), deadline,
                                       table_described, what);
    else
        prepared(what, NULL);
}

/* --- closing ------------------------------------------------------------------------------------------ */

static void
one_stopped(void *user)
{
    kw_sequences *self = user;
    if (--self->stopping == 0)
        self->closed(self->closed_user);
}

void
kw_sequences_close(kw_sequences *self, void (*closed)(void *user), void *user)
{
    g_assert(closed && !self->closed);
    self->closed = closed;
    self->closed_user = user;
    self->stopping = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(self->workers); i++)
        if (self->workers[i]) {
            self->stopping++;
            kw_worker_stop(self->workers[i], one_stopped, self);
        }
    one_stopped(self);
}
