/* Advice in sentences: the effect of each rule on writes and queries, then the gains and costs of each
 * candidate compared with the first. */
#include "advise/advise_internal.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Smaller ratios are not mentioned. */
#define NOTABLE 1.25

/* Maximum number of gains or costs in one sentence; the others are counted. */
#define ITEMS_SHOWN 6

typedef struct texts {
    const char **items;
    size_t count, capacity;
    kw_arena *arena;
} texts;

static void __attribute__((format(printf, 2, 3))) add_sentence(texts *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (to->count == to->capacity) {
        size_t capacity = to->capacity ? to->capacity * 2 : 8;
        const char **items = KW_ARENA_ARRAY(to->arena, const char *, capacity);
        if (to->count > 0)
            memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->count++] = kw_arena_text(to->arena, kw_bytes_of_text(text));
}

/* "minute", "5 minutes", "1/60 of the sample" */
static const char *
window_name(const kw_advice *advice, kw_arena *arena)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{86400000, "day"}, {3600000, "hour"}, {60000, "minute"}, {1000, "second"}, {1, "ms"}};
    if (advice->window_ms == 0)
        return kw_arena_printf(arena, "1/%zu of the sample", advice->windows);
    for (size_t index = 0; index < G_N_ELEMENTS(units); index++) {
        int64_t count = advice->window_ms / units[index].ms;
        if (advice->window_ms % units[index].ms == 0)
            return count == 1 ? units[index].name
                              : kw_arena_printf(arena, "%" G_GINT64_FORMAT " %ss", count, units[index].name);
    }
    g_assert_not_reached();
}

/* The article before a window's name. */
static const char *
article(const char *window)
{
    return g_ascii_isdigit(*window) ? "" : *window == 'h' ? "an " : "a ";
}

/* --- one path ---------------------------------------------------------------------------------------- */

/* How many records the hottest place can have by chance alone, as a multiple of the mean, if the records are
 * spread at random over `places` places. */
static double
chance(size_t records, size_t places)
{
    double mean = (double)records / (double)places;
    return 1 + 1.5 * sqrt(2 * log((double)places) / MAX(mean, 0.1));
}

/* True if more buckets are empty than chance would leave. */
static bool
misses_buckets(size_t records, const kw_spread *spread)
{
    double places = (double)spread->places, empty = (double)(spread->places - spread->reached);
    return empty > 0 && empty > 2 * places * exp(-(double)records / places) + (spread->places > 64 ? 3 : 0);
}

static void
describe_buckets(texts *to, const char *subject, const kw_advised_path *path)
{
    const kw_spread *spread = &path->buckets;
    if (!path->bucket || path->records < 4 * spread->places)
        return;
    if (misses_buckets(path->records, spread))
        add_sentence(
            to, "%s: %s reaches only %zu of %zu buckets, the hottest with %.1f x the mean: %s", subject,
            path->bucket, spread->reached, spread->places, spread->hottest_to_mean,
            strstr(path->bucket, "xxh64")
                ? "its fields have too few different values in the sample; add a field with more values to it"
                : "this algorithm does not spread its values; the default algorithm of salt does");
    else if (spread->hottest_to_mean > MAX(1.2, chance(path->records, spread->places)))
        add_sentence(to, "%s: %s reaches all %zu buckets unevenly: the hottest gets %.1f x the mean", subject,
                     path->bucket, spread->places, spread->hottest_to_mean);
    else
        add_sentence(to, "%s: %s spreads the writes evenly over all %zu buckets (hottest / mean %.2f)",
                     subject, path->bucket, spread->places, spread->hottest_to_mean);
}

static void
describe_regions(texts *to, const char *subject, const kw_advised_path *path, const char *window)
{
    const kw_spread *spread = &path->regions;
    if (spread->places < 2 || spread->window_places == 0)
        return;
    if (spread->window_places < 1.5)
        add_sentence(to,
                     "%s: in a typical %s%s, %.0f %% of the writes go to one of %zu regions, so one region "
                     "server limits the writes of the table",
                     subject, g_ascii_isdigit(*window) ? "stretch of " : "", window,
                     100 * spread->window_share, spread->places);
    else if (spread->window_places < 0.5 * (double)spread->places)
        add_sentence(to, "%s: the writes of %s%s go to about %.1f of %zu regions", subject, article(window),
                     window, spread->window_places, spread->places);
    else
        add_sentence(to, "%s: the writes of %s%s spread over the regions (effectively %.1f of %zu)", subject,
                     article(window), window, spread->window_places, spread->places);
}

static void
describe_path(texts *to, const kw_candidate *candidate, const kw_advised_path *path, const char *window,
              kw_arena *arena)
{
    const char *subject = kw_arena_printf(arena, "%s, path %s", candidate->name, path->path->name);
    if (path->rejected > 0)
        add_sentence(to, "%s: %zu records get no key (%s)", subject, path->rejected, path->rejection);
    if (path->records == 0)
        return;
    if (path->duplicates > 0)
        add_sentence(
            to, "%s: %zu records have the same key as another record, so only the last one written remains",
            subject, path->duplicates);
    describe_buckets(to, subject, path);
    describe_regions(to, subject, path, window);
    for (size_t index = 0; index < path->lost_count; index++)
        add_sentence(to,
                     "%s: the rule loses the order of %s: rows cannot be sorted by it, and a range of it "
                     "is not a range of keys",
                     subject, candidate->table->fields[path->lost[index]].name);
}

/* --- queries ----------------------------------------------------------------------------------------- */

static double
measured_reads_per_row(const kw_advised_query *query)
{
    return query->matching ? (double)query->scanned / (double)query->matching : 0;
}

static void
describe_query(texts *to, const kw_candidate *candidate, const kw_candidate_query *from,
               const kw_advised_query *query)
{
    if (query->refusal)
        add_sentence(to, "%s: \"%s\" is rejected: %s", candidate->name, from->name, query->refusal);
    else if (measured_reads_per_row(query) > 2)
        add_sentence(to, "%s: \"%s\" reads %.1f rows of the sample for each row returned", candidate->name,
                     from->name, measured_reads_per_row(query));
    else if (query->matching == 0 && query->scanned > 0)
        add_sentence(to, "%s: \"%s\" reads %zu rows of the sample and returns none", candidate->name,
                     from->name, query->scanned);
}

/* --- one candidate against another -------------------------------------------------------------------- */

typedef struct comparison {
    texts gains;
    texts costs;
} comparison;

/* The path whose regions share a window's writes least evenly: it limits the write rate. */
static const kw_spread *
tightest(const kw_candidate *candidate, const kw_advised *advised)
{
    const kw_spread *least = &advised->paths[0].regions;
    for (size_t index = 1; index < candidate->table->queried_paths_count; index++) {
        if (advised->paths[index].regions.window_places < least->window_places)
            least = &advised->paths[index].regions;
    }
    return least;
}

static void
compare_writes(comparison *to, const kw_spread *spread, const kw_spread *base, const char *window)
{
    if (spread->window_places == 0 || base->window_places == 0)
        return;
    bool better = spread->window_places > base->window_places * NOTABLE;
    if (better || base->window_places > spread->window_places * NOTABLE)
        add_sentence(
            better ? &to->gains : &to->costs,
            "the writes of %s%s go to %.1f regions instead of %.1f (hottest %.0f %% instead of %.0f %%)",
            article(window), window, spread->window_places, base->window_places, 100 * spread->window_share,
            100 * base->window_share);
}

static void
compare_answers(comparison *to, const char *name, const kw_advised_query *query, const kw_advised_query *base)
{
    if (query->ranges != base->ranges)
        add_sentence(query->ranges < base->ranges ? &to->gains : &to->costs,
                     "\"%s\" reads %zu range%s instead of %zu", name, query->ranges,
                     query->ranges == 1 ? "" : "s", base->ranges);
    double real = measured_reads_per_row(query), real_base = measured_reads_per_row(base);
    if (real > real_base * NOTABLE || real_base > real * NOTABLE)
        add_sentence(real < real_base ? &to->gains : &to->costs,
                     "\"%s\" reads %.2f rows per row returned instead of %.2f", name, real, real_base);
    if (query->ordered != base->ordered)
        add_sentence(query->ordered ? &to->gains : &to->costs, "\"%s\" %s sorted", name,
                     query->ordered ? "is" : "is no longer");
}

static void
compare_query(comparison *to, const char *name, const kw_advised_query *query, const kw_advised_query *base)
{
    if (query->refusal && base->refusal)
        return;
    if (query->refusal)
        add_sentence(&to->costs, "\"%s\" is rejected", name);
    else if (base->refusal)
        add_sentence(&to->gains, "\"%s\" is accepted (%zu range%s)", name, query->ranges,
                     query->ranges == 1 ? "" : "s");
    else
        compare_answers(to, name, query, base);
}

static void
compare_keys(comparison *to, const kw_advised *one, size_t stores, const kw_advised *base, size_t base_stores)
{
    double longer = one->paths[0].key_bytes_mean - base->paths[0].key_bytes_mean;
    if (fabs(longer) >= 0.5)
        add_sentence(longer < 0 ? &to->gains : &to->costs, "a key is %.0f byte%s %s", fabs(longer),
                     fabs(longer) < 1.5 ? "" : "s", longer < 0 ? "shorter" : "longer");
    if (stores != base_stores)
        add_sentence(stores < base_stores ? &to->gains : &to->costs,
                     "a record is written %zu times instead of %zu", stores, base_stores);
}

static const char *
joined(const texts *from, kw_arena *arena)
{
    const char *all = "";
    for (size_t index = 0; index < from->count && index < ITEMS_SHOWN; index++)
        all = kw_arena_printf(arena, "%s%s%s", all, index ? "; " : "", from->items[index]);
    if (from->count > ITEMS_SHOWN)
        all = kw_arena_printf(arena, "%s; and %zu more", all, from->count - ITEMS_SHOWN);
    return all;
}

static void
describe_trade(texts *to, const char *name, const char *base, const comparison *found)
{
    const char *gains = joined(&found->gains, to->arena), *costs = joined(&found->costs, to->arena);
    if (*gains && *costs)
        add_sentence(to, "%s compared with %s: gains: %s. Costs: %s", name, base, gains, costs);
    else if (*gains)
        add_sentence(to, "%s compared with %s: gains: %s. No costs in this sample", name, base, gains);
    else if (*costs)
        add_sentence(to, "%s compared with %s: no gains. Costs: %s", name, base, costs);
    else
        add_sentence(to, "%s and %s give equal results for this sample", name, base);
}

static void
compare(texts *to, const kw_candidate *candidates, size_t which, const kw_advise_settings *settings,
        const kw_advice *advice, const char *window)
{
    comparison found = {.gains.arena = to->arena, .costs.arena = to->arena};
    const kw_candidate *candidate = &candidates[which];
    const kw_advised *one = &advice->candidates[which], *base = &advice->candidates[0];
    compare_writes(&found, tightest(candidate, one), tightest(&candidates[0], base), window);
    for (size_t index = 0; index < settings->queries_count; index++)
        compare_query(&found, candidate->queries[index].name, &one->queries[index], &base->queries[index]);
    compare_keys(&found, one, candidate->table->paths_count, base, candidates[0].table->paths_count);
    describe_trade(to, candidate->name, candidates[0].name, &found);
}

void
kw_advise_words(const kw_candidate *candidates, size_t count, const kw_advise_settings *settings,
                kw_arena *arena, kw_advice *advice)
{
    texts to = {.arena = arena};
    const char *window = window_name(advice, arena);
    for (size_t which = 0; which < count; which++) {
        const kw_advised *advised = &advice->candidates[which];
        for (size_t index = 0; index < candidates[which].table->queried_paths_count; index++)
            describe_path(&to, &candidates[which], &advised->paths[index], window, arena);
        for (size_t index = 0; index < settings->queries_count; index++)
            describe_query(&to, &candidates[which], &candidates[which].queries[index],
                           &advised->queries[index]);
    }
    for (size_t which = 1; which < count; which++)
        compare(&to, candidates, which, settings, advice, window);
    advice->words = to.items;
    advice->words_count = to.count;
}
