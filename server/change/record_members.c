#include "change/record_members.h"

#include <glib.h>
#include <stddef.h>

#define MEMBER(kind, name)                                                                                   \
    {                                                                                                        \
#name, kind, offsetof(kw_change_record, name)                                                        \
    }

static const kw_change_member of_record[] = {
    MEMBER(KW_CHANGE_TEXT, table), MEMBER(KW_CHANGE_TEXT, path),      MEMBER(KW_CHANGE_RULE, given),
    MEMBER(KW_CHANGE_RULE, now),   MEMBER(KW_CHANGE_FLAG, under_way),
};

static const kw_change_member of_change[] = {
    MEMBER(KW_CHANGE_RULE, old),
    MEMBER(KW_CHANGE_RULE, old_given),
    MEMBER(KW_CHANGE_VERSION_NAME, old_version),
    MEMBER(KW_CHANGE_NUMBER, new_version),
    MEMBER(KW_CHANGE_PLACE, place),
    MEMBER(KW_CHANGE_NUMBER, place_at_ms),
    MEMBER(KW_CHANGE_NUMBER, started_ms),
    MEMBER(KW_CHANGE_TEXT, author),
    MEMBER(KW_CHANGE_TEXT, reason),
    MEMBER(KW_CHANGE_FLAG, paused),
    MEMBER(KW_CHANGE_FLAG, completing),
    MEMBER(KW_CHANGE_COUNT, rows_per_second),
    MEMBER(KW_CHANGE_FLAG, copied),
    MEMBER(KW_CHANGE_FLAG, compared),
    MEMBER(KW_CHANGE_COUNT, rows_copied),
    MEMBER(KW_CHANGE_COUNT, rows_compared),
    MEMBER(KW_CHANGE_COUNT, missing),
    MEMBER(KW_CHANGE_COUNT, different),
    MEMBER(KW_CHANGE_COUNT, extra),
    MEMBER(KW_CHANGE_COUNT, repaired),
    {"foreign", KW_CHANGE_COUNT, offsetof(kw_change_record, undecodable)},
    MEMBER(KW_CHANGE_TEXT, example),
    MEMBER(KW_CHANGE_BYTES, copied_to),
    MEMBER(KW_CHANGE_BYTES, compare_cursor),
};

static const kw_change_member of_several_writers[] = {
    MEMBER(KW_CHANGE_WRITERS, writers),
    MEMBER(KW_CHANGE_COUNT, step),
    MEMBER(KW_CHANGE_COUNT, rounds),
    MEMBER(KW_CHANGE_NUMBER, set_at_ms),
    MEMBER(KW_CHANGE_PLACE, goal),
    MEMBER(KW_CHANGE_PASS, pass),
    MEMBER(KW_CHANGE_TEXT, holder),
    MEMBER(KW_CHANGE_FLAG, store_order),
    MEMBER(KW_CHANGE_NUMBER, settled_ms),
    MEMBER(KW_CHANGE_NUMBER, swept_ms),
    MEMBER(KW_CHANGE_FLAG, short_round),
    MEMBER(KW_CHANGE_COUNT, work_ppm),
    MEMBER(KW_CHANGE_COUNT, work_rows_per_second),
    MEMBER(KW_CHANGE_COUNT, work_left_ms),
};

static const kw_change_member of_parts[] = {
    MEMBER(KW_CHANGE_FLAG, adds),  MEMBER(KW_CHANGE_FLAG, drops), MEMBER(KW_CHANGE_FLAG, hints),
    MEMBER(KW_CHANGE_PATHS, more), MEMBER(KW_CHANGE_COUNT, part),
};

static const kw_change_member of_share[] = {
    MEMBER(KW_CHANGE_COUNT, share_percent),
};

static const kw_change_member of_atomics[] = {
    MEMBER(KW_CHANGE_FLAG, atomics),
    MEMBER(KW_CHANGE_FLAG, drops),
};

static const char *const writers_names[] = {
    [KW_CHANGE_ONE_WRITER] = "one",
    [KW_CHANGE_SEVERAL_WRITERS] = "several",
};

static const char *const pass_names[] = {
    [KW_CHANGE_PASS_FIRST] = "old",
    [KW_CHANGE_PASS_SECOND] = "new",
    [KW_CHANGE_PASS_ENDED] = "ended",
};

#define GROUP(of)                                                                                            \
    {                                                                                                        \
        of, G_N_ELEMENTS(of)                                                                                 \
    }

const kw_change_group kw_change_of_record = GROUP(of_record);
const kw_change_group kw_change_of_change = GROUP(of_change);
const kw_change_group kw_change_of_several_writers = GROUP(of_several_writers);
const kw_change_group kw_change_of_parts = GROUP(of_parts);
const kw_change_group kw_change_of_atomics = GROUP(of_atomics);
const kw_change_group kw_change_of_share = GROUP(of_share);

const kw_change_names kw_change_writers_names = GROUP(writers_names);
const kw_change_names kw_change_pass_names = GROUP(pass_names);
