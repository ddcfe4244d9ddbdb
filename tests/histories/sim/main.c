/* hbase_sim SEED PORT...: Thrift2 servers over one HBase in memory. Reads one command per line and prints
 * "ok":
 *
 *   faults [lose=0.01] [drop=0.01] [late=0.01] [repeat=0.1] [slow=0.01] [delay_us=500] [late_ms=300]
 *          [slow_ms=100] [held=0.01] [held_ms=1000] [blind=0.3] [blind_ms=1000]
 *          [stuck=0.1] [stuck_ms=1000] [apart=0.1] [apart_ms=500]   default: 0
 *   faults_of N ...                         the same, of calls to the N-th Thrift2 server only, until the next faults
 *   patience MS                             writes are applied within this time after they arrived, or never
 *   clock data|clock MS                     sets a region server's clock relative to this machine's
 *   stop N, go_on N, kill N, start N        the N-th Thrift2 server, from 0
 *   purge [MS]                              a compaction drops the delete markers that are older than the family's
 *                                           configuration; with MS: or older than MS
 *   ties                                    prints cells that replaced others with the same timestamp, before
 *                                           "ok": see rows.h
 *   dump TABLE                              prints all cells, before "ok": see rows.h
 *
 * Exits at the end of its input.
 */
#include "histories/sim/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MOST 8

/* True if the word gives the fault this number. */
static bool
is_given(const char *word, const char *name, double *ret_number)
{
    if (!g_str_has_prefix(word, name) || word[strlen(name)] != '=')
        return false;
    *ret_number = g_ascii_strtod(word + strlen(name) + 1, NULL);
    return true;
}

static sim_faults
faults_of(char **words)
{
    sim_faults made = {0};
    const struct {
        const char *name;
        double *share;
        int *number;
    } all[] = {{"lose", &made.lose, NULL},         {"drop", &made.drop, NULL},
               {"late", &made.late, NULL},         {"repeat", &made.repeat, NULL},
               {"slow", &made.slow, NULL},         {"held", &made.held, NULL},
               {"blind", &made.blind, NULL},       {"stuck", &made.stuck, NULL},
               {"apart", &made.apart, NULL},       {"delay_us", NULL, &made.delay_us},
               {"late_ms", NULL, &made.late_ms},   {"slow_ms", NULL, &made.slow_ms},
               {"held_ms", NULL, &made.held_ms},   {"blind_ms", NULL, &made.blind_ms},
               {"stuck_ms", NULL, &made.stuck_ms}, {"apart_ms", NULL, &made.apart_ms}};
    for (; *words; words++) {
        double number = 0;
        size_t at = 0;
        while (at < G_N_ELEMENTS(all) && !is_given(*words, all[at].name, &number))
            at++;
        if (at == G_N_ELEMENTS(all))
            g_error("not a fault: %s", *words);
        if (all[at].share)
            *all[at].share = number;
        else
            *all[at].number = (int)number;
    }
    return made;
}

static void
obey(sim_servers *servers, char **words)
{
    size_t number = words[0] && words[1] ? strtoul(words[1], NULL, 10) : 0;
    if (strcmp(words[0], "faults") == 0) {
        sim_faults faults = faults_of(words + 1);
        sim_servers_set_faults(servers, SIM_ALL, &faults);
    } else if (strcmp(words[0], "faults_of") == 0 && words[1]) {
        sim_faults faults = faults_of(words + 2);
        sim_servers_set_faults(servers, number, &faults);
    } else if (strcmp(words[0], "patience") == 0) {
        sim_servers_set_patience(servers, (int)number);
    } else if (strcmp(words[0], "clock") == 0 && words[1] && words[2]) {
        sim_servers_set_clock(servers, strcmp(words[1], "clock") == 0 ? SIM_CLOCK : SIM_DATA,
                              strtoll(words[2], NULL, 10));
    } else if (strcmp(words[0], "stop") == 0) {
        sim_servers_stop(servers, number);
    } else if (strcmp(words[0], "go_on") == 0) {
        sim_servers_go_on(servers, number);
    } else if (strcmp(words[0], "kill") == 0) {
        sim_servers_kill(servers, number);
    } else if (strcmp(words[0], "start") == 0) {
        sim_servers_start_again(servers, number);
    } else if (strcmp(words[0], "dump") == 0 && words[1]) {
        sim_servers_dump(servers, words[1]);
    } else if (strcmp(words[0], "ties") == 0) {
        sim_servers_print_ties(servers);
    } else if (strcmp(words[0], "purge") == 0) {
        sim_servers_purge(servers, words[1] ? (int64_t)number : INT64_MAX);
    } else {
        g_error("not a command: %s", words[0]);
    }
}

int
main(int argc, char **argv)
{
    uint16_t ports[PORTS_MOST];
    size_t count = 0;
    char line[1000];
    if (argc < 3 || argc > 2 + PORTS_MOST) {
        fprintf(stderr, "usage: hbase_sim SEED PORT...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        ports[count++] = (uint16_t)strtoul(argv[i], NULL, 10);
    sim_servers *servers = sim_servers_start(ports, count, (uint32_t)strtoul(argv[1], NULL, 10));
    puts("ok");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        g_auto(GStrv) words = g_strsplit(g_strstrip(line), " ", -1);
        obey(servers, words);
        puts("ok");
        fflush(stdout);
    }
    return 0;
}
