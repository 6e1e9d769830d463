#include "identity/passwords.h"

#include "identity/password_strength.h"
#include "identity/people.h"
#include "text/encoding.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view password_method = "password";
constexpr std::size_t device_digits = 32;
// 10^10 guesses: zxcvbn's threshold for a password that is hard to guess even from a stolen, slow
// hash.
constexpr double password_bits_min = 33.2;

Error passwords_are_off() {
  return {ErrorCode::auth_method_disabled,
          "Passwords are turned off here: use a passkey, or ask for a link."};
}

Error no_memory_to_hash() {
  return {ErrorCode::auth_overloaded, "Too many people are signing in: try again shortly.", 1};
}

Error rejected(std::string problem, std::string fix) {
  return {ErrorCode::identity_password_rejected,
          "This password is not taken: " + problem + ".",
          0,
          {{"/newPassword", std::move(problem), std::move(fix)}}};
}

// Words that an attacker who knows the person would try first: these texts and the words in them.
std::vector<std::string> words_about(const Person& person, const std::string& site_name) {
  std::vector<std::string> words;
  for (const std::string& text : {person.login, person.name, person.email, site_name}) {
    words.push_back(text);
    std::string word;
    for (const char c : text + " ") {
      if (std::string_view(" @._-+").find(c) == std::string_view::npos) {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
  }
  return words;
}

}  // namespace

Passwords::Passwords(Parts parts, Settings settings)
    : parts_(parts),
      settings_(std::move(settings)),
      hash_of_nobody_(crypto::hash_of_nobody(settings_.cost)) {}

Result<PasswordSession, Error> Passwords::sign_in(std::string_view login,
                                                  const std::string& password,
                                                  std::string_view device, const Actor& actor) {
  if (!settings_.is_enabled) return passwords_are_off();
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  const auto folded = read_login(login);
  const PasswordTry tried{.login = folded.ok() ? *folded : std::string(login.substr(0, 100)),
                          .device = known(device)};
  const auto compared = compare(tried, password);
  if (!compared.ok()) return parts_.tries.failed(compared.error(), password_method, actor);
  const Token session = parts_.sessions.make_token();
  const Device next = device_for(device);
  const SessionLimits& limits = parts_.sessions.limits();
  auto begun = parts_.store.sign_in(tried, *compared, {next.digest, device_ms},
                                    {.digest = session.digest,
                                     .method = std::string(password_method),
                                     .strength = Strength::single,
                                     .valid_ms = limits.absolute_ms,
                                     .step_up_ms = limits.step_up_ms},
                                    actor);
  if (!begun.ok()) return parts_.tries.failed(begun.error(), password_method, actor);
  return PasswordSession{{session.text, begun->person_id, begun->session.id}, next.text};
}

Result<PasswordSession, Error> Passwords::step_up(const std::string& password,
                                                  std::string_view device, const Actor& actor) {
  if (!settings_.is_enabled) return passwords_are_off();
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  const PasswordTry tried{.person_id = actor.person_id, .device = known(device)};
  const auto compared = compare(tried, password);
  if (!compared.ok()) return parts_.tries.failed(compared.error(), password_method, actor);
  const Token token = parts_.sessions.make_token();
  const Device next = device_for(device);
  // Method and strength stay, so a session that a passkey began keeps its strength.
  const auto done = parts_.store.step_up(tried, *compared, {next.digest, device_ms},
                                         {.session_id = actor.session_id,
                                          .digest = token.digest,
                                          .step_up_ms = parts_.sessions.limits().step_up_ms},
                                         actor);
  if (!done.ok()) return parts_.tries.failed(done.error(), password_method, actor);
  return PasswordSession{{token.text, actor.person_id, actor.session_id}, next.text};
}

Result<PasswordSession, Error> Passwords::set(const PasswordWish& wish, Standing standing,
                                              std::string_view device, const Actor& actor) {
  if (!settings_.is_enabled) return passwords_are_off();
  const auto person = parts_.people.find(actor.person_id);
  if (!person.ok()) return person.error();
  if (!person->has_value()) return Error{ErrorCode::auth_session_ended, "Sign in again."};
  if (auto why = why_rejected(wish.wanted, **person)) return *std::move(why);
  const PasswordTry tried{.person_id = actor.person_id, .device = known(device)};
  const auto old = compare_current(wish, standing, tried, actor);
  if (!old.ok()) return old.error();
  const auto hashed = hash(wish.wanted);
  if (!hashed.ok()) return hashed.error();
  const Token token = parts_.sessions.make_token();
  const Device next = device_for(device);
  RenewedSession session{.session_id = actor.session_id, .digest = token.digest};
  if (standing == Standing::enrolling) {
    session.method = password_method;
    session.strength = Strength::single;
    session.step_up_ms = parts_.sessions.limits().step_up_ms;
  }
  const auto done = parts_.store.set(tried, {.hash = *hashed,
                                      .old = *old,
                                      .replaces_any = standing == Standing::enrolling,
                                      .ends_other_sessions = wish.ends_other_sessions},
                                     {next.digest, device_ms}, session, actor);
  if (!done.ok() && *old) return parts_.tries.failed(done.error(), password_method, actor);
  if (!done.ok()) return done.error();
  return PasswordSession{{token.text, actor.person_id, actor.session_id}, next.text};
}

Result<std::string, Error> Passwords::remove(const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  const auto removed = parts_.store.remove(
      actor.person_id, {.session_id = actor.session_id, .digest = token.digest}, actor);
  if (!removed.ok()) return removed.error();
  if (!*removed) return Error{ErrorCode::request_not_found, "You have no password."};
  return token.text;
}

std::optional<crypto::Sha256> Passwords::known(std::string_view device) {
  if (device.size() != device_digits) return std::nullopt;
  return crypto::sha256({"device\n", device});
}

// Reuses the browser's value if it has one, so that the browser stays known to everyone who signs
// in with it.
Passwords::Device Passwords::device_for(std::string_view device) const {
  std::string text(device);
  if (!known(device)) {
    std::array<std::uint8_t, device_digits / 2> bits{};
    parts_.random.fill(bits);
    text = text::hex(bits);
  }
  return {text, *known(text)};
}

// Compares with a dummy hash if there is none, so that the time does not reveal whether one exists.
Result<ComparedPassword, Error> Passwords::compare(const PasswordTry& tried,
                                                   const std::string& password) const {
  auto hash = parts_.store.begin_try(tried);
  if (!hash.ok()) return std::move(hash).error();
  ComparedPassword compared{.hash = *std::move(hash)};
  const bool is_too_long = password.size() > password_bytes_max;
  const crypto::PasswordMatch match =
      crypto::compare_password(is_too_long ? std::string() : password,
                               compared.hash.empty() ? hash_of_nobody_ : compared.hash);
  if (match == crypto::PasswordMatch::not_compared) return no_memory_to_hash();
  compared.is_right =
      match == crypto::PasswordMatch::right && !is_too_long && !compared.hash.empty();
  if (compared.is_right && crypto::needs_rehash(compared.hash, settings_.cost)) {
    // Without memory for it now, the rehash happens at a later sign-in.
    compared.rehashed =
        crypto::hash_password(password, settings_.cost, parts_.random).value_or("");
  }
  return compared;
}

Result<std::string, Error> Passwords::hash(const std::string& password) const {
  auto hashed = crypto::hash_password(password, settings_.cost, parts_.random);
  if (!hashed) return no_memory_to_hash();
  return *std::move(hashed);
}

std::optional<Error> Passwords::why_rejected(const std::string& password,
                                             const Person& person) const {
  const std::string least = std::to_string(settings_.bytes_min);
  if (password.size() < settings_.bytes_min) {
    return rejected("it is shorter than " + least + " characters",
                    "Take at least " + least + ", such as four or five words.");
  }
  if (password.size() > password_bytes_max) {
    return rejected("it is longer than " + std::to_string(password_bytes_max) + " bytes",
                    "Take a shorter one.");
  }
  const auto words = words_about(person, settings_.site_name);
  if (password_bits(password, words) >= password_bits_min) return std::nullopt;
  return rejected("it is easy to guess",
                  "Take several words that do not belong together, nothing that is about you or "
                  "this site, and no repetitions.");
}

// nullopt: the person has no password, or the session may set one without the current one.
Result<std::optional<ComparedPassword>, Error> Passwords::compare_current(
    const PasswordWish& wish, Standing standing, const PasswordTry& tried,
    const Actor& actor) const {
  using Answer = std::optional<ComparedPassword>;
  if (standing == Standing::enrolling) return Answer();
  const auto credentials = parts_.store.credentials(actor.person_id);
  if (!credentials.ok()) return credentials.error();
  if (!credentials->has_password) return Answer();
  if (!wish.current) {
    return Error{ErrorCode::request_body_rejected,
                 "To change a password takes the one before.",
                 0,
                 {{"/currentPassword", "it is missing", "Send the password that you have now."}}};
  }
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  auto compared = compare(tried, *wish.current);
  if (!compared.ok()) return parts_.tries.failed(compared.error(), password_method, actor);
  return Answer(*std::move(compared));
}

std::vector<std::string_view> step_up_methods(const Credentials& credentials,
                                              const Passwords& passwords) {
  std::vector<std::string_view> methods;
  if (credentials.passkeys > 0) methods.emplace_back("passkey");
  if (credentials.has_password && passwords.are_enabled()) methods.push_back(password_method);
  return methods;
}

}  // namespace turnpike::identity
