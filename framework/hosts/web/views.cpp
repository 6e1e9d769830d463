#include "hosts/web/views.h"

#include <algorithm>

#include "hosts/web/events.h"
#include "text/encoding.h"
#include "text/uri.h"
#include "text/words.h"

namespace turnpike::hosts::web {

namespace {

using site::Slots;

bool has_method(const std::vector<std::string_view>& methods, std::string_view method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

std::string day_or_never(const std::optional<std::int64_t>& at_ms) {
  return at_ms ? text::day_text(*at_ms) : "never";
}

std::string provider_name(const std::vector<ProviderChoice>& providers, const std::string& key) {
  for (const ProviderChoice& provider : providers) {
    if (provider.key == key) return provider.name;
  }
  return key;  // no longer configured
}

void fill_error(Slots slots, const base::Error& error, std::string_view request_id) {
  slots.set("CODE", base::info_of(error.code).name);
  slots.set("REQUEST_ID", request_id);
  for (const base::FieldProblem& field : error.fields) {
    Slots row = slots.add("FIELD");
    row.set("PLACE", field.location.empty() ? "" : field.location + ": ");
    row.set("WHAT", field.problem);
    row.set("FIX", field.fix);
  }
}

void fill_notices(Slots slots, const AccountView& view) {
  if (view.notices.empty()) return;
  Slots news = slots.add("NEWS");
  for (const identity::UnseenNotice& notice : view.notices) {
    Slots row = news.add("NOTICE");
    row.set("AT", text::minute_text(notice.at_ms));
    row.set("WHAT", sentence_of(notice.notice));
    row.set_if("DETAIL", notice.detail);
    row.set_if("ADDRESS", notice.address);
  }
  news.set("UNTIL", view.notices.back().at_ms);
}

void fill_accounts(Slots slots, const AccountView& view) {
  slots.set("ACCOUNT_COUNT",
            count_of(view.memberships.size(), "billing account", "billing accounts"));
  slots.show_if(view.session.strength != identity::Strength::enrol, "MAY_FOUND");
  if (view.memberships.empty()) return;
  Slots list = slots.add("ACCOUNTS");
  for (const identity::Membership& membership : view.memberships) {
    Slots row = list.add("ACCOUNT");
    row.set("ID", membership.account.id);
    row.set("NAME", membership.account.name);
    row.set("ROLE", name_of(membership.role));
  }
}

// Returns the ids of the passkeys that are valid here, for the page's script.
std::string credential_ids(const AccountView& view) {
  std::string ids;
  for (const identity::Passkey& passkey : view.passkeys) {
    if (passkey.rp_id != view.passkey_domain) continue;
    ids += (ids.empty() ? "" : " ") + text::base64url(passkey.facts.credential_id);
  }
  return ids;
}

void fill_passkeys(Slots slots, const AccountView& view) {
  slots.set("PASSKEY_COUNT", count_of(view.passkeys.size(), "passkey", "passkeys"));
  slots.set("PASSKEY_DOMAIN", view.passkey_domain);
  slots.set("HANDLE", text::base64url(view.person.webauthn_handle));
  slots.set("CREDENTIAL_IDS", credential_ids(view));
  const bool has_others = view.credentials.has_password || !view.identities.empty();
  if (view.passkeys.empty()) slots.show(has_others ? "NO_PASSKEY" : "NOTHING_TO_SIGN_IN_WITH");
  slots.show(view.may_enrol ? "MAY_ENROL" : "MUST_PROVE");
  if (!view.may_enrol) fill_step_up(slots, view.ways, "/account");
  if (view.passkeys.empty()) return;
  Slots list = slots.add("PASSKEYS");
  for (const identity::Passkey& passkey : view.passkeys) {
    Slots row = list.add("PASSKEY");
    row.set("ID", passkey.id);
    row.set("NAME", passkey.name);
    row.set("ADDED", text::day_text(passkey.created_at_ms));
    row.set("USED", day_or_never(passkey.last_used_at_ms));
  }
}

void fill_password(Slots slots, const AccountView& view) {
  const bool has_one = view.credentials.has_password;
  if (!view.takes_passwords && !has_one) return;
  const bool has_to_know = has_one && view.session.strength != identity::Strength::enrol;
  Slots section = slots.add("PASSWORD_SECTION");
  section.set("PASSWORD_STATE", has_one ? "A password is set" : "No password");
  section.show_if(!view.takes_passwords, "PASSWORDS_ARE_OFF");
  if (!view.may_enrol) return;
  section.show_if(has_to_know, "MAY_REMOVE_PASSWORD");
  if (!view.takes_passwords) return;
  Slots form = section.add("PASSWORD_FORM");
  form.show_if(has_to_know, "HAS_TO_KNOW");
  form.set("PASSWORD_BYTES_MIN", static_cast<std::int64_t>(view.password_bytes_min));
  form.set("PASSWORD_BUTTON", has_one ? "Change the password" : "Set a password");
}

void fill_identities(Slots slots, const AccountView& view) {
  if (view.identities.empty() && view.providers.empty()) return;
  Slots section = slots.add("IDENTITY_SECTION");
  section.set("IDENTITY_COUNT", count_of(view.identities.size(), "identity", "identities"));
  if (!view.identities.empty()) section.show("IDENTITIES");
  for (const identity::ExternalIdentity& identity : view.identities) {
    Slots row = section.add("IDENTITY");
    row.set("ID", identity.id);
    row.set("NAME", provider_name(view.providers, identity.provider));
    row.set("KNOWN_AS", identity.email.empty() ? identity.subject : identity.email);
    row.set("ADDED", text::day_text(identity.linked_at_ms));
    row.set("USED", day_or_never(identity.last_used_at_ms));
  }
  if (!view.may_enrol) return;
  for (const ProviderChoice& provider : view.providers) {
    Slots row = section.add("LINKABLE");
    row.set("KEY", provider.key);
    row.set("NAME", provider.name);
  }
}

void fill_codes(Slots slots, const AccountView& view) {
  if (view.session.strength == identity::Strength::enrol) return;
  Slots section = slots.add("CODES");
  section.set("CODE_COUNT", count_of(static_cast<std::size_t>(view.credentials.recovery_codes),
                                     "recovery code", "recovery codes"));
  section.show_if(view.may_enrol, "MAY_MAKE_CODES");
}

void fill_email(Slots slots, const AccountView& view) {
  const identity::Person& person = view.person;
  if (!view.sends_mail && person.email.empty()) return;
  Slots section = slots.add("EMAIL_SECTION");
  section.set("EMAIL_STATE", person.is_email_verified ? "An e-mail address" : "No e-mail address");
  if (person.is_email_verified) {
    section.set_if("EMAIL", person.email);
  } else {
    section.show("NO_EMAIL");
  }
  if (!view.sends_mail) return;
  section.set_if("NEW_EMAIL", person.new_email);
  section.add("EMAIL_FORM").set("EMAIL_LABEL", person.is_email_verified ? "Another e-mail address"
                                                                        : "E-mail address");
}

void fill_grants(Slots slots, const AccountView& view) {
  if (view.grants.empty()) return;
  Slots section = slots.add("GRANTS");
  section.set("GRANT_COUNT", count_of(view.grants.size(), "program", "programs"));
  for (const oauth::Grant& grant : view.grants) {
    Slots row = section.add("GRANT");
    row.set("ID", grant.id);
    row.set("NAME", grant.client_name.empty() ? "a program without a name" : grant.client_name);
    row.set("ADDED", text::day_text(grant.created_at_ms));
    row.set("USED", day_or_never(grant.last_used_at_ms));
  }
}

void fill_sessions(Slots slots, const AccountView& view) {
  slots.set("SESSION_COUNT", count_of(view.sessions.size(), "session", "sessions"));
  for (const identity::Session& session : view.sessions) {
    const bool is_own = session.id == view.session.id;
    Slots row = slots.add("SESSION");
    row.set("ID", session.id);
    row.set("NAME", session.name.empty() ? session.user_agent : session.name);
    row.set("ADDRESS", session.address);
    row.set("SEEN", text::minute_text(session.last_seen_at_ms));
    row.show(is_own ? "IS_OWN" : "IS_OTHER");
  }
  slots.show_if(view.sessions.size() > 1, "OTHER_SESSIONS");
}

}  // namespace

std::string count_of(std::size_t count, std::string_view one, std::string_view several) {
  const std::string number = count == 0 ? "No" : std::to_string(count);
  return number + " " + std::string(count == 1 ? one : several);
}

void fill_step_up(Slots slots, const StepUpWays& ways, std::string_view next) {
  Slots form = slots.include("STEP_UP", "people/step_up.html");
  form.set("NEXT", next);
  form.show_if(has_method(ways.methods, "passkey"), "PASSKEY");
  form.show_if(has_method(ways.methods, "password"), "PASSWORD");
  for (const ProviderChoice& provider : ways.providers) {
    Slots row = form.add("PROVIDER");
    row.set("KEY", provider.key);
    row.set("NAME", provider.name);
  }
}

void fill_problem(Slots slots, const Problem& problem) {
  if (problem.error == nullptr) return;
  slots.show("REFUSED");
  Slots shown = slots.include("PROBLEM", "people/problem.html");
  shown.set("PROBLEM", problem.error->message);
  fill_error(shown, *problem.error, problem.request_id);
}

void LoginView::fill(Slots slots) const {
  slots.set("RETURN_TO", return_to);
  slots.set("LOGIN", login);
  slots.show_if(takes_passwords, "PASSWORDS");
  slots.show_if(offers_sign_up, "SIGN_UP");
  if (!providers.empty()) slots.show("PROVIDERS");
  for (const ProviderChoice& provider : providers) {
    // A link, not a form: its redirects lead to other hosts (see HandoverView).
    std::string path = "/login/oidc/" + provider.key + "?return_to=";
    text::append_percent_encoded(path, return_to);
    Slots row = slots.add("PROVIDER");
    row.set("PATH", path);
    row.set("NAME", provider.name);
  }
  fill_problem(slots, problem);
}

void RecoveryView::fill(Slots slots) const {
  slots.set("LOGIN", login);
  slots.show_if(takes_passwords, "PASSWORDS");
  slots.show_if(offers_mail, "MAIL");
  fill_problem(slots, problem);
}

void LinkView::fill(Slots slots) const {
  slots.set("ACTION", action);
  slots.set("EXPLANATION", explanation);
  slots.set("BUTTON", button);
  slots.set("TOKEN", token);
  slots.show_if(has_page_token, "PAGE_TOKEN_IS_SET");
  slots.show_if(asks_name, "NAMES");
  slots.set("NAME", name);
  slots.set("LOGIN", login);
  fill_problem(slots, problem);
}

void AskView::fill(Slots slots) const {
  slots.set("ACTION", action);
  slots.set("EXPLANATION", explanation);
  slots.set("LOGIN_LABEL", login_label);
  slots.set("BUTTON", button);
  slots.show_if(asks_name, "NAMES");
  slots.set("NAME", name);
  slots.set("LOGIN", login);
  fill_problem(slots, problem);
}

void MessageView::fill(Slots slots) const {
  slots.set("TEXT", text);
  slots.set("BACK", back);
}

void AccountView::fill(Slots slots) const {
  slots.set("LOGIN", person.login);
  slots.show_if(takes_passwords, "PASSWORDS");
  fill_notices(slots, *this);
  fill_accounts(slots, *this);
  fill_passkeys(slots, *this);
  fill_password(slots, *this);
  fill_identities(slots, *this);
  fill_codes(slots, *this);
  fill_email(slots, *this);
  fill_grants(slots, *this);
  fill_sessions(slots, *this);
  fill_events(slots, events, {{person.id, "you"}});
}

void ConsentView::fill(Slots slots) const {
  slots.set("CLIENT", client_name.empty() ? "A program without a name" : client_name);
  slots.set_if("CLIENT_URI", client_uri);
  slots.set_if("DOCUMENT_HOST", document_host);
  slots.set("TARGET", target);
  slots.set("REQUEST", request);
  slots.set("IDLE", text::counted(idle_days, "day"));
  slots.set("LONGEST", text::counted(days_max, "day"));
  const bool is_granting = standing == identity::Standing::stepped_up && !accounts.empty();
  slots.show(is_granting ? "GRANTING" : "REFUSING_ONLY");
  if (standing == identity::Standing::enrolling) {
    slots.show("ENROLLING");
  } else if (accounts.empty()) {
    slots.show("NO_ACCOUNT");
  } else if (standing == identity::Standing::signed_in) {
    slots.show("STEP_UP_NEEDED");
    fill_step_up(slots, ways, back);
  }
  for (const GrantableAccount& account : accounts) {
    Slots row = slots.add("ACCOUNT");
    row.set("ID", account.id);
    row.set("NAME", account.name);
    row.set("CREDITS", account.credits);
  }
}

void HandoverView::fill(Slots slots) const {
  slots.set("NAME", provider_name);
  slots.set("URL", url);
}

void CodesView::fill(Slots slots) const {
  slots.set("BACK", back);
  for (const std::string& code : codes) slots.add("CODE").set("TEXT", code);
}

void RefusalView::fill(Slots slots) const {
  if (ways.are_none()) {
    slots.set_if("MESSAGE", error.message);
  } else {
    slots.show("STEP_UP_NEEDED");
    fill_step_up(slots, ways, back);
  }
  fill_error(slots, error, request_id);
  slots.set("BACK", back);
  slots.set("BACK_LABEL", back == "/login" ? "Sign in" : "Back");
}

}  // namespace turnpike::hosts::web
