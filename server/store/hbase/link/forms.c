/* See forms.h. */
#include "store/hbase/link/forms.h"

#include "base/log.h"
#include "store/hbase/link/pool.h"

#include <stdio.h>
#include <string.h>

/* Of what one form got: four of them and their names fit into the text of an error. */
#define REASON_BYTES 48

static const struct {
    kw_wire_form form;
    const char *name;
} forms[KW_HBASE_FORMS] = {{{KW_WIRE_BINARY, false}, "buffered binary"},
                           {{KW_WIRE_COMPACT, false}, "buffered compact"},
                           {{KW_WIRE_BINARY, true}, "framed binary"},
                           {{KW_WIRE_COMPACT, true}, "framed compact"}};

kw_wire_form
kw_hbase_form(uint8_t number)
{
    return forms[number].form;
}

static void
restart(kw_hbase_server *server)
{
    server->trial = (kw_hbase_form_trial){0};
}

static bool
tried_all(const kw_hbase_server *server)
{
    return server->trial.tried == (1u << KW_HBASE_FORMS) - 1;
}

uint8_t
kw_hbase_form_choose(kw_hbase_server *server)
{
    if (tried_all(server))
        restart(server);
    uint8_t number = atomic_load(&server->pool->store->forms[server->index]);
    for (uint8_t next = 0; server->trial.tried >> number & 1; next++)
        number = next;
    return number;
}

void
kw_hbase_form_worked(kw_hbase_channel *channel)
{
    kw_hbase_server *server = channel->server;
    uint8_t number = channel->form_number;
    if (atomic_exchange(&server->pool->store->forms[server->index], number) != number)
        kw_log(KW_LOG_INFO, "hbase", "the form of a server was found", KW_LOG_FACT("server", server->name),
               KW_LOG_FACT("form", forms[number].name));
    restart(server);
}

static bool
has_ready_channel(const kw_hbase_server *server)
{
    for (const GList *at = server->channels.head; at; at = at->next)
        if (((const kw_hbase_channel *)at->data)->state == KW_HBASE_READY)
            return true;
    return false;
}

bool
kw_hbase_form_failed(const kw_hbase_channel *channel)
{
    kw_hbase_server *server = channel->server;
    kw_hbase_form_trial *trial = &server->trial;
    if (!channel->asked || channel->loss == KW_HBASE_LOSS_FOREIGN || has_ready_channel(server)) {
        restart(server);
        return false;
    }
    size_t used = strlen(trial->text);
    snprintf(trial->text + used, sizeof trial->text - used, "%s%s (%.*s)",
             used ? ", " : "no answer to a ping: ", forms[channel->form_number].name, REASON_BYTES,
             channel->why);
    trial->tried |= 1u << channel->form_number;
    return channel->loss != KW_HBASE_LOSS_SILENT && !tried_all(server);
}
