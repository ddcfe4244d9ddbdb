#include "real.h"

#include "base/log.h"
#include "base/thread.h"
#include "contract/hbase_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

static void
skip(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    exit(SKIPPED);
}

void
real_init(int *argc, char ***argv, kw_model_server *ret_server, bool *ret_framed)
{
    *ret_framed = *argc > 1 && strcmp((*argv)[1], "--framed") == 0;
    if (*ret_framed) {
        (*argv)[1] = (*argv)[0];
        (*argv)++;
        (*argc)--;
    }
    kw_hbase_place *place = kw_hbase_place_find(*ret_framed); /* lives as long as the process */
    if (!place->host)
        skip(place->why);
    *ret_server = (kw_model_server){.host = place->host, .port = place->port};
    g_test_init(argc, argv, NULL);
    if (!g_test_verbose())
        kw_log_configure(KW_LOG_ERROR, false);
}

char *
real_thrift(const char *arguments)
{
    const char *run = getenv("KW_HBASE_RUN"), *scripts = getenv("KW_HBASE_SCRIPTS");
    g_assert_nonnull(run);
    g_assert_nonnull(scripts);
    g_autofree char *command = g_strdup_printf("'%s/thrift.sh' '%s' %s", scripts, run, arguments);
    char line[100] = "";
    FILE *pipe = popen(command, "r");
    g_assert_nonnull(pipe);
    if (!fgets(line, sizeof line, pipe))
        line[0] = '\0';
    int status = pclose(pipe);
    g_assert_cmpint(status, ==, 0);
    return g_strdup(g_strstrip(line));
}

typedef struct background_call {
    const char *arguments;
    _Atomic bool done;
} background_call;

static void
run_in_background(void *user)
{
    background_call *background = user;
    g_free(real_thrift(background->arguments));
    background->done = true;
}

void
real_thrift_in_background(bed *in, const char *arguments)
{
    background_call background = {.arguments = arguments};
    kw_thread thread;
    kw_thread_start(&thread, "thrift.sh", run_in_background, &background);
    while (!background.done)
        bed_run_loop(in, 20);
    kw_thread_join(&thread);
}
