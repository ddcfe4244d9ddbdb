/* Ctrl-C and SIGTERM while a command processes many records. */
#pragma once

#include <glib.h>

/* From now on, the first SIGINT and the first SIGTERM are only recorded, so that the command can finish in an
 * orderly way; a second one of the same kind terminates the program at once. */
void kw_interrupts_catch(void);
/* The recorded signal; 0: none. */
int kw_interrupted(void);
/* Like read, but -1 with EINTR after a signal was recorded, also if that was just before the call. */
gssize kw_read_interruptible(int fd, void *to, gsize bytes_max);
/* Sleeps until this monotonic time, or until a signal was recorded. */
void kw_pause_until(gint64 time_us);
