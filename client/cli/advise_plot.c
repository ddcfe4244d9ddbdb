/* Plots of the advice as inline SVG. Colours are CSS classes of the page (advise_html.c), so that they follow
 * its light or dark scheme; numbers in attributes are printed in the C locale, as SVG requires.
 */
#include "cli/advise.h"
#include "cli/text.h"

#include <math.h>
#include <string.h>

#define WIDTH 480.0
#define LEFT 44.0
#define PLOT (WIDTH - LEFT - 8)

/* With more places, neighbours are drawn as one bar: no bar is thinner than a pixel. */
#define BARS_MAX 280u

/* With more cells, they have no text of their own. */
#define TITLED_CELLS_MAX 4000u

void
kw_html_append(GString *to, const char *text)
{
    g_autofree char *safe = kw_text_for_terminal(text);
    g_autofree char *escaped = g_markup_escape_text(safe, -1);

    g_string_append(to, escaped);
}

static void
attribute(GString *to, const char *name, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(text, sizeof text, "%.2f", value);
    g_string_append_printf(to, " %s=\"%s\"", name, text);
}

static void
begin(GString *to, double height, const char *about)
{
    g_string_append(to, "<svg role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 480 ");
    g_string_append_printf(to, "%d\" aria-label=\"", (int)height);
    kw_html_append(to, about);
    g_string_append(to, "\">");
}

static void
rectangle(GString *to, const char *class, double x, double y, double width, double height)
{
    g_string_append_printf(to, "<rect class=\"%s\"", class);
    attribute(to, "x", x);
    attribute(to, "y", y);
    attribute(to, "width", MAX(width, 0.5));
    attribute(to, "height", MAX(height, 0.5));
}

static void
close_with_title(GString *to, const char *title)
{
    g_string_append(to, "><title>");
    kw_html_append(to, title);
    g_string_append(to, "</title></rect>");
}

static void
line(GString *to, const char *class, double x1, double y1, double x2, double y2)
{
    g_string_append_printf(to, "<line class=\"%s\"", class);
    attribute(to, "x1", x1);
    attribute(to, "y1", y1);
    attribute(to, "x2", x2);
    attribute(to, "y2", y2);
    g_string_append(to, "/>");
}

/* anchor: start, middle or end. */
static void
label(GString *to, const char *anchor, double x, double y, const char *text)
{
    g_string_append_printf(to, "<text text-anchor=\"%s\"", anchor);
    attribute(to, "x", x);
    attribute(to, "y", y);
    g_string_append(to, ">");
    kw_html_append(to, text);
    g_string_append(to, "</text>");
}

/* --- bars of buckets or regions --------------------------------------------------------------- */

#define BARS_HEIGHT 116.0

/* The mean number of writes of the places that bar number `bar` shows. */
static double
bar_value(const kw_spread *spread, guint bar, guint bars)
{
    guint places = spread->counts->len;
    guint first = (guint)((guint64)bar * places / bars);
    guint end = (guint)((guint64)(bar + 1) * places / bars);
    double sum = 0;

    for (guint i = first; i < end; i++)
        sum += (double)g_array_index(spread->counts, gint64, i);
    return sum / (double)(end - first);
}

static double
mean_of(const kw_spread *spread)
{
    double sum = 0;

    for (guint i = 0; i < spread->counts->len; i++)
        sum += (double)g_array_index(spread->counts, gint64, i);
    return sum / (double)spread->counts->len;
}

static void
mean_line(GString *to, double y)
{
    line(to, "mean", LEFT, y, LEFT + PLOT, y);
    label(to, "end", LEFT - 6, y + 3.5, "mean");
}

static void
bar(GString *to, const kw_spread *spread, guint index, guint bars, double mean, double top)
{
    double value = bar_value(spread, index, bars), ratio = mean > 0 ? value / mean : 0;
    double step = PLOT / bars, gap = step > 4 ? 1.5 : 0, height = ratio / top * BARS_HEIGHT;
    g_autofree char *title = g_strdup_printf("%u: %.0f writes, %.2f x the mean", index, value, ratio);

    if (value > 0)
        rectangle(to, ratio > 1.5 ? "hot" : "bar", LEFT + index * step + gap / 2, 8 + BARS_HEIGHT - height,
                  step - gap, height);
    else
        rectangle(to, "none", LEFT + index * step + gap / 2, 8 + BARS_HEIGHT - 2, step - gap, 2);
    close_with_title(to, title);
}

void
kw_plot_spread(GString *to, const kw_spread *spread, const char *places)
{
    guint bars = MIN(spread->counts->len, BARS_MAX);
    double mean = mean_of(spread), top = MAX(spread->hottest_to_mean * 1.06, 1.3);
    g_autofree char *about = g_strdup_printf("Writes per %s", places);
    g_autofree char *last = g_strdup_printf("%s %u", places, spread->counts->len - 1);
    g_autofree char *first = g_strdup_printf("%s 0", places);
    g_autofree char *highest = g_strdup_printf("%.1fx", top);

    begin(to, BARS_HEIGHT + 30, about);
    for (guint i = 0; i < bars; i++)
        bar(to, spread, i, bars, mean, top);
    line(to, "axis", LEFT, 8 + BARS_HEIGHT, LEFT + PLOT, 8 + BARS_HEIGHT);
    mean_line(to, 8 + BARS_HEIGHT - BARS_HEIGHT / top);
    if (top > 1.6)
        label(to, "end", LEFT - 6, 14, highest);
    label(to, "start", LEFT, BARS_HEIGHT + 24, first);
    label(to, "end", LEFT + PLOT, BARS_HEIGHT + 24, last);
    g_string_append(to, "</svg>");
}

/* --- heat of regions over time ---------------------------------------------------------------- */

/* "2026-11-21 10:05", or "2026-11-21" if windows are whole days, or "record 17" if there is no time. A time
 * that is out of range becomes "ms NUMBER". */
static char *
column_name(const kw_advice *advice, guint column)
{
    gint64 start = g_array_index(advice->columns, gint64, column);
    g_autoptr(GDateTime) time = advice->window_ms > 0 ? g_date_time_new_from_unix_utc(start / 1000) : NULL;

    if (time == NULL)
        return g_strdup_printf("%s %" G_GINT64_FORMAT, advice->window_ms > 0 ? "ms" : "record", start);
    return g_date_time_format(time, advice->window_ms % 86400000 == 0 ? "%Y-%m-%d" : "%Y-%m-%d %H:%M");
}

static gint64
column_sum(const kw_advised_path *path, guint column)
{
    guint regions = path->regions->counts->len;
    gint64 sum = 0;

    for (guint region = 0; region < regions; region++)
        sum += g_array_index(path->heat, gint32, column * regions + region);
    return sum;
}

typedef struct heat_grid {
    const kw_advice *advice;
    const kw_advised_path *path;
    guint regions;
    double cell_width;
    double cell_height;
    bool titled;
} heat_grid;

/* The opacity shows the region's share of the column's writes. */
static void
heat_cell(GString *to, const heat_grid *grid, guint column, guint region, gint64 sum)
{
    gint32 count = g_array_index(grid->path->heat, gint32, column * grid->regions + region);
    double share = (double)count / (double)sum;

    if (count == 0)
        return;
    rectangle(to, "heat", LEFT + column * grid->cell_width, 6 + region * grid->cell_height,
              grid->cell_width + 0.15, grid->cell_height + 0.15);
    attribute(to, "fill-opacity", pow(share, 0.55));
    if (grid->titled) {
        g_autofree char *when = column_name(grid->advice, column);
        g_autofree char *title = g_strdup_printf("region %u, %s: %d writes, %.0f %% of this column", region,
                                                 when, count, 100 * share);

        close_with_title(to, title);
    } else {
        g_string_append(to, "/>");
    }
}

static void
heat_labels(GString *to, const heat_grid *grid, double height)
{
    guint columns = grid->advice->columns->len;
    g_autofree char *first = column_name(grid->advice, 0);
    g_autofree char *last = column_name(grid->advice, columns - 1);
    g_autofree char *region = g_strdup_printf("%u", grid->regions - 1);

    label(to, "end", LEFT - 6, 15, "0");
    if (grid->regions > 1)
        label(to, "end", LEFT - 6, 6 + height, region);
    label(to, "start", LEFT, height + 22, first);
    if (columns > 1)
        label(to, "end", LEFT + PLOT, height + 22, last);
}

void
kw_plot_heat(GString *to, const kw_advice *advice, const kw_advised_path *path)
{
    guint columns = advice->columns->len, regions = path->regions->counts->len;
    double height = CLAMP(regions * 9.0, 40.0, 288.0);
    const heat_grid grid = {.advice = advice,
                            .path = path,
                            .regions = regions,
                            .cell_width = PLOT / columns,
                            .cell_height = height / regions,
                            .titled = (guint64)columns * regions <= TITLED_CELLS_MAX};

    begin(to, height + 28, "Writes per region over time");
    rectangle(to, "field", LEFT, 6, PLOT, height);
    g_string_append(to, "/>");
    for (guint column = 0; column < columns; column++) {
        gint64 sum = column_sum(path, column);

        for (guint region = 0; region < regions && sum > 0; region++)
            heat_cell(to, &grid, column, region, sum);
    }
    heat_labels(to, &grid, height);
    g_string_append(to, "</svg>");
}

/* --- bars of queries ------------------------------------------------------------------------ */

#define BAR 13.0
#define LABEL 18.0

static const kw_advised_query *
find_query(const kw_advise_view *view, guint query, guint candidate)
{
    for (guint i = 0; i < view->advice->queries->len; i++) {
        const kw_advised_query *one = view->advice->queries->pdata[i];

        if (one->query == (gint32)query && one->candidate == (gint32)candidate)
            return one;
    }
    return NULL;
}

static void
query_bar(GString *to, const kw_advised_query *query, double y, double most)
{
    double share = log1p(query->ranges) / log1p(most), width = share * (WIDTH - 130);
    g_autofree char *class = g_strdup_printf("c%d", query->candidate % KW_CANDIDATE_COLOURS);
    g_autofree char *text = query->ranges == 1
                                ? g_strdup(kw_advise_reading(query))
                                : g_strdup_printf("%d, %s", query->ranges, kw_advise_reading(query));

    if (query->refusal == NULL) {
        rectangle(to, class, 0, y, width, BAR - 3);
        close_with_title(to, text);
    }
    label(to, "start", query->refusal == NULL ? width + 7 : 0, y + BAR - 4,
          query->refusal == NULL ? text : "rejected");
}

void
kw_plot_ranges(GString *to, const kw_advise_view *view)
{
    double group = LABEL + (double)view->candidates_count * BAR + 8, most = 1;

    for (guint i = 0; i < view->advice->queries->len; i++)
        most = MAX(most, ((const kw_advised_query *)view->advice->queries->pdata[i])->ranges);
    begin(to, group * view->queries->len, "Ranges per query");
    for (guint q = 0; q < view->queries->len; q++) {
        label(to, "start", 0, q * group + LABEL - 6,
              ((const kw_advise_query *)view->queries->pdata[q])->name);
        for (guint c = 0; c < view->candidates_count; c++) {
            const kw_advised_query *query = find_query(view, q, c);

            if (query != NULL)
                query_bar(to, query, q * group + LABEL + c * BAR, most);
        }
    }
    g_string_append(to, "</svg>");
}
