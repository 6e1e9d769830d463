// The JSON routes of the web host by which people sign in, re-authenticate, and manage their
// passkeys. Each route that gives a session a new token sets its cookie. Constants; any Thread.
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

// The objects that this host's handlers use, also those of other rooms on it. Owned by app/,
// outlives the host; the objects outlive it.
struct WebRooms {
  const account::PooledPeople& people;
  const AccountReads& account;
  Random& random;
  const Pages& pages;
  std::string origin;  // of the pages, "https://web.example", no path
  Cookies cookies = Cookies(origin);
};

std::span<const Route<WebRooms>> sign_in_routes() noexcept;

// Sends the session's person with the cookie of its new token, or the refusal.
void send_signed_in(const WebRooms& rooms, Turn& turn,
                    const Result<identity::SignedIn, base::Error>& signed_in);

// Returns the Set-Cookie value for a session with this token.
std::string session_cookie(const WebRooms& rooms, std::string_view token);

// Sends the session's person with the cookie of its new token and the fields in `more`.
void send_me(const WebRooms& rooms, Turn& turn, const identity::SignedIn& signed_in,
             ReplyFields& more);

// A session that began with a link or a code may enrol; any other needs a fresh proof. False: the
// request was refused.
[[nodiscard]] bool may_enrol(const WebRooms& rooms, Turn& turn, const Asked& asked);

// The reply of a sign-out: it clears what the browser holds.
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
