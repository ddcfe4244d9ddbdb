/* What the machine, or the control group that the process runs in, gives it. */
#pragma once

#include <stdint.h>

/* Bytes of memory that the process may use: the machine's, or the least limit of its control groups
 * (version 1 and 2) where that is less. root: "" (tests: a folder with proc/ and sys/ below it); memory of
 * the machine as proc/meminfo has it. 0: not known. */
int64_t kw_machine_memory_below(const char *root);

static inline int64_t
kw_machine_memory(void)
{
    return kw_machine_memory_below("");
}
