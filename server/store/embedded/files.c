#include "store/embedded/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RESTORE "restore the folder from a backup (docs/backup.md)"

/* --- names ---------------------------------------------------------------------------------------- */

/* True if the name is a number with this suffix. */
static bool
has_number(const char *name, const char *suffix, uint64_t *ret_number)
{
    char *end;
    *ret_number = g_ascii_strtoull(name, &end, 10);
    return end != name && g_ascii_isdigit(name[0]) && strcmp(end, suffix) == 0;
}

static char *
numbered_path(const char *rows, uint64_t number, const char *suffix)
{
    g_autofree char *name = g_strdup_printf("%06" G_GUINT64_FORMAT "%s", number, suffix);
    return g_build_filename(rows, name, NULL);
}

char *
kw_files_log_path(const char *rows, uint64_t number)
{
    return numbered_path(rows, number, ".log");
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The sorted numbers of the files with this suffix. */
static GArray *
list_numbers(const char *rows, const char *suffix, kw_error *ret_error)
{
    g_autoptr(GError) failed = NULL;
    g_autoptr(GDir) folder = g_dir_open(rows, 0, &failed);
    if (!folder && !g_error_matches(failed, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
        kw_error_set(ret_error, KW_UNAVAILABLE, "%s", failed->message);
        return NULL;
    }
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    uint64_t number;
    for (const char *name = NULL; folder && (name = g_dir_read_name(folder));)
        if (has_number(name, suffix, &number))
            g_array_append_val(numbers, number);
    g_array_sort(numbers, compare_numbers);
    return numbers;
}

GArray *
kw_files_list_logs(const char *rows, kw_error *ret_error)
{
    return list_numbers(rows, ".log", ret_error);
}

bool
kw_files_read(const char *path, kw_bytes *ret_content, kw_error *ret_error)
{
    g_autoptr(GError) failed = NULL;
    char *content;
    size_t size;
    if (!g_file_get_contents(path, &content, &size, &failed))
        return kw_error_set(ret_error, KW_UNAVAILABLE, "%s", failed->message);
    *ret_content = kw_bytes_of(content, size);
    return true;
}

/* --- CURRENT -------------------------------------------------------------------------------------- */

static char *
current_path(const char *rows)
{
    return g_build_filename(rows, "CURRENT", NULL);
}

/* "MANIFEST-000005\n" */
static bool
parse_current(const char *text, uint64_t *ret_number)
{
    const char *number = g_str_has_prefix(text, "MANIFEST-") ? text + strlen("MANIFEST-") : "";
    return has_number(number, "\n", ret_number);
}

char *
kw_files_find_manifest(const char *rows, uint64_t *ret_number)
{
    g_autofree char *current = current_path(rows);
    g_autofree char *text = NULL;
    size_t size;
    if (!g_file_get_contents(current, &text, &size, NULL) || strlen(text) != size ||
        !parse_current(text, ret_number))
        return NULL;
    g_strchomp(text);
    return g_build_filename(rows, text, NULL);
}

static bool
has_rows(const char *rows, char **ret_name)
{
    g_autoptr(GDir) folder = g_dir_open(rows, 0, NULL);
    for (const char *name = NULL; folder && (name = g_dir_read_name(folder));)
        if (g_str_has_suffix(name, ".sst") || g_str_has_suffix(name, ".log")) {
            *ret_name = g_strdup(name);
            return true;
        }
    return false;
}

/* Without CURRENT RocksDB would create a new store and delete the existing files. */
static bool
check_no_rows(const char *rows, const char *current, kw_error *ret_error)
{
    g_autofree char *name = NULL;
    return !has_rows(rows, &name) ||
           kw_error_set(ret_error, KW_CORRUPT, "%s is missing, but the folder contains rows (%s); " RESTORE,
                        current, name);
}

static bool
refuse_current(const char *current, kw_error *ret_error)
{
    g_autofree char *text = NULL;
    size_t size = 0;
    g_file_get_contents(current, &text, &size, NULL);
    return kw_error_set(ret_error, KW_CORRUPT,
                        "%s is damaged: it has %zu bytes and does not name a manifest; " RESTORE, current,
                        size);
}

/* If the manifest that was used last is there, CURRENT is the file that is wrong. */
static bool
refuse_missing_manifest(const kw_files *files, const char *current, kw_error *ret_error)
{
    g_autofree char *name = g_strdup_printf("MANIFEST-%06" G_GUINT64_FORMAT, files->marks.manifest);
    g_autofree char *used = g_build_filename(files->rows, name, NULL);
    if (files->marks.manifest && files->marks.manifest != files->manifest_number &&
        g_file_test(used, G_FILE_TEST_EXISTS))
        return kw_error_set(ret_error, KW_CORRUPT,
                            "%s is damaged: it names %s, which does not exist, but %s was in use; " RESTORE,
                            current, files->manifest_path, name);
    return kw_error_set(ret_error, KW_CORRUPT, "%s is missing: it is RocksDB's list of its files; " RESTORE,
                        files->manifest_path);
}

/* --- the manifest --------------------------------------------------------------------------------- */

bool
kw_files_manifest_was_cut(const kw_files *files, kw_error *ret_error)
{
    const kw_acknowledged_state *marks = &files->marks;
    if (!files->known || marks->manifest != files->manifest_number ||
        marks->manifest_bytes <= files->manifest_bytes)
        return false;
    kw_error_set(ret_error, KW_CORRUPT,
                 "%s is damaged: it has %" G_GUINT64_FORMAT " bytes and had at least %" G_GUINT64_FORMAT
                 ", so RocksDB's list of its files is not complete; " RESTORE,
                 files->manifest_path, files->manifest_bytes, marks->manifest_bytes);
    return true;
}

static bool
read_manifest(kw_files *files, kw_error *ret_error)
{
    kw_bytes content;
    if (!kw_files_read(files->manifest_path, &content, ret_error))
        return false;
    files->manifest_bytes = content.size;
    kw_manifest_state state = kw_manifest_read(content, &files->manifest);
    g_free((void *)(uintptr_t)content.data);
    files->known = state == KW_MANIFEST_WHOLE;
    return state != KW_MANIFEST_DAMAGED ||
           kw_error_set(
               ret_error, KW_CORRUPT,
               "%s is damaged at byte %zu (%s): RocksDB's list of its files is not reliable; " RESTORE,
               files->manifest_path, files->manifest.offset, files->manifest.why);
}

/* --- tables --------------------------------------------------------------------------------------- */

GPtrArray *
kw_files_list_unlisted(const kw_files *files)
{
    kw_error ignored;
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GArray *numbers = list_numbers(files->rows, ".sst", &ignored);
    for (guint i = 0; numbers && files->known && i < numbers->len; i++) {
        gint64 number = (gint64)g_array_index(numbers, uint64_t, i);
        if (!g_hash_table_contains(files->manifest.tables, &number))
            g_ptr_array_add(names, g_strdup_printf("%06" G_GINT64_FORMAT ".sst", number));
    }
    if (numbers)
        g_array_free(numbers, TRUE);
    return names;
}

char *
kw_files_doubt_manifest(const kw_files *files)
{
    g_autoptr(GPtrArray) unlisted = kw_files_list_unlisted(files);
    if (unlisted->len == 0)
        return g_strdup("");
    g_autofree char *name = g_path_get_basename(files->manifest_path);
    return g_strdup_printf(" (or %s was truncated: it does not list %s)", name,
                           (const char *)unlisted->pdata[0]);
}

static bool
refuse_table(const kw_files *files, const char *path, const char *what, kw_error *ret_error)
{
    g_autofree char *doubt = kw_files_doubt_manifest(files);
    return !kw_files_manifest_was_cut(files, ret_error) &&
           kw_error_set(ret_error, KW_CORRUPT, "%s %s%s; " RESTORE, path, what, doubt);
}

static bool
check_table(const kw_files *files, const kw_manifest_table *table, kw_error *ret_error)
{
    g_autofree char *path = numbered_path(files->rows, (uint64_t)table->number, ".sst");
    g_autofree char *what = NULL;
    struct stat facts;
    if (stat(path, &facts) < 0)
        what = g_strdup_printf("is missing (%s), but RocksDB's list of its files contains it",
                               g_strerror(errno));
    else if ((uint64_t)facts.st_size != table->size)
        what = g_strdup_printf("is damaged: it has %lld bytes instead of %" G_GUINT64_FORMAT,
                               (long long)facts.st_size, table->size);
    return !what || refuse_table(files, path, what, ret_error);
}

static int
compare_tables(const void *a, const void *b)
{
    const kw_manifest_table *left = *(const kw_manifest_table *const *)a,
                            *right = *(const kw_manifest_table *const *)b;
    return (left->number > right->number) - (left->number < right->number);
}

static bool
check_tables(const kw_files *files, kw_error *ret_error)
{
    guint count = 0;
    g_autofree gpointer *tables = g_hash_table_get_keys_as_array(files->manifest.tables, &count);
    bool good = true;
    qsort(tables, count, sizeof *tables, compare_tables);
    for (guint i = 0; good && i < count; i++)
        good = check_table(files, tables[i], ret_error);
    return good;
}

bool
kw_files_check(const char *rows, const kw_acknowledged_state *marks, kw_files *ret_files, kw_error *ret_error)
{
    g_autofree char *current = current_path(rows);
    *ret_files = (kw_files){.rows = rows, .marks = *marks};
    if (!g_file_test(current, G_FILE_TEST_EXISTS)) {
        ret_files->marks = (kw_acknowledged_state){0}; /* those of an earlier store in this folder */
        return check_no_rows(rows, current, ret_error);
    }
    ret_files->manifest_path = kw_files_find_manifest(rows, &ret_files->manifest_number);
    if (!ret_files->manifest_path)
        return refuse_current(current, ret_error);
    if (!g_file_test(ret_files->manifest_path, G_FILE_TEST_EXISTS))
        return refuse_missing_manifest(ret_files, current, ret_error);
    return read_manifest(ret_files, ret_error) && (!ret_files->known || check_tables(ret_files, ret_error));
}

void
kw_files_clear(kw_files *files)
{
    g_free(files->manifest_path);
    kw_manifest_clear(&files->manifest);
    *files = (kw_files){0};
}
