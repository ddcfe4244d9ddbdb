/* The advice as one HTML page without scripts or external resources. Light or dark, like the reader's system.
 */
#include "cli/advise.h"
#include "cli/text.h"

#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2430;--soft:#5d6b7c;--line:#dfe4ea;"
    "--field:#f0f3f7;--accent:#2563b8;--hot:#d9480f;--c0:#2563b8;--c1:#e07b00;--c2:#1f8f6b;--c3:#a23b8f;"
    "--c4:#6b5bd2;--c5:#b0892b;--c6:#c0392b;--c7:#44718c}"
    "@media(prefers-color-scheme:dark){:root{--bg:#12161c;--card:#1b2129;--ink:#e6eaf0;--soft:#9aa7b6;"
    "--line:#303945;--field:#232b35;--accent:#6ea8f7;--hot:#ff8a4c;--c0:#6ea8f7;--c1:#ffb454;--c2:#5fd0a8;"
    "--c3:#e08bd0;--c4:#a99cff;--c5:#e0c070;--c6:#ff8a80;--c7:#8fbcd4}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}"
    "main{max-width:1380px;margin:0 auto;padding:28px 24px 48px}h1{font-size:25px;margin:0}"
    "h2{font-size:18px;margin:34px 0 12px}h3{font-size:15.5px;margin:0 0 2px}"
    ".lede,.note,footer{color:var(--soft)}.lede{margin:4px 0 0}.note{font-size:13px;margin:0 0 8px}"
    ".cards{display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr))}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 18px}"
    ".rule{display:flex;flex-wrap:wrap;gap:5px;margin:8px 0 12px}.rule span{background:var(--field);"
    "border-radius:5px;padding:1px 8px;font:12.5px/1.6 ui-monospace,Menlo,\"DejaVu Sans Mono\",monospace;"
    "overflow-wrap:anywhere}"
    ".tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:8px;margin:0 0 12px}.tile b{display:block;"
    "font-size:19px;font-variant-numeric:tabular-nums}.tile{border-left:3px solid "
    "var(--line);padding-left:9px;"
    "font-size:12.5px;color:var(--soft);line-height:1.35}.tile b{color:var(--ink)}"
    ".tile.bad{border-color:var(--hot)}.tile.bad b{color:var(--hot)}.tile.good{border-color:var(--c2)}"
    ".plot{margin:10px 0 0}.plot p{margin:0 0 2px;font-size:13px;color:var(--soft)}"
    "svg{display:block;width:100%;height:auto}svg text{font-size:12px;fill:var(--soft)}"
    ".bar,.heat{fill:var(--accent)}.hot{fill:var(--hot)}.none{fill:var(--line)}.field{fill:var(--field)}"
    ".axis{stroke:var(--line)}.mean{stroke:var(--soft);stroke-dasharray:4 4}"
    ".c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}"
    ".c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}"
    "i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px}"
    "table{border-collapse:collapse;width:100%;font-size:13.5px}th,td{text-align:left;padding:6px 12px 6px 0;"
    "border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}"
    ".n{text-align:right;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}"
    ".key{margin-right:18px}.narrow{max-width:680px;margin-top:12px}"
    "ul{margin:0;padding-left:20px}li{margin:5px 0}.trade "
    "li{font-size:16px}footer{margin-top:34px;font-size:13px}";

static void
colour(GString *to, gint32 candidate)
{
    g_string_append_printf(to, "<i style=\"background:var(--c%d)\"></i>", candidate % KW_CANDIDATE_COLOURS);
}

/* --- sentences -------------------------------------------------------------------------------- */

/* Emphasizes the two sides of a comparison. */
static void
sentence(GString *to, const char *words)
{
    GString *text = g_string_new(NULL);

    kw_html_append(text, words);
    g_string_replace(text, ": gains: ", ": <b>gains</b>: ", 1);
    g_string_replace(text, ". Costs: ", ".<br><b>Costs</b>: ", 1);
    g_string_append_printf(to, "<li>%s</li>", text->str);
    g_string_free(text, TRUE);
}

static void
items(GString *to, char *const *words, guint first, guint end)
{
    g_string_append(to, "<ul>");
    for (guint i = first; i < end; i++)
        sentence(to, words[i]);
    g_string_append(to, "</ul>");
}

/* The last sentences are the comparisons, one for each candidate except the first. */
static void
sentences(GString *to, const kw_advise_view *view)
{
    guint count = g_strv_length(view->advice->words), trades = (guint)view->candidates_count - 1;
    guint first = count > trades ? count - trades : 0;

    if (trades > 0) {
        g_string_append(to, "<h2>Comparison</h2><div class=\"card trade\">");
        items(to, view->advice->words, first, count);
        g_string_append(to, "</div>");
    }
    if (first == 0)
        return;
    g_string_append(to, "<h2>Results</h2><div class=\"card\">");
    items(to, view->advice->words, 0, first);
    g_string_append(to, "</div>");
}

/* --- writes ----------------------------------------------------------------------------------- */

/* verdict: "", " good" or " bad". */
static void
tile(GString *to, const char *verdict, const char *number, const char *about)
{
    g_string_append_printf(to, "<div class=\"tile%s\"><b>", verdict);
    kw_html_append(to, number);
    g_string_append(to, "</b>");
    kw_html_append(to, about);
    g_string_append(to, "</div>");
}

static void
bucket_tile(GString *to, const kw_advised_path *path)
{
    const kw_spread *spread = path->buckets;
    bool bad =
        spread != NULL && ((guint)spread->reached < spread->counts->len || spread->hottest_to_mean > 1.5);
    g_autofree char *number =
        spread == NULL ? g_strdup("none") : g_strdup_printf("%d/%u", spread->reached, spread->counts->len);
    g_autofree char *about =
        spread == NULL ? g_strdup("buckets: no query fans out")
                       : g_strdup_printf("buckets reached, hottest %.2f x mean", spread->hottest_to_mean);

    tile(to, spread == NULL ? "" : bad ? " bad" : " good", number, about);
}

static void
tiles(GString *to, const kw_advised_path *path, const char *window)
{
    const kw_spread *regions = path->regions;
    double places = (double)regions->counts->len;
    bool bad = regions->window_places > 0 && regions->window_places < 0.5 * places;
    g_autofree char *share = g_strdup_printf("%.0f %%", 100 * regions->window_share);
    g_autofree char *share_about = g_strdup_printf("of the writes of a typical %s go to one region", window);
    g_autofree char *spread =
        regions->window_places > 0 ? g_strdup_printf("%.1f", regions->window_places) : g_strdup("?");
    g_autofree char *spread_about =
        g_strdup_printf("of %u regions effectively used per %s", regions->counts->len, window);
    g_autofree char *bytes = path->key_bytes_min == path->key_bytes_max
                                 ? g_strdup_printf("%d", path->key_bytes_min)
                                 : g_strdup_printf("%d–%d", path->key_bytes_min, path->key_bytes_max);

    g_string_append(to, "<div class=\"tiles\">");
    tile(to, bad ? " bad" : " good", share, share_about);
    tile(to, bad ? " bad" : " good", spread, spread_about);
    bucket_tile(to, path);
    tile(to, "", bytes, "bytes per row key");
    g_string_append(to, "</div>");
}

static void
caption(GString *to, const char *text)
{
    g_string_append(to, "<div class=\"plot\"><p>");
    kw_html_append(to, text);
    g_string_append(to, "</p>");
}

static void
plots(GString *to, const kw_advise_view *view, const kw_advised_path *path)
{
    g_autofree char *cut = g_strdup_printf("Writes per region over time (regions: %s). The stronger the "
                                           "colour, the larger the region's share",
                                           path->cut);

    caption(to, cut);
    kw_plot_heat(to, view->advice, path);
    g_string_append(to, "</div>");
    if (path->buckets != NULL) {
        g_autofree char *text = g_strdup_printf("Writes per bucket of %s", path->bucket);

        caption(to, text);
        kw_plot_spread(to, path->buckets, "bucket");
    } else {
        caption(to, g_str_has_prefix(path->cut, "by the older half")
                        ? "Writes per region, for the newer half of the sample"
                        : "Writes per region, for the whole sample");
        kw_plot_spread(to, path->regions, "region");
    }
    g_string_append(to, "</div>");
}

static void
card(GString *to, const kw_advise_view *view, const kw_advised_path *path, const char *window)
{
    g_autofree char *order = kw_advise_order(path);

    g_string_append(to, "<div class=\"card\"><h3>");
    colour(to, path->candidate);
    kw_html_append(to, view->candidates[path->candidate]);
    g_string_append(to, ", path ");
    kw_html_append(to, path->path);
    g_string_append(to, "</h3><div class=\"rule\">");
    for (char **component = path->components; *component != NULL; component++) {
        g_string_append(to, "<span>");
        kw_html_append(to, *component);
        g_string_append(to, "</span>");
    }
    g_string_append(to, "</div>");
    tiles(to, path, window);
    g_string_append(to, "<p class=\"note\">Full scan sorted by: ");
    kw_html_append(to, order);
    if (path->rejected > 0)
        g_string_append_printf(to, ". %" G_GINT64_FORMAT " records have no key", path->rejected);
    if (path->duplicates > 0)
        g_string_append_printf(to, ". %" G_GINT64_FORMAT " records have the key of an earlier record",
                               path->duplicates);
    g_string_append(to, "</p>");
    plots(to, view, path);
    g_string_append(to, "</div>");
}

/* --- queries ---------------------------------------------------------------------------------- */

static void
cell(GString *to, const char *text)
{
    g_string_append(to, "<td>");
    kw_html_append(to, text);
    g_string_append(to, "</td>");
}

static void
number_cell(GString *to, double number, int digits)
{
    if (number > 0 || digits == 0)
        g_string_append_printf(to, "<td class=\"n\">%.*f</td>", digits, number);
    else
        g_string_append(to, "<td class=\"n\">-</td>");
}

static void
query_row(GString *to, const kw_advise_view *view, const kw_advised_query *query)
{
    const kw_advise_query *named = view->queries->pdata[query->query];

    g_string_append(to, "<tr>");
    cell(to, query->candidate == 0 ? named->name : "");
    g_string_append(to, "<td>");
    colour(to, query->candidate);
    kw_html_append(to, view->candidates[query->candidate]);
    g_string_append(to, "</td>");
    if (query->refusal != NULL) {
        g_string_append(to, "<td colspan=\"8\">rejected: ");
        kw_html_append(to, query->refusal);
        g_string_append(to, "</td></tr>");
        return;
    }
    cell(to, query->path);
    number_cell(to, query->ranges, 0);
    cell(to, kw_advise_reading(query));
    cell(to, query->ordered ? "yes" : "no");
    number_cell(to, query->expected_reads_per_row, 2);
    number_cell(to, kw_advise_measured_reads_per_row(query), 2);
    number_cell(to, (double)query->scanned, 0);
    number_cell(to, (double)query->matching, 0);
    g_string_append(to, "</tr>");
}

static void
query_table(GString *to, const kw_advise_view *view)
{
    g_string_append(to, "<div class=\"card wide\" "
                        "style=\"margin-top:16px\"><table><tr><th>query</th><th>candidate</th><th>path</"
                        "th><th class=\"n\">ranges</th><th>read as</th><th>sorted</th><th class=\"n\">rows "
                        "read per row returned, expected</th><th class=\"n\">on the sample</th><th "
                        "class=\"n\">rows read</th><th class=\"n\">rows returned</th></tr>");
    for (guint q = 0; q < view->queries->len; q++)
        for (guint i = 0; i < view->advice->queries->len; i++) {
            const kw_advised_query *query = view->advice->queries->pdata[i];

            if (query->query == (gint32)q)
                query_row(to, view, query);
        }
    g_string_append(to, "</table></div>");
}

static void
queries(GString *to, const kw_advise_view *view)
{
    if (view->queries->len == 0)
        return;
    g_string_append(to,
                    "<h2>Queries</h2><div class=\"cards\"><div class=\"card\"><h3>Ranges per query</h3><p "
                    "class=\"note\">Each range is a scan on a region server. The bars are logarithmic.</p>");
    for (gsize i = 0; i < view->candidates_count; i++) {
        g_string_append(to, "<span class=\"key\">");
        colour(to, (gint32)i);
        kw_html_append(to, view->candidates[i]);
        g_string_append(to, "</span>");
    }
    g_string_append(to, "<div class=\"narrow\">");
    kw_plot_ranges(to, view);
    g_string_append(to, "</div></div></div>");
    query_table(to, view);
}

static void
head(GString *to, const kw_advise_view *view, const char *window)
{
    g_autofree char *base = g_path_get_basename(view->sample);

    g_string_append(to,
                    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                    "content=\"width=device-width,initial-scale=1\"><title>Keyway advice: ");
    kw_html_append(to, view->table);
    g_string_append(to, "</title><style>");
    g_string_append(to, style);
    g_string_append(to, "</style></head><body><main><h1>Keyway advice: table ");
    kw_html_append(to, view->table);
    g_string_append_printf(to, "</h1><p class=\"lede\">%u records of ", view->records);
    kw_html_append(to, base);
    g_string_append_printf(to, ", %u queries, %" G_GSIZE_FORMAT " candidate%s. Writes are counted per ",
                           view->queries->len, view->candidates_count,
                           view->candidates_count == 1 ? "" : "s");
    kw_html_append(to, window);
    if (view->advice->time_field != NULL) {
        g_string_append(to, " of ");
        kw_html_append(to, view->advice->time_field);
    }
    g_string_append_printf(to, " (%d windows).</p>", view->advice->windows);
}

GString *
kw_advise_page(const kw_advise_view *view)
{
    GString *to = g_string_new(NULL);
    g_autofree char *window = kw_advise_window(view->advice);

    head(to, view, window);
    sentences(to, view);
    g_string_append(to, "<h2>Writes</h2><div class=\"cards\">");
    for (guint i = 0; i < view->advice->paths->len; i++)
        card(to, view, view->advice->paths->pdata[i], window);
    g_string_append(to, "</div>");
    queries(to, view);
    g_string_append(
        to, "<footer>The effective number of regions says how evenly the writes of a window are spread: "
            "this number of equally used regions would spread them as evenly. 1 means that one region server "
            "receives all writes of the table. The best number of rows read per row returned "
            "is 1. A query with a limit is counted as if the matching rows were spread evenly among the rows "
            "of the ranges; each further merged range costs one more row.</footer></main></body></html>\n");
    return to;
}
