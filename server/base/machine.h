/* Memory of the machine, of the process's control group, and of the process. */
#pragma once

#include <stdint.h>

/* Bytes of memory that the process can use: the memory of the machine (proc/meminfo), or the lowest limit of
 * its control groups (versions 1 and 2) if that is lower. 0 if unknown. root is "", or in tests a folder that
 * contains proc/ and sys/. */
int64_t kw_machine_memory_below(const char *root);

static inline int64_t
kw_machine_memory(void)
{
    return kw_machine_memory_below("");
}

/* Resident memory of the process in bytes; 0 if the kernel does not report it. */
int64_t kw_machine_resident_bytes(void);
