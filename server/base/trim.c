/* See trim.h. */
#include "base/trim.h"

#include "base/budget.h"

#include <glib.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* Blocks of at least this size are mapped, and unmapped when they are freed. The price is a page fault for
 * each 4 KiB of a new block, so smaller blocks stay in the heap. */
#define MAPPED_BYTES (256 * 1024)
/* How much free memory the end of a heap can keep. A fixed threshold for mapped blocks sets it to 128 KiB. */
#define HEAP_END_BYTES (4 * 1024 * 1024)

void
kw_trim_configure(void)
{
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    mallopt(M_TRIM_THRESHOLD, HEAP_END_BYTES);
}

int64_t
kw_resident_bytes(void)
{
    g_autofree char *text = NULL;
    unsigned long total, resident;
    if (!g_file_get_contents("/proc/self/statm", &text, NULL, NULL) ||
        sscanf(text, "%lu %lu", &total, &resident) != 2)
        return 0;
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

bool
kw_trim_is_due(kw_trim *trim, int64_t used, int64_t limit, int64_t resident)
{
    int64_t surplus = resident - used;
    trim->highest = MAX(trim->highest, used);
    trim->surplus = trim->measured ? MIN(trim->surplus, surplus) : surplus;
    trim->measured = true;
    bool fell = trim->highest - used >= MAX(KW_TRIM_LEAST, trim->highest / 8);
    bool grew = surplus - trim->surplus >= MAX(KW_TRIM_LEAST, limit / 16);
    return fell || grew;
}

bool
kw_trim_memory(kw_trim *trim)
{
    if (!kw_trim_is_due(trim, kw_budget_used(), kw_budget_limit(), kw_resident_bytes()))
        return false;
    malloc_trim(0);
    trim->highest = kw_budget_used();
    trim->surplus = kw_resident_bytes() - trim->highest;
    return true;
}
