/* See splits.h. Split keys have at most one source: a list, a file of keys, an algorithm, the rule, a sample.
 */
#include "verb/splits.h"

#include "base/log.h"
#include "config/file.h"
#include "rule/splits.h"

#include <glib.h>
#include <stdlib.h>

#define FILE_BYTES_MAX (16 * 1024 * 1024)
#define KEYS_MAX 100000

static int
by_bytes(const void *left, const void *right)
{
    return kw_bytes_compare(*(const kw_bytes *)left, *(const kw_bytes *)right);
}

/* Sorts the keys. INVALID if one is empty or occurs twice, LIMIT if there are too many. */
static bool
order_keys(const kw_bytes *keys, size_t count, kw_arena *arena, kw_split_keys *ret_splits,
           kw_error *ret_error)
{
    if (count > KEYS_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "%zu split keys; at most %d are allowed", count, KEYS_MAX);
    kw_bytes *sorted = KW_ARENA_ARRAY(arena, kw_bytes, count);
    if (count)
        memcpy(sorted, keys, count * sizeof(kw_bytes));
    qsort(sorted, count, sizeof(kw_bytes), by_bytes);
    for (size_t i = 0; i < count; i++) {
        kw_bytes shown = kw_bytes_of(sorted[i].data, MIN(sorted[i].size, 64));
        if (sorted[i].size == 0)
            return kw_error_set(ret_error, KW_INVALID, "a split key is empty");
        if (i && kw_bytes_equal(sorted[i], sorted[i - 1]))
            return kw_error_set(ret_error, KW_INVALID, "split key %s occurs twice",
                                kw_bytes_to_binary_text(shown, arena));
    }
    *ret_splits = (kw_split_keys){sorted, count};
    return true;
}

static bool
split_by_name(const kw_placement *placement, const char *algorithm, uint32_t regions, kw_arena *arena,
              kw_split_keys *ret_splits, kw_error *ret_error)
{
    kw_bytes *keys;
    bool made =
        g_str_equal(algorithm, "rule")
            ? kw_layout_splits(placement->layout, regions, arena, &keys, &ret_splits->count, ret_error)
            : kw_splits_by_algorithm(algorithm, regions, arena, &keys, &ret_splits->count, ret_error);
    if (made)
        ret_splits->keys = keys;
    return made;
}

static bool
split_by_sample(const kw_create_request *request, const kw_placement *placement, kw_arena *arena,
                kw_split_keys *ret_splits, kw_error *ret_error)
{
    kw_bytes *keys;
    kw_record *sample = KW_ARENA_ARRAY(arena, kw_record, request->sample_count);
    for (size_t i = 0; i < request->sample_count; i++)
        if (kw_placement_has_record(placement, &request->sample[i]))
            sample[i] = request->sample[i];
    if (!kw_layout_splits_of_sample(placement->layout, sample, request->sample_count, request->split_regions,
                                    arena, &keys, &ret_splits->count, ret_error))
        return false;
    ret_splits->keys = keys;
    return true;
}

/* True for the placement of the key rule in the policy: split keys that people wrote are for this rule. The
 * store table of a rule that is being replaced normally exists already. */
static bool
is_described(const kw_placement *placement)
{
    return placement == placement->path->placements;
}

static bool
split_by_request(kw_call *call, const kw_create_request *request, const kw_placement *placement,
                 kw_split_keys *ret_splits, kw_error *ret_error)
{
    int ways =
        (request->split_keys_count > 0) + (request->split_algorithm != NULL) + (request->sample_count > 0);
    if (ways > 1)
        return kw_error_set(ret_error, KW_INVALID,
                            "splits have more than one source; use keys, an algorithm or a sample");
    if (request->split_keys_count && request->path < 0 && request->table->paths_count > 1)
        return kw_error_set(ret_error, KW_INVALID, "split keys belong to one path; name the path");
    if (request->split_algorithm)
        return split_by_name(placement, request->split_algorithm, request->split_regions, call->arena,
                             ret_splits, ret_error);
    if (request->sample_count)
        return split_by_sample(request, placement, call->arena, ret_splits, ret_error);
    *ret_splits = (kw_split_keys){0};
    return !is_described(placement) ||
           order_keys(request->split_keys, request->split_keys_count, call->arena, ret_splits, ret_error);
}

/* --- the policy's ---------------------------------------------------------------------------------- */

static bool
split_by_texts(const char *const *texts, size_t count, kw_arena *arena, kw_split_keys *ret_splits,
               kw_error *ret_error)
{
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, count);
    for (size_t i = 0; i < count; i++)
        if (!kw_bytes_from_binary_text(texts[i], arena, &keys[i], ret_error))
            return false;
    return order_keys(keys, count, arena, ret_splits, ret_error);
}

/* One key per line. Removes white space at the ends of lines, and skips empty lines. */
static bool
split_by_lines(kw_bytes text, kw_arena *arena, kw_split_keys *ret_splits, kw_error *ret_error)
{
    g_autofree char *whole = g_strndup((const char *)text.data, text.size);
    g_auto(GStrv) lines = g_strsplit(whole, "\n", -1);
    size_t count = 0;
    for (char **line = lines; *line; line++) {
        g_strchomp(*line);
        if (**line)
            lines[count++] = *line;
        else
            g_free(*line);
    }
    lines[count] = NULL;
    return split_by_texts((const char *const *)lines, count, arena, ret_splits, ret_error);
}

static bool
split_by_policy(kw_call *call, const kw_placement *placement, kw_bytes text, kw_split_keys *ret_splits,
                kw_error *ret_error)
{
    const kw_model_splits *splits = &placement->path->model->splits;
    *ret_splits = (kw_split_keys){0};
    if (!is_described(placement))
        return true;
    if (*splits->file)
        return split_by_lines(text, call->arena, ret_splits, ret_error);
    if (splits->keys_count)
        return split_by_texts(splits->keys, splits->keys_count, call->arena, ret_splits, ret_error);
    if (*splits->algorithm)
        return split_by_name(placement, splits->algorithm, (uint32_t)CLAMP(splits->regions, 0, UINT32_MAX),
                             call->arena, ret_splits, ret_error);
    return true;
}

bool
kw_splits_for_placement(kw_call *call, const kw_create_request *request, const kw_placement *placement,
                        kw_bytes text, kw_split_keys *ret_splits, kw_error *ret_error)
{
    bool made = request->has_splits ? split_by_request(call, request, placement, ret_splits, ret_error)
                                    : split_by_policy(call, placement, text, ret_splits, ret_error);
    return made ||
           kw_error_prefix(ret_error, "table %s, path %s", request->table->name, placement->path->name);
}

char *
kw_splits_file(const kw_call *call, const kw_create_request *request, const kw_placement *placement)
{
    const char *file = placement->path->model->splits.file;
    if (request->has_splits || !*file || !is_described(placement))
        return NULL;
    if (g_path_is_absolute(file))
        return g_strdup(file);
    g_autofree char *folder = g_path_get_dirname(kw_policy_model(call->policy)->file);
    return g_build_filename(folder, file, NULL);
}

/* Callers do not learn the names of files and the texts of the operating system. */
static void
hide_reason(const char *file, const char *why, kw_error *ret_error)
{
    kw_log(KW_LOG_ERROR, "verb", "cannot read a split file that the policy names", KW_LOG_FACT("file", file),
           KW_LOG_FACT("reason", why));
    kw_error_set(ret_error, KW_INVALID,
                 "the split file of the policy cannot be read; the log of the gateway has the reason");
}

char *
kw_splits_read_file(const char *file, size_t *ret_size, kw_error *ret_error)
{
    char why[KW_FILE_WHY_MAX];
    char *text = kw_file_read(file, FILE_BYTES_MAX, ret_size, why);
    if (!text)
        hide_reason(file, why, ret_error);
    return text;
}
