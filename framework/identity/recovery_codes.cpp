#include "identity/recovery_codes.h"

#include "identity/people.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view code_digits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t code_length = 26;  // 130 bits; the first two are 0
constexpr std::size_t group_length = 4;

crypto::Sha256 digest_of_code(std::string_view digits) {
  return crypto::sha256({"recovery code\n", digits});
}

char digit_meant(char c) noexcept {
  if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (c == 'o') return '0';
  return c == 'i' || c == 'l' ? '1' : c;
}

}  // namespace

Result<CreatedCodes, Error> RecoveryCodes::create(const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  CreatedCodes created{.codes = {}, .token = token.text};
  std::vector<crypto::Sha256> digests;
  for (std::size_t at = 0; at < count; ++at) {
    std::array<std::uint8_t, 16> bits{};
    parts_.random.fill(bits);
    created.codes.push_back(recovery_code_text(bits));
    digests.push_back(digest_of_code(read_recovery_code(created.codes.back())));
  }
  const auto replaced = parts_.store.replace(
      digests, {.session_id = actor.session_id, .digest = token.digest}, actor);
  if (!replaced.ok()) return replaced.error();
  return created;
}

Result<SignedIn, Error> RecoveryCodes::sign_in(std::string_view login, std::string_view code,
                                               const Actor& actor) {
  constexpr std::string_view method = "recovery_code";
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  const auto folded = read_login(login);
  const Token session = parts_.sessions.make_token();
  auto begun = parts_.store.sign_in(folded.ok() ? *folded : std::string(),
                                    digest_of_code(read_recovery_code(code)),
                                    {.digest = session.digest,
                                     .method = std::string(method),
                                     .strength = Strength::enrol,
                                     .valid_ms = parts_.sessions.limits().absolute_ms},
                                    actor);
  if (!begun.ok()) return parts_.tries.failed(begun.error(), method, actor);
  return SignedIn{session.text, begun->person_id, begun->session.id};
}

std::string recovery_code_text(const std::array<std::uint8_t, 16>& bits) {
  constexpr unsigned bits_of_digit = 5;
  std::string text;
  std::uint32_t kept = 0;  // bits that do not fill a digit yet
  unsigned kept_bits = code_length * bits_of_digit - 8 * bits.size();
  std::size_t digits = 0;
  for (const std::uint8_t byte : bits) {
    kept = kept << 8 | byte;
    for (kept_bits += 8; kept_bits >= bits_of_digit; kept_bits -= bits_of_digit) {
      if (digits > 0 && digits % group_length == 0) text += '-';
      text += code_digits[kept >> (kept_bits - bits_of_digit) & 31];
      ++digits;
    }
    kept &= 31;
  }
  return text;
}

std::string read_recovery_code(std::string_view text) {
  std::string digits;
  for (const char typed : text) {
    if (typed == '-' || typed == ' ') continue;
    const char c = digit_meant(typed);
    if (code_digits.find(c) == code_digits.npos || digits.size() == code_length) return {};
    digits += c;
  }
  return digits.size() == code_length ? digits : std::string();
}

}  // namespace turnpike::identity
