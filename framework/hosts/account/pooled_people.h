// PooledPeople: what the hosts ask about people and accounts, on the blocking pool, so that no loop
// waits for the store. The handlers of the API host and of the web host work with it.
//
// Owned by app/, outlives the hosts; called on the fibers of all loop Threads, suspends them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/client_address.h"
#include "hosts/route_table.h"
#include "hosts/turn.h"
#include "identity/accounts.h"
#include "identity/audit.h"
#include "identity/external_sign_in.h"
#include "identity/members.h"
#include "identity/people.h"
#include "identity/person.h"
#include "identity/sessions.h"
#include "identity/sign_in.h"
#include "oauth/grant_store.h"
#include "oauth/server.h"
#include "runtime/pool.h"

namespace turnpike::hosts::account {

// By its form alone.
bool is_session_token(std::string_view token) noexcept;

class PooledPeople {
 public:
  // All outlive it. The pool is the runtime's.
  struct Parts {
    identity::Sessions& sessions;
    identity::SignIn& sign_in;
    identity::People& people;
    identity::PeopleStore& person_store;
    identity::ExternalSignIn& external_sign_in;
    identity::ExternalIdentityStore& external_identities;
    identity::MemberStore& members;
    identity::AuditStore& audit;
    identity::ApiKeys& keys;
    identity::Accounts& accounts;
    oauth::GrantStore& grants;
    oauth::Server* authorization;  // null: there is no authorization server
    runtime::BlockingPool& pool;
    const Clock& clock;
    std::string web_url;  // base URL of the web host, for links
    ClientAddress clients;
  };
  explicit PooledPeople(Parts parts);

  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }

  // Runs `work`, which returns a Result, to its end: what it changed is known. auth.overloaded: it
  // was not begun.
  template <class F>
  [[nodiscard]] auto ask(F&& work) const -> std::invoke_result_t<F> {
    std::optional<std::invoke_result_t<F>> answer;
    if (!parts_.pool.run_to_end(user_, [&]() noexcept { answer.emplace(work()); })) {
      return overloaded();
    }
    return *std::move(answer);
  }

  [[nodiscard]] Result<Caller, base::Error> authenticate(std::string_view token,
                                                         identity::SessionTransport transport,
                                                         const Presented& presented) const;

  // Who acts in this request; without a caller it is nobody yet.
  [[nodiscard]] identity::Actor actor_of(Turn& turn, const Caller& caller) const;

 private:
  [[nodiscard]] static base::Error overloaded();

  const Parts parts_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::hosts::account
