/* For tests of states: checks that a move from one state to another aborts the process. */
#pragma once

#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* True if the move aborts. It is made in a process of its own. */
static inline bool
move_aborts(void (*move)(void *user, int to), void *user, int to)
{
    int status = 0;
    pid_t child = fork();
    g_assert_cmpint(child, >=, 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        move(user, to);
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}
