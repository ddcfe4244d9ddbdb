#include "gateway/cursor_keys.h"

#include "base/log.h"
#include "config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <unistd.h>

#define KEY_BYTES_LEAST 16
#define KEY_BYTES_RANDOM 32
#define KEYS_MAX 16
#define FILE_BYTES_MAX 65536

bool
kw_cursor_keys_are_configured(const kw_model *model)
{
    return model->cursor.keys_count > 0 || (model->cursor.key_file && model->cursor.key_file[0]);
}

static kw_keyring *
keyring_of(char *const *keys, const char *from, kw_error *ret_error)
{
    kw_bytes found[KEYS_MAX];
    size_t count = 0;
    for (; *keys; keys++) {
        if ((*keys)[0] == '\0')
            continue;
        if (count == KEYS_MAX) {
            kw_error_set(ret_error, KW_INVALID, "%s: more than %d cursor keys", from, KEYS_MAX);
            return NULL;
        }
        if (strlen(*keys) < KEY_BYTES_LEAST) {
            kw_error_set(ret_error, KW_INVALID, "%s: cursor key %zu is shorter than %d bytes", from,
                         count + 1, KEY_BYTES_LEAST);
            return NULL;
        }
        found[count++] = kw_bytes_of_text(*keys);
    }
    if (count > 0)
        return kw_keyring_new(found, count);
    kw_error_set(ret_error, KW_INVALID, "%s: contains no cursor key", from);
    return NULL;
}

/* Logs a warning if other users can read the keys, because they can forge cursors. */
static void
warn_if_readable(const char *file, unsigned others)
{
    char permissions[KW_FILE_PERMISSIONS_SIZE];
    if (!kw_file_permits(file, others, permissions))
        return;
    g_autofree char *hint = g_strdup_printf("chmod 600 %s", file);
    kw_log(KW_LOG_WARN, "gateway", "other users can use the cursor key", KW_LOG_FACT("file", file),
           KW_LOG_FACT("permissions", permissions), KW_LOG_FACT("hint", hint));
}

static kw_keyring *
keyring_of_file(const char *file, kw_error *ret_error)
{
    char why[KW_FILE_WHY_MAX];
    size_t size;
    g_autofree char *text = kw_file_read(file, FILE_BYTES_MAX, &size, why);
    if (!text) {
        kw_error_set(ret_error, KW_INVALID, "cursor key file %s: %s", file, why);
        return NULL;
    }
    warn_if_readable(file, 0077);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++)
        g_strstrip(*line);
    kw_keyring *keyring = keyring_of(lines, file, ret_error);
    OPENSSL_cleanse(text, size);
    return keyring;
}

static void
random_key(char text[2 * KEY_BYTES_RANDOM + 1])
{
    unsigned char bytes[KEY_BYTES_RANDOM];
    int created = RAND_bytes(bytes, sizeof bytes);
    g_assert(created == 1);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static bool
write_random_key(const char *file)
{
    char text[2 * KEY_BYTES_RANDOM + 2];
    unlink(file); /* never write to an existing file, which a killed gateway or another user left */
    int created = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (created < 0)
        return false;
    random_key(text);
    text[2 * KEY_BYTES_RANDOM] = '\n';
    bool written = write(created, text, sizeof text - 1) == (ssize_t)sizeof text - 1 && fsync(created) == 0;
    int why = errno;
    close(created);
    OPENSSL_cleanse(text, sizeof text);
    errno = why;
    return written;
}

/* Creates the file atomically unless it exists. A gateway killed in between leaves no partial file, and of
 * two gateways the first one's file stays. */
static bool
ensure_key_file(const char *file, kw_error *ret_error)
{
    g_autofree char *fresh = g_strdup_printf("%s.new", file);
    if (access(file, F_OK) == 0)
        return true;
    bool created = write_random_key(fresh) && (link(fresh, file) == 0 || errno == EEXIST);
    int why = errno;
    unlink(fresh);
    return created ||
           kw_error_set(ret_error, KW_UNAVAILABLE, "cursor key file %s: %s", file, g_strerror(why));
}

kw_keyring *
kw_cursor_keys_open(const kw_model *model, kw_error *ret_error)
{
    if (model->cursor.keys_count > 0) {
        g_autofree char **keys = g_new0(char *, model->cursor.keys_count + 1);
        for (size_t i = 0; i < model->cursor.keys_count; i++)
            keys[i] = (char *)(uintptr_t)model->cursor.keys[i];
        warn_if_readable(model->file, 0007); /* a policy can be shared with a group */
        return keyring_of(keys, "cursor.keys", ret_error);
    }
    if (kw_cursor_keys_are_configured(model))
        return keyring_of_file(model->cursor.key_file, ret_error);
    if (model->store.kind == KW_STORE_EMBEDDED) {
        g_autofree char *file = g_build_filename(model->store.embedded.path, "cursor.key", NULL);
        return ensure_key_file(file, ret_error) ? keyring_of_file(file, ret_error) : NULL;
    }
    char text[2 * KEY_BYTES_RANDOM + 1];
    kw_log(KW_LOG_WARN, "gateway", "cursors become invalid when this process ends",
           KW_LOG_FACT("hint", "set cursor.keys or cursor.key_file, the same on every gateway"));
    random_key(text);
    return kw_keyring_new(&(kw_bytes){(const uint8_t *)text, 2 * KEY_BYTES_RANDOM}, 1);
}
