/* The states of changes that other threads can read, for /metrics. */
#pragma once

#include "policy/control.h"

/* Replaces the states by the present ones. Main thread only. */
void kw_change_publish(kw_control *control);

/* Any thread. */
void kw_change_publication_read(kw_control *control, void (*add)(void *list, const kw_change_status *change),
                                void *list);

/* Main thread, when no other thread reads. */
void kw_change_publication_free(kw_control *control);
