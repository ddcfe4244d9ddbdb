/* Inside of the room: one call of advise, from its arguments to its answer. */
#pragma once

#include "advise/advise.h"
#include "service/offload.h"

/* Most candidates, records, questions, and checks of a record against a question. */
#define KW_ADVISE_CANDIDATES_MAX 8
#define KW_ADVISE_RECORDS_MAX 200000
#define KW_ADVISE_QUESTIONS_MAX 200
#define KW_ADVISE_CHECKS_MAX 100000000

/* The worker's own memory: the exchange's belongs to its loop. */
typedef struct kw_advising {
    kw_offload offload;
    const kw_api_Admin_advise_args *args;
    kw_arena *arena;
    kw_policy *policies[KW_ADVISE_CANDIDATES_MAX];
    kw_candidate candidates[KW_ADVISE_CANDIDATES_MAX];
    kw_advise_settings settings;
    int time_field; /* of the first candidate's table; -1: none */
    kw_advice advice;
} kw_advising;

/* In the arena of the advising. */
const kw_api_Advice *kw_advise_reply(const kw_advising *advising);
