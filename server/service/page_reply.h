/* Inside of the module: the reply of scan, nextPage and latest. A page of many rows is converted and encoded
 * in pieces, between which the loop serves others; the reply is kept apart until it is whole.
 */
#pragma once

#include "service/exchange.h"

/* Answers with the page; its rows and its cursor are in the call's arena. */
void kw_page_reply(kw_exchange *exchange, const kw_scan_page *page);
