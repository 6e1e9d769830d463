#include "identity/webauthn.h"

#include <algorithm>
#include <optional>

#include "base/limits.h"
#include "crypto/digest.h"
#include "text/encoding.h"
#include "text/json_pointer.h"
#include "text/json_text.h"

namespace turnpike::identity {
namespace {

namespace limits = base::limits;

using crypto::PasskeyKey;

// Flag bits (WebAuthn section 6.1).
constexpr std::uint8_t user_present = 0x01;
constexpr std::uint8_t user_verified = 0x04;
constexpr std::uint8_t backup_eligible = 0x08;
constexpr std::uint8_t backed_up = 0x10;
constexpr std::uint8_t attested_credential = 0x40;
constexpr std::uint8_t extensions = 0x80;

base::Error rejected(std::string message) {
  return {base::ErrorCode::auth_passkey_rejected, std::move(message)};
}

// Reads consecutive pieces from the front of a byte string.
class Pieces {
 public:
  explicit Pieces(std::string_view bytes) : rest_(bytes) {}

  // nullopt when fewer bytes are left.
  std::optional<std::string_view> take(std::size_t count) noexcept {
    if (rest_.size() < count) return std::nullopt;
    const std::string_view piece = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return piece;
  }
  bool take_exactly(std::string_view expected) noexcept {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  // Reads a big-endian number.
  template <class Number>
  std::optional<Number> take_number() noexcept {
    const auto bytes = take(sizeof(Number));
    if (!bytes) return std::nullopt;
    Number number = 0;
    for (const char byte : *bytes) {
      number = static_cast<Number>(number << 8 | static_cast<std::uint8_t>(byte));
    }
    return number;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

struct AuthenticatorData {
  std::string_view party_hash;
  std::uint8_t flags = 0;
  std::uint32_t sign_count = 0;
  std::string_view rest;

  [[nodiscard]] bool has(std::uint8_t flag) const noexcept { return (flags & flag) != 0; }
};

std::optional<AuthenticatorData> read_authenticator_data(std::string_view bytes) noexcept {
  Pieces pieces(bytes);
  const auto party_hash = pieces.take(sizeof(crypto::Sha256));
  const auto flags = pieces.take_number<std::uint8_t>();
  const auto sign_count = pieces.take_number<std::uint32_t>();
  if (!party_hash || !flags || !sign_count) return std::nullopt;
  return AuthenticatorData{*party_hash, *flags, *sign_count, pieces.rest()};
}

// Reads a COSE key in canonical CBOR: labels in a fixed order, each number in its shortest form.
// nullopt for any other algorithm, curve or size.
std::optional<PasskeyKey> take_key(Pieces& pieces) {
  using std::string_view_literals::operator""sv;
  if (pieces.take_exactly("\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20"sv)) {
    const auto x = pieces.take(32);
    const bool is_y_next = pieces.take_exactly("\x22\x58\x20"sv);
    const auto y = pieces.take(32);
    return x && is_y_next && y ? PasskeyKey::es256(*x, *y) : std::nullopt;
  }
  if (pieces.take_exactly("\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20"sv)) {
    const auto x = pieces.take(32);
    return x ? PasskeyKey::eddsa(*x) : std::nullopt;
  }
  if (pieces.take_exactly("\xa4\x01\x03\x03\x39\x01\x00\x20\x59\x01\x00"sv)) {
    const auto modulus = pieces.take(256);
    const bool is_exponent_next = pieces.take_exactly("\x21\x43\x01\x00\x01"sv);
    return modulus && is_exponent_next ? PasskeyKey::rs256(*modulus) : std::nullopt;
  }
  return std::nullopt;
}

// Extensions may follow the fixed part, but only if their flag announces them.
bool is_rest_announced(std::string_view rest, bool is_announced) noexcept {
  return rest.empty() != is_announced;
}

// A string member of the client data; empty if it is absent or not a string.
std::string client_text(std::string_view client_data, std::string_view pointer) {
  const auto value = text::text_at(client_data, *text::JsonPointer::parse(pointer));
  if (!value || !value->starts_with('"')) return {};
  const auto text = text::parse_json(*value);
  return text.is_string() ? text.get<std::string>() : std::string();
}

bool has_member(std::string_view client_data, std::string_view pointer) {
  return text::text_at(client_data, *text::JsonPointer::parse(pointer)).has_value();
}

// Checks the browser's statements about the page and the ceremony (WebAuthn section 5.8.1); empty:
// no fault.
std::string fault_of_client_data(std::string_view client_data, std::string_view type,
                                 const RelyingParty& party, std::string_view challenge) {
  if (client_text(client_data, "/type") != type) {
    return "The client data is not that of a ceremony " + std::string(type) + ".";
  }
  if (challenge.empty() || client_text(client_data, "/challenge") != text::base64url(challenge)) {
    return "The challenge is not the one that was given out; begin again.";
  }
  if (party.origin.empty() || client_text(client_data, "/origin") != party.origin) {
    return "The passkey was used on a page of another origin than " + party.origin + ".";
  }
  const auto cross = text::text_at(client_data, *text::JsonPointer::parse("/crossOrigin"));
  if ((cross && *cross != "false") || has_member(client_data, "/topOrigin")) {
    return "The passkey was used inside a page of another origin.";
  }
  return {};
}

// Checks the authenticator's flags and RP id hash, in both ceremonies; empty: no fault.
std::string fault_of_flags(const AuthenticatorData& data, const RelyingParty& party) {
  const crypto::Sha256 hash = crypto::sha256(party.id);
  if (data.party_hash !=
      std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size())) {
    return "The passkey is for another site than " + party.id + ".";
  }
  if (!data.has(user_present)) return "The authenticator did not ask for a person's presence.";
  if (!data.has(user_verified)) {
    return "The authenticator did not verify the person, by a PIN or a finger or the like.";
  }
  if (data.has(backed_up) && !data.has(backup_eligible)) {
    return "The authenticator contradicts itself: a passkey that cannot be backed up is backed up.";
  }
  return {};
}

base::Error cut_short() { return rejected("The authenticator data is not of its fixed form."); }

}  // namespace

Result<NewPasskey, base::Error> check_registration(const PasskeyRegistration& registration,
                                                   const RelyingParty& party,
                                                   std::string_view challenge) {
  if (std::string fault =
          fault_of_client_data(registration.client_data, "webauthn.create", party, challenge);
      !fault.empty()) {
    return rejected(std::move(fault));
  }
  const auto data = read_authenticator_data(registration.authenticator_data);
  if (!data) return cut_short();
  if (std::string fault = fault_of_flags(*data, party); !fault.empty()) {
    return rejected(std::move(fault));
  }
  if (!data->has(attested_credential)) return rejected("The authenticator made no passkey.");

  Pieces pieces(data->rest);
  const auto aaguid = pieces.take(16);
  const auto id_bytes = pieces.take_number<std::uint16_t>();
  if (!aaguid || !id_bytes) return cut_short();
  if (*id_bytes == 0 || *id_bytes > limits::passkey_id_bytes_max) {
    return rejected("The passkey's id has " + std::to_string(*id_bytes) + " bytes, not 1 to " +
                    std::to_string(limits::passkey_id_bytes_max) + ".");
  }
  const auto id = pieces.take(*id_bytes);
  if (!id) return cut_short();
  if (*id != registration.credential_id) {
    return rejected("The passkey's id is not the one that the authenticator made.");
  }
  auto key = take_key(pieces);
  if (!key) return rejected("The passkey's key is none of EdDSA, ES256 and RS256 of 2048 bits.");
  if (!is_rest_announced(pieces.rest(), data->has(extensions))) return cut_short();

  NewPasskey passkey{.credential_id = std::string(*id),
                     .key = std::move(*key),
                     .sign_count = data->sign_count,
                     .is_backup_eligible = data->has(backup_eligible),
                     .is_backed_up = data->has(backed_up),
                     .transports = registration.transports};
  std::copy(aaguid->begin(), aaguid->end(), passkey.aaguid.begin());
  return passkey;
}

Result<AssertionFacts, base::Error> check_assertion(const PasskeyAssertion& assertion,
                                                    const KnownPasskey& passkey,
                                                    const RelyingParty& party,
                                                    std::string_view challenge) {
  const bool is_handle_missing = assertion.user_handle.empty() && passkey.may_omit_user_handle;
  if (!is_handle_missing &&
      (passkey.user_handle.empty() || assertion.user_handle != passkey.user_handle)) {
    return rejected("The passkey names another person than the one it is kept for.");
  }
  if (std::string fault =
          fault_of_client_data(assertion.client_data, "webauthn.get", party, challenge);
      !fault.empty()) {
    return rejected(std::move(fault));
  }
  const auto data = read_authenticator_data(assertion.authenticator_data);
  if (!data) return cut_short();
  if (std::string fault = fault_of_flags(*data, party); !fault.empty()) {
    return rejected(std::move(fault));
  }
  if (data->has(attested_credential) || !is_rest_announced(data->rest, data->has(extensions))) {
    return cut_short();
  }
  const crypto::Sha256 hash = crypto::sha256(assertion.client_data);
  std::string signed_bytes = assertion.authenticator_data;
  signed_bytes.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  if (!crypto::verify(passkey.key, signed_bytes, assertion.signature)) {
    return rejected("The signature is not that of the passkey.");
  }
  // The rule on sign counts of WebAuthn section 6.1.1.
  const bool has_count_fallen = passkey.sign_count != 0 && data->sign_count <= passkey.sign_count;
  if (has_count_fallen && !passkey.is_backup_eligible) {
    return rejected("The passkey's counter did not grow: there may be a copy of the passkey.");
  }
  return AssertionFacts{.sign_count = data->sign_count,
                        .is_backed_up = data->has(backed_up),
                        .has_count_fallen = has_count_fallen};
}

}  // namespace turnpike::identity
