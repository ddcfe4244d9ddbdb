/* Advice in sentences: the effect of each rule on writes and queries, then the gains and costs of each
 * candidate compared with the first. */
#include "advise/advise_internal.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Smaller ratios are not mentioned. */
#define NOTABLE 1.25

/* Most gains or costs in one sentence; the others are counted. */
#define ITEMS_SHOWN 6

typedef struct texts {
    const char **items;
    size_t count, room;
    kw_arena *arena;
} texts;

static void __attribute__((format(printf, 2, 3))) say(texts *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (to->count == to->room) {
        size_t room = to->room ? to->room * 2 : 8;
        const char **items = KW_ARENA_ARRAY(to->arena, const char *, room);
        if (to->count > 0)
            memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->room = room;
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

/* The share of the hottest of `places` places that chance can produce, as a multiple of the mean. */
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
say_buckets(texts *to, const char *who, const kw_advised_path *path)
{
    const kw_spread *spread = &path->buckets;
    if (!path->bucket || path->records < 4 * spread->places)
        return;
    if (misses_buckets(path->records, spread))
        say(to, "%s: %s reaches only %zu of %zu buckets, the hottest with %.1f x the mean: %s", who,
            path->bucket, spread->reached, spread->places, spread->hottest_to_mean,
            strstr(path->bucket, "xxh64")
                ? "its fields have too few different values in the sample; let a field with more of them "
                  "decide, too"
                : "its values do not suit this rule; a salt that names no algorithm spreads them evenly");
    else if (spread->hottest_to_mean > MAX(1.2, chance(path->records, spread->places)))
        say(to, "%s: %s reaches all %zu buckets unevenly: the hottest gets %.1f x the mean", who,
            path->bucket, spread->places, spread->hottest_to_mean);
    else
        say(to, "%s: %s spreads the writes evenly over all %zu buckets (hottest / mean %.2f)", who,
            path->bucket, spread->places, spread->hottest_to_mean);
}

static void
say_regions(texts *to, const char *who, const kw_advised_path *path, const char *window)
{
    const kw_spread *spread = &path->regions;
    if (spread->places < 2 || spread->window_places == 0)
        return;
    if (spread->window_places < 1.5)
        say(to,
            "%s: in a typical %s%s, %.0f %% of the writes go to one of %zu regions: the table takes no more "
            "writes than one region server does",
            who, g_ascii_isdigit(*window) ? "stretch of " : "", window, 100 * spread->window_share,
            spread->places);
    else if (spread->window_places < 0.5 * (double)spread->places)
        say(to, "%s: the writes of %s%s go to about %.1f of %zu regions", who, article(window), window,
            spread->window_places, spread->places);
    else
        say(to, "%s: the writes of %s%s spread over the regions (as over %.1f even ones of %zu)", who,
            article(window), window, spread->window_places, spread->places);
}

static void
say_path(texts *to, const kw_candidate *candidate, const kw_advised_path *path, const char *window,
         kw_arena *arena)
{
    const char *who = kw_arena_printf(arena, "%s, path %s", candidate->name, path->path->name);
    if (path->rejected > 0)
        say(to, "%s: %zu records get no key (%s)", who, path->rejected, path->rejection);
    if (path->records == 0)
        return;
    if (path->duplicates > 0)
        say(to, "%s: %zu records share their key with another one: later ones replace earlier ones", who,
            path->duplicates);
    say_buckets(to, who, path);
    say_regions(to, who, path, window);
    for (size_t index = 0; index < path->lost_count; index++)
        say(to, "%s: rows cannot be read in the order of %s, nor by a range of it", who,
            candidate->table->fields[path->lost[index]].name);
}

/* --- queries ----------------------------------------------------------------------------------------- */

static double
real_efficiency(const kw_advised_question *question)
{
    return question->matching ? (double)question->scanned / (double)question->matching : 0;
}

static void
say_question(texts *to, const kw_candidate *candidate, const kw_asked *asked,
             const kw_advised_question *question)
{
    if (question->refusal)
        say(to, "%s: \"%s\" is refused: %s", candidate->name, asked->name, question->refusal);
    else if (real_efficiency(question) > 2)
        say(to, "%s: \"%s\" reads %.1f rows of the sample for each one it returns", candidate->name,
            asked->name, real_efficiency(question));
    else if (question->matching == 0 && question->scanned > 0)
        say(to, "%s: \"%s\" reads %zu rows of the sample and returns none", candidate->name, asked->name,
            question->scanned);
}

/* --- one candidate against another -------------------------------------------------------------------- */

typedef struct comparison {
    texts gains;
    texts prices;
} comparison;

/* The path whose regions share a window's writes least evenly: it limits the write rate. */
static const kw_spread *
tightest(const kw_candidate *candidate, const kw_advised *advised)
{
    const kw_spread *least = &advised->paths[0].regions;
    for (size_t index = 1; index < candidate->table->paths_count; index++) {
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
        say(better ? &to->gains : &to->prices,
            "the writes of %s%s go to %.1f regions instead of %.1f (hottest %.0f %% instead of %.0f %%)",
            article(window), window, spread->window_places, base->window_places, 100 * spread->window_share,
            100 * base->window_share);
}

static void
compare_answers(comparison *to, const char *name, const kw_advised_question *question,
                const kw_advised_question *base)
{
    if (question->ranges != base->ranges)
        say(question->ranges < base->ranges ? &to->gains : &to->prices,
            "\"%s\" takes %zu range%s instead of %zu", name, question->ranges,
            question->ranges == 1 ? "" : "s", base->ranges);
    double real = real_efficiency(question), real_base = real_efficiency(base);
    if (real > real_base * NOTABLE || real_base > real * NOTABLE)
        say(real < real_base ? &to->gains : &to->prices,
            "\"%s\" reads %.2f rows per row returned instead of %.2f", name, real, real_base);
    if (question->ordered != base->ordered)
        say(question->ordered ? &to->gains : &to->prices, "\"%s\" %s its order", name,
            question->ordered ? "keeps" : "loses");
}

static void
compare_question(comparison *to, const char *name, const kw_advised_question *question,
                 const kw_advised_question *base)
{
    if (question->refusal && base->refusal)
        return;
    if (question->refusal)
        say(&to->prices, "\"%s\" is refused", name);
    else if (base->refusal)
        say(&to->gains, "\"%s\" can be asked (%zu range%s)", name, question->ranges,
            question->ranges == 1 ? "" : "s");
    else
        compare_answers(to, name, question, base);
}

static void
compare_keys(comparison *to, const kw_advised *one, size_t stores, const kw_advised *base, size_t base_stores)
{
    double longer = one->paths[0].key_bytes_mean - base->paths[0].key_bytes_mean;
    if (fabs(longer) >= 0.5)
        say(longer < 0 ? &to->gains : &to->prices, "a key is %.0f byte%s %s", fabs(longer),
            fabs(longer) < 1.5 ? "" : "s", longer < 0 ? "shorter" : "longer");
    if (stores != base_stores)
        say(stores < base_stores ? &to->gains : &to->prices, "a record is written %zu times instead of %zu",
            stores, base_stores);
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
say_trade(texts *to, const char *name, const char *base, const comparison *found)
{
    const char *gains = joined(&found->gains, to->arena), *prices = joined(&found->prices, to->arena);
    if (*gains && *prices)
        say(to, "%s against %s: gained: %s. The price: %s", name, base, gains, prices);
    else if (*gains)
        say(to, "%s against %s: gained: %s. No price shows in this sample", name, base, gains);
    else if (*prices)
        say(to, "%s against %s: nothing gained. The price: %s", name, base, prices);
    else
        say(to, "%s and %s do alike on this sample", name, base);
}

static void
compare(texts *to, const kw_candidate *candidates, size_t which, const kw_advise_settings *settings,
        const kw_advice *advice, const char *window)
{
    comparison found = {.gains.arena = to->arena, .prices.arena = to->arena};
    const kw_candidate *candidate = &candidates[which];
    const kw_advised *one = &advice->candidates[which], *base = &advice->candidates[0];
    compare_writes(&found, tightest(candidate, one), tightest(&candidates[0], base), window);
    for (size_t index = 0; index < settings->questions_count; index++)
        compare_question(&found, candidate->questions[index].name, &one->questions[index],
                         &base->questions[index]);
    compare_keys(&found, one, candidate->table->stores_count, base, candidates[0].table->stores_count);
    say_trade(to, candidate->name, candidates[0].name, &found);
}

void
kw_advise_words(const kw_candidate *candidates, size_t count, const kw_advise_settings *settings,
                kw_arena *arena, kw_advice *advice)
{
    texts to = {.arena = arena};
    const char *window = window_name(advice, arena);
    for (size_t which = 0; which < count; which++) {
        const kw_advised *advised = &advice->candidates[which];
        for (size_t index = 0; index < candidates[which].table->paths_count; index++)
            say_path(&to, &candidates[which], &advised->paths[index], window, arena);
        for (size_t index = 0; index < settings->questions_count; index++)
            say_question(&to, &candidates[which], &candidates[which].questions[index],
                         &advised->questions[index]);
    }
    for (size_t which = 1; which < count; which++)
        compare(&to, candidates, which, settings, advice, window);
    advice->words = to.items;
    advice->words_count = to.count;
}
