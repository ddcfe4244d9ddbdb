/* The hazards and warnings of a policy for tests that look for every one of them. */
#pragma once

#include "rule/policies.h"

typedef struct kw_test_report {
    const char *yaml;  /* of the table, from line 3 of the file on */
    const char *parts; /* parts of the text, one a line, in order: the text has as many lines; "": no line */
} kw_test_report;

/* Checks the hazards of each policy. */
void test_check_hazards(const kw_test_report *cases, size_t count);

/* Checks the warnings of each policy; a policy can have hazards. */
void test_check_warnings(const kw_test_report *cases, size_t count);
