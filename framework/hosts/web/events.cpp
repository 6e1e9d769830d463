#include "hosts/web/events.h"

#include <algorithm>
#include <charconv>

#include "hosts/web/views.h"
#include "text/words.h"

namespace turnpike::hosts::web {

namespace {

struct ActionWords {
  std::string_view action;
  std::string_view words;
};

constexpr ActionWords known_actions[] = {
    {"account.create", "made the account"},
    {"auto_top_up.pause", "paused Auto Top-Up of"},
    {"auto_top_up.replace", "made the policy of Auto Top-Up, revision"},
    {"auto_top_up.resume", "let Auto Top-Up go on for"},
    {"email.ask", "asked to confirm an e-mail address"},
    {"email.remove", "removed the e-mail address"},
    {"email.verify", "confirmed an e-mail address"},
    {"grant.cap", "changed the caps of a program"},
    {"grant.create", "gave a program access"},
    {"grant.deny", "gave a program no access"},
    {"grant.revoke", "ended the access of a program"},
    {"identity.link", "linked an identity"},
    {"identity.unlink", "unlinked an identity"},
    {"invitation.create", "made an invitation"},
    {"invitation.withdraw", "withdrew an invitation"},
    {"key.cap", "changed the caps of the key"},
    {"key.create", "made the key"},
    {"key.expire", "changed the end of the key"},
    {"key.rename", "renamed the key"},
    {"key.revoke", "revoked the key"},
    {"link.create", "made a sign-in link for"},
    {"member.add", "added the member"},
    {"member.remove", "removed the member"},
    {"member.role", "changed the role of"},
    {"notification_endpoint.change", "changed the notification endpoint"},
    {"notification_endpoint.create", "made the notification endpoint"},
    {"notification_endpoint.disable", "disabled the notification endpoint"},
    {"notification_endpoint.remove", "removed the notification endpoint"},
    {"notification_endpoint.rotate_secret", "gave a new secret to the notification endpoint"},
    {"notification_settings.change", "changed the threshold of low Credits of"},
    {"passkey.count_fell", "used a passkey whose counter fell"},
    {"passkey.create", "added a passkey"},
    {"passkey.remove", "removed a passkey"},
    {"passkey.rename", "renamed a passkey"},
    {"password.remove", "removed the password"},
    {"password.set", "set a password"},
    {"payment_method.create", "began to save the method of payment"},
    {"payment_method.remove", "removed the method of payment"},
    {"person.create", "made the login of"},
    {"person.disable", "disabled the login of"},
    {"person.enable", "enabled the login of"},
    {"person.rename", "changed the name"},
    {"purchase.create", "began the purchase"},
    {"purchase.credit", "credited the purchase"},
    {"purchase.refund", "gave money back for the purchase"},
    {"purchase.resolve", "judged and credited the purchase"},
    {"purchase.unlock", "let purchases go on for"},
    {"recovery.ask", "asked for a recovery mail"},
    {"recovery_codes.create", "made recovery codes"},
    {"session.begin", "signed in"},
    {"session.end", "ended a session"},
    {"session.end_others", "ended all other sessions"},
    {"session.step_up", "proved again who they are"},
    {"sign_up.ask", "asked to sign up"},
    {"usage.correct", "corrected a charge"},
};

constexpr std::string_view account_actions[] = {
    "key.create",
    "key.rename",
    "key.cap",
    "key.expire",
    "key.revoke",
    "member.add",
    "invitation.create",
    "invitation.withdraw",
    "member.role",
    "member.remove",
    "grant.create",
    "grant.cap",
    "grant.revoke",
    "purchase.create",
    "purchase.credit",
    "purchase.refund",
    "auto_top_up.replace",
    "payment_method.create",
    "payment_method.remove",
    "notification_endpoint.create",
    "notification_endpoint.change",
    "notification_endpoint.remove",
    "notification_endpoint.rotate_secret",
    "notification_settings.change",
    "usage.correct",
    "account.create",
};

std::string_view name_in(const NamesById& names, std::string_view id) {
  const auto known = names.find(id);
  return known == names.end() ? std::string_view() : std::string_view(known->second);
}

// Replaces ids by names, where known.
std::string with_names(std::string text, const NamesById& names) {
  for (const auto& [id, name] : names) {
    const std::size_t at = text.find(id);
    if (at != text.npos) text.replace(at, id.size(), name);
  }
  return text;
}

// Returns the words for an action, to stand before the name of its object, or alone.
std::string_view sentence_of(std::string_view action, bool has_name) noexcept {
  std::string_view words = words_of(action);
  if (has_name) return words;
  for (const std::string_view link : {" of", " for"}) {
    if (words.ends_with(link)) words.remove_suffix(link.size());
  }
  return words;
}

// The detail of session.begin names the session's person for operators, which the person need not
// read.
std::string_view detail_of(const identity::AuditEvent& event) noexcept {
  return event.action == "session.begin" ? std::string_view() : std::string_view(event.detail);
}

}  // namespace

std::string_view words_of(std::string_view action) noexcept {
  const auto* const known = std::find_if(std::begin(known_actions), std::end(known_actions),
                                         [&](const auto& one) { return one.action == action; });
  return known == std::end(known_actions) ? action : known->words;
}

std::span<const std::string_view> actions_of_accounts() noexcept { return account_actions; }

std::string who_is(std::string_view principal, const NamesById& names) {
  constexpr std::string_view user = "user:";
  if (principal.empty()) return "somebody who had not signed in";
  if (principal.starts_with("operator:")) return "the operator";
  if (principal.starts_with("system:")) return "the gateway";
  if (!principal.starts_with(user)) return std::string(principal);
  const std::string_view id = principal.substr(user.size());
  const std::string_view name = name_in(names, id);
  return std::string(name.empty() ? id : name);
}

Result<EventsPage, base::Error> read_events(identity::AuditStore& audit,
                                            identity::AuditQuery query) {
  constexpr std::size_t shown_max = 50;
  query.limit = shown_max + 1;
  auto events = audit.list(query);
  if (!events.ok()) return std::move(events).error();
  EventsPage page{*std::move(events), std::nullopt};
  if (page.events.size() > shown_max) {
    page.events.resize(shown_max);
    page.next = page.events.back().sequence;
  }
  return page;
}

Result<std::int64_t, base::Error> read_after(const Asked& asked) {
  const std::string text = asked.query.find("after").value_or("");
  std::int64_t after = 0;
  if (text.empty()) return after;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, after);
  if (problem == std::errc{} && rest == end && after > 0) return after;
  return base::Error{base::ErrorCode::request_query_rejected,
                     "The query is not one that this page takes.",
                     0,
                     {{"query.after", "it is no place in the log",
                       "Leave it out to begin with the newest event."}}};
}

void fill_events(site::Slots slots, const std::vector<identity::AuditEvent>& events,
                 const NamesById& names) {
  site::Slots list = slots.include("EVENTS", "people/event_rows.html");
  for (const identity::AuditEvent& event : events) {
    site::Slots row = list.add("EVENT");
    row.set("AT", text::minute_text(event.at_ms));
    row.set("WHO", who_is(event.actor.principal, names));
    const std::string_view target = name_in(names, event.target);
    row.set("WHAT", sentence_of(event.action, !target.empty()));
    row.set_long_name("ACTION", event.action);
    row.set_if("TARGET", target);
    row.set_if("DETAIL", with_names(std::string(detail_of(event)), names));
    row.set_if("METHOD", event.method);
    row.set("ADDRESS", event.actor.address);
    row.set_if("AGENT", event.actor.user_agent);
    row.show_if(event.outcome == identity::AuditOutcome::refused, "IS_REFUSED");
  }
}

void EventsView::fill(site::Slots slots) const {
  fill_events(slots, events, names);
  slots.set_if("NEXT", next);
}

}  // namespace turnpike::hosts::web
