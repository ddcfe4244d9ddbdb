/* Which of Thrift's four forms a Thrift2 server uses: buffered or framed, binary or compact. The options of
 * the server decide this, and it does not report it. So the first ping of a connection tries a form:
 *
 *   the form in which the server answered last; at first buffered binary
 *      | the server closes the connection, or sends something else
 *      v
 *   the next form, on a new connection --> ... --> all four have failed: the server gets a backoff
 *
 * A server of HBase closes the connection at once if the form is wrong. There is one exception: a buffered
 * binary server reads the length of a frame as the length of a method's name, and waits for more bytes. So
 * the buffered forms are tried first. If a server does not answer, which usually has another reason than the
 * form, the next form is tried after a backoff.
 */
#pragma once

#include "wire/wire.h"

struct kw_hbase_channel;
struct kw_hbase_server;

#define KW_HBASE_FORMS 4

/* The attempts of one store handle to find the form of a server. */
typedef struct kw_hbase_form_trial {
    unsigned tried; /* since the last answer: a bit for each form */
    char text[320]; /* what each got: "no answer to a ping: buffered binary (closed by the server), ..." */
} kw_hbase_form_trial;

kw_wire_form kw_hbase_form(uint8_t number);

/* The number of the form for the next connection to the server. */
uint8_t kw_hbase_form_choose(struct kw_hbase_server *server);

/* The channel's first ping was answered: its server uses the channel's form. */
void kw_hbase_form_worked(struct kw_hbase_channel *channel);

/* The channel was lost before it was READY. True if the next form must be tried at once. */
bool kw_hbase_form_failed(const struct kw_hbase_channel *channel);
