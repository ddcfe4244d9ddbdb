/* Time, and timers that a test fires. A test that uses it wraps the functions of kw_timer. */
#pragma once

#include "base/loop.h"

typedef struct fake_timer {
    void (*fired)(void *user);
    void *user;
    bool armed;
} fake_timer;

extern int64_t now_ms;

/* Injects the clock. */
void time_begin(void);
/* The timer armed for this user; NULL: none. */
fake_timer *time_find(const void *user);
void time_fire(fake_timer *timer);
