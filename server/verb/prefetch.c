/* See prefetch.h.
 *
 *   next(cursor) --> page is ready?     --> answer, and prefetch the next page with the same scan
 *               \--> page is being read? --> answer when it arrives
 *                \-> neither             --> kw_verb_next, and prefetch the next page with a new scan
 */
#include "verb/prefetch.h"

#include "base/metrics.h"
#include "verb/page.h"
#include "verb/scan.h"

#include <glib.h>

/* A prefetch is aborted after this time. A caller that waits for it then reads the page itself. */
#define READ_MS 3000
/* Callers that show pages to people request fewer rows and often stop after the first page. */
#define MANY_ROWS 1000

typedef struct prefetched_page {
    GList link;
    kw_page_prefetcher *of;
    kw_call call;    /* the prefetch's own arena, references and deadline */
    kw_bytes cursor; /* the page is the answer to this cursor */
    kw_scan *scan;   /* reads this page and the following one */
    uint64_t writes; /* count of writes when the read began */
    kw_deadline scan_until;
    kw_deadline stale_at; /* set once the page is ready */
    bool ready;
    kw_scan_page page;
    kw_call *waiter; /* the call that already waits for the page, or NULL */
    kw_scan_done done;
    void *user;
} prefetched_page;

struct kw_page_prefetcher {
    kw_loop *loop;
    const _Atomic uint64_t *writes;
    GQueue pages;
    uint32_t reading; /* prefetches in flight */
    kw_timer *sweep;
    bool closing;
};

static void begin(kw_page_prefetcher *prefetcher, const kw_call *like, kw_bytes cursor, uint64_t writes);
static void begin_after(prefetched_page *before);

static void
page_free(prefetched_page *page)
{
    kw_scan_free(page->scan);
    kw_call_release(&page->call);
}

/* Aborts a read in flight at once, so that closing the store handle does not wait for it. */
static void
forget(prefetched_page *page)
{
    g_queue_unlink(&page->of->pages, &page->link);
    kw_metrics_add(KW_METRIC_pages_prefetched_unused, 1);
    page->of->reading -= !page->ready;
    page_free(page);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Starts the next prefetch first, so that the store works while this page is encoded. The caller then owns
 * the page's memory. */
static void
deliver(prefetched_page *page, kw_call *waiter, kw_scan_done done, void *user)
{
    g_queue_unlink(&page->of->pages, &page->link);
    kw_metrics_add(KW_METRIC_pages_prefetched_used, 1);
    if (page->page.cursor.size)
        begin_after(page);
    kw_scan_free(g_steal_pointer(&page->scan));
    kw_scan_page read = page->page;
    kw_call_release_into(&page->call, waiter->arena);
    done(user, &read, NULL);
}

/* Drops a failed prefetch. If a call waits for it, that call reads the page again within its own deadline. */
static void
arrived(void *user, const kw_scan_page *read, const kw_error *error)
{
    prefetched_page *page = user;
    kw_page_prefetcher *prefetcher = page->of;
    prefetcher->reading--;
    kw_call *waiter = page->waiter;
    kw_scan_done done = page->done;
    void *done_user = page->user;
    if (error) {
        g_queue_unlink(&prefetcher->pages, &page->link);
        if (waiter)
            kw_verb_next(waiter, kw_arena_copy(waiter->arena, page->cursor), done, done_user);
        page_free(page);
        return;
    }
    page->page = *read;
    page->ready = true;
    page->stale_at = kw_deadline_in_ms(KW_PREFETCH_MS);
    if (waiter)
        deliver(page, waiter, done, done_user);
    else
        kw_timer_start_ms(prefetcher->sweep, KW_PREFETCH_MS + 1);
}

static void
sweep(void *user)
{
    kw_page_prefetcher *prefetcher = user;
    bool left = false;
    for (GList *at = prefetcher->pages.head, *next; at; at = next) {
        prefetched_page *page = at->data;
        next = at->next;
        if (page->ready && kw_deadline_passed(page->stale_at))
            forget(page);
        else
            left = left || page->ready;
    }
    if (left)
        kw_timer_start_ms(prefetcher->sweep, KW_PREFETCH_MS / 4);
}

/* --- prefetching ------------------------------------------------------------------------------ */

/* Makes space for one page: if necessary, drops the oldest page that no call waits for. False if calls wait
 * for all pages. */
static bool
make_space(kw_page_prefetcher *prefetcher)
{
    if (prefetcher->pages.length < KW_PREFETCH_PAGES_MAX)
        return true;
    for (GList *at = prefetcher->pages.head; at; at = at->next) {
        prefetched_page *page = at->data;
        if (!page->waiter) {
            forget(page);
            return true;
        }
    }
    return false;
}

/* True if prefetching is worthwhile and possible: no write was acknowledged since the preceding page was
 * read, memory is not short, not too many prefetches are in flight, and there is space for a page. Makes this
 * space. */
static bool
is_worth_it(kw_page_prefetcher *prefetcher, uint64_t writes)
{
    return !prefetcher->closing && atomic_load(prefetcher->writes) == writes &&
           prefetcher->reading < KW_PREFETCH_PAGES_MAX && kw_budget_pressure(NULL) == KW_PRESSURE_NONE &&
           make_space(prefetcher);
}

/* While memory is short, drops the pages that no call waits for. */
static void
relieve(kw_page_prefetcher *prefetcher)
{
    if (kw_budget_pressure(NULL) == KW_PRESSURE_NONE)
        return;
    for (GList *at = prefetcher->pages.head, *next; at; at = next) {
        prefetched_page *page = at->data;
        next = at->next;
        if (!page->waiter)
            forget(page);
    }
}

static void
read_page(kw_page_prefetcher *prefetcher, const kw_call *like, kw_bytes cursor, uint64_t writes,
          kw_scan *scan, kw_deadline scan_until)
{
    kw_call call = kw_call_copy(like);
    prefetched_page *page = KW_ARENA_NEW(call.arena, prefetched_page);
    page->of = prefetcher;
    page->scan = scan;
    page->scan_until = scan_until;
    page->writes = writes;
    page->call = call;
    page->call.deadline = kw_deadline_in_ms(READ_MS);
    page->call.request_id = "read-ahead";
    page->cursor = kw_arena_copy(call.arena, cursor);
    page->link.data = page;
    g_queue_push_tail_link(&prefetcher->pages, &page->link);
    prefetcher->reading++;
    kw_scan_next(scan, &page->call, arrived, page);
}

/* writes: the count of writes when the preceding page was read. */
static void
begin(kw_page_prefetcher *prefetcher, const kw_call *like, kw_bytes cursor, uint64_t writes)
{
    kw_error error;
    kw_scan *scan = is_worth_it(prefetcher, writes) ? kw_scan_of_cursor(like, cursor, &error) : NULL;
    if (scan)
        read_page(prefetcher, like, cursor, writes, scan, kw_deadline_in_ms(KW_PREFETCH_SCAN_MS));
}

/* Prefetches the following page with the same scan, or with a new one if the scan's time is over, because its
 * buffered rows become stale. */
static void
begin_after(prefetched_page *before)
{
    kw_page_prefetcher *prefetcher = before->of;
    if (kw_deadline_passed(before->scan_until)) {
        begin(prefetcher, &before->call, before->page.cursor, before->writes);
        return;
    }
    if (is_worth_it(prefetcher, before->writes))
        read_page(prefetcher, &before->call, before->page.cursor, before->writes,
                  g_steal_pointer(&before->scan), before->scan_until);
}

static prefetched_page *
find(kw_page_prefetcher *prefetcher, const kw_call *call, kw_bytes cursor)
{
    for (GList *at = prefetcher->pages.head; at; at = at->next) {
        prefetched_page *page = at->data;
        if (!page->waiter && page->cursor.size == cursor.size && kw_bytes_equal(page->cursor, cursor) &&
            kw_bytes_equal(page->call.identity, call->identity))
            return page;
    }
    return NULL;
}

/* True if the call can get this page: no write was acknowledged since the page was read, and the policy and
 * the keyring are still the same. The page must not be stale. If it is still being read, its deadline must be
 * before that of the call. */
static bool
is_usable(const kw_page_prefetcher *prefetcher, const prefetched_page *page, const kw_call *call)
{
    if (page->writes != atomic_load(prefetcher->writes) || page->call.policy != call->policy ||
        page->call.keyring != call->keyring)
        return false;
    return page->ready ? !kw_deadline_passed(page->stale_at) : call->deadline > page->call.deadline;
}

/* A call whose page was not prefetched. */
typedef struct plain_page {
    kw_page_prefetcher *prefetcher;
    const kw_call *call;
    uint64_t writes;
    kw_scan *scan; /* the scan of a first page; it also reads the second if the first had many rows */
    kw_scan_done done;
    void *user;
} plain_page;

static void
next_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    plain_page *self = user;
    if (page && page->cursor.size)
        begin(self->prefetcher, self->call, page->cursor, self->writes);
    self->done(self->user, page, error);
}

static void
first_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    plain_page *self = user;
    if (page && page->cursor.size && page->count >= MANY_ROWS && is_worth_it(self->prefetcher, self->writes))
        read_page(self->prefetcher, self->call, page->cursor, self->writes, self->scan,
                  kw_deadline_in_ms(KW_PREFETCH_SCAN_MS));
    else
        kw_scan_free(self->scan);
    self->done(self->user, page, error);
}

static bool
wants_many(const kw_call *call, const kw_scan_request *request)
{
    uint32_t rows = kw_page_limits_of(call, request).rows;
    return rows >= MANY_ROWS && (request->limit == 0 || request->limit > rows);
}

void
kw_page_prefetcher_scan(kw_page_prefetcher *prefetcher, kw_call *call, const kw_scan_request *request,
                        kw_scan_done done, void *user)
{
    kw_error error;
    relieve(prefetcher);
    if (!wants_many(call, request)) {
        kw_verb_scan(call, request, done, user);
        return;
    }
    plain_page *self = KW_ARENA_NEW(call->arena, plain_page);
    *self = (plain_page){prefetcher, call, atomic_load(prefetcher->writes), NULL, done, user};
    self->scan = kw_scan_of_request(call, request, &error);
    if (self->scan)
        kw_scan_next(self->scan, call, first_done, self);
    else
        done(user, NULL, &error);
}

void
kw_page_prefetcher_next(kw_page_prefetcher *prefetcher, kw_call *call, kw_bytes cursor, kw_scan_done done,
                        void *user)
{
    relieve(prefetcher);
    prefetched_page *page = find(prefetcher, call, cursor);
    if (page && !is_usable(prefetcher, page, call)) {
        forget(page);
        page = NULL;
    }
    if (page && page->ready) {
        deliver(page, call, done, user);
        return;
    }
    if (page) {
        page->waiter = call;
        page->done = done;
        page->user = user;
        return;
    }
    plain_page *self = KW_ARENA_NEW(call->arena, plain_page);
    *self = (plain_page){prefetcher, call, atomic_load(prefetcher->writes), NULL, done, user};
    kw_verb_next(call, cursor, next_done, self);
}

/* --- creating and freeing --------------------------------------------------------------------- */

kw_page_prefetcher *
kw_page_prefetcher_new(kw_loop *loop, const _Atomic uint64_t *writes)
{
    kw_page_prefetcher *prefetcher = g_new0(kw_page_prefetcher, 1);
    prefetcher->loop = loop;
    prefetcher->writes = writes;
    g_queue_init(&prefetcher->pages);
    prefetcher->sweep = kw_timer_new(loop, sweep, prefetcher);
    return prefetcher;
}

void
kw_page_prefetcher_close(kw_page_prefetcher *prefetcher)
{
    prefetcher->closing = true;
    kw_timer_free(g_steal_pointer(&prefetcher->sweep));
    for (GList *at = prefetcher->pages.head, *next; at; at = next) {
        prefetched_page *page = at->data;
        next = at->next;
        if (!page->waiter)
            forget(page);
    }
}

void
kw_page_prefetcher_free(kw_page_prefetcher *prefetcher)
{
    g_assert(prefetcher->reading == 0 && prefetcher->pages.length == 0);
    g_free(prefetcher);
}
