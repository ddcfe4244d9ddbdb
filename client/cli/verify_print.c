#include "cli/output.h"
#include "cli/text.h"
#include "cli/verify.h"

#include <stdio.h>

#define KINDS_SHOWN 8

static const char *const age_names[KW_VERIFIED_AGES] = {"under 1 h",  "under 1 d",   "under 7 d",
                                                        "under 30 d", "under 365 d", "older"};

static gint
by_rows(gconstpointer left, gconstpointer right, gpointer user)
{
    GHashTable *rows_by_text = user;
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    gint64 rows_a = *(const gint64 *)g_hash_table_lookup(rows_by_text, a);
    gint64 rows_b = *(const gint64 *)g_hash_table_lookup(rows_by_text, b);

    return rows_a == rows_b ? g_strcmp0(a, b) : rows_a > rows_b ? -1 : 1;
}

/* The texts with the most rows: "zz 12, 05 3, ...". */
static char *
most_of(GHashTable *rows_by_text)
{
    guint size;
    g_autofree gpointer *texts = g_hash_table_get_keys_as_array(rows_by_text, &size);
    GString *line = g_string_new(NULL);

    g_qsort_with_data(texts, (gint)size, sizeof *texts, by_rows, rows_by_text);
    for (guint i = 0; i < MIN(size, KINDS_SHOWN); i++)
        g_string_append_printf(line, "%s%s %" G_GINT64_FORMAT, i == 0 ? "" : ", ", (const char *)texts[i],
                               *(const gint64 *)g_hash_table_lookup(rows_by_text, texts[i]));
    if (size > KINDS_SHOWN)
        g_string_append(line, ", ...");
    return g_string_free(line, FALSE);
}

/* --- for people ------------------------------------------------------------------------------- */

static void
print_line(const char *name, gint64 rows, const char *about)
{
    printf("  %-32s%" G_GINT64_FORMAT "%s%s%s\n", name, rows, about[0] == '\0' ? "" : " (", about,
           about[0] == '\0' ? "" : ")");
}

static void
print_buckets(const kw_verify_state *state)
{
    gint64 least = G_MAXINT64, most = 0;
    GHashTableIter iter;
    gpointer rows;

    if (g_hash_table_size(state->buckets) == 0)
        return;
    g_hash_table_iter_init(&iter, state->buckets);
    while (g_hash_table_iter_next(&iter, NULL, &rows)) {
        least = MIN(least, *(const gint64 *)rows);
        most = MAX(most, *(const gint64 *)rows);
    }
    printf("  %-32s%u buckets, %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " rows\n", "rows per bucket",
           g_hash_table_size(state->buckets), least, most);
}

static void
print_ages(const kw_cli *cli, const kw_verify_state *state)
{
    const kw_verified *sum = &state->sum;
    g_autofree char *oldest = NULL, *newest = NULL;
    const char *between = "";

    if (sum->oldest == 0)
        return;
    printf("  %-32s", "age of the newest cell of a row");
    for (gsize i = 0; i < KW_VERIFIED_AGES; i++) {
        if (sum->ages[i] == 0)
            continue;
        printf("%s%s %" G_GINT64_FORMAT, between, age_names[i], sum->ages[i]);
        between = ", ";
    }
    kw_output_stamp(cli, sum->oldest, &oldest);
    kw_output_stamp(cli, sum->newest, &newest);
    if (oldest != NULL && newest != NULL)
        printf("\n  %-32s%s to %s\n", "timestamps of cells", oldest, newest);
    else
        printf("\n  %-32s%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT "\n", "timestamps of cells", sum->oldest,
               sum->newest);
}

static const char *
verdict_of(const kw_verify_state *state)
{
    if (!state->done)
        return "not all rows were read";
    if (!kw_verify_state_fits(state))
        return "some rows do not fit";
    return state->verified ? "all rows fit; the path is verified" : "all rows fit";
}

static void
print_path(const kw_cli *cli, const kw_verify_state *state)
{
    const kw_verified *sum = &state->sum;
    g_autofree char *first_bytes = most_of(state->first_bytes);
    g_autofree char *fields = most_of(state->fields);
    g_autofree char *foreign =
        first_bytes[0] == '\0' ? g_strdup("") : g_strdup_printf("first bytes: %s", first_bytes);
    g_autofree char *versions = sum->most_versions < 2
                                    ? g_strdup("")
                                    : g_strdup_printf("at most %" G_GINT64_FORMAT, sum->most_versions);

    printf("path %s: %" G_GINT64_FORMAT " rows: %s\n", state->path, sum->rows, verdict_of(state));
    print_line("key does not follow the rule", sum->foreign_rows, foreign);
    print_line("value cannot be decoded", sum->undecodable_rows, fields);
    if (sum->large_rows > 0)
        print_line("too large to be read", sum->large_rows, "");
    print_buckets(state);
    print_ages(cli, state);
    print_line("older than the ttl", sum->expired_rows, "");
    print_line("timestamp in the future", sum->future_rows, "");
    print_line("several versions of a column", sum->versioned_rows, versions);
    for (guint i = 0; i < state->examples->len; i++) {
        g_autofree char *example = kw_text_for_terminal(state->examples->pdata[i]);

        printf("  %s\n", example);
    }
}

/* --- for programs ----------------------------------------------------------------------------- */

static kw_record *
map_of(GHashTable *rows_by_text)
{
    kw_record *map = kw_record_new();
    GHashTableIter iter;
    gpointer text, rows;

    g_hash_table_iter_init(&iter, rows_by_text);
    while (g_hash_table_iter_next(&iter, &text, &rows))
        kw_record_set(map, text, kw_number(*(const gint64 *)rows));
    return map;
}

static kw_record *
ages_of(const kw_verify_state *state)
{
    kw_record *map = kw_record_new();

    for (gsize i = 0; i < KW_VERIFIED_AGES; i++)
        kw_record_set(map, age_names[i], kw_number(state->sum.ages[i]));
    return map;
}

static char *
examples_of(const kw_verify_state *state)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < state->examples->len; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? "" : "\n", (const char *)state->examples->pdata[i]);
    return g_string_free(text, FALSE);
}

static const kw_output_column columns[] = {{.name = "path"},
                                           {.name = "rows"},
                                           {.name = "done"},
                                           {.name = "verified"},
                                           {.name = "foreign_rows"},
                                           {.name = "first_bytes"},
                                           {.name = "undecodable_rows"},
                                           {.name = "undecodable_fields"},
                                           {.name = "large_rows"},
                                           {.name = "buckets"},
                                           {.name = "ages"},
                                           {.name = "oldest"},
                                           {.name = "newest"},
                                           {.name = "expired_rows"},
                                           {.name = "future_rows"},
                                           {.name = "versioned_rows"},
                                           {.name = "most_versions"},
                                           {.name = "examples"}};

static void
output_path(const kw_cli *cli, const kw_verify_state *state, kw_output *output)
{
    const kw_verified *sum = &state->sum;
    g_autoptr(kw_record) first_bytes = map_of(state->first_bytes);
    g_autoptr(kw_record) fields = map_of(state->fields);
    g_autoptr(kw_record) buckets = map_of(state->buckets);
    g_autoptr(kw_record) ages = ages_of(state);
    g_autofree char *examples = examples_of(state);
    g_autofree char *oldest = NULL, *newest = NULL;
    kw_value none = {0};
    const kw_value cells[] = {kw_text(state->path),
                              kw_number(sum->rows),
                              kw_flag(state->done),
                              kw_flag(state->verified),
                              kw_number(sum->foreign_rows),
                              kw_map(first_bytes),
                              kw_number(sum->undecodable_rows),
                              kw_map(fields),
                              kw_number(sum->large_rows),
                              kw_map(buckets),
                              kw_map(ages),
                              sum->oldest == 0 ? none : kw_output_stamp(cli, sum->oldest, &oldest),
                              sum->oldest == 0 ? none : kw_output_stamp(cli, sum->newest, &newest),
                              kw_number(sum->expired_rows),
                              kw_number(sum->future_rows),
                              kw_number(sum->versioned_rows),
                              kw_number(sum->most_versions),
                              kw_text(examples)};

    G_STATIC_ASSERT(G_N_ELEMENTS(cells) == G_N_ELEMENTS(columns));
    kw_output_row(output, cells);
}

static bool
was_begun(const kw_verify_state *state)
{
    return state->done || state->cursor != NULL;
}

bool
kw_verify_print(const kw_cli *cli, const GPtrArray *states)
{
    kw_output *output = cli->format == KW_OUTPUT_TABLE
                            ? NULL
                            : kw_output_new(cli->format, cli->raw, columns, G_N_ELEMENTS(columns));

    for (guint i = 0; i < states->len; i++) {
        if (!was_begun(states->pdata[i]))
            continue;
        if (output == NULL)
            print_path(cli, states->pdata[i]);
        else
            output_path(cli, states->pdata[i], output);
    }
    return output == NULL ? fflush(stdout) == 0 : kw_output_end(output, NULL);
}
