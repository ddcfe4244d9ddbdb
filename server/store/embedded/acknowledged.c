#include "store/embedded/acknowledged.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/embedded/files.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "kwacked1"
#define NUMBERS (3 + KW_ACKNOWLEDGED_LOGS)
#define FILE_BYTES (8 + 8 * (NUMBERS + 1))
/* While there are commits, the files are looked at this often. */
#define LOOK_NS UINT64_C(10000000)

/* --- the file ------------------------------------------------------------------------------------- */

static void
encode(const kw_acknowledged_state *state, uint8_t *to)
{
    memcpy(to, MAGIC, 8);
    kw_be64_store(to + 8, state->sequence);
    kw_be64_store(to + 16, state->manifest);
    kw_be64_store(to + 24, state->manifest_bytes);
    for (size_t i = 0; i < KW_ACKNOWLEDGED_LOGS; i++)
        kw_be64_store(to + 32 + 8 * i, state->logs[i]);
    kw_be64_store(to + FILE_BYTES - 8, kw_bytes_hash(kw_bytes_of(to, FILE_BYTES - 8)));
}

static bool
decode(const uint8_t *from, kw_acknowledged_state *ret_state)
{
    if (memcmp(from, MAGIC, 8) != 0 ||
        kw_be64_load(from + FILE_BYTES - 8) != kw_bytes_hash(kw_bytes_of(from, FILE_BYTES - 8)))
        return false;
    ret_state->sequence = kw_be64_load(from + 8);
    ret_state->manifest = kw_be64_load(from + 16);
    ret_state->manifest_bytes = kw_be64_load(from + 24);
    for (size_t i = 0; i < KW_ACKNOWLEDGED_LOGS; i++)
        ret_state->logs[i] = kw_be64_load(from + 32 + 8 * i);
    return true;
}

static char *
name_of(const char *path)
{
    return g_build_filename(path, "acknowledged", NULL);
}

void
kw_acknowledged_read(const char *path, kw_acknowledged_state *ret_state)
{
    g_autofree char *name = name_of(path);
    uint8_t bytes[FILE_BYTES + 1];
    *ret_state = (kw_acknowledged_state){0};
    int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return;
    ssize_t size = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (file >= 0)
        close(file);
    if (size != FILE_BYTES || !decode(bytes, ret_state))
        kw_log(KW_LOG_WARN, "embedded",
               "cannot read the mark of acknowledged writes, so this start cannot notice missing logs",
               KW_LOG_FACT("file", name));
}

bool
kw_acknowledged_forget(const char *path, kw_error *ret_error)
{
    g_autofree char *name = name_of(path);
    return unlink(name) == 0 || errno == ENOENT ||
           kw_error_set(ret_error, KW_UNAVAILABLE, "%s: %s", name, g_strerror(errno));
}

static void
write_state(kw_acknowledged *self)
{
    uint8_t bytes[FILE_BYTES];
    encode(&self->state, bytes);
    bool good = pwrite(self->file, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
    if (!good && !self->failed)
        kw_log(KW_LOG_WARN, "embedded", "cannot write the mark of acknowledged writes",
               KW_LOG_FACT("reason", g_strerror(errno)));
    self->failed = !good;
}

/* --- the numbers of files ------------------------------------------------------------------------- */

static void
list_logs(kw_acknowledged *self)
{
    kw_error ignored;
    GArray *logs = kw_files_list_logs(self->rows, &ignored);
    if (!logs)
        return;
    guint skipped = logs->len > KW_ACKNOWLEDGED_LOGS ? logs->len - KW_ACKNOWLEDGED_LOGS : 0;
    memset(self->state.logs, 0, sizeof self->state.logs);
    for (guint i = skipped; i < logs->len; i++)
        self->state.logs[i - skipped] = g_array_index(logs, uint64_t, i);
    g_array_free(logs, TRUE);
}

/* Opens the manifest that CURRENT names, unless it is open. */
static void
open_manifest(kw_acknowledged *self)
{
    uint64_t number;
    g_autofree char *path = kw_files_find_manifest(self->rows, &number);
    if (!path || number == self->state.manifest)
        return;
    if (self->manifest >= 0)
        close(self->manifest);
    self->manifest = open(path, O_RDONLY | O_CLOEXEC);
    self->state.manifest = self->manifest < 0 ? 0 : number;
    self->state.manifest_bytes = 0;
}

/* Returns true if the state has changed. */
static bool
look(kw_acknowledged *self)
{
    kw_acknowledged_state before = self->state;
    struct stat facts;
    if (fstat(self->folder, &facts) == 0) {
        int64_t changed_ns = (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
        if (changed_ns != self->changed_ns) {
            list_logs(self);
            open_manifest(self);
        }
        self->changed_ns = changed_ns;
    }
    if (self->manifest >= 0 && fstat(self->manifest, &facts) == 0)
        self->state.manifest_bytes = (uint64_t)facts.st_size;
    return memcmp(&before, &self->state, sizeof before) != 0;
}

void
kw_acknowledged_note(kw_acknowledged *self, uint64_t sequence)
{
    uint64_t now_ns = kw_clock_mono_ns();
    g_assert(sequence >= self->state.sequence);
    self->state.sequence = sequence;
    if (now_ns >= self->look_at_ns) {
        self->look_at_ns = now_ns + LOOK_NS;
        look(self);
    }
    write_state(self);
}

void
kw_acknowledged_look(kw_acknowledged *self)
{
    if (look(self))
        write_state(self);
}

/* --- opening and closing -------------------------------------------------------------------------- */

bool
kw_acknowledged_open(kw_acknowledged *self, const char *path, uint64_t sequence, kw_error *ret_error)
{
    g_autofree char *name = name_of(path);
    *self = (kw_acknowledged){.rows = g_build_filename(path, "rows", NULL), .manifest = -1};
    self->folder = open(self->rows, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    self->file = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    self->state.sequence = sequence;
    look(self);
    write_state(self);
    if (self->file >= 0 && self->folder >= 0 && !self->failed && ftruncate(self->file, FILE_BYTES) == 0 &&
        fsync(self->file) == 0)
        return true;
    kw_error_set(ret_error, KW_UNAVAILABLE, "%s: %s", name, g_strerror(errno));
    kw_acknowledged_close(self);
    return false;
}

void
kw_acknowledged_close(kw_acknowledged *self)
{
    if (!self->rows)
        return;
    if (self->file >= 0) {
        fsync(self->file);
        close(self->file);
    }
    if (self->manifest >= 0)
        close(self->manifest);
    if (self->folder >= 0)
        close(self->folder);
    g_free(self->rows);
    *self = (kw_acknowledged){0};
}
