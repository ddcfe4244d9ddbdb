/* What reaches a terminal does not command it.
 *
 * Records, names and error texts hold what callers stored: escape sequences that rename the window, hide
 * lines or answer for the user. Once guarded, standard output and standard error show control characters (C0
 * but tab and line end, DEL, C1) and bytes that are no UTF-8 as \xNN, when they are terminals. Files and
 * pipes get the bytes as they are.
 */
#pragma once

#include <stdio.h>

/* Before anything is written. */
void kw_terminal_guard(void);

/* Standard error without the guard, for what draws on the terminal itself. */
FILE *kw_terminal_bare_error(void);
