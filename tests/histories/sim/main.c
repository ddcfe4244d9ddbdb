/* hbase_sim SEED PORT...: Thrift2 servers over one HBase in memory. Reads one command per line and prints
 * "ok":
 *
 *   faults [lose=0.01] [drop=0.01] [late=0.01] [repeat=0.1] [slow=0.01] [delay_us=500] [late_ms=300]
 *          [slow_ms=100]              default: 0
 *   clock data|clock MS                     sets a region server's clock relative to this machine's
 *   stop N, go_on N, kill N, start N        the N-th Thrift2 server, from 0
 *   purge                                   a compaction drops the delete markers
 *   dump TABLE                              prints all cells, before "ok": see rows.h
 *
 * Exits at the end of its input.
 */
#include "histories/sim/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MOST 8

static sim_faults
faults_of(char **words)
{
    sim_faults made = {0};
    for (; *words; words++) {
        const char *value = strchr(*words, '=');
        if (!value)
            g_error("not a fault: %s", *words);
        double number = g_ascii_strtod(value + 1, NULL);
        if (g_str_has_prefix(*words, "lose="))
            made.lose = number;
        else if (g_str_has_prefix(*words, "drop="))
            made.drop = number;
        else if (g_str_has_prefix(*words, "late="))
            made.late = number;
        else if (g_str_has_prefix(*words, "repeat="))
            made.repeat = number;
        else if (g_str_has_prefix(*words, "slow="))
            made.slow = number;
        else if (g_str_has_prefix(*words, "slow_ms="))
            made.slow_ms = (int)number;
        else if (g_str_has_prefix(*words, "delay_us="))
            made.delay_us = (int)number;
        else if (g_str_has_prefix(*words, "late_ms="))
            made.late_ms = (int)number;
        else
            g_error("not a fault: %s", *words);
    }
    return made;
}

static void
obey(sim_servers *servers, char **words)
{
    size_t number = words[0] && words[1] ? strtoul(words[1], NULL, 10) : 0;
    if (strcmp(words[0], "faults") == 0) {
        sim_faults faults = faults_of(words + 1);
        sim_servers_set_faults(servers, &faults);
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
    } else if (strcmp(words[0], "purge") == 0) {
        sim_servers_purge(servers);
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
