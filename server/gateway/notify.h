/* Inside of the room: what systemd is told. Without systemd nothing happens. */
#pragma once

#include <stdint.h>

void kw_notify_ready(void);
void kw_notify_reloading(void);
void kw_notify_stopping(void);
void kw_notify_status(const char *status);
void kw_notify_watchdog(void);

/* How long systemd waits for a sign of life, 0: it does not. */
uint64_t kw_notify_watchdog_ms(void);
