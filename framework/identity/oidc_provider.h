// OidcProvider: another provider of identities, by OpenID Connect Core 1.0 with the authorization
// code, PKCE (RFC 7636) and a nonce. It knows where a browser is sent, turns the code that the
// browser brings back into the claims of an ID token, and checks all of them. What the provider
// publishes about itself (OpenID Connect Discovery 1.0) is kept for an hour. What a provider says
// is believed of its own issuer alone: addresses, sizes and times are bounded, and redirects are
// not followed.
//
// Owned by ExternalSignIn; safe for concurrent use on any Thread. What asks the provider suspends
// the fiber; the Http of a gateway and the clock outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/jwks.h"
#include "identity/id_token.h"
#include "runtime/wait.h"

namespace turnpike::identity {

struct ProviderSettings {
  std::string key;   // in paths: a-z, 0-9 and "-"
  std::string name;  // for people
  std::string issuer;
  std::string client_id;
  std::string client_secret = {};  // empty: a public client
  bool creates_people = false;     // of those whom nobody here knows
  std::vector<std::string> allowed_domains = {};  // of their verified e-mail addresses; empty: any
  bool counts_as_strong = false;                  // it proves two factors
  bool allows_private_addresses = false;          // loopback, private networks
  bool allows_http = false;                       // on loopback
};

// Why no provider can be asked there, as a sentence; nothing: one can.
std::optional<std::string> fault_in_provider_url(std::string_view url, bool allows_http);

// What is used of a provider's metadata.
struct ProviderMetadata {
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string jwks_uri;
  bool sends_issuer = false;  // with each answer (RFC 9207)
  bool takes_basic = true;    // client_secret_basic
  bool takes_post = false;    // client_secret_post
  std::vector<crypto::JwsAlgorithm> algorithms = {};  // of ID tokens, of those that are taken here
};
// The error is a sentence for the operator.
Result<ProviderMetadata, std::string> read_provider_metadata(std::string_view json,
                                                             const ProviderSettings& settings);

// What people are told, and the operator.
struct ProviderFault {
  base::Error error;
  std::string reason;
};

// What a browser is sent to the provider with.
struct ProviderRequest {
  std::string state;
  std::string nonce;
  std::string verifier;  // of PKCE; only its digest leaves
  // The person must prove anew who they are; since then.
  std::optional<std::int64_t> authenticated_since_ms = {};
};

// What it brought back.
struct ProviderAnswer {
  std::string state;
  std::string code;
  std::string error = {};   // in place of a code
  std::string issuer = {};  // RFC 9207
};

class OidcProvider {
 public:
  static constexpr std::int64_t kept_ms = 3'600'000;    // metadata and keys
  static constexpr std::int64_t key_retry_ms = 30'000;  // between two looks for an unknown key
  static constexpr std::int64_t retry_ms = 5'000;       // after the provider did not answer
  static constexpr std::uint64_t document_bytes_max = 128 * 1024;
  static constexpr std::int64_t begin_timeout_ms = 5'000;
  static constexpr std::int64_t redeem_timeout_ms = 10'000;

  OidcProvider(ProviderSettings settings, std::string redirect_uri, Http& http,
               const Clock& clock);

  [[nodiscard]] const ProviderSettings& settings() const noexcept { return settings_; }

  // auth.unavailable: the provider does not answer, or not as one.
  [[nodiscard]] Result<std::string, ProviderFault> authorization_url(
      const ProviderRequest& request);
  // `request`: what the browser was sent with. auth.sign_in_failed, auth.unavailable.
  [[nodiscard]] Result<IdTokenClaims, ProviderFault> redeem(const ProviderAnswer& answer,
                                                            const ProviderRequest& request);

 private:
  struct Keys {
    crypto::KeySet set;
    std::int64_t fetched_ns = 0;
  };
  using Metadata = std::shared_ptr<const ProviderMetadata>;
  using KnownKeys = std::shared_ptr<const Keys>;
  struct Document;

  [[nodiscard]] Result<Metadata, ProviderFault> metadata(Call& call);
  // `unfit`: keys that are known not to do.
  [[nodiscard]] Result<KnownKeys, ProviderFault> keys(const ProviderMetadata& metadata,
                                                      const KnownKeys& unfit, Call& call);
  [[nodiscard]] Result<Metadata, ProviderFault> fetch_metadata(Call& call);
  [[nodiscard]] Result<KnownKeys, ProviderFault> fetch_keys(const ProviderMetadata& metadata,
                                                            Call& call);
  [[nodiscard]] Result<std::string, ProviderFault> id_token(const ProviderMetadata& metadata,
                                                            const std::string& code,
                                                            const std::string& verifier,
                                                            Call& call);
  [[nodiscard]] Result<std::string, ProviderFault> signed_claims(const ProviderMetadata& metadata,
                                                                 std::string_view token,
                                                                 Call& call);
  [[nodiscard]] Result<Document, ProviderFault> ask(const HttpRequest& request, Call& call);
  [[nodiscard]] Result<std::string, ProviderFault> get(const std::string& url, Call& call);
  [[nodiscard]] ProviderFault unavailable(std::string reason) const;
  [[nodiscard]] ProviderFault refused(std::string_view sentence, std::string reason = {}) const;
  [[nodiscard]] std::optional<ProviderFault> fault_in(const ProviderAnswer& answer,
                                                      const ProviderMetadata& metadata) const;

  const ProviderSettings settings_;
  const std::string redirect_uri_;
  Http& http_;
  const Clock& clock_;

  runtime::Mutex fetching_;  // one look at what the provider publishes at a time
  std::mutex mutex_;         // of all below
  Metadata metadata_;
  std::int64_t metadata_until_ns_ = 0;
  KnownKeys keys_;
  std::optional<ProviderFault> last_fault_;  // of the last look
  std::int64_t retry_from_ns_ = 0;           // after it
};

}  // namespace turnpike::identity
