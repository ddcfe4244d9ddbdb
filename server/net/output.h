/* Inside of the room: a session's bytes on their way out. Replies collect in session->output; flush
 * hands them to the socket in one piece, encrypted first where the session speaks TLS. */
#pragma once

#include "net/session.h"

/* Gives output a recycled buffer when it has none. */
void kw_output_prepare(kw_session *session);

/* Charges the session's account with the memory of replies that it holds now. */
void kw_output_charge(kw_session *session);

/* Bytes that the peer's side has not taken yet. */
size_t kw_output_unsent(const kw_session *session);

/* Writes what can be written now; the rest follows by itself. Closes the session when the peer is gone. */
void kw_output_flush(kw_session *session);

/* A peer that takes bytes, however slowly, is active. */
void kw_output_note_progress(kw_session *session, uint64_t now_ms);

/* TLS: tells the peer that nothing follows, if the socket takes it at once. */
void kw_output_say_goodbye(kw_session *session);
