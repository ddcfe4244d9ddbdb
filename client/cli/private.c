#include "cli/private.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_TIMEOUT_MS 10000

static const char policy[] = "listen: 127.0.0.1:0\n"
                             "admin: off\n"
                             "loops: 1\n"
                             "store: {kind: embedded, path: store}\n"
                             "log: {level: error}\n"
                             "limits: {frame: 512MiB, ranges: 1000000}\n"
                             "timeouts: {frame: 5min, call: 10min}\n"
                             "tables: {nothing: {fields: {id: string}, key: [field: id]}}\n";

struct kw_private {
    char *folder;
    char *policy_file;
    char *port_file;
    char *address;
    GPid pid; /* 0: not started */
};

char *
kw_private_program(GError **error)
{
    const char *named = g_getenv("KEYWAYD");
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = self == NULL ? NULL : g_path_get_dirname(self);
    g_autofree char *sibling = folder == NULL ? NULL : g_build_filename(folder, "keywayd", NULL);
    g_autofree char *installed = folder == NULL ? NULL : g_build_filename(folder, KW_BIN_TO_KEYWAYD, NULL);
    char *found;

    if (named != NULL && named[0] != '\0')
        return g_strdup(named);
    if (sibling != NULL && g_file_test(sibling, G_FILE_TEST_IS_EXECUTABLE))
        return g_steal_pointer(&sibling);
    if (installed != NULL && g_file_test(installed, G_FILE_TEST_IS_EXECUTABLE))
        return g_steal_pointer(&installed);
    found = g_find_program_in_path("keywayd");
    if (found == NULL)
        g_set_error_literal(error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT,
                            "keywayd is neither installed next to this program nor in PATH: set KEYWAYD to "
                            "its path, or use a running gateway with --gateway");
    return found;
}

/* Runs in the child, before it becomes the gateway. */
static void
end_with_parent(gpointer user)
{
    (void)user;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static bool
spawn(kw_private *self, GError **error)
{
    g_autofree char *program = kw_private_program(error);
    char *words[] = {program, (char *)"--config", self->policy_file, (char *)"--port-file", self->port_file,
                     NULL};

    if (program == NULL)
        return false;
    return g_spawn_async(self->folder, words, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                         end_with_parent, NULL, &self->pid, error);
}

/* Reads the address from the line "listener=127.0.0.1:33033" of the port file. False: the line is not
 * complete yet. */
static bool
read_address(kw_private *self)
{
    g_autofree char *text = NULL;
    char *line, *end;

    if (!g_file_get_contents(self->port_file, &text, NULL, NULL))
        return false;
    line = strstr(text, "listener=");
    end = line == NULL ? NULL : strchr(line, '\n');
    if (end == NULL)
        return false;
    line += strlen("listener=");
    self->address = g_strndup(line, (gsize)(end - line));
    return true;
}

static bool
wait_for_address(kw_private *self, GError **error)
{
    for (int waited_ms = 0; waited_ms < START_TIMEOUT_MS; waited_ms += 5) {
        int status;

        if (read_address(self))
            return true;
        if (waitpid(self->pid, &status, WNOHANG) == self->pid) {
            self->pid = 0;
            g_set_error_literal(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED,
                                "keywayd exited before it opened its port; its messages are above");
            return false;
        }
        g_usleep(5000);
    }
    g_set_error_literal(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED,
                        "keywayd did not open its port within 10 seconds");
    return false;
}

kw_private *
kw_private_start(GError **error)
{
    g_autoptr(kw_private) self = g_new0(kw_private, 1);

    self->folder = g_dir_make_tmp("keyway-XXXXXX", error);
    if (self->folder == NULL)
        return NULL;
    self->policy_file = g_build_filename(self->folder, "keyway.yaml", NULL);
    self->port_file = g_build_filename(self->folder, "ports", NULL);
    if (!g_file_set_contents(self->policy_file, policy, -1, error) || !spawn(self, error) ||
        !wait_for_address(self, error))
        return NULL;
    return g_steal_pointer(&self);
}

const char *
kw_private_address(const kw_private *self)
{
    return self->address;
}

static int
remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

void
kw_private_stop(kw_private *self)
{
    if (self == NULL)
        return;
    if (self->pid != 0) {
        kill(self->pid, SIGKILL); /* it stores nothing of value */
        waitpid(self->pid, NULL, 0);
    }
    if (self->folder != NULL)
        nftw(self->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    g_free(self->folder);
    g_free(self->policy_file);
    g_free(self->port_file);
    g_free(self->address);
    g_free(self);
}
