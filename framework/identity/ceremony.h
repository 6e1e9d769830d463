// Ceremonies: challenges that a browser has its authenticator sign, or that it takes to another
// provider of identities as the state of a request. A ceremony carries in its id what it is for,
// whose, and until when, under a signature, so giving one out stores nothing and costs a stranger's
// flood nothing; that it is answered once is the store's to keep (UsedCeremony).
//
// Owned by app/; pure but for time and chance, any Thread.
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

// Those of a provider are a browser's way there and back; the others a passkey's.
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

  // `key`: a secret that the nodes share.
  Ceremonies(std::string key, const Clock& clock, Random& random)
      : key_(std::move(key)), clock_(clock), random_(random) {}

  // `holder`: what ties it to one browser, such as the value of its cookie.
  [[nodiscard]] Ceremony begin(CeremonyKind kind, std::string_view holder) const;
  // auth.ceremony_ended: it is too old, or of another kind or holder.
  [[nodiscard]] Result<Ceremony, base::Error> read(std::string_view id, CeremonyKind kind,
                                                   std::string_view holder) const;
  // By the id alone, which nobody has checked.
  [[nodiscard]] static std::optional<CeremonyKind> kind_of(std::string_view id) noexcept;
  // 32 more bytes of the ceremony, which nobody knows who was not told them; `use` keeps several
  // apart.
  [[nodiscard]] std::string secret_of(const Ceremony& ceremony, std::string_view use) const;

 private:
  [[nodiscard]] std::string signature_of(std::string_view facts, std::string_view holder) const;
  [[nodiscard]] Ceremony made_of(std::string id, std::int64_t expires_at_ms) const;

  const std::string key_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace turnpike::identity
