/* Policies for tests, from the text of their tables. */
#pragma once

#include "rule/policy.h"

/* The policy of one table "t": fields and key (and more, such as paths) as YAML, each line indented by
 * four blanks. Fails the test when it is refused. */
kw_policy *test_policy(const char *table_yaml);
/* The same of a table with another name. */
kw_policy *test_policy_named(const char *table, const char *table_yaml);

/* The text of the problems that refuse it; fails the test when nothing does. Caller frees. */
char *test_refused(const char *table_yaml);

/* The policy, or NULL when it is refused. */
kw_policy *test_policy_maybe(const char *table_yaml);

kw_value test_text(const char *text);
kw_value test_number(int64_t number);

/* The record's key in path number `path`, as hex; caller frees. Fails the test when there is none. */
char *test_key_hex(const kw_table *table, size_t path, const kw_record *record);

char *test_hex(kw_bytes bytes);
