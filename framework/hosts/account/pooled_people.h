// PooledPeople: runs the hosts' queries about people and accounts on the blocking pool, so that no
// loop waits for the store. Used by the handlers of the API host and of the web host.
//
// Owned by app/, outlives the hosts; called on the fibers of all loop Threads, suspends them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/client_address.h"
#include "hosts/route_table.h"
#include "hosts/turn.h"
#include "identity/accounts.h"
#include "identity/audit.h"
#include "identity/by_mail.h"
#include "identity/external_sign_in.h"
#include "identity/members.h"
#include "identity/passwords.h"
#include "identity/people.h"
#include "identity/person.h"
#include "identity/recovery_codes.h"
#include "identity/sessions.h"
#include "identity/sign_in.h"
#include "oauth/grant_store.h"
#include "oauth/server.h"
#include "runtime/pool.h"

namespace turnpike::hosts::account {

// Returns the actor of this request, for the audit log; without a caller the actor is not known
// yet.
identity::Actor actor_of(Turn& turn, const Caller& caller, const ClientAddress& clients);

// Checks only the form of the token.
bool is_session_token(std::string_view token) noexcept;

class PooledPeople {
 public:
  // All parts outlive PooledPeople. The pool is the runtime's.
  struct Parts {
    identity::Sessions& sessions;
    identity::SignIn& sign_in;
    identity::Passwords& passwords;
    identity::RecoveryCodes& recovery_codes;
    identity::People& people;
    identity::PeopleStore& person_store;
    identity::ExternalSignIn& external_sign_in;
    identity::ExternalIdentityStore& external_identities;
    identity::MemberStore& members;
    identity::AuditStore& audit;
    identity::ApiKeys& keys;
    identity::Accounts& accounts;
    identity::ByMail& by_mail;
    oauth::GrantStore& grants;
    oauth::Server* authorization;  // null: there is no authorization server
    runtime::BlockingPool& pool;
    std::uint32_t processors;  // of this machine; bounds hashing
    const Clock& clock;
    std::string web_url;  // base URL of the web host, for links
    ClientAddress clients;
  };
  explicit PooledPeople(Parts parts);

  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }

  // Runs `work`, which returns a Result, to completion, so that the outcome of its changes is
  // known. auth.overloaded: it was not started.
  template <class F>
  [[nodiscard]] auto ask(F&& work) const -> std::invoke_result_t<F> {
    return run(parts_.pool, user_, std::forward<F>(work));
  }

  // The same for work that hashes a password. At most two run at once, one where there are fewer
  // than four processors, and 32 wait. They have threads of their own with a low priority, so that
  // hashing takes neither pool threads nor the time of more than half of the processors from calls.
  template <class F>
  [[nodiscard]] auto ask_hashing(F&& work) const -> std::invoke_result_t<F> {
    return run(hashing_pool_, hashing_user_, [&] {
      lower_own_priority();
      return work();
    });
  }

  [[nodiscard]] runtime::PoolUser::Counts hashes() const { return hashing_user_.counts(); }

  [[nodiscard]] Result<Caller, base::Error> authenticate(std::string_view token,
                                                         identity::SessionTransport transport,
                                                         const Presented& presented) const;

  // Returns how the person can re-authenticate (identity/passwords.h); empty: not known now, or the
  // person cannot.
  [[nodiscard]] std::vector<std::string_view> step_up_methods(std::string_view person_id) const;
  // The same as the end of a refusal's text: "use your passkey (POST /v1/step-up/passkey)".
  [[nodiscard]] std::string step_up_advice(std::string_view person_id) const;

  [[nodiscard]] identity::Actor actor_of(Turn& turn, const Caller& caller) const {
    return account::actor_of(turn, caller, parts_.clients);
  }

 private:
  template <class F>
  [[nodiscard]] auto run(runtime::BlockingPool& pool, const runtime::PoolUser& user,
                         F&& work) const -> std::invoke_result_t<F> {
    std::optional<std::invoke_result_t<F>> answer;
    if (!pool.run_to_end(user, [&]() noexcept { answer.emplace(work()); })) {
      return overloaded();
    }
    return *std::move(answer);
  }
  [[nodiscard]] static base::Error overloaded();
  // Lowers the priority of the calling Thread, which does nothing but hash; it cannot be raised
  // again.
  static void lower_own_priority() noexcept;

  const Parts parts_;
  const runtime::PoolUser user_;
  mutable runtime::BlockingPool hashing_pool_;
  const runtime::PoolUser hashing_user_;
};

}  // namespace turnpike::hosts::account
