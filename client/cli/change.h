/* Changes of tables (key rules, paths, atomics): the commands keyway change ...
 *
 *   change.c          the list of commands; list and status
 *   change_status.c   prints the state of changes
 *   change_wait.c     waits until a change needs the operator
 *   change_command.c  switch, reverse, complete, cancel, pause, resume, throttle, compare
 *   change_diff.c     compares the rows under the old and the new key rule
 */
#pragma once

#include "cli/cli.h"

#include <stdio.h>

/* --- change_status.c ---------------------------------------------------------------------------- */

/* Prints everything about the changes of a table. False: writing failed. */
bool kw_change_output(const kw_cli *cli, const char *table, const GPtrArray *changes);

/* True if the change adds paths to a table with rows. */
bool kw_change_adds_path(const kw_change_status *change);
/* True if the change drops paths. */
bool kw_change_drops_path(const kw_change_status *change);
/* True if increments and conditional writes become allowed or forbidden. No row moves. */
bool kw_change_sets_atomics(const kw_change_status *change);
/* "by_time, by_city": the paths that are added or dropped, or the one whose key rule changes. The caller
 * frees it. */
char *kw_change_paths(const kw_change_status *change);

/* "copying, 42 %, 1200 rows per second, about 3 min left"; the caller frees it. */
char *kw_change_phase(const kw_change_status *change);

/* Prints the commands that are possible now, one per line, indented by `indent` columns. In the first line,
 * the title is in these columns. Prints nothing if no command is possible. */
void kw_change_print_next(const kw_change_status *change, const char *title, int indent, FILE *to);

/* --- change_wait.c ------------------------------------------------------------------------------ */

/* Waits until no change of the table proceeds by itself, and prints progress on standard error. Returns the
 * changes, an array of kw_change_status; NULL: *ret_exit is set, and the reason was printed. */
GPtrArray *kw_change_wait(kw_cli *cli, const char *table, int *ret_exit);

/* --- the commands ------------------------------------------------------------------------------- */

/* argv[0] is the name of a command for a change, for example "switch". False: there is no such command. */
bool kw_command_change_command(kw_cli *cli, int argc, char **argv, int *ret_exit);
int kw_command_change_diff(kw_cli *cli, int argc, char **argv);
