/* Judges histories in files: judge_history [--exempt] WORKLOAD FILE... Exits with 1 if one is wrong.
 * --exempt: as for record_history. */
#include "histories/workload.h"

#include <stdio.h>

int
main(int argc, char **argv)
{
    int wrong = 0;
    bool exempt = argc > 1 && g_str_equal(argv[1], "--exempt");
    argc -= exempt;
    argv += exempt;
    if (argc < 3) {
        fprintf(stderr, "usage: judge_history [--exempt] WORKLOAD FILE...\n");
        return 2;
    }
    const workload *work = workload_find(argv[1]);
    for (int i = 2; i < argc; i++) {
        operations *all = operations_load(argv[i]);
        judge_rules rules = work->rules;
        rules.exempt = rules.exempt || exempt;
        judgement found = judge(all, rules);
        printf("%s: %s\n", argv[i], found.wrong ? found.wrong : "right");
        wrong |= found.wrong != NULL;
        judgement_clear(&found);
        g_array_unref(all);
    }
    return wrong;
}
