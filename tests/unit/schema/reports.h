/* Compares all hazards or warnings of a policy with the expected ones. */
#pragma once

#include "rule/policies.h"

typedef struct kw_test_report {
    const char *yaml;  /* of the table, from line 3 of the file on */
    const char *parts; /* a part of each line of the text, in order, one per line; "": the text is empty */
} kw_test_report;

/* Checks the hazards of each policy. */
void test_check_hazards(const kw_test_report *cases, size_t count);

/* Checks the warnings of each policy; a policy can have hazards. */
void test_check_warnings(const kw_test_report *cases, size_t count);
