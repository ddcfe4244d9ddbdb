/* Internal to admin: the pages. Each function appends its page to body and returns the HTTP status. */
#pragma once

#include "http/http.h"

unsigned kw_page_live(const kw_http_sources *sources, kw_buffer *body);
unsigned kw_page_ready(const kw_http_sources *sources, kw_buffer *body);
unsigned kw_page_metrics(const kw_http_sources *sources, kw_buffer *body);
unsigned kw_page_index(const kw_http_sources *sources, kw_buffer *body);
