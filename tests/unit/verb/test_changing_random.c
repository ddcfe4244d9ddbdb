/* Random writes to a table whose key rules are being changed, and crashes between them: the rows of a record
 * stay equal.
 *
 * The crash test runs this program as a child: test_verb_changing_random --child FOLDER. */
#include "changing_writes.h"

#include "support/seeded.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 400 };

/* Whatever is written in either version, the rows of a record stay equal. */
static void
test_random_writes(void)
{
    for (size_t i = 0; i < CHANGING_ALL_PATHS; i++) {
        changing self;
        changing_init(&self, changing_all_paths[i]);
        for (int step = 0; step < STEPS; step++) {
            changing_random_write(&self);
            if (step % 50 == 20)
                changing_serve(&self,
                               self.version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
            if (step % 100 == 70)
                changing_reopen(&self);
            for (int id = 0; id < CHANGING_RECORDS; id++) {
                g_autofree char *key = g_strdup_printf("id=r%d", id);
                g_free(changing_same_cells(&self, key));
            }
            desk_clear(self.desk);
        }
        changing_clear(&self);
    }
}

static void
random_atomic(changing *self)
{
    g_autofree char *key = changing_random_key();
    g_autofree char *note = g_strdup_printf("x%d", g_test_rand_int_range(0, 3));
    g_autofree char *noted = g_strdup_printf("%s note=x%d tags.e1=1", key, g_test_rand_int_range(0, 3));
    if (g_test_rand_int_range(0, 2))
        changing_increment(self, key, g_test_rand_int_range(-5, 6));
    else
        changing_put_if(self, noted, g_test_rand_int_range(0, 2) ? note : NULL);
}

static void
mix_writes(changing *self)
{
    for (int step = 0; step < STEPS; step++) {
        if (g_test_rand_int_range(0, 2))
            random_atomic(self);
        else
            changing_random_write(self);
        if (step % 40 == 39)
            changing_serve(self, self->version == CHANGING_BOTH_OLD ? CHANGING_BOTH_NEW : CHANGING_BOTH_OLD);
        if (step == STEPS / 2)
            changing_reopen(self);
    }
}

/* After any mix of writes the rows of a record are equal. */
static void
test_random_atomics(void)
{
    for (size_t i = 0; i < CHANGING_ALL_PATHS; i++) {
        changing self;
        changing_init(&self, changing_all_paths[i]);
        mix_writes(&self);
        size_t some = 0;
        for (int record = 0; record < CHANGING_RECORDS; record++) {
            g_autofree char *key = g_strdup_printf("id=r%d", record);
            g_autofree char *cells = changing_same_cells(&self, key);
            some += *cells != '\0';
        }
        g_assert_cmpuint(some, >, 0);
        changing_clear(&self);
    }
}

/* --- crashes ---------------------------------------------------------------------------------------- */

enum { CRASHED = 40, WRITES = 3000 };

/* Writes records of changing content, with one byte per acknowledged write to the parent. */
static void
run_child(const char *folder)
{
    changing self;
    changing_open(&self, folder, "primary second");
    for (int i = 0;; i++) {
        g_autofree char *key = g_strdup_printf("id=c%d", i % CRASHED);
        g_autofree char *record = g_strdup_printf("%s n=%d note=w%d", key, i, i);
        g_autofree char *noted = g_strdup_printf("%s note=w%d", key, i);
        if (i % 7 == 6)
            changing_remove(&self, key, i % 2 ? NULL : "note");
        else if (i % 5 == 4)
            changing_write_many(&self, true);
        else if (i % 5 == 3)
            changing_increment(&self, key, i);
        else if (i % 5 == 2)
            changing_put_if(&self, noted, NULL);
        else
            changing_put(&self, record);
        if (write(STDOUT_FILENO, "w", 1) != 1)
            _exit(1);
        desk_clear(self.desk);
    }
}

static const char *program;

static void
kill_child(const char *folder)
{
    const char *const command[] = {program, "--child", folder, NULL};
    GPid child;
    int from_child, status;
    g_autoptr(GError) failed = NULL;
    if (!g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                  NULL, &child, NULL, &from_child, NULL, &failed))
        g_error("%s", failed->message);
    char byte;
    for (int i = 0; i < WRITES / 10 + g_test_rand_int_range(0, WRITES / 10); i++)
        g_assert_cmpint(read(from_child, &byte, 1), ==, 1);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(from_child);
}

static void
test_crash(void)
{
    g_autofree char *parent = g_dir_make_tmp("changing-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(parent, "data", NULL);
    changing self;
    for (int round = 0; round < 3; round++) {
        kill_child(folder);
        changing_open(&self, folder, "primary second");
        size_t some = 0;
        for (int i = 0; i < CRASHED; i++) {
            g_autofree char *key = g_strdup_printf("id=c%d", i);
            g_autofree char *cells = changing_same_cells(&self, key);
            some += *cells != '\0';
        }
        g_assert_cmpuint(some, >, CRASHED / 2);
        if (round < 2) {
            changing_close(&self);
            g_free(self.folder);
        }
    }
    changing_clear(&self);
}

int
main(int argc, char **argv)
{
    const char *folder = argc == 3 && g_str_equal(argv[1], "--child") ? argv[2] : NULL;
    program = argv[0];
    argc = folder ? 1 : argc;
    seeded_init(&argc, &argv);
    if (folder)
        run_child(folder);
    g_test_add_func("/verb/changing-random/writes", test_random_writes);
    g_test_add_func("/verb/changing-random/atomics", test_random_atomics);
    g_test_add_func("/verb/changing-random/crash", test_crash);
    return g_test_run();
}
