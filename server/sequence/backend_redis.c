/* Counters in Redis: INCRBY, and EXPIRE for those that can expire. One connection per loop, opened when the
 * first number is needed.
 *
 *   IDLE -> RESOLVING -> CONNECTING (AUTH, SELECT) -> READY
 *    ^          |             |                         |
 *    +----------+-------------+-------------------------+   on failure: pending additions get UNAVAILABLE
 *
 * The name of the server can have several addresses. They are tried in order, and each gets an equal part of
 * the time that is left.
 *
 * An addition whose deadline passes gets TIMEOUT. If a sent addition is not answered within SILENCE_NS, the
 * connection is closed.
 *
 * Callers get texts of our own. The log gets the address of the server, its answers and the system's reasons.
 */
#include "sequence/backend.h"

#include "base/container.h"
#include "base/log.h"
#include "sequence/redis_events.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 3000
#define SILENCE_NS (UINT64_C(5) * 1000000000)
#define LOGGED_PER_SECOND 1

#define CONNECTION_LOST "the connection to Redis was lost"
#define NOT_REACHED "Redis cannot be reached"
#define SILENT "Redis does not answer"

typedef enum redis_state { REDIS_IDLE, REDIS_RESOLVING, REDIS_CONNECTING, REDIS_READY } redis_state;

typedef struct addition_call {
    struct addition_call *next, *before; /* in `all` */
    struct redis_counters *counters;
    kw_bytes name; /* owned */
    int64_t amount;
    int64_t keep_s; /* 0: does not expire */
    kw_deadline deadline;
    uint64_t sent_ns; /* 0: not sent. Otherwise on_reply will run, with NULL if the connection is lost. */
    kw_counted done;  /* NULL: already called */
    void *user;
} addition_call;

typedef struct redis_counters {
    kw_sequence_backend base;
    kw_model_sequences settings; /* texts belong to the model, which outlives this object */
    const char *password;
    char *prefix;      /* of the keys of the counters */
    char address[300]; /* for the log */
    kw_log_limit logged;
    kw_loop *loop;
    redis_state state;
    uv_getaddrinfo_t resolving;
    struct addrinfo *addresses; /* of the name; NULL unless CONNECTING */
    struct addrinfo *trying;    /* the one in use */
    redisAsyncContext *context;
    kw_deadline connect_by, address_by; /* all addresses; the one in use */
    addition_call *all;
    kw_timer *timer;
    bool closing;
    kw_task close_task;
    void (*closed)(void *user);
    void *closed_user;
} redis_counters;

/* --- completing additions ----------------------------------------------------------------------------- */

static void
unlink_addition(addition_call *what)
{
    *(what->before ? &what->before->next : &what->counters->all) = what->next;
    if (what->next)
        what->next->before = what->before;
}

/* Completes the addition. Frees it unless its reply is still outstanding. */
static void
complete(addition_call *what, int64_t after, const kw_error *error)
{
    kw_counted done = what->done;
    void *user = what->user;
    what->done = NULL;
    if (!what->sent_ns) {
        unlink_addition(what);
        g_free((void *)what->name.data);
        g_free(what);
    }
    if (done)
        done(user, after, error);
}

/* Logs a reason that callers must not see. */
static void
log_reason(redis_counters *self, const char *event, const char *reason)
{
    uint64_t unlogged;
    if (kw_log_limit_allows(&self->logged, LOGGED_PER_SECOND, &unlogged))
        kw_log(KW_LOG_WARN, "sequence", event, KW_LOG_FACT("server", self->address),
               KW_LOG_FACT("reason", reason), KW_LOG_FACT("not_logged", unlogged));
}

/* Fails all unsent additions. Each callback can change the list. */
static void
fail_unsent(redis_counters *self, const char *text)
{
    kw_error error;
    kw_error_set(&error, KW_UNAVAILABLE, "%s", text);
    for (;;) {
        addition_call *what = self->all;
        while (what && what->sent_ns)
            what = what->next;
        if (!what)
            return;
        complete(what, 0, &error);
    }
}

static void
error_of_reply(redis_counters *self, const char *reply, kw_error *ret_error)
{
    static const struct {
        const char *start;
        kw_code code;
        const char *text;
    } known[] = {
        {"LOADING", KW_UNAVAILABLE, "Redis is reading its data"},
        {"BUSY", KW_UNAVAILABLE, "Redis is busy with a script"},
        {"READONLY", KW_UNAVAILABLE, "Redis is a replica, which cannot be written"},
        {"MASTERDOWN", KW_UNAVAILABLE, "Redis is a replica without its master"},
        {"TRYAGAIN", KW_UNAVAILABLE, "Redis is moving the counter"},
        {"OOM", KW_UNAVAILABLE, "Redis has no free memory"},
        {"ERR value is not an integer", KW_REFUSED, "the counter in Redis is not a number"},
        {"ERR increment or decrement would overflow", KW_REFUSED,
         "the counter in Redis has its greatest value"},
        {"WRONGTYPE", KW_REFUSED, "the counter in Redis is not a number"},
        {"NO", KW_REFUSED, "Redis denies the gateway access"}, /* NOAUTH, NOPERM */
        {"WRONGPASS", KW_REFUSED, "Redis denies the gateway access"},
    };
    log_reason(self, "Redis rejected a command", reply);
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (g_str_has_prefix(reply, known[i].start)) {
            kw_error_set(ret_error, known[i].code, "%s", known[i].text);
            return;
        }
    kw_error_set(ret_error, KW_REFUSED, "Redis rejected a command: the log of the gateway has the reason");
}

static void
on_reply(redisAsyncContext *context, void *reply, void *user)
{
    addition_call *what = user;
    const redisReply *answer = reply;
    kw_error error = KW_ERROR_NONE;
    (void)context;
    what->sent_ns = 0;
    if (!answer)
        kw_error_set(&error, KW_UNAVAILABLE, CONNECTION_LOST);
    else if (answer->type == REDIS_REPLY_ERROR)
        error_of_reply(what->counters, answer->str, &error);
    else if (answer->type != REDIS_REPLY_INTEGER)
        kw_error_set(&error, KW_CORRUPT, "Redis returned something else than a number");
    complete(what, error.code == KW_OK ? answer->integer : 0, error.code == KW_OK ? NULL : &error);
}

/* --- sending ------------------------------------------------------------------------------------------ */

static void
send_addition(redis_counters *self, addition_call *what)
{
    const char *prefix = self->prefix;
    if (redisAsyncCommand(self->context, on_reply, what, "INCRBY %s%b %lld", prefix, what->name.data,
                          what->name.size, (long long)what->amount) != REDIS_OK)
        return; /* the connection is closing; the disconnect callback fails unsent requests */
    what->sent_ns = kw_clock_mono_ns();
    if (what->keep_s > 0)
        redisAsyncCommand(self->context, NULL, NULL, "EXPIRE %s%b %lld", prefix, what->name.data,
                          what->name.size, (long long)what->keep_s);
}

static void
send_all(redis_counters *self)
{
    for (addition_call *what = self->all; what; what = what->next)
        if (!what->sent_ns && what->done)
            send_addition(self, what);
}

static void watch(redis_counters *self);

/* --- connecting --------------------------------------------------------------------------------------- */

static void
free_addresses(redis_counters *self)
{
    uv_freeaddrinfo(self->addresses);
    self->addresses = self->trying = NULL;
}

static size_t
addresses_left(const redis_counters *self)
{
    size_t left = 0;
    for (const struct addrinfo *at = self->trying; at; at = at->ai_next)
        left++;
    return left;
}

static void connect_to_address(redis_counters *self);

/* The connection to the address in use has ended. Tries the next one; without one, fails all unsent
 * additions with the text. */
static void
give_up_address(redis_counters *self, const char *text, const char *reason)
{
    self->state = REDIS_IDLE;
    log_reason(self, "cannot connect to Redis", reason);
    if (self->trying && self->trying->ai_next) {
        self->trying = self->trying->ai_next;
        connect_to_address(self);
        return;
    }
    free_addresses(self);
    fail_unsent(self, text);
}

static void
on_disconnect(const redisAsyncContext *context, int status)
{
    redis_counters *self = context->data;
    bool wanted = status == REDIS_OK;
    if (self->context != context)
        return; /* free_context ends it */
    self->context = NULL;
    if (self->state == REDIS_CONNECTING && !wanted) {
        give_up_address(self, CONNECTION_LOST, context->errstr ? context->errstr : "");
        return;
    }
    free_addresses(self);
    self->state = REDIS_IDLE;
    if (!wanted)
        log_reason(self, "connection to Redis lost", context->errstr ? context->errstr : "");
    fail_unsent(self, CONNECTION_LOST);
}

static void
on_connect(const redisAsyncContext *context, int status)
{
    redis_counters *self = context->data;
    if (status == REDIS_OK || self->context != context)
        return;
    self->context = NULL;
    give_up_address(self, NOT_REACHED, context->errstr ? context->errstr : "");
}

/* The reply to the last command of the handshake. */
static void
on_selected(redisAsyncContext *context, void *reply, void *user)
{
    redis_counters *self = user;
    const redisReply *answer = reply;
    if (!answer)
        return; /* the connection was lost; the disconnect callback reports it */
    if (answer->type != REDIS_REPLY_ERROR) {
        free_addresses(self);
        self->state = REDIS_READY;
        send_all(self);
        return;
    }
    kw_error error;
    error_of_reply(self, answer->str, &error);
    fail_unsent(self, error.text);
    redisAsyncDisconnect(context);
}

static void
connect_to_address(redis_counters *self)
{
    char ip[64] = "";
    uv_ip_name(self->trying->ai_addr, ip, sizeof ip);
    self->address_by = kw_deadline_first_part(self->connect_by, addresses_left(self));
    redisAsyncContext *context = redisAsyncConnect(ip, self->settings.redis_port);
    if (!context || context->err || !kw_redis_events_attach(context, kw_loop_uv(self->loop))) {
        char reason[160];
        snprintf(reason, sizeof reason, "%s", context && context->err ? context->errstr : "");
        if (context)
            redisAsyncFree(context);
        give_up_address(self, NOT_REACHED, reason);
        return;
    }
    self->context = context;
    self->state = REDIS_CONNECTING;
    context->data = self;
    redisAsyncSetConnectCallback(context, on_connect);
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    if (*self->settings.redis_user)
        redisAsyncCommand(context, NULL, NULL, "AUTH %s %s", self->settings.redis_user, self->password);
    else if (*self->password)
        redisAsyncCommand(context, NULL, NULL, "AUTH %s", self->password);
    redisAsyncCommand(context, on_selected, self, "SELECT %lld", (long long)self->settings.redis_database);
    watch(self);
}

static void
report_closed(redis_counters *self)
{
    free_addresses(self);
    kw_timer_free(self->timer);
    self->timer = NULL;
    self->closed(self->closed_user);
}

static void
on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    redis_counters *self = request->data;
    self->state = REDIS_IDLE;
    self->addresses = self->trying = found;
    self->connect_by = kw_deadline_in_ms(CONNECT_TIMEOUT_MS);
    if (self->closing)
        report_closed(self);
    else if (status == 0)
        connect_to_address(self);
    else
        give_up_address(self, NOT_REACHED, uv_strerror(status));
}

static void
resolve(redis_counters *self)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    self->resolving.data = self;
    self->state = REDIS_RESOLVING;
    int failed = uv_getaddrinfo(kw_loop_uv(self->loop), &self->resolving, on_resolved,
                                self->settings.redis_host, NULL, &hints);
    g_assert(failed == 0); /* it fails only for lack of memory or invalid arguments */
}

/* --- time --------------------------------------------------------------------------------------------- */

static void
watch(redis_counters *self)
{
    kw_deadline next = self->state == REDIS_CONNECTING ? self->address_by : KW_DEADLINE_NONE;
    for (addition_call *what = self->all; what; what = what->next) {
        if (what->done)
            next = kw_deadline_earlier(next, what->deadline);
        if (what->sent_ns)
            next = kw_deadline_earlier(next, what->sent_ns + SILENCE_NS);
    }
    if (next != KW_DEADLINE_NONE)
        kw_timer_start_ms(self->timer, (uint64_t)kw_deadline_left_ms(next));
}

static addition_call *
find_late(const redis_counters *self)
{
    for (addition_call *what = self->all; what; what = what->next)
        if (what->done && kw_deadline_passed(what->deadline))
            return what;
    return NULL;
}

static bool
is_stuck(const redis_counters *self)
{
    bool stuck = false;
    for (addition_call *what = self->all; what; what = what->next)
        stuck |= what->sent_ns && kw_clock_mono_ns() - what->sent_ns >= SILENCE_NS;
    return stuck;
}

/* Never called from within hiredis. Pending callbacks get a NULL reply. */
static void
free_context(redis_counters *self)
{
    redisAsyncContext *context = g_steal_pointer(&self->context);
    if (context)
        redisAsyncFree(context);
}

static void
drop_connection(redis_counters *self, const char *text)
{
    free_context(self);
    if (self->state != REDIS_RESOLVING) {
        free_addresses(self);
        self->state = REDIS_IDLE;
    }
    fail_unsent(self, text);
}

static void
on_timer(void *user)
{
    redis_counters *self = user;
    kw_error error;
    addition_call *late;
    kw_error_set(&error, KW_TIMEOUT, "Redis did not answer in time");
    while ((late = find_late(self)))
        complete(late, 0, &error);
    if (self->state == REDIS_CONNECTING && kw_deadline_passed(self->address_by)) {
        free_context(self);
        give_up_address(self, SILENT, "no answer");
    } else if (is_stuck(self)) {
        drop_connection(self, SILENT);
    }
    watch(self);
}

/* --- the class ---------------------------------------------------------------------------------------- */

static void
redis_add(kw_sequence_backend *base, const kw_addition *addition, kw_counted done, void *user)
{
    redis_counters *self = (redis_counters *)base;
    addition_call *what = g_new0(addition_call, 1);
    *what = (addition_call){
        .next = self->all,
        .counters = self,
        .name = kw_bytes_of(g_memdup2(addition->name.data, addition->name.size), addition->name.size),
        .amount = addition->amount,
        .keep_s = kw_retention_seconds(&self->settings, addition->keeping),
        .deadline = addition->deadline,
        .done = done,
        .user = user};
    if (what->next)
        what->next->before = what;
    self->all = what;
    if (self->state == REDIS_READY)
        send_addition(self, what);
    else if (self->state == REDIS_IDLE)
        resolve(self);
    watch(self);
}

static void
close_now(kw_task *task)
{
    redis_counters *self = KW_CONTAINER(task, redis_counters, close_task);
    drop_connection(self, "the gateway is stopping");
    if (self->state == REDIS_RESOLVING)
        uv_cancel((uv_req_t *)&self->resolving); /* its callback runs in any case */
    else
        report_closed(self);
}

/* Closes in a later loop iteration, because the caller can be a completion, and so within hiredis. */
static void
redis_close(kw_sequence_backend *base, void (*closed)(void *user), void *user)
{
    redis_counters *self = (redis_counters *)base;
    self->closing = true;
    self->closed = closed;
    self->closed_user = user;
    self->close_task.run = close_now;
    kw_loop_post(self->loop, &self->close_task);
}

static void
redis_free(kw_sequence_backend *base)
{
    redis_counters *self = (redis_counters *)base;
    g_assert(!self->all && !self->context);
    kw_timer_free(self->timer);
    g_free(self->prefix);
    g_free(self);
}

/* "keyway:" for the table keyway_sequences, so that installations can share a Redis as they share an HBase.
 */
static char *
prefix_of(const char *table)
{
    static const char end[] = "_sequences";
    g_assert(g_str_has_suffix(table, end));
    return g_strdup_printf("%.*s:", (int)(strlen(table) - strlen(end)), table);
}

kw_sequence_backend *
kw_sequence_backend_open_redis(const kw_model_sequences *settings, const char *password, kw_loop *loop)
{
    static const kw_sequence_backend_class class = {redis_add, redis_close, redis_free};
    redis_counters *self = g_new0(redis_counters, 1);
    self->base.class = &class;
    self->settings = *settings;
    self->password = password;
    self->prefix = prefix_of(settings->table);
    self->loop = loop;
    self->timer = kw_timer_new(loop, on_timer, self);
    snprintf(self->address, sizeof self->address, "%.250s:%u", settings->redis_host, settings->redis_port);
    return &self->base;
}
