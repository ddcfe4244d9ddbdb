/* Writes to the table of changing.h; they fail the test if the write fails. */
#pragma once

#include "changing.h"

/* Sets of paths to change: each path alone, both, and one beside a path that stays. */
enum { CHANGING_ALL_PATHS = 4 };
extern const char *const changing_all_paths[CHANGING_ALL_PATHS];

void changing_put(changing *self, const char *record);
/* columns: NULL removes the record. */
void changing_remove(changing *self, const char *key, const char *columns);
/* Adds to field n, and returns its new value. */
int64_t changing_increment(changing *self, const char *key, int64_t amount);
/* The same, but leaves its error in desk->error. */
void changing_try_increment(changing *self, const char *key, int64_t amount);
/* condition: a value of `note`, or NULL if it must be absent. True if it was met. */
bool changing_put_if(changing *self, const char *record, const char *condition);

/* Fails the test unless the record is as expected ("none": absent), with equal cells in all placements. */
void changing_assert_record(changing *self, const char *key, const char *expected);
/* Drops the store table of the primary path's new rule. */
void changing_drop_new_table(changing *self);

/* Random writes use the records r0 to r11. */
enum { CHANGING_RECORDS = 12 };
char *changing_random_key(void);
/* Puts or removes several records in one call; some of them occur twice. */
void changing_write_many(changing *self, bool puts);
/* A random put or removal, sometimes with a timestamp in the past. */
void changing_random_write(changing *self);
