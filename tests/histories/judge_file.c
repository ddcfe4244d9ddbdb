/* Judges histories in files: judge_history [--paths HOW] [--exempt] WORKLOAD FILE... Exits with 1 if one is
 * wrong. The options are those of record_history. */
#include "histories/workload.h"

#include <stdio.h>

int
main(int argc, char **argv)
{
    int wrong = 0;
    bool has_paths = argc > 2 && g_str_equal(argv[1], "--paths");
    const char *paths = has_paths ? argv[2] : "together";
    argc -= 2 * has_paths;
    argv += 2 * has_paths;
    bool exempt = argc > 1 && g_str_equal(argv[1], "--exempt");
    argc -= exempt;
    argv += exempt;
    if (argc < 3) {
        fprintf(stderr, "usage: judge_history [--paths HOW] [--exempt] WORKLOAD FILE...\n");
        return 2;
    }
    const workload *work = workload_find(argv[1]);
    for (int i = 2; i < argc; i++) {
        operations *all = operations_load(argv[i]);
        judgement found = judge(all, workload_rules(work, paths, exempt));
        printf("%s: %s\n", argv[i], found.wrong ? found.wrong : "right");
        wrong |= found.wrong != NULL;
        judgement_clear(&found);
        g_array_unref(all);
    }
    return wrong;
}
