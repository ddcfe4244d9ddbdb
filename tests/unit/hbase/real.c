#include "real.h"

#include "base/log.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

static char *
value_of(char **lines, const char *name)
{
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(*line, name) && (*line)[strlen(name)] == '=')
            return g_strdup(*line + strlen(name) + 1);
    return NULL;
}

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
    g_autofree char *text = NULL;
    const char *file = getenv("KW_HBASE_ENV");
    if (!file || !g_file_get_contents(file, &text, NULL, NULL))
        skip("no HBase: KW_HBASE_ENV names no file (tests/support/hbase/start.sh makes it)");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *reason = value_of(lines, "KW_HBASE_SKIP");
    char *place = value_of(lines, *ret_framed ? "KW_HBASE_FRAMED" : "KW_HBASE_BUFFERED");
    char *colon = place ? strrchr(place, ':') : NULL;
    if (!colon)
        skip(reason ? reason : "no HBase in KW_HBASE_ENV");
    *colon = '\0';
    *ret_server = (kw_model_server){.host = place, .port = (uint16_t)strtoul(colon + 1, NULL, 10)};
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
