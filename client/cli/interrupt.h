/* Ctrl-C and SIGTERM while a command processes many records. */
#pragma once

/* From now on, the first signal is only recorded, so that the command can finish in an orderly way; a
 * second one terminates the program at once. */
void kw_interrupts_catch(void);
/* The recorded signal; 0: none. */
int kw_interrupted(void);
