// CdpKey: an API key of Coinbase's facilitator, which requires a token for each request: an Ed25519
// JWT that names the key, the method, the host and the path and is valid for two minutes
// (docs/protocols.md, "Facilitators"). It is byte for byte what @coinbase/cdp-sdk 1.57 makes.
//
// Immutable; any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>
#include <turnpike/settings.h>

namespace turnpike::x402 {

class CdpKey {
 public:
  // Reads the map `cdp_key`: {id: ..., secret: {secret: {env: NAME}}}. The secret is the base64 of
  // seed and public key, as Coinbase gives it out. Returns null if the id or the secret is not
  // available.
  static Result<std::shared_ptr<const CdpKey>> read(const Settings& settings);
  ~CdpKey();

  // Returns "Bearer ..." for one request. `url` has no query.
  [[nodiscard]] std::string bearer(std::string_view method, std::string_view url,
                                   std::int64_t now_s, Random& random) const;

 private:
  struct Seed;
  CdpKey(std::string id, std::unique_ptr<const Seed> seed);

  const std::string id_;
  const std::unique_ptr<const Seed> seed_;
};

}  // namespace turnpike::x402
