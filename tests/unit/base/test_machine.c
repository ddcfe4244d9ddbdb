/* The memory that a process can use: the machine's, or the lowest limit of its control groups. */
#include "base/machine.h"

#include <glib.h>
#include <glib/gstdio.h>

#define GIB ((int64_t)1024 * 1024 * 1024)

static void
write_file(const char *root, const char *path, const char *text)
{
    g_autofree char *file = g_build_filename(root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(file);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static void
remove_all(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder && (name = g_dir_read_name(folder));) {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        remove_all(inside);
    }
    g_assert_cmpint(g_remove(path), ==, 0);
}

static char *
machine_of_8_gib(const char *groups)
{
    char *root = g_dir_make_tmp("keyway-machine-XXXXXX", NULL);
    write_file(root, "proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");
    if (groups)
        write_file(root, "proc/self/cgroup", groups);
    return root;
}

static void
check(char *root, int64_t wanted)
{
    g_assert_cmpint(kw_machine_memory_below(root), ==, wanted);
    remove_all(root);
    g_free(root);
}

KW_TEST(without_groups, "/machine/plain")
{
    check(machine_of_8_gib(NULL), 8 * GIB);
    check(machine_of_8_gib("0::/\n"), 8 * GIB);
    check(g_dir_make_tmp("keyway-machine-XXXXXX", NULL), 0);
    g_assert_cmpint(kw_machine_memory(), >, 0);
}

KW_TEST(version_2, "/machine/version-2")
{
    char *root = machine_of_8_gib("0::/a.slice/b.service\n");
    write_file(root, "sys/fs/cgroup/a.slice/b.service/memory.max", "2147483648\n");
    write_file(root, "sys/fs/cgroup/a.slice/memory.max", "max\n");
    check(root, 2 * GIB);
    root = machine_of_8_gib("0::/a.slice/b.service\n");
    write_file(root, "sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
    write_file(root, "sys/fs/cgroup/a.slice/memory.max", "1073741824\n");
    check(root, GIB);
    root = machine_of_8_gib("0::/../outside\n"); /* a container that sees its group as the root */
    write_file(root, "sys/fs/cgroup/memory.max", "3221225472\n");
    check(root, 3 * GIB);
    root = machine_of_8_gib("0::/a\n");
    write_file(root, "sys/fs/cgroup/a/memory.max", "99999999999999\n");
    check(root, 8 * GIB);
}

KW_TEST(version_1, "/machine/version-1")
{
    char *root = machine_of_8_gib("12:cpuset:/x\n5:cpu,memory:/docker/0123\n0::/y\n");
    write_file(root, "sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "1073741824\n");
    write_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    check(root, GIB);
    root = machine_of_8_gib("5:memory:/docker/0123\n");
    write_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    check(root, 2 * GIB);
    root = machine_of_8_gib("garbage\n5:memory\n7:memory:relative\n");
    check(root, 8 * GIB);
}
