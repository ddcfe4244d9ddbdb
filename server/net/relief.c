#include "net/relief.h"

#include "net/output.h"

#include <glib.h>
#include <poll.h>
#include <stdatomic.h>

/* When memory is used up, connections that hold more than this are not read. */
#define PAUSE_BYTES ((int64_t)32 * 1024)
/* How many waiting messages of each loop count as the oldest. */
#define OLDEST_FIRST 64
/* The rank of a message that has not waited. */
#define RANK_NEW UINT_MAX
/* An unfinished message makes progress when so many bytes arrive. */
#define PROGRESS_BYTES ((size_t)16 * 1024)
/* How long a session makes no progress before it can be closed: an unfinished message while others wait for
 * space, and any other session. */
#define CONTENDED_MS 250
#define STALL_MS 1000
/* A connection that holds less is not worth closing. */
#define VICTIM_BYTES ((int64_t)4 * 1024)

/* --- pauses -------------------------------------------------------------------------------------- */

static bool
holds_too_much(const kw_session *session)
{
    switch (kw_budget_pressure(session->account)) {
    case KW_PRESSURE_NONE:
        return false;
    case KW_PRESSURE_HIGH:
        return kw_account_is_over_share(session->account);
    case KW_PRESSURE_FULL:
        return kw_account_bytes(session->account) > PAUSE_BYTES;
    }
    g_assert_not_reached();
}

bool
kw_relief_update_paused(kw_session *session)
{
    bool paused = session->lacks > 0 || holds_too_much(session);
    if (paused == session->paused)
        return paused;
    session->paused = paused;
    session->was_paused |= paused;
    if (!paused) {
        session->worker->paused--;
        return false;
    }
    session->worker->paused++;
    kw_metrics_add(KW_METRIC_memory_pauses, 1);
    kw_net_worker_start_relief(session->worker);
    return true;
}

/* --- space for unfinished messages --------------------------------------------------------------- */

void
kw_relief_configure(kw_net_worker *worker)
{
    worker->unfinished_most = kw_budget_for_callers() / 8 * 3;
}

static int64_t
unfinished_bytes(const kw_net_worker *worker)
{
    return atomic_load_explicit(&worker->net->unfinished, memory_order_relaxed);
}

static int64_t
lacking_bytes(const kw_net_worker *worker)
{
    return atomic_load_explicit(&worker->net->lacking, memory_order_relaxed);
}

size_t
kw_relief_read_max(const kw_session *session)
{
    const kw_net_worker *worker = session->worker;
    bool is_open = session->state == KW_SESSION_OPEN;
    return is_open && unfinished_bytes(worker) > worker->unfinished_most / 3 ? KW_FRAME_BLOCK
                                                                             : KW_NET_WORKER_SCRATCH;
}

/* Updates the count of memory for unfinished messages. */
static void
count_unfinished(kw_session *session)
{
    const kw_frame *frame = session->frame;
    size_t bytes = frame && session->message_ms > 0 && frame->capacity > KW_FRAME_BLOCK ? frame->capacity : 0;
    if (bytes == session->unfinished)
        return;
    atomic_fetch_add_explicit(&session->worker->net->unfinished,
                              (int64_t)bytes - (int64_t)session->unfinished, memory_order_relaxed);
    session->unfinished = bytes;
}

static void
set_lacks(kw_session *session, size_t bytes)
{
    kw_net_worker *worker = session->worker;
    if (bytes == session->lacks)
        return;
    worker->waiting += (size_t)(bytes > 0) - (size_t)(session->lacks > 0);
    atomic_fetch_add_explicit(&worker->net->lacking, (int64_t)bytes - (int64_t)session->lacks,
                              memory_order_relaxed);
    session->lacks = bytes;
}

void
kw_relief_end_message(kw_session *session, size_t bytes)
{
    session->finished_bytes += bytes;
    session->message_ms = 0;
    set_lacks(session, 0);
    count_unfinished(session);
}

/* True if the connection has finished messages that are at least as large as its unfinished one. */
static bool
is_proven(const kw_session *session)
{
    return session->finished_bytes >= session->message_bytes;
}

/* True if the message can use `growth` more bytes. rank: the number of older messages on this loop that wait
 * on connections of the same kind, proven or not; RANK_NEW: the message has not waited. One message can
 * exceed the limit: the oldest one, or the one that already exceeds it. So one of them can always continue.
 */
static bool
has_space(const kw_session *session, size_t growth, unsigned rank)
{
    const kw_net_worker *worker = session->worker;
    int64_t most = worker->unfinished_most, used = unfinished_bytes(worker), total = used + (int64_t)growth;
    int64_t limit = is_proven(session) ? most : rank < OLDEST_FIRST ? most / 3 * 2 : most / 3;
    if (kw_budget_left(session->account) < (int64_t)growth || holds_too_much(session))
        return false;
    if ((rank == 0 || used > limit) && used - (int64_t)session->unfinished <= limit)
        return true;
    return total <= limit && (rank != RANK_NEW || worker->waiting == 0 || is_proven(session));
}

static bool
try_reserve(kw_session *session, unsigned rank)
{
    size_t have = kw_session_unparsed(session), wanted = session->message_bytes;
    size_t needed = MIN(wanted, have + KW_FRAME_READ_MIN);
    size_t growth = kw_frame_growth(session->frame, session->start, needed, wanted);
    if (growth > 0 && !has_space(session, growth, rank)) {
        set_lacks(session, growth);
        return false;
    }
    set_lacks(session, 0);
    session->frame =
        kw_frame_reserve(&session->worker->frames, session->frame, &session->start, needed, wanted);
    count_unfinished(session);
    return true;
}

void
kw_relief_continue_message(kw_session *session, size_t wanted)
{
    uint64_t now_ms = uv_now(session->handle.loop);
    size_t have = kw_session_unparsed(session);
    bool is_new = session->message_ms == 0;
    if (is_new)
        session->message_ms = now_ms;
    if (is_new || have >= session->progress_bytes + PROGRESS_BYTES) {
        session->progress_bytes = have;
        session->progress_ms = now_ms;
    }
    session->message_bytes = MAX(wanted, have + 1);
    try_reserve(session, RANK_NEW);
}

static int
compare_age(gconstpointer a, gconstpointer b)
{
    const kw_session *left = *(kw_session *const *)a, *right = *(kw_session *const *)b;
    return (left->message_ms > right->message_ms) - (left->message_ms < right->message_ms);
}

static void
give_space(kw_net_worker *worker)
{
    g_autoptr(GPtrArray) waiting = g_ptr_array_new();
    unsigned ranks[2] = {0, 0};
    for (kw_session *session = worker->sessions; session; session = session->next)
        if (session->lacks > 0)
            g_ptr_array_add(waiting, session);
    g_ptr_array_sort(waiting, compare_age);
    for (guint i = 0; i < waiting->len; i++) {
        kw_session *session = waiting->pdata[i];
        if (!try_reserve(session, ranks[is_proven(session)]++))
            continue;
        kw_relief_update_paused(session);
        kw_session_mark_dirty(session);
    }
}

/* --- who is closed ------------------------------------------------------------------------------- */

/* In the order in which they are closed. */
typedef enum stall { STALL_CONTENDED, STALL_UNFINISHED, STALL_UNREAD, STALL_NONE } stall;

typedef struct victim {
    kw_session *session;
    stall stall;
    uint64_t since_ms;
} victim;

static stall
stall_of_message(const kw_session *session, uint64_t stalled_ms)
{
    bool contended = session->unfinished > 0 && lacking_bytes(session->worker) > 0;
    if (!session->reading || session->message_ms == 0)
        return STALL_NONE;
    if (contended && stalled_ms >= CONTENDED_MS)
        return STALL_CONTENDED;
    return stalled_ms >= STALL_MS && kw_budget_excess() > 0 ? STALL_UNFINISHED : STALL_NONE;
}

static stall
stall_of_replies(const kw_session *session, uint64_t stalled_ms)
{
    bool is_short = kw_budget_is_in_reserve() || kw_budget_pressure(session->account) == KW_PRESSURE_FULL;
    return session->sending_now && stalled_ms >= STALL_MS && is_short ? STALL_UNREAD : STALL_NONE;
}

/* Returns how the session holds memory without progress, for so long that it can be closed. */
static stall
stall_of(const kw_session *session, uint64_t now_ms, uint64_t *ret_since_ms)
{
    bool in_handshake = session->state == KW_SESSION_HANDSHAKE;
    uint64_t since_ms = in_handshake ? session->message_ms : session->progress_ms;
    if (session->state >= KW_SESSION_LINGERING || kw_account_bytes(session->account) < VICTIM_BYTES)
        return STALL_NONE;
    *ret_since_ms = since_ms;
    stall found = stall_of_message(session, now_ms - since_ms);
    if (found != STALL_NONE)
        return found;
    *ret_since_ms = session->peer_read_ms;
    return stall_of_replies(session, now_ms - session->peer_read_ms);
}

static gint
compare_victims(gconstpointer a, gconstpointer b)
{
    const victim *left = a, *right = b;
    if (left->stall != right->stall)
        return left->stall < right->stall ? -1 : 1;
    return (left->since_ms > right->since_ms) - (left->since_ms < right->since_ms);
}

/* True if the peer has made progress that the loop has not seen yet because it was busy. */
static bool
has_moved(const victim *one)
{
    struct pollfd at = {.events = one->stall == STALL_UNREAD ? POLLOUT : POLLIN};
    return uv_fileno((const uv_handle_t *)&one->session->handle, &at.fd) == 0 && poll(&at, 1, 0) > 0;
}

static void
close_victim(const victim *one)
{
    kw_session *session = one->session;
    bool unread = one->stall == STALL_UNREAD;
    kw_metrics_add(unread ? KW_METRIC_memory_closed : KW_METRIC_memory_closed_unfinished, 1);
    kw_net_worker_log_broken(session->worker, session->peer,
                             unread ? "memory is short and the peer does not read its replies"
                             : session->state == KW_SESSION_HANDSHAKE
                                 ? "memory is short and the peer does not continue the TLS handshake"
                                 : "memory is short and the peer does not send the rest of its message");
    kw_session_close(session);
}

/* Closes as many as necessary to end the pressure, and to give space to the messages that wait. */
static void
close_victims(kw_net_worker *worker, uint64_t now_ms)
{
    g_autoptr(GArray) victims = g_array_new(FALSE, FALSE, sizeof(victim));
    for (kw_session *session = worker->sessions; session; session = session->next) {
        victim one = {.session = session};
        one.stall = stall_of(session, now_ms, &one.since_ms);
        if (one.stall != STALL_NONE)
            g_array_append_val(victims, one);
    }
    g_array_sort(victims, compare_victims);
    int64_t excess = kw_budget_excess(), lacking = lacking_bytes(worker), freed = 0;
    for (guint i = 0; i < victims->len; i++) {
        const victim *one = &g_array_index(victims, victim, i);
        if (freed >= (one->stall == STALL_CONTENDED ? MAX(excess, lacking) : excess))
            continue;
        if (has_moved(one))
            continue;
        freed += kw_account_bytes(one->session->account);
        close_victim(one);
    }
}

/* --- while memory is short ----------------------------------------------------------------------- */

bool
kw_relief_is_needed(const kw_net_worker *worker)
{
    return worker->paused > 0 || kw_budget_pressure(NULL) != KW_PRESSURE_NONE || lacking_bytes(worker) > 0;
}

void
kw_relief_run(kw_net_worker *worker, uint64_t now_ms)
{
    for (kw_session *session = worker->sessions; session; session = session->next) {
        if (session->state >= KW_SESSION_CLOSING)
            continue;
        kw_output_note_progress(session, now_ms);
        if (session->paused && !kw_relief_update_paused(session))
            kw_session_mark_dirty(session);
    }
    if (worker->waiting > 0)
        give_space(worker);
    close_victims(worker, now_ms);
}
