/* Judges histories in files: judge_file WORKLOAD FILE... Exits with 1 if one is wrong. */
#include "histories/workload.h"

#include <stdio.h>

int
main(int argc, char **argv)
{
    int wrong = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: judge_file WORKLOAD FILE...\n");
        return 2;
    }
    const workload *work = workload_find(argv[1]);
    for (int i = 2; i < argc; i++) {
        operations *all = operations_load(argv[i]);
        judgement found = judge(all, work->rules);
        printf("%s: %s\n", argv[i], found.wrong ? found.wrong : "right");
        wrong |= found.wrong != NULL;
        judgement_clear(&found);
        g_array_unref(all);
    }
    return wrong;
}
