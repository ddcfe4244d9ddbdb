/* keywayd --repair: makes an embedded store that refuses to start usable again, at the price of what is
 * damaged. */
#pragma once

/* config_file NULL: the built-in policy's store. Prints what went; the process's exit status. */
int kw_repair_run(const char *config_file);
