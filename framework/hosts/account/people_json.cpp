#include "hosts/account/people_json.h"

#include "base/strict_object.h"
#include "oauth/redirect_uri.h"
#include "text/time_text.h"

namespace turnpike::hosts::account {

namespace {

Json time_or_null(const std::optional<std::int64_t>& at_ms) {
  return at_ms ? Json(text::rfc3339(*at_ms)) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json credits_or_null(const std::optional<std::int64_t>& credits) {
  return credits ? Json(std::to_string(*credits)) : Json(nullptr);
}

Json caps_json(const identity::SpendCaps& caps) {
  return {{"perDay", credits_or_null(caps.per_day)}, {"perMonth", credits_or_null(caps.per_month)}};
}

}  // namespace

Json key_json(const identity::ApiKey& key) {
  return {{"id", key.id},
          {"name", key.name},
          {"environment", name_of(key.environment)},
          {"prefix", key.prefix},
          {"createdAt", text::rfc3339(key.created_at_ms)},
          {"lastUsedAt", time_or_null(key.last_used_at_ms)},
          {"revokedAt", time_or_null(key.revoked_at_ms)},
          {"expiresAt", time_or_null(key.expires_at_ms)},
          {"caps", caps_json(key.caps)}};
}

Json grant_json(const oauth::Grant& grant) {
  return {{"id", grant.id},
          {"clientId", grant.client_id},
          {"clientName", text_or_null(grant.client_name)},
          {"clientHost", oauth::redirect_target(grant.redirect_uri)},
          {"userId", grant.person_id},
          {"billingAccountId", grant.account_id},
          {"createdAt", text::rfc3339(grant.created_at_ms)},
          {"lastUsedAt", time_or_null(grant.last_used_at_ms)},
          {"expiresAt", text::rfc3339(grant.expires_at_ms)},
          {"caps", caps_json(grant.caps)}};
}

Json account_json(const identity::Membership& membership) {
  const identity::Account& account = membership.account;
  return {{"id", account.id},
          {"name", account.name},
          {"status", name_of(account.status)},
          {"role", name_of(membership.role)},
          {"createdAt", text::rfc3339(account.created_at_ms)}};
}

Json membership_json(const identity::Membership& membership) {
  return {{"billingAccountId", membership.account.id},
          {"name", membership.account.name},
          {"role", name_of(membership.role)},
          {"status", name_of(membership.account.status)}};
}

Json member_json(const identity::Member& member) {
  return {{"userId", member.person_id},
          {"name", member.name},
          {"email", text_or_null(member.email)},
          {"role", name_of(member.role)},
          {"createdAt", text::rfc3339(member.created_at_ms)}};
}

Json invitation_json(const identity::Invitation& invitation) {
  return {{"id", invitation.id},
          {"role", name_of(invitation.role)},
          {"email", text_or_null(invitation.email)},
          {"createdAt", text::rfc3339(invitation.created_at_ms)},
          {"expiresAt", text::rfc3339(invitation.expires_at_ms)}};
}

Json session_json(const identity::Session& session, std::string_view current_id) {
  return {{"id", session.id},
          {"name", session.name},
          {"current", session.id == current_id},
          {"transport", name_of(session.transport)},
          {"method", session.method},
          {"createdAt", text::rfc3339(session.created_at_ms)},
          {"lastSeenAt", text::rfc3339(session.last_seen_at_ms)},
          {"expiresAt", text::rfc3339(session.expires_at_ms)},
          {"address", session.address},
          {"userAgent", session.user_agent}};
}

Json passkey_json(const identity::Passkey& passkey) {
  return {{"id", passkey.id},
          {"name", passkey.name},
          {"createdAt", text::rfc3339(passkey.created_at_ms)},
          {"lastUsedAt", time_or_null(passkey.last_used_at_ms)},
          {"backedUp", passkey.facts.is_backed_up},
          {"transports", passkey.facts.transports}};
}

Json external_identity_json(const identity::ExternalIdentity& identity,
                            std::string_view provider_name) {
  return {{"id", identity.id},
          {"provider", identity.provider},
          {"providerName", provider_name},
          {"issuer", identity.issuer},
          {"email", text_or_null(identity.email)},
          {"linkedAt", text::rfc3339(identity.linked_at_ms)},
          {"lastUsedAt", time_or_null(identity.last_used_at_ms)}};
}

Json me_json(const MeView& me) {
  Json list = Json::array();
  for (const identity::Membership& membership : me.memberships) {
    list.push_back(membership_json(membership));
  }
  const identity::Person& person = me.person;
  const identity::Session& session = me.session;
  const bool is_stepped_up = me.now_ms < session.step_up_until_ms;
  return {{"id", person.id},
          {"name", person.name},
          {"login", person.login},
          {"email", text_or_null(person.email.empty() ? person.new_email : person.email)},
          {"emailVerified", person.is_email_verified},
          {"createdAt", text::rfc3339(person.created_at_ms)},
          {"hasPassword", me.credentials.has_password},
          {"recoveryCodesLeft", me.credentials.recovery_codes},
          {"session",
           {{"id", session.id},
            {"method", session.method},
            {"strength", name_of(session.strength)},
            {"stepUpUntil",
             is_stepped_up ? Json(text::rfc3339(session.step_up_until_ms)) : Json(nullptr)},
            {"stepUpMethods", me.step_up_methods},
            {"expiresAt", text::rfc3339(session.expires_at_ms)}}},
          {"memberships", std::move(list)},
          {"csrfToken", text_or_null(me.page_token)}};
}

Json audit_page_json(const std::vector<identity::AuditEvent>& events, std::size_t limit) {
  Json items = Json::array();
  for (const identity::AuditEvent& event : events) {
    if (items.size() == limit) break;
    items.push_back({{"id", std::to_string(event.sequence)},
                     {"at", text::rfc3339(event.at_ms)},
                     {"actor", event.actor.principal},
                     {"action", event.action},
                     {"target", event.target},
                     {"outcome", name_of(event.outcome)},
                     {"method", event.method},
                     {"address", event.actor.address},
                     {"userAgent", event.actor.user_agent},
                     {"requestId", event.actor.request_id},
                     {"detail", event.detail}});
  }
  Json next = nullptr;
  if (events.size() > limit) next = std::to_string(events[limit - 1].sequence);
  return {{"items", std::move(items)}, {"nextCursor", std::move(next)}};
}

Result<identity::SpendCaps, base::Error> read_caps(std::string_view json) {
  base::StrictObject body(json, {"perDay", "perMonth"});
  const identity::SpendCaps caps{body.units_or_null("perDay", cap_credits_max),
                                 body.units_or_null("perMonth", cap_credits_max)};
  if (body.problems().empty()) return caps;
  base::Error error = body.refusal();
  for (base::FieldProblem& field : error.fields) field.location.insert(0, "/caps");
  return error;
}

}  // namespace turnpike::hosts::account
