/* Internal to gateway: notifications to systemd. Without systemd they do nothing. */
#pragma once

#include <stdint.h>

void kw_notify_ready(void);
void kw_notify_reloading(void);
void kw_notify_stopping(void);
void kw_notify_status(const char *status);
void kw_notify_watchdog(void);

/* The watchdog timeout of systemd; 0: none. */
uint64_t kw_notify_watchdog_ms(void);
