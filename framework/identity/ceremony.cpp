#include "identity/ceremony.h"

#include <array>
#include <charconv>

#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::identity {
namespace {

constexpr std::size_t id_bytes_max = 160;

base::Error ceremony_ended() {
  return {base::ErrorCode::auth_ceremony_ended,
          "This took too long, or was begun in another browser: begin anew."};
}

std::string_view text_of_digest(const crypto::Sha256& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// The fields of "<kind>.<milliseconds>.<random>", without the signature.
struct Facts {
  std::string_view kind;
  std::int64_t expires_at_ms = 0;
};

std::optional<Facts> read_facts(std::string_view text) noexcept {
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos) return std::nullopt;
  Facts facts{text.substr(0, first)};
  const char* const end = text.data() + second;
  const auto [stop, problem] = std::from_chars(text.data() + first + 1, end, facts.expires_at_ms);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return facts;
}

constexpr std::string_view kind_letters = "iueopl";

std::string_view letter_of(CeremonyKind kind) noexcept {
  return kind_letters.substr(static_cast<std::size_t>(kind), 1);
}

}  // namespace

Ceremony Ceremonies::begin(CeremonyKind kind, std::string_view holder) const {
  std::array<std::uint8_t, 32> random{};
  random_.fill(random);
  const std::int64_t expires_at_ms = clock_.now_ms() + valid_ms;
  std::string id(letter_of(kind));
  id += "." + std::to_string(expires_at_ms) + "." + text::base62(random, 43);
  id += "." + signature_of(id, holder);
  return made_of(std::move(id), expires_at_ms);
}

Result<Ceremony, base::Error> Ceremonies::read(std::string_view id, CeremonyKind kind,
                                               std::string_view holder) const {
  const std::size_t end = id.rfind('.');
  if (id.size() > id_bytes_max || end == id.npos) return ceremony_ended();
  const std::string_view signed_part = id.substr(0, end);
  const std::string signature = signature_of(signed_part, holder);
  if (!crypto::equal_in_constant_time(signature, id.substr(end + 1))) return ceremony_ended();
  const auto facts = read_facts(signed_part);
  if (!facts || facts->kind != letter_of(kind)) return ceremony_ended();
  if (facts->expires_at_ms <= clock_.now_ms()) return ceremony_ended();
  return made_of(std::string(id), facts->expires_at_ms);
}

std::optional<CeremonyKind> Ceremonies::kind_of(std::string_view id) noexcept {
  const std::size_t at = id.empty() ? id.npos : kind_letters.find(id.front());
  return at == id.npos ? std::nullopt : std::optional(static_cast<CeremonyKind>(at));
}

std::string Ceremonies::secret_of(const Ceremony& ceremony, std::string_view use) const {
  const std::string text = "secret\n" + std::string(use) + "\n" + ceremony.id;
  return std::string(text_of_digest(crypto::hmac_sha256(key_, text)));
}

std::string Ceremonies::signature_of(std::string_view facts, std::string_view holder) const {
  std::string text("ceremony\n");
  text.append(facts).append("\n").append(holder);
  return text::base64url(text_of_digest(crypto::hmac_sha256(key_, text)));
}

Ceremony Ceremonies::made_of(std::string id, std::int64_t expires_at_ms) const {
  Ceremony ceremony;
  ceremony.challenge = text_of_digest(crypto::hmac_sha256(key_, "challenge\n" + id));
  ceremony.id = std::move(id);
  ceremony.expires_at_ms = expires_at_ms;
  return ceremony;
}

}  // namespace turnpike::identity
