#include "service/line.h"

/* While somebody waits for a caller that takes no replies, it is looked after so often. */
#define LOOK_MS 10

struct kw_line {
    kw_lines *lines;
    kw_account *account; /* that of its exchanges */
    uint32_t members;    /* exchanges that have entered and not left */
    uint32_t large;      /* of them: large ones that run */
    GQueue waiting;
    bool starting;
};

struct kw_lines {
    GHashTable *all; /* account -> kw_line, those with an exchange in them */
    kw_timer *look;
    bool looking;
};

/* --- starting ----------------------------------------------------------------------------------- */

/* A caller that has not taken any reply yet gets one large page, and one more each time that it has taken all
 * that there was. */
static uint32_t
large_most(const kw_exchange *exchange)
{
    uint64_t drained = kw_request_drained(exchange->request);
    return (uint32_t)MIN(1 + drained, KW_LINE_LARGE_MAX);
}

static bool
may_start(const kw_line *line, const kw_exchange *exchange)
{
    if (kw_account_has_left(exchange->account))
        return true; /* and ends at once */
    return kw_request_unsent(exchange->request) <= KW_LINE_UNSENT_MAX &&
           !(exchange->large && line->large >= large_most(exchange));
}

static void
look_again(kw_lines *lines)
{
    if (lines->looking)
        return;
    lines->looking = true;
    kw_timer_start_ms(lines->look, LOOK_MS);
}

/* Exchanges that start may end at once and come back here. The line goes when nobody is left in it. */
static void
start_waiting(kw_line *line)
{
    kw_lines *lines = line->lines;
    if (line->starting)
        return;
    line->starting = true;
    for (kw_exchange *next; (next = g_queue_peek_head(&line->waiting)) && may_start(line, next);) {
        g_queue_unlink(&line->waiting, &next->link);
        next->line_waits = false;
        line->large += next->large;
        next->line_start(next);
    }
    line->starting = false;
    if (line->waiting.length > 0)
        look_again(lines);
    if (line->members == 0)
        g_hash_table_remove(lines->all, line->account);
}

static void
look(void *user)
{
    kw_lines *lines = user;
    g_autoptr(GList) all = g_hash_table_get_values(lines->all);
    lines->looking = false;
    for (GList *at = all; at; at = at->next)
        start_waiting(at->data);
}

/* --- coming and going --------------------------------------------------------------------------- */

static kw_line *
line_of(kw_lines *lines, kw_account *account)
{
    kw_line *line = g_hash_table_lookup(lines->all, account);
    if (line)
        return line;
    line = g_new0(kw_line, 1);
    line->lines = lines;
    line->account = account;
    g_queue_init(&line->waiting);
    g_hash_table_insert(lines->all, account, line);
    return line;
}

void
kw_line_enter(kw_exchange *exchange, bool large, void (*start)(kw_exchange *exchange))
{
    kw_lines *lines = exchange->worker->lines;
    kw_line *line = g_hash_table_lookup(lines->all, exchange->account);
    if (!line && !large && kw_request_unsent(exchange->request) <= KW_LINE_UNSENT_MAX) {
        start(exchange);
        return;
    }
    line = line_of(lines, exchange->account);
    line->members++;
    exchange->line = line;
    exchange->large = large;
    exchange->line_start = start;
    exchange->line_waits = true;
    exchange->link.data = exchange;
    g_queue_push_tail_link(&line->waiting, &exchange->link);
    start_waiting(line);
}

void
kw_line_leave(kw_exchange *exchange)
{
    kw_line *line = exchange->line;
    if (!line)
        return;
    exchange->line = NULL;
    line->members--;
    if (exchange->line_waits)
        g_queue_unlink(&line->waiting, &exchange->link);
    else
        line->large -= exchange->large;
    exchange->line_waits = false;
    start_waiting(line);
}

bool
kw_line_is_waiting(const kw_exchange *exchange)
{
    return exchange->line && exchange->line_waits;
}

/* --- life --------------------------------------------------------------------------------------- */

kw_lines *
kw_lines_new(kw_loop *loop)
{
    kw_lines *lines = g_new0(kw_lines, 1);
    lines->all = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    lines->look = kw_timer_new(loop, look, lines);
    return lines;
}

void
kw_lines_free(kw_lines *lines)
{
    if (!lines)
        return;
    g_assert(g_hash_table_size(lines->all) == 0);
    g_hash_table_destroy(lines->all);
    kw_timer_free(lines->look);
    g_free(lines);
}
