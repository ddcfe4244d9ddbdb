/* Prevents stored data from controlling the terminal.
 *
 * Records, names and error texts contain callers' data: escape sequences that rename the window, hide lines
 * or type input. If standard output or standard error is a terminal, the guard prints as \xNN all characters
 * that are not plain (kw_text_is_plain), except tab and line end, and all bytes that are not UTF-8. Files and
 * pipes get the bytes unchanged.
 */
#pragma once

#include <stdio.h>

/* Call it before anything is printed. */
void kw_terminal_guard(void);

/* Standard error without the guard, for output that draws on the terminal itself. */
FILE *kw_terminal_bare_error(void);
