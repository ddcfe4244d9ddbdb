/* Ctrl-C and SIGTERM while a command works through many records. */
#pragma once

/* From now on the first signal is only noted, so that the command can end in good order; a second one ends
 * the program at once. */
void kw_interrupts_catch(void);
/* The signal that was noted; 0: none. */
int kw_interrupted(void);
