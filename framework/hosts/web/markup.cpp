#include "hosts/web/markup.h"

#include <algorithm>
#include <initializer_list>

#include "base/ids.h"
#include "base/uri.h"
#include "hosts/page.h"
#include "hosts/route_table.h"

namespace turnpike::hosts::web {

namespace {

// Markup and texts in turn: what is markup is a constant of this file, and every text is escaped.
class Html {
 public:
  Html& operator<<(const char* markup) {
    text_ += markup;
    return *this;
  }
  Html& operator<<(std::string_view text) {
    append_html(text_, text);
    return *this;
  }
  Html& operator<<(const std::string& text) { return *this << std::string_view(text); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string day_of(std::int64_t at_ms) { return base::rfc3339(at_ms).substr(0, 10); }
std::string minute_of(std::int64_t at_ms) {
  std::string text = base::rfc3339(at_ms).substr(0, 16);
  text[10] = ' ';
  return text + " UTC";
}

void add_page_token(Html& html, const Frame& frame) {
  html << "<input type=\"hidden\" name=\"" << page_token_field << "\" value=\"" << frame.page_token
       << "\">";
}

// A form with one button: POST to `path`, with those fields.
struct Hidden {
  std::string_view name;
  std::string_view value;
};
void add_button_form(Html& html, const Frame& frame, const std::string& path,
                     std::initializer_list<Hidden> fields, std::string_view label) {
  html << "<form method=\"post\" action=\"" << path << "\">";
  add_page_token(html, frame);
  for (const Hidden& field : fields) {
    html << "<input type=\"hidden\" name=\"" << field.name << "\" value=\"" << field.value << "\">";
  }
  html << "<button>" << label << "</button></form>";
}

void begin(Html& html, const Frame& frame) { html << "<h1>" << frame.title << "</h1>\n"; }

SitePage end(Html& html, const Frame& frame) {
  html << "<p id=\"passkey-message\" role=\"alert\"></p>\n";
  return {frame, html.take()};
}

// Hidden until the script has shown that it runs.
void add_passkey_button(Html& html, std::string_view act, std::string_view next,
                        std::string_view label, std::string_view name_field = {}) {
  html << "<button type=\"button\" hidden data-passkey=\"" << act << "\" data-next=\"" << next
       << "\"";
  if (!name_field.empty()) html << " data-name-field=\"" << name_field << "\"";
  html << ">" << label << "</button>\n"
       << "<noscript><p class=\"quiet\">Passkeys need JavaScript; nothing else here "
          "does.</p></noscript>\n";
}

// The heading, with what the script tells authenticators: the passkeys that are good here.
void add_passkeys_heading(Html& html, const AccountView& view) {
  std::string ids;
  for (const identity::Passkey& passkey : view.passkeys) {
    if (passkey.rp_id != view.passkey_domain) continue;
    ids += (ids.empty() ? "" : " ") + base::base64url(passkey.facts.credential_id);
  }
  html << "<h2 id=\"passkeys\" data-domain=\"" << view.passkey_domain << "\" data-user=\""
       << base::base64url(view.person.webauthn_handle) << "\" data-credentials=\"" << ids
       << "\">Passkeys</h2>\n";
}

bool has_method(const std::vector<std::string_view>& methods, std::string_view method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

void add_password_field(Html& html, std::string_view id, std::string_view label,
                        std::string_view autocomplete, std::string_view name = "password") {
  html << "<label for=\"" << id << "\">" << label << "</label>\n<input id=\"" << id
       << "\" name=\"" << name << "\" type=\"password\" required maxlength=\"256\" autocomplete=\""
       << autocomplete << "\">\n";
}

// Forms that begin a fresh proof by a provider and lead back to `back`.
void add_provider_proofs(Html& html, const Frame& frame, const std::vector<ProviderChoice>& proofs,
                         std::string_view back) {
  for (const ProviderChoice& provider : proofs) {
    add_button_form(html, frame, "/account/step-up/oidc",
                    {{"provider", provider.key}, {"return_to", back}},
                    "Prove it with " + provider.name);
    html << "\n";
  }
}

// What the person can prove anew who they are with, and where that leads. Once on a page.
void add_step_up(Html& html, const Frame& frame, const StepUpWays& ways,
                 std::string_view next) {
  if (has_method(ways.methods, "passkey")) {
    add_passkey_button(html, "stepUp", next, "Use a passkey");
  }
  add_provider_proofs(html, frame, ways.providers, next);
  if (!has_method(ways.methods, "password")) return;
  html << "<form method=\"post\" action=\"/account/step-up\">";
  add_page_token(html, frame);
  html << "<input type=\"hidden\" name=\"next\" value=\"" << next << "\">\n";
  add_password_field(html, "step-up-password", "Your password", "current-password");
  html << "<br><button>Use the password</button></form>\n";
}

std::string provider_name(const std::vector<ProviderChoice>& providers, const std::string& key) {
  for (const ProviderChoice& provider : providers) {
    if (provider.key == key) return provider.name;
  }
  return key;  // it is configured no more
}

void add_identities(Html& html, const Frame& frame, const AccountView& view) {
  if (view.identities.empty() && view.providers.empty()) return;
  html << "<h2>Other providers</h2>\n";
  if (!view.identities.empty()) {
    html << "<table>\n<tr><th>Provider</th><th>Known there as</th><th>Added</th><th>Last "
            "used</th><th>Action</th></tr>\n";
  }
  for (const identity::ExternalIdentity& identity : view.identities) {
    const std::string name = provider_name(view.providers, identity.provider);
    html << "<tr><td>" << name << "</td><td>"
         << (identity.email.empty() ? identity.subject : identity.email) << "</td><td>"
         << day_of(identity.linked_at_ms) << "</td><td>"
         << (identity.last_used_at_ms ? day_of(*identity.last_used_at_ms) : std::string("never"))
         << "</td><td>";
    add_button_form(html, frame, "/account/external-identities/unlink", {{"id", identity.id}},
                    "Unlink " + name);
    html << "</td></tr>\n";
  }
  if (!view.identities.empty()) html << "</table>\n";
  if (!view.may_enrol) return;
  for (const ProviderChoice& provider : view.providers) {
    add_button_form(html, frame, "/account/external-identities/link",
                    {{"provider", provider.key}}, "Link " + provider.name);
    html << "\n";
  }
}

void add_passkeys(Html& html, const Frame& frame, const AccountView& view) {
  add_passkeys_heading(html, view);
  if (view.passkeys.empty() && !view.credentials.has_password && view.identities.empty()) {
    html << "<p class=\"alert\">You have no passkey yet. Add one now"
         << (view.takes_passwords ? ", or set a password" : "")
         << ": what let you in works only once.</p>\n";
  } else if (view.passkeys.empty()) {
    html << "<p>You have no passkey. With one you sign in without anything to remember.</p>\n";
  } else {
    html << "<table>\n<tr><th>Name</th><th>Added</th><th>Last used</th><th>Action</th></tr>\n";
    for (const identity::Passkey& passkey : view.passkeys) {
      html << "<tr><td>" << passkey.name << "</td><td>" << day_of(passkey.created_at_ms)
           << "</td><td>"
           << (passkey.last_used_at_ms ? day_of(*passkey.last_used_at_ms) : std::string("never"))
           << "</td><td>";
      add_button_form(html, frame, "/account/passkeys/remove", {{"id", passkey.id}},
                      "Remove " + passkey.name);
      html << "</td></tr>\n";
    }
    html << "</table>\n";
  }
  if (view.may_enrol) {
    html << "<label for=\"passkey-name\">Name of the new passkey</label>\n"
            "<input id=\"passkey-name\" value=\"My passkey\" maxlength=\"100\">\n";
    add_passkey_button(html, "enrol", "/account", "Add a passkey", "passkey-name");
  } else {
    html << "<p>To change what you sign in with, prove once more who you are.</p>\n";
    add_step_up(html, frame, view.ways, "/account");
  }
}

// `has_to_know`: the password before is asked for.
void add_password_form(Html& html, const Frame& frame, const AccountView& view, bool has_to_know) {
  html << "<form method=\"post\" action=\"/account/password\">";
  add_page_token(html, frame);
  // For the browser's list of passwords; it is not sent.
  html << "<input hidden autocomplete=\"username\" value=\"" << view.person.login << "\">\n";
  if (has_to_know) {
    add_password_field(html, "current-password", "The password that you have now",
                       "current-password", "current");
  }
  add_password_field(html, "new-password",
                     "New password: at least " + std::to_string(view.password_bytes_min) +
                         " characters, such as four or five words",
                     "new-password");
  html << "<p><input type=\"checkbox\" id=\"end-others\" name=\"end_others\" value=\"yes\" checked>"
          " <label class=\"inline\" for=\"end-others\">End my other sessions</label></p>\n<button>"
       << (view.credentials.has_password ? "Change the password" : "Set a password")
       << "</button></form>\n";
}

void add_password(Html& html, const Frame& frame, const AccountView& view) {
  const bool has_one = view.credentials.has_password;
  if (!view.takes_passwords && !has_one) return;
  const bool is_enrolling = view.session.strength == identity::Strength::enrol;
  html << "<h2>Password</h2>\n<p>"
       << (has_one ? "You have a password." : "You have no password.")
       << (view.takes_passwords ? "" : " Passwords are turned off here.") << "</p>\n";
  if (!view.may_enrol) return;
  if (view.takes_passwords) add_password_form(html, frame, view, has_one && !is_enrolling);
  if (has_one && !is_enrolling) {
    add_button_form(html, frame, "/account/password/remove", {}, "Remove the password");
  }
}

void add_recovery_codes(Html& html, const Frame& frame, const AccountView& view) {
  if (view.session.strength == identity::Strength::enrol) return;
  html << "<h2>Recovery codes</h2>\n<p>Each lets you in once, when you have lost everything else. "
          "You have "
       << std::to_string(view.credentials.recovery_codes) << " left.</p>\n";
  if (!view.may_enrol) return;
  add_button_form(html, frame, "/account/recovery-codes", {}, "Make new recovery codes");
}

// What the person is told here, since no mail told them.
void add_notices(Html& html, const Frame& frame, const AccountView& view) {
  if (view.notices.empty()) return;
  html << "<div class=\"alert\">\n<h2>News of your sign-in</h2>\n<ul>\n";
  for (const identity::UnseenNotice& notice : view.notices) {
    html << "<li>" << minute_of(notice.at_ms) << ": " << sentence_of(notice.notice);
    if (!notice.detail.empty()) html << " (" << notice.detail << ")";
    if (!notice.address.empty()) html << ", from " << notice.address;
    html << ".</li>\n";
  }
  html << "</ul>\n<p>That was not you? Remove what is not yours, and end all other "
          "sessions.</p>\n";
  add_button_form(html, frame, "/account/notices/seen",
                  {{"until", std::to_string(view.notices.back().at_ms)}}, "I have seen this");
  html << "</div>\n";
}

void add_email(Html& html, const Frame& frame, const AccountView& view) {
  const identity::Person& person = view.person;
  if (!view.sends_mail && person.email.empty()) return;
  html << "<h2>E-mail</h2>\n";
  if (person.is_email_verified) {
    html << "<p><strong>" << person.email << "</strong>, confirmed.</p>\n";
    add_button_form(html, frame, "/account/email/remove", {}, "Remove the address");
  } else {
    html << "<p>You have confirmed no address. With one you are told when something of your "
            "sign-in changes, and can come in again after you lost your passkey.</p>\n";
  }
  if (!view.sends_mail) return;
  if (!person.new_email.empty()) {
    html << "<p>A mail to <strong>" << person.new_email
         << "</strong> waits for you to confirm that address.</p>\n";
  }
  html << "<form method=\"post\" action=\"/account/email\">";
  add_page_token(html, frame);
  html << "<label for=\"email\">"
       << (person.is_email_verified ? "Another e-mail address" : "E-mail address")
       << "</label>\n<input id=\"email\" name=\"email\" type=\"email\" required "
          "maxlength=\"254\" autocomplete=\"email\">\n<button>Send a confirmation</button>"
          "</form>\n";
}

void add_sessions(Html& html, const Frame& frame, const AccountView& view) {
  html << "<h2>Sessions</h2>\n<table>\n<tr><th>Browser or program</th><th>Address</th>"
          "<th>Last seen</th><th>Action</th></tr>\n";
  for (const identity::Session& session : view.sessions) {
    const bool is_own = session.id == view.session.id;
    html << "<tr><td>" << (session.name.empty() ? session.user_agent : session.name)
         << (is_own ? " <strong>(this one)</strong>" : "") << "</td><td>" << session.address
         << "</td><td>" << minute_of(session.last_seen_at_ms) << "</td><td>";
    if (!is_own) {
      add_button_form(html, frame, "/account/sessions/end", {{"id", session.id}}, "End session");
    }
    html << "</td></tr>\n";
  }
  html << "</table>\n";
  if (view.sessions.size() > 1) {
    add_button_form(html, frame, "/account/sessions/end", {}, "End all other sessions");
  }
}

std::string account_path(const BillingAccountView& view) {
  return "/accounts/" + view.membership.account.id;
}

void add_keys(Html& html, const Frame& frame, const BillingAccountView& view) {
  const std::string path = account_path(view);
  html << "<h2>API keys</h2>\n";
  if (!view.keys.empty()) {
    html
        << "<table>\n<tr><th>Name</th><th>Key</th><th>Created</th><th>Last used</th><th>Action</th>"
           "</tr>\n";
  }
  for (const identity::ApiKey& key : view.keys) {
    html << "<tr><td>" << key.name << "</td><td><code>" << key.prefix << "</code></td><td>"
         << day_of(key.created_at_ms) << "</td><td>"
         << (key.last_used_at_ms ? day_of(*key.last_used_at_ms) : std::string("never"))
         << "</td><td>";
    if (key.revoked_at_ms) {
      html << "revoked";
    } else {
      add_button_form(html, frame, path + "/api-keys/revoke", {{"id", key.id}},
                      "Revoke " + key.name);
    }
    html << "</td></tr>\n";
  }
  if (!view.keys.empty()) html << "</table>\n";
  html << "<form method=\"post\" action=\"" << path << "/api-keys\">";
  add_page_token(html, frame);
  html << "<label for=\"key-name\">Name of the new key</label>\n<input id=\"key-name\" "
          "name=\"name\" required maxlength=\"200\">\n<button>Create an API key</button></form>\n";
}

void add_role_choice(Html& html, const char* id, identity::Role chosen) {
  html << "<select id=\"" << std::string_view(id) << "\" name=\"role\">";
  for (const identity::Role role :
       {identity::Role::member, identity::Role::admin, identity::Role::owner}) {
    html << "<option" << (role == chosen ? " selected>" : ">") << name_of(role) << "</option>";
  }
  html << "</select>\n";
}

void add_invitations(Html& html, const Frame& frame, const BillingAccountView& view) {
  const std::string path = account_path(view);
  html << "<h2>Invitations</h2>\n";
  if (!view.invitations.empty()) {
    html << "<table>\n<tr><th>For</th><th>Role</th><th>Until</th><th>Action</th></tr>\n";
  }
  for (const identity::Invitation& invitation : view.invitations) {
    html << "<tr><td>" << (invitation.email.empty() ? "whoever has the link" : invitation.email)
         << "</td><td>" << name_of(invitation.role) << "</td><td>"
         << day_of(invitation.expires_at_ms) << "</td><td>";
    add_button_form(html, frame, path + "/invitations/withdraw", {{"id", invitation.id}},
                    "Withdraw");
    html << "</td></tr>\n";
  }
  if (!view.invitations.empty()) html << "</table>\n";
  html << "<form method=\"post\" action=\"" << path << "/invitations\">";
  add_page_token(html, frame);
  html << "<label for=\"invitation-role\">Role</label>\n";
  add_role_choice(html, "invitation-role", identity::Role::member);
  if (view.sends_mail) {
    html << "<label for=\"invitation-email\">E-mail address, to which the link goes, and which is "
            "then needed to accept (empty: you give the link yourself)</label>\n<input "
            "id=\"invitation-email\" name=\"email\" type=\"email\" maxlength=\"254\" "
            "autocomplete=\"off\">\n";
  }
  html << "<br><button>Invite somebody</button></form>\n";
}

void add_members(Html& html, const Frame& frame, const BillingAccountView& view) {
  html << "<h2>Members</h2>\n<table>\n<tr><th>Name</th><th>Role</th><th>Since</th><th>Action</th></"
          "tr>\n";
  for (const identity::Member& member : view.members) {
    const bool is_self = member.person_id == view.own_id;
    html << "<tr><td>" << member.name << "</td><td>" << name_of(member.role) << "</td><td>"
         << day_of(member.created_at_ms) << "</td><td>";
    if (is_self || view.membership.role >= identity::Role::admin) {
      add_button_form(html, frame, account_path(view) + "/members/remove",
                      {{"id", member.person_id}}, is_self ? "Leave" : "Remove " + member.name);
    }
    html << "</td></tr>\n";
  }
  html << "</table>\n";
}

void add_grants(Html& html, const Frame& frame, const AccountView& view) {
  if (view.grants.empty()) return;
  html << "<h2>Programs with access</h2>\n<table>\n<tr><th>Program</th><th>Since</th><th>Last "
          "used</th><th>Action</th></tr>\n";
  for (const oauth::Grant& grant : view.grants) {
    const std::string name =
        grant.client_name.empty() ? "a program without a name" : grant.client_name;
    html << "<tr><td>" << name << "</td><td>" << day_of(grant.created_at_ms) << "</td><td>"
         << (grant.last_used_at_ms ? day_of(*grant.last_used_at_ms) : std::string("never"))
         << "</td><td>";
    add_button_form(html, frame, "/account/grants/revoke", {{"id", grant.id}},
                    "End the access of " + name);
    html << "</td></tr>\n";
  }
  html << "</table>\n";
}

void add_login_field(Html& html) {
  html << "<label for=\"login\">Login</label>\n<input id=\"login\" name=\"login\" required "
          "maxlength=\"100\" autocomplete=\"username\" autocapitalize=\"none\" "
          "spellcheck=\"false\">\n";
}

// Why nothing can be granted now, with what mends it; false: it can.
bool add_consent_hindrance(Html& html, const Frame& frame, const ConsentView& view) {
  if (view.standing == identity::Standing::enrolling) {
    html << "<p class=\"alert\">You signed in with a link or a code: <a href=\"/account\">add a "
            "passkey or a password</a> first, then begin again in the program.</p>\n";
    return true;
  }
  if (view.accounts.empty()) {
    html << "<p class=\"alert\">You are owner or admin of no active billing account, so you have "
            "nothing to give access to.</p>\n";
    return true;
  }
  if (view.standing == identity::Standing::signed_in) {
    html << "<p class=\"alert\">To give access takes a fresh proof of who you are.</p>\n";
    add_step_up(html, frame, view.ways, view.back);
    return true;
  }
  return false;
}

}  // namespace

SitePage login_page(const Frame& frame, const LoginView& view) {
  Html html;
  begin(html, frame);
  add_passkey_button(html, "signIn", view.return_to, "Sign in with a passkey");
  if (view.takes_passwords) {
    html << "<form method=\"post\" action=\"/login/password\"><input type=\"hidden\" "
            "name=\"return_to\" value=\""
         << view.return_to << "\">\n";
    add_login_field(html);
    add_password_field(html, "password", "Password", "current-password");
    html << "<br><button>Sign in with the password</button></form>\n";
  }
  for (const ProviderChoice& provider : view.providers) {
    // A link, not a form: the redirects behind it lead to other hosts (see HandoverView).
    std::string path = "/login/oidc/" + provider.key + "?return_to=";
    base::append_percent_encoded(path, view.return_to);
    html << "<p><a class=\"button\" href=\"" << path << "\">Sign in with " << provider.name
         << "</a></p>\n";
  }
  html << "<p>New here? ";
  if (view.offers_sign_up) html << "<a href=\"/sign-up\">Sign up</a>. ";
  html << "Whoever runs this gateway, or a member of an account, gives you a link. "
       << "<a href=\"/login/link\">Use a link</a></p>\n<p>Lost what you sign in with? "
          "<a href=\"/login/recovery\">Use a recovery code</a></p>\n";
  return end(html, frame);
}

SitePage recovery_page(const Frame& frame, bool offers_mail) {
  Html html;
  begin(html, frame);
  html << "<p>Each recovery code lets you in once. Then you add a passkey or a password, with "
          "which you sign in from then on.</p>\n<form method=\"post\" action=\"/login/recovery\">";
  add_login_field(html);
  html << "<label for=\"code\">Recovery code</label>\n<input id=\"code\" name=\"code\" required "
          "maxlength=\"100\" autocomplete=\"off\" autocapitalize=\"none\" spellcheck=\"false\">\n"
          "<br><button>Sign in</button></form>\n";
  if (offers_mail) {
    html << "<p>No codes? <a href=\"/login/recovery/mail\">Have a link sent by mail</a></p>\n";
  }
  return end(html, frame);
}

SitePage link_page(const Frame& frame, const LinkView& view) {
  Html html;
  begin(html, frame);
  html << "<p>" << view.explanation << "</p>\n<form method=\"post\" action=\"" << view.action
       << "\">";
  if (!frame.page_token.empty()) add_page_token(html, frame);
  html << "<label for=\"token\">The part of the link behind the #</label>\n"
          "<input id=\"token\" name=\"token\" required autocomplete=\"off\" spellcheck=\"false\">\n"
          "<br>";
  if (view.asks_name) {
    html << "<label for=\"name\">Your name</label>\n<input id=\"name\" name=\"name\" required "
            "maxlength=\"200\" autocomplete=\"name\">\n<label for=\"login\">Your login: letters, "
            "digits and . _ - + @</label>\n<input id=\"login\" name=\"login\" required "
            "maxlength=\"100\" autocomplete=\"username\" autocapitalize=\"none\">\n<br>";
  }
  html << "<button>" << view.button << "</button></form>\n";
  return end(html, frame);
}

SitePage ask_page(const Frame& frame, const AskView& view) {
  Html html;
  begin(html, frame);
  html << "<p>" << view.explanation << "</p>\n<form method=\"post\" action=\"" << view.action
       << "\">";
  if (view.asks_name) {
    html << "<label for=\"name\">Your name</label>\n<input id=\"name\" name=\"name\" required "
            "maxlength=\"200\" autocomplete=\"name\">\n";
  }
  html << "<label for=\"login\">" << view.login_label
       << "</label>\n<input id=\"login\" name=\"login\" required maxlength=\"100\" "
          "autocomplete=\"username\" autocapitalize=\"none\">\n<br><button>"
       << view.button << "</button></form>\n<p><a href=\"/login\">Back</a></p>\n";
  return end(html, frame);
}

SitePage message_page(const Frame& frame, std::string_view text, std::string_view back) {
  Html html;
  begin(html, frame);
  html << "<p>" << text << "</p>\n<p><a href=\"" << back << "\">Go on</a></p>\n";
  return end(html, frame);
}

SitePage account_page(const Frame& frame, const AccountView& view) {
  Html html;
  begin(html, frame);
  html << "<p>Signed in as <strong>" << view.person.login << "</strong>.</p>\n";
  add_notices(html, frame, view);
  html << "<h2>Billing accounts</h2>\n";
  if (!view.memberships.empty()) html << "<ul>\n";
  for (const identity::Membership& membership : view.memberships) {
    html << "<li><a href=\"/accounts/" << membership.account.id << "\">" << membership.account.name
         << "</a> <span class=\"quiet\">" << name_of(membership.role) << "</span></li>\n";
  }
  if (!view.memberships.empty()) html << "</ul>\n";
  if (view.session.strength != identity::Strength::enrol) {
    html << "<form method=\"post\" action=\"/account/billing-accounts\">";
    add_page_token(html, frame);
    html << "<label for=\"account-name\">Name of a new billing account</label>\n<input "
            "id=\"account-name\" name=\"name\" required maxlength=\"200\">\n<button>Create a "
            "billing account</button></form>\n";
  }
  add_passkeys(html, frame, view);
  add_password(html, frame, view);
  add_identities(html, frame, view);
  add_recovery_codes(html, frame, view);
  add_email(html, frame, view);
  add_grants(html, frame, view);
  add_sessions(html, frame, view);
  return end(html, frame);
}

SitePage billing_account_page(const Frame& frame, const BillingAccountView& view) {
  Html html;
  begin(html, frame);
  html << "<p>Account <code>" << view.membership.account.id << "</code>, "
       << name_of(view.membership.account.status) << ". You are its "
       << name_of(view.membership.role) << ".</p>\n";
  const bool is_admin = view.membership.role >= identity::Role::admin;
  if (is_admin) add_keys(html, frame, view);
  add_members(html, frame, view);
  if (is_admin) add_invitations(html, frame, view);
  return end(html, frame);
}

SitePage consent_page(const Frame& frame, const ConsentView& view) {
  Html html;
  begin(html, frame);
  html << "<p><strong>"
       << (view.client_name.empty() ? std::string_view("A program without a name")
                                    : view.client_name)
       << "</strong> asks to call this gateway for you and to spend Credits of a billing account. "
          "Nobody has verified that name";
  if (!view.client_uri.empty()) html << ", nor that it is of " << view.client_uri;
  html << ".</p>\n";
  if (!view.document_host.empty()) {
    html << "<p>Its description is on <strong>" << view.document_host << "</strong>.</p>\n";
  }
  html << "<p>The answer goes to <strong>" << view.target
       << "</strong>. Say yes only if you began this there yourself.</p>\n"
          "<p>It can call all that the account can call. It cannot make keys, buy Credits, or see "
          "who else is a member. Access ends "
       << std::to_string(view.idle_days) << " days after its last use, after "
       << std::to_string(view.days_max)
       << " days at most, or when you end it on <a href=\"/account\">your page</a>.</p>\n";
  const bool is_hindered = add_consent_hindrance(html, frame, view);
  html << "<form method=\"post\" action=\"/oauth/consent\">";
  add_page_token(html, frame);
  html << "<input type=\"hidden\" name=\"request\" value=\"" << view.request << "\">\n";
  if (!is_hindered) {
    html << "<label for=\"account\">Billing account</label>\n<select id=\"account\" "
            "name=\"account\">";
    for (const GrantableAccount& account : view.accounts) {
      html << "<option value=\"" << account.id << "\">" << account.name << " (" << account.credits
           << " Credits left)</option>";
    }
    html
        << "</select>\n<label for=\"cap\">At most this many Credits a day (empty: no limit but the "
           "balance)</label>\n<input id=\"cap\" name=\"cap_per_day\" inputmode=\"numeric\" "
           "pattern=\"[0-9]*\" maxlength=\"13\">\n<br>"
           "<button name=\"decision\" value=\"approve\">Give access</button>\n";
  }
  html << "<button name=\"decision\" value=\"deny\">No</button></form>\n";
  return end(html, frame);
}

SitePage handover_page(const Frame& frame, const HandoverView& view) {
  Html html;
  Frame moving = frame;
  moving.next_url = view.url;
  begin(html, moving);
  html << "<p>You prove who you are at " << view.provider_name
       << ", and come back here.</p>\n<p><a class=\"button\" href=\"" << view.url
       << "\">Go on to " << view.provider_name << "</a></p>\n";
  return end(html, moving);
}

SitePage secret_page(const Frame& frame, const SecretView& view) {
  Html html;
  begin(html, frame);
  html << "<p>" << view.explanation << "</p>\n<p class=\"secret\"><code id=\"secret\">"
       << view.secret << "</code></p>\n<p><a href=\"" << view.back << "\">Back</a></p>\n";
  return end(html, frame);
}

SitePage codes_page(const Frame& frame, const std::vector<std::string>& codes,
                       std::string_view back) {
  Html html;
  begin(html, frame);
  html << "<p>Keep them where you would look for them without this computer: they are shown only "
          "here, and those before them have ended. Each works once.</p>\n<ul class=\"secret\">\n";
  for (const std::string& code : codes) html << "<li><code>" << code << "</code></li>\n";
  html << "</ul>\n<p><a href=\"" << back << "\">Back</a></p>\n";
  return end(html, frame);
}

SitePage refusal_page(const Frame& frame, const RefusalView& view) {
  Html html;
  begin(html, frame);
  if (!view.ways.are_none()) {
    html << "<p class=\"alert\">This needs a fresh proof of who you are. Give it here, then do it "
            "again.</p>\n";
    add_step_up(html, frame, view.ways, view.back);
  } else {
    html << "<p class=\"alert\">" << view.error.message << "</p>\n";
  }
  for (const base::FieldProblem& field : view.error.fields) {
    html << "<p>" << field.location << ": " << field.problem << ". " << field.fix << "</p>\n";
  }
  html << "<p class=\"quiet\">" << base::info_of(view.error.code).name << ", request <code>"
       << view.request_id << "</code></p>\n<p><a href=\"" << view.back << "\">Back</a></p>\n";
  return end(html, frame);
}

}  // namespace turnpike::hosts::web
