/* Returning freed memory to the system.
 *
 * malloc keeps memory that was freed. After a burst of large calls, this can be more than the memory in use.
 *
 * One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Minimum amount of freed memory to return to the system at once. */
#define KW_TRIM_LEAST ((int64_t)32 * 1024 * 1024)

/* What was measured since memory was last returned. Starts as zeros. */
typedef struct kw_trim {
    int64_t highest; /* the most bytes in use since then */
    int64_t surplus; /* the lowest value of (resident bytes - bytes in use) since then */
    bool measured;   /* surplus is valid */
} kw_trim;

/* Makes malloc return large blocks to the system as soon as they are freed. Otherwise it raises its threshold
 * up to 32 MiB, and each thread keeps large freed blocks that no other thread uses. Call it at the start. */
void kw_trim_configure(void);

/* Resident memory of the process in bytes; 0 if the kernel does not report it. */
int64_t kw_resident_bytes(void);

/* True if memory should be returned. Since it was last returned, the bytes in use must have fallen by an
 * eighth from the highest value, or the resident bytes must have grown by limit / 16 more than the bytes in
 * use; in both cases by at least KW_TRIM_LEAST. limit is the memory budget; 0 means none. */
bool kw_trim_is_due(kw_trim *trim, int64_t used, int64_t limit, int64_t resident);

/* Returns freed memory if it is due. True if it did. Called periodically. */
bool kw_trim_memory(kw_trim *trim);
