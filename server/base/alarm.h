/* Alarms call their owners back, each at its own time. All alarms of a loop share one timer. A heap orders
 * them by time; the timer is restarted only when it has fired or when the earliest time becomes earlier. Use
 * alarms only on the loop's thread.
 */
#pragma once

#include "base/heap.h"
#include "base/loop.h"

/* A member of its owner's struct. All zero means not set. */
typedef kw_heap_item kw_alarm;

typedef struct kw_alarms kw_alarms;

/* Calls on_alarm once for each alarm whose time has passed. The alarm is cleared before the call. on_alarm
 * can set and clear alarms. */
kw_alarms *kw_alarms_new(kw_loop *loop, void (*on_alarm)(kw_alarm *alarm));

/* All alarms must be cleared before this is called. NULL is allowed. */
void kw_alarms_free(kw_alarms *alarms);

/* Sets the alarm, or moves it if it is already set. KW_DEADLINE_NONE clears it. */
void kw_alarms_set(kw_alarms *alarms, kw_alarm *alarm, kw_deadline at);
void kw_alarms_clear(kw_alarms *alarms, kw_alarm *alarm);
