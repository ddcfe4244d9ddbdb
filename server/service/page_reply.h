/* Internal to service: the reply of scan, nextPage and latest. A page of many rows is converted and encoded
 * in pieces, between which the loop serves other calls. The reply is sent when it is complete.
 */
#pragma once

#include "service/exchange.h"

/* Answers with the page, whose rows and cursor are in the call's arena. */
void kw_page_reply(kw_exchange *exchange, const kw_scan_page *page);
