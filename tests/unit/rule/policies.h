/* Policies for tests, from the text of their tables. */
#pragma once

#include "schema/policy.h"

/* The policy of one table "t": fields and key (and more, such as paths) as YAML, each line indented by
 * four spaces. Fails the test if the policy is rejected or has hazards. */
kw_policy *test_policy(const char *table_yaml);
/* The same for a table with another name. */
kw_policy *test_policy_named(const char *table, const char *table_yaml);

/* The same, but the policy can have hazards. */
kw_policy *test_policy_with_hazards(const char *table_yaml);

/* The problems for which it is rejected, including hazards; fails the test if there are none. Caller
 * frees. */
char *test_refused(const char *table_yaml);

/* The texts of its hazards, "" if it has none; fails the test if it does not compile. Caller frees. */
char *test_hazards(const char *table_yaml);

/* The policy, which can have hazards; NULL if it does not compile. */
kw_policy *test_policy_maybe(const char *table_yaml);

kw_value test_text(const char *text);
kw_value test_number(int64_t number);

/* The record's key in path number `path`, as hex; fails the test if there is none. Caller frees. */
char *test_key_hex(const kw_table *table, size_t path, const kw_record *record);

char *test_hex(kw_bytes bytes);
