/* Internal to gateway: how many connections the gateway accepts. The policy and the limit of open files
 * determine it. */
#pragma once

#include "gateway/gateway_internal.h"

/* Limits and timeouts of a policy for the net. */
kw_net_limits kw_connections_limits(const kw_model *model);

/* Sets the soft limit of open files to 1,048,576, or to what the policy's connections need if that is more,
 * but at most to the hard limit. Does not change a soft limit that is equal to the hard one. Logs a warning
 * if the limit remains too low. */
void kw_connections_raise_file_limit(const kw_model *model);
