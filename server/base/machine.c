/* Control groups: /proc/self/cgroup names the group of the process, in lines such as
 *
 *   0::/system.slice/keywayd.service            version 2: memory.max in every folder up to the root
 *   5:cpu,memory:/docker/0123                   version 1: memory.limit_in_bytes
 *
 * Inside a container the path can be that of the host, while the file system shows the container's group as
 * the root. Then the limit in the root applies.
 */
#include "base/machine.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int64_t
machine_bytes(const char *root)
{
    g_autofree char *file = g_build_filename(*root ? root : "/", "proc/meminfo", NULL);
    g_autofree char *text = NULL;
    long long kib = 0;
    if (!g_file_get_contents(file, &text, NULL, NULL) || sscanf(text, "MemTotal: %lld kB", &kib) != 1)
        return 0;
    return (int64_t)kib * 1024;
}

/* The limit in a file; INT64_MAX if there is none ("max", no file, or out of range). */
static int64_t
limit_in(const char *folder, const char *name)
{
    g_autofree char *file = g_build_filename(folder, name, NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(file, &text, NULL, NULL) || !g_ascii_isdigit(text[0]))
        return INT64_MAX;
    guint64 bytes = g_ascii_strtoull(text, NULL, 10);
    return bytes > 0 && bytes < (guint64)INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

/* The lowest limit of the group and its ancestors. */
static int64_t
least_limit(const char *mount, const char *group, const char *name)
{
    int64_t least = limit_in(mount, name);
    g_autofree char *path = g_strdup(group);
    while (strlen(path) > 1) {
        g_autofree char *folder = g_build_filename(mount, path, NULL);
        least = MIN(least, limit_in(folder, name));
        *strrchr(path, '/') = '\0';
    }
    return least;
}

/* True if the comma-separated list contains `word`. */
static bool
list_contains(const char *words, const char *word)
{
    g_auto(GStrv) all = g_strsplit(words, ",", -1);
    return g_strv_contains((const char *const *)all, word);
}

static int64_t
limit_of_line(const char *root, const char *line)
{
    g_auto(GStrv) parts = g_strsplit(line, ":", 3);
    if (g_strv_length(parts) != 3 || parts[2][0] != '/')
        return INT64_MAX;
    const char *base = *root ? root : "/";
    g_autofree char *unified = g_build_filename(base, "sys/fs/cgroup", NULL);
    g_autofree char *old = g_build_filename(base, "sys/fs/cgroup/memory", NULL);
    if (parts[1][0] == '\0')
        return least_limit(unified, parts[2], "memory.max");
    return list_contains(parts[1], "memory") ? least_limit(old, parts[2], "memory.limit_in_bytes")
                                             : INT64_MAX;
}

int64_t
kw_machine_memory_below(const char *root)
{
    g_autofree char *file = g_build_filename(*root ? root : "/", "proc/self/cgroup", NULL);
    g_autofree char *text = NULL;
    int64_t least = machine_bytes(root);
    if (!g_file_get_contents(file, &text, NULL, NULL))
        return least;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++)
        least = MIN(least, limit_of_line(root, *line));
    return least;
}

int64_t
kw_machine_resident_bytes(void)
{
    g_autofree char *text = NULL;
    unsigned long total, resident;
    if (!g_file_get_contents("/proc/self/statm", &text, NULL, NULL) ||
        sscanf(text, "%lu %lu", &total, &resident) != 2)
        return 0;
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}
