#include "identity/people.h"

#include <array>

#include "crypto/digest.h"
#include "identity/email.h"
#include "identity/name.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t handle_bytes = 32;

struct Link {
  std::string token;
  crypto::Sha256 digest{};
};

Link new_link(Environment environment, Random& random) {
  Link link{make_token(environment, random, TokenKind::link), {}};
  link.digest = crypto::sha256(link.token);
  return link;
}

}  // namespace

Result<NewPerson, Error> People::read(std::string_view name, std::string_view login) const {
  if (auto fault = fault_in_name(name)) return *fault;
  auto folded = read_login(login);
  if (!folded.ok()) return std::move(folded).error();
  std::array<std::uint8_t, handle_bytes> handle{};
  random_.fill(handle);
  return NewPerson{std::string(name), *std::move(folded),
                   std::string(handle.begin(), handle.end())};
}

Result<InvitedPerson, Error> People::create(std::string_view name, std::string_view login,
                                            const std::optional<NewMembership>& membership,
                                            const Actor& actor) {
  const auto wanted = read(name, login);
  if (!wanted.ok()) return wanted.error();
  const Link link = new_link(environment_, random_);
  auto person = people_.add(*wanted, membership, {link.digest, link_ms}, actor);
  if (!person.ok()) return std::move(person).error();
  return InvitedPerson{*std::move(person), link.token};
}

Result<std::optional<InvitedPerson>, Error> People::link(std::string_view person_id,
                                                         const Actor& actor) {
  using Answer = std::optional<InvitedPerson>;
  const auto known = people_.find(person_id);
  if (!known.ok()) return known.error();
  if (!known->has_value()) return Answer();
  if ((*known)->is_disabled) {
    return Error{ErrorCode::request_malformed, "The person is disabled: no link lets them in."};
  }
  const Link link = new_link(environment_, random_);
  auto person = people_.add_link(person_id, {link.digest, link_ms}, actor);
  if (!person.ok()) return std::move(person).error();
  if (!person->has_value()) return Answer();
  return Answer(InvitedPerson{**std::move(person), link.token});
}

Result<std::optional<Person>, Error> People::rename(std::string_view person_id,
                                                    std::string_view name, const Actor& actor) {
  if (auto fault = fault_in_name(name)) return *fault;
  return people_.rename(person_id, name, actor);
}

Result<CreatedInvitation, Error> People::invite(std::string_view account_id, std::string_view email,
                                                Role role, const Actor& actor) {
  if (!email.empty() && !is_email(email)) {
    return Error{ErrorCode::request_malformed,
                 "The e-mail address is not in its form, such as name@example.org."};
  }
  const Link link = new_link(environment_, random_);
  auto invitation = members_.invite(
      {std::string(account_id), std::string(email), role, link.digest, invitation_ms}, actor);
  if (!invitation.ok()) return std::move(invitation).error();
  return CreatedInvitation{*std::move(invitation), link.token};
}

Result<Membership, Error> People::accept(std::string_view token, std::string_view person_id,
                                         const Actor& actor) {
  if (token_environment(token, TokenKind::link) != environment_) {
    return Error{ErrorCode::auth_link_ended, "This is no invitation of this gateway."};
  }
  return members_.accept(crypto::sha256(token), person_id, actor);
}

Result<std::string, Error> read_login(std::string_view text) {
  constexpr std::size_t login_bytes_max = 100;
  std::string login;
  bool is_sound = !text.empty() && text.size() <= login_bytes_max;
  for (const char c : text) {
    const char folded = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_letter = folded >= 'a' && folded <= 'z';
    const bool is_digit = folded >= '0' && folded <= '9';
    is_sound = is_sound && (is_letter || is_digit ||
                            std::string_view("._-+@").find(c) != std::string_view::npos);
    login += folded;
  }
  if (is_sound) return login;
  return Error{ErrorCode::request_malformed,
               "A login is 1 to 100 letters a-z, digits, or one of . _ - + @."};
}

}  // namespace turnpike::identity
