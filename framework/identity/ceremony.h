// Ceremonies: challenges that a browser has its authenticator sign, or that it carries to another
// identity provider as the `state` of a request. The id of a ceremony holds its kind, its holder
// and its expiry under a signature, so issuing one stores nothing and a flood of requests costs no
// storage. The store ensures that each is answered only once (UsedCeremony).
//
// Owned by app/; pure apart from clock and random source; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "base/limits.h"
#include "identity/session.h"

namespace turnpike::identity {

// provider_...: a browser's redirect to a provider and back; the others: use of a passkey.
enum class CeremonyKind : std::uint8_t {
  sign_in,
  step_up,
  enrol,
  provider_sign_in,
  provider_step_up,
  provider_link,
};

struct Ceremony {
  std::string id;
  std::string challenge;  // 32 bytes
  std::int64_t expires_at_ms = 0;
};

class Ceremonies {
 public:
  static constexpr std::int64_t valid_ms = base::limits::passkey_ceremony_ms;

  // `key`: a secret that all nodes share.
  Ceremonies(std::string key, const Clock& clock, Random& random)
      : key_(std::move(key)), clock_(clock), random_(random) {}

  // `holder`: a value that binds the ceremony to one browser, such as that of its cookie.
  [[nodiscard]] Ceremony begin(CeremonyKind kind, std::string_view holder) const;
  // auth.ceremony_ended: the ceremony has expired, or has another kind or holder.
  [[nodiscard]] Result<Ceremony, base::Error> read(std::string_view id, CeremonyKind kind,
                                                   std::string_view holder) const;
  // Reads the kind from the id without checking the signature.
  [[nodiscard]] static std::optional<CeremonyKind> kind_of(std::string_view id) noexcept;
  // Derives 32 more secret bytes from the ceremony; `use` separates secrets for different purposes.
  [[nodiscard]] std::string secret_of(const Ceremony& ceremony, std::string_view use) const;

 private:
  [[nodiscard]] std::string signature_of(std::string_view facts, std::string_view holder) const;
  [[nodiscard]] Ceremony made_of(std::string id, std::int64_t expires_at_ms) const;

  const std::string key_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace turnpike::identity
