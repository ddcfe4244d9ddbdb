/* The policy of a gateway that is started without a file. It is a policy like any other, read by the same
 * reader. `keyway policy` prints it; keyway-policy(5) and the packages have a copy, which a test compares. */
#include "config/reader.h"

#include <string.h>

static const char built_in_text[] =
    "# Keyway's built-in policy: rows in a local folder, one example table.\n"
    "# Save it, change it, and start keywayd with your file.\n"
    "listen: 127.0.0.1:9595   # Thrift, for services\n"
    "admin: 127.0.0.1:9596    # HTTP: /livez /readyz /metrics\n"
    "\n"
    "store:\n"
    "  kind: embedded\n"
    "  path: keyway-data\n"
    "\n"
    "tables:\n"
    "  order_events:\n"
    "    about: What happened to each order, and when\n"
    "    fields:\n"
    "      order_id: {type: string, max_bytes: 64}\n"
    "      ts: {type: timestamp, unit: ms, about: when it happened}\n"
    "      status: string\n"
    "      city: string\n"
    "      amount: double\n"
    "\n"
    "    # Four hex digits of a hash of the order id spread the orders over the table. The events of\n"
    "    # one order are adjacent, newest first.\n"
    "    key:\n"
    "      - hash: {algorithm: md5, of: [order_id], take: 4, as: hex}\n"
    "      - field: order_id\n"
    "      - field: {name: ts, order: desc}\n"
    "\n"
    "    # The same events by time: 16 buckets, which a read merges into time order.\n"
    "    paths:\n"
    "      by_time:\n"
    "        key:\n"
    "          - salt: {buckets: 16, of: [order_id]}\n"
    "          - field: ts\n"
    "          - field: order_id\n";

const char *
kw_model_built_in_text(void)
{
    return built_in_text;
}

kw_model *
kw_model_built_in(const kw_component_schema *const *components, size_t components_count)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("(built in)");
    kw_model *model = kw_model_read_text("(built in)", built_in_text, strlen(built_in_text), components,
                                         components_count, diagnostics);
    if (!model) {
        g_autofree char *text = kw_diagnostics_text(diagnostics);
        g_error("the built-in policy is invalid:\n%s", text);
    }
    return model;
}
