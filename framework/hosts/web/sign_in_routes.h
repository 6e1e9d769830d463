// The JSON routes of the web host by which people come in, prove again who they are, and keep their
// passkeys. Each that gives a session a new token sets its cookie. Constants; any Thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "hosts/account/pooled_people.h"
#include "hosts/account_reads.h"
#include "hosts/pages.h"
#include "hosts/route.h"
#include "hosts/web/cookies.h"

namespace turnpike::hosts::web {

// The objects that the handlers of this host work with, also those of other rooms on it. Owned by
// app/, outlives the host, as the objects outlive it.
struct WebRooms {
  const account::PooledPeople& people;
  const AccountReads& account;
  Random& random;
  const Pages& pages;
  std::string origin;  // of the pages, without a path
  Cookies cookies = Cookies(origin);
};

std::span<const Route<WebRooms>> sign_in_routes() noexcept;

// Whose session it is now, with the cookie of its new token; or the refusal.
void send_signed_in(const WebRooms& rooms, Turn& turn,
                    const Result<identity::SignedIn, base::Error>& signed_in);

// The value of Set-Cookie for a session with this token.
std::string session_cookie(const WebRooms& rooms, std::string_view token);

// Whose session it is now, with the cookie of its new token beside `more`.
void send_me(const WebRooms& rooms, Turn& turn, const identity::SignedIn& signed_in,
             ReplyFields& more);

// A session that a link or a code began may enrol; any other needs a fresh proof for it. False: the
// request was refused.
[[nodiscard]] bool may_enrol(const WebRooms& rooms, Turn& turn, const Asked& asked);

// What is left of a session when its person leaves: nothing in the browser.
struct SignedOut {
  std::string cookie;
  void add_to(ReplyFields& fields) const {
    fields.add("Set-Cookie", cookie);
    fields.add("Clear-Site-Data", "\"cache\"");
  }
};
// Ends the session of the caller.
[[nodiscard]] Result<SignedOut, base::Error> sign_out(const WebRooms& rooms, Turn& turn,
                                                      const Caller& caller);

}  // namespace turnpike::hosts::web
