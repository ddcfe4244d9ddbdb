#include "store_files.h"

#include "contract/fixture.h"
#include "store/embedded/crc32c.h"
#include "store/embedded/wal.h"

#include <fcntl.h>
#include <unistd.h>

char *
store_copy_of(const char *folder)
{
    char *copy = temporary_folder_new();
    g_autofree char *from = g_strdup_printf("%s/.", folder);
    const char *const command[] = {"cp", "-a", from, copy, NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, NULL, NULL));
    return copy;
}

bool
store_check(const char *folder, kw_error *ret_error)
{
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    kw_acknowledged_state marks;
    kw_files files;
    kw_acknowledged_read(folder, &marks);
    bool good = kw_files_check(rows, &marks, &files, ret_error) && kw_wal_check(&files, ret_error);
    kw_files_clear(&files);
    return good;
}

/* The name of a file in rows/ with this prefix and suffix. Free it with g_free. */
static char *
find_file(const char *folder, const char *prefix, const char *suffix)
{
    g_autofree char *rows = g_build_filename(folder, "rows", NULL);
    g_autoptr(GDir) names = g_dir_open(rows, 0, NULL);
    char *found = NULL;
    for (const char *name; (name = g_dir_read_name(names));)
        if (g_str_has_prefix(name, prefix) && g_str_has_suffix(name, suffix)) {
            g_free(found);
            found = g_strdup(name);
        }
    g_assert_nonnull(found);
    return found;
}

store_file
store_file_read(const char *folder, const char *prefix, const char *suffix)
{
    store_file found = {.name = find_file(folder, prefix, suffix)};
    g_autofree char *path = g_build_filename(folder, "rows", found.name, NULL);
    g_assert_true(g_file_get_contents(path, &found.data, &found.size, NULL));
    return found;
}

void
store_file_clear(store_file *file)
{
    g_free(file->name);
    g_free(file->data);
}

/* Overwrites the file in place: some file systems wait for the disk when a truncated file is written
 * again. */
void
store_file_write(const char *folder, const store_file *file, gsize size)
{
    g_autofree char *path = g_build_filename(folder, "rows", file->name, NULL);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    g_assert_cmpint(to, >=, 0);
    g_assert_cmpint(pwrite(to, file->data, size, 0), ==, (gssize)size);
    g_assert_cmpint(ftruncate(to, (off_t)size), ==, 0);
    g_assert_cmpint(close(to), ==, 0);
}

void
store_file_remove(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    temporary_folder_remove(path);
}

/* type: 1: a whole record, 2: the first, 3: a middle, 4: the last fragment of a record. */
static void
append_fragment(GByteArray *log, uint8_t type, kw_bytes payload)
{
    uint32_t crc = kw_crc32c(kw_crc32c(0, kw_bytes_of(&type, 1)), payload);
    crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8;
    const uint8_t head[] = {(uint8_t)crc,
                            (uint8_t)(crc >> 8),
                            (uint8_t)(crc >> 16),
                            (uint8_t)(crc >> 24),
                            (uint8_t)payload.size,
                            (uint8_t)(payload.size >> 8),
                            type};
    g_byte_array_append(log, head, sizeof head);
    g_byte_array_append(log, payload.data, (guint)payload.size);
}

void
store_log_append(GByteArray *log, kw_bytes record)
{
    enum { BLOCK = 32768, HEAD = 7 };
    static const uint8_t zeros[HEAD];
    bool first = true, last = false;
    while (!last) {
        gsize left = BLOCK - log->len % BLOCK;
        if (left < HEAD) {
            g_byte_array_append(log, zeros, (guint)left);
            continue;
        }
        gsize size = MIN(record.size, left - HEAD);
        last = size == record.size;
        append_fragment(log, first ? (last ? 1 : 2) : (last ? 4 : 3), kw_bytes_of(record.data, size));
        record = kw_bytes_skip(record, size);
        first = false;
    }
}
