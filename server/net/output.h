/* Internal to net: the outgoing bytes of a session. Replies are collected in session->output. kw_output_flush
 * writes them to the socket in pieces, after encrypting them if the session uses TLS. */
#pragma once

#include "net/session.h"

/* Gives session->output a recycled buffer if it has no memory. */
void kw_output_prepare(kw_session *session);

/* Updates the account's charge to the memory of replies that the session holds now. */
void kw_output_charge(kw_session *session);

/* Bytes of replies that the socket has not accepted yet. */
size_t kw_output_unsent(const kw_session *session);

/* Starts to write one piece; the rest follows in later loop iterations, as the socket accepts it. Closes the
 * session if the connection is lost. */
void kw_output_flush(kw_session *session);

/* Records whether the peer has read bytes, so that a slow peer is not taken for an idle one. */
void kw_output_note_progress(kw_session *session, uint64_t now_ms);

/* Sends the TLS close notification. */
void kw_output_close_tls(kw_session *session);
