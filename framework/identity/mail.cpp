#include "identity/mail.h"

#include <array>

namespace turnpike::identity {
namespace {

constexpr std::array<std::string_view, 5> kinds{"invitation", "recovery", "verify_email", "sign_up",
                                                "notice"};
constexpr std::array<std::string_view, 4> outcomes{"waiting", "sent", "given_up", "nobody"};

struct NoticeText {
  std::string_view name;
  std::string_view sentence;
};
constexpr std::array<NoticeText, 11> notices{{
    {"passkey_added", "A passkey was added"},
    {"passkey_removed", "A passkey was removed"},
    {"password_set", "The password was set"},
    {"password_removed", "The password was removed"},
    {"recovery_codes_made", "New recovery codes were made"},
    {"recovery_code_used", "A recovery code was used to sign in"},
    {"identity_linked", "An identity of another provider was linked"},
    {"identity_unlinked", "An identity of another provider was unlinked"},
    {"link_used", "A link was used to sign in"},
    {"recovery_used", "A recovery mail was used to sign in"},
    {"email_changed", "The e-mail address was changed"},
}};

template <class Value, std::size_t size>
std::optional<Value> found(const std::array<std::string_view, size>& names, std::string_view name) {
  for (std::size_t at = 0; at < size; ++at) {
    if (names[at] == name) return static_cast<Value>(at);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(MailKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }
std::optional<MailKind> mail_kind(std::string_view name) noexcept {
  return found<MailKind>(kinds, name);
}

std::string_view name_of(Notice notice) noexcept {
  return notices[static_cast<std::size_t>(notice)].name;
}
std::optional<Notice> notice(std::string_view name) noexcept {
  for (std::size_t at = 0; at < notices.size(); ++at) {
    if (notices[at].name == name) return static_cast<Notice>(at);
  }
  return std::nullopt;
}
std::string_view sentence_of(Notice notice) noexcept {
  return notices[static_cast<std::size_t>(notice)].sentence;
}

std::string_view name_of(MailOutcome outcome) noexcept {
  return outcomes[static_cast<std::size_t>(outcome)];
}
std::optional<MailOutcome> mail_outcome(std::string_view name) noexcept {
  return found<MailOutcome>(outcomes, name);
}

}  // namespace turnpike::identity
