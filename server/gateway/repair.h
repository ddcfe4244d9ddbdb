/* keywayd --repair: makes an embedded store that cannot be opened usable again by dropping damaged data. */
#pragma once

/* config_file NULL: the store of the built-in policy. Prints what was dropped. Returns the exit code. */
int kw_repair_run(const char *config_file);
