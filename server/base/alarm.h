/* Alarms: many owners, each with a time at which it wants to be called. A heap over one timer; setting and
 * clearing cost a few moves in it, and the timer is only started when the earliest time gets earlier. One
 * loop.
 */
#pragma once

#include "base/heap.h"
#include "base/loop.h"

/* Embedded in its owner; zeroed: not set. */
typedef kw_heap_item kw_alarm;

typedef struct kw_alarms kw_alarms;

/* rang is called for each alarm whose time has come; the alarm is not set any more. It may set and clear
 * others. */
kw_alarms *kw_alarms_new(kw_loop *loop, void (*rang)(kw_alarm *alarm));

/* Calls rang for all that are set, whatever their time. */
void kw_alarms_ring_all(kw_alarms *alarms);

/* No alarm may be set any more. NULL is fine. */
void kw_alarms_free(kw_alarms *alarms);

/* Again for an alarm that is set: it moves. KW_DEADLINE_NONE: clears it. */
void kw_alarms_set(kw_alarms *alarms, kw_alarm *alarm, kw_deadline at);
void kw_alarms_clear(kw_alarms *alarms, kw_alarm *alarm);
