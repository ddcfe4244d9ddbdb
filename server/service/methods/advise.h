/* Internal to service: one call of advise, from its arguments to its reply. */
#pragma once

#include "advise/advise.h"
#include "service/offload.h"

/* Maximum numbers of candidates, records, queries, and checks of a record against a query. */
#define KW_ADVISE_CANDIDATES_MAX 8
#define KW_ADVISE_RECORDS_MAX 200000
#define KW_ADVISE_QUERIES_MAX 200
#define KW_ADVISE_CHECKS_MAX 100000000

typedef struct kw_advising {
    kw_offload offload;
    const kw_api_Admin_advise_args *args;
    kw_arena *arena; /* the offload's */
    kw_policy *policies[KW_ADVISE_CANDIDATES_MAX];
    kw_candidate candidates[KW_ADVISE_CANDIDATES_MAX];
    kw_advise_settings settings;
    int time_field; /* field of the first candidate's table; -1: none */
    kw_advice advice;
    const kw_api_Advice *reply;
} kw_advising;

/* The reply, in the arena. */
const kw_api_Advice *kw_advise_reply(const kw_advising *advising);
