/* Internal to gateway: returns freed memory to the system. Builds with a sanitizer use its allocator, and
 * return nothing. */
#pragma once

/* Starts the thread that returns memory. */
void kw_memory_trim_start(void);
/* Ends it. No other thread may free memory of callers at the time. */
void kw_memory_trim_stop(void);
