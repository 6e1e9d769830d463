// The HTML of the pages, made of what they show, with no knowledge of where that came from. Every
// text is escaped here. Pure functions; any Thread.
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
#include "site/frame.h"

namespace turnpike::hosts::web {

using site::Frame;

// A page without what stands around it.
struct SitePage {
  Frame frame;
  std::string main_html;
};

// Another provider of identities.
struct ProviderChoice {
  std::string key;
  std::string name;
};

// What a person can prove anew who they are with.
struct StepUpWays {
  std::vector<std::string_view> methods = {};  // identity/passwords.h
  std::vector<ProviderChoice> providers = {};
  [[nodiscard]] bool are_none() const noexcept { return methods.empty() && providers.empty(); }
};

struct LoginView {
  std::string return_to;
  std::vector<ProviderChoice> providers;
  bool takes_passwords = false;
  bool offers_sign_up = false;
};
SitePage login_page(const Frame& frame, const LoginView& view);
SitePage recovery_page(const Frame& frame, bool offers_mail);

// Where a link's token is handed in. `action` is the path that takes it.
struct LinkView {
  std::string action;
  std::string explanation;
  std::string button;
  bool asks_name = false;  // and login, of somebody who is nobody yet
};
SitePage link_page(const Frame& frame, const LinkView& view);

// Where a stranger asks for a mail. `action` is the path that takes it.
struct AskView {
  std::string_view action;
  std::string_view explanation;
  std::string_view login_label;
  std::string_view button;
  bool asks_name = false;
};
SitePage ask_page(const Frame& frame, const AskView& view);
// A sentence, and where to go on.
SitePage message_page(const Frame& frame, std::string_view text, std::string_view back);

struct AccountView {
  const identity::Person& person;
  const identity::Session& session;
  const std::vector<identity::Passkey>& passkeys;
  std::string passkey_domain;  // that they are bound to where they are good
  const std::vector<identity::Session>& sessions;
  const std::vector<identity::Membership>& memberships;
  const std::vector<oauth::Grant>& grants;
  const std::vector<identity::UnseenNotice>& notices;
  const std::vector<identity::ExternalIdentity>& identities;
  const std::vector<ProviderChoice>& providers;
  identity::Credentials credentials;
  bool takes_passwords = false;
  std::size_t password_bytes_min = 0;
  StepUpWays ways;
  bool may_enrol = false;   // without another proof
  bool sends_mail = false;  // the gateway does
};
SitePage account_page(const Frame& frame, const AccountView& view);

struct BillingAccountView {
  identity::Membership membership;
  const std::vector<identity::ApiKey>& keys;  // of admins and owners; else empty
  const std::vector<identity::Member>& members;
  const std::vector<identity::Invitation>& invitations;  // of admins and owners; else empty
  std::string_view own_id;
  bool sends_mail = false;  // the gateway does
};
SitePage billing_account_page(const Frame& frame, const BillingAccountView& view);

struct GrantableAccount {
  std::string id;
  std::string name;
  std::string credits;  // that are left
};

// What a client asks for.
struct ConsentView {
  std::string_view client_name;  // as it calls itself; empty: it gave none
  std::string_view client_uri;   // empty: it gave none
  std::string document_host;     // whose document describes it; empty: it registered
  std::string target;            // where the answer goes, for people
  std::string_view request;      // that the form hands in
  std::string back;              // this page
  const std::vector<GrantableAccount>& accounts;
  identity::Standing standing;
  StepUpWays ways;
  std::int64_t idle_days;
  std::int64_t days_max;
};
SitePage consent_page(const Frame& frame, const ConsentView& view);

// The way to a provider from a form: the redirect of a form is one that browsers hold to the page's
// policy (form-action), at every host on the way, so the browser goes on from a page.
struct HandoverView {
  std::string provider_name;
  std::string url;
};
SitePage handover_page(const Frame& frame, const HandoverView& view);

// Something that is shown once: a key, or the link of an invitation.
struct SecretView {
  std::string explanation;
  std::string secret;
  std::string back;  // a path
};
SitePage secret_page(const Frame& frame, const SecretView& view);

// Recovery codes, which are shown once.
SitePage codes_page(const Frame& frame, const std::vector<std::string>& codes,
                       std::string_view back);

struct RefusalView {
  const base::Error& error;
  std::string_view request_id;
  std::string back;      // a path
  StepUpWays ways = {};  // where a step-up is what is missing
};
SitePage refusal_page(const Frame& frame, const RefusalView& view);

}  // namespace turnpike::hosts::web
