/* Captures what is written to standard error, where the log goes. One capture at a time. */
#pragma once

void log_capture_begin(void);
/* Ends the capture and returns its text. The caller frees it. */
char *log_capture_end(void);
