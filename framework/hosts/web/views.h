// The views of the pages: the values that each page shows, whatever their source, and the layout
// (site/layouts/people) that it fills. Layouts escape every value. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "identity/account.h"
#include "identity/external_identity.h"
#include "identity/mail.h"
#include "identity/members.h"
#include "identity/password_store.h"
#include "identity/person.h"
#include "identity/session.h"
#include "oauth/grant_store.h"
#include "site/templates.h"

namespace turnpike::hosts::web {

// Returns "No passkeys", "1 passkey", "2 passkeys".
std::string count_of(std::size_t count, std::string_view one, std::string_view several);

// An external identity provider.
struct ProviderChoice {
  std::string key;
  std::string name;
};

// The methods by which a person can re-authenticate.
struct StepUpWays {
  std::vector<std::string_view> methods = {};  // identity/passwords.h
  std::vector<ProviderChoice> providers = {};
  [[nodiscard]] bool are_none() const noexcept { return methods.empty() && providers.empty(); }
};
// Fills {{>STEP_UP}}, once on a page. `next`: the page that a successful proof leads to.
void fill_step_up(site::Slots slots, const StepUpWays& ways, std::string_view next);

// The reason for which a form was refused, shown with the form.
struct Problem {
  const base::Error* error = nullptr;  // null: not refused
  std::string_view request_id = {};
};
// Fills {{>PROBLEM}}, and shows the section REFUSED.
void fill_problem(site::Slots slots, const Problem& problem);

struct LoginView {
  static constexpr std::string_view layout = "people/login.html";
  std::string return_to;
  std::vector<ProviderChoice> providers;
  bool takes_passwords = false;
  bool offers_sign_up = false;
  std::string login = {};  // as typed
  Problem problem = {};
  void fill(site::Slots slots) const;
};

struct RecoveryView {
  static constexpr std::string_view layout = "people/recovery.html";
  bool takes_passwords = false;
  bool offers_mail = false;
  std::string login = {};
  Problem problem = {};
  void fill(site::Slots slots) const;
};

// The page that submits a link's token. `action`: the path that accepts it.
struct LinkView {
  static constexpr std::string_view layout = "people/link.html";
  std::string action;
  std::string explanation;
  std::string button;
  bool asks_name = false;  // and the login, of a new person
  bool has_page_token = false;
  std::string token = {};  // as sent
  std::string name = {};
  std::string login = {};
  Problem problem = {};
  void fill(site::Slots slots) const;
};

// The page that requests a mail without a session. `action`: the path that accepts the request.
struct AskView {
  static constexpr std::string_view layout = "people/ask.html";
  std::string_view action;
  std::string_view explanation;
  std::string_view login_label;
  std::string_view button;
  bool asks_name = false;
  std::string name = {};
  std::string login = {};
  Problem problem = {};
  void fill(site::Slots slots) const;
};

// A sentence, and a link to the next page.
struct MessageView {
  static constexpr std::string_view layout = "people/message.html";
  std::string_view text;
  std::string_view back;
  void fill(site::Slots slots) const;
};

struct AccountView {
  static constexpr std::string_view layout = "people/account.html";
  const identity::Person& person;
  const identity::Session& session;
  const std::vector<identity::Passkey>& passkeys;
  std::string passkey_domain;  // the domain for which passkeys are valid
  const std::vector<identity::Session>& sessions;
  const std::vector<identity::Membership>& memberships;
  const std::vector<oauth::Grant>& grants;
  const std::vector<identity::UnseenNotice>& notices;
  const std::vector<identity::ExternalIdentity>& identities;
  const std::vector<identity::AuditEvent>& events;  // the person's latest
  const std::vector<ProviderChoice>& providers;
  identity::Credentials credentials;
  bool takes_passwords = false;
  std::size_t password_bytes_min = 0;
  StepUpWays ways;
  bool may_enrol = false;   // without a fresh proof
  bool sends_mail = false;  // the gateway sends mail
  void fill(site::Slots slots) const;
};

struct GrantableAccount {
  std::string id;
  std::string name;
  std::string credits;  // remaining: "12 Credits"
};

// The grant that a client requests.
struct ConsentView {
  static constexpr std::string_view layout = "people/consent.html";
  std::string_view client_name;  // its own statement; empty: none
  std::string_view client_uri;   // empty: none
  std::string document_host;     // host of its document; empty: registered client
  std::string target;            // target of the answer, for people
  std::string_view request;      // hidden value of the form
  std::string back;              // this page
  const std::vector<GrantableAccount>& accounts;
  identity::Standing standing;
  StepUpWays ways;
  std::int64_t idle_days;
  std::int64_t days_max;
  void fill(site::Slots slots) const;
};

// The page between a form and an external page. Browsers apply a page's form-action policy to each
// redirect of its forms, so the form's answer is a page that continues by itself; its Frame has the
// same `next_url`.
struct HandoverView {
  static constexpr std::string_view layout = "people/handover.html";
  std::string provider_name;
  std::string url;
  void fill(site::Slots slots) const;
};

// Recovery codes, which are shown only once.
struct CodesView {
  static constexpr std::string_view layout = "people/codes.html";
  const std::vector<std::string>& codes;
  std::string_view back;
  void fill(site::Slots slots) const;
};

struct RefusalView {
  static constexpr std::string_view layout = "people/refusal.html";
  const base::Error& error;
  std::string_view request_id;
  std::string back;      // a path
  StepUpWays ways = {};  // if a step-up is missing
  void fill(site::Slots slots) const;
};

}  // namespace turnpike::hosts::web
