// OidcProvider: another identity provider, by OpenID Connect Core 1.0 with the authorization code
// flow, PKCE (RFC 7636) and a nonce. It builds the URL to redirect a browser to, exchanges the code
// that the browser returns with for an ID token, and validates all claims of that token. The
// provider's metadata (OpenID Connect Discovery 1.0) is cached for an hour. A provider is trusted
// for its own issuer alone: addresses, sizes and times are bounded, and redirects are not followed.
//
// Owned by ExternalSignIn; safe for concurrent use on any Thread. Functions that call the provider
// suspend the fiber; the gateway's Http and the clock outlive it.
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
  std::string key;   // part of paths: a-z, 0-9 and "-"
  std::string name;  // display name
  std::string issuer;
  std::string client_id;
  std::string client_secret = {};  // empty: a public client
  bool creates_people = false;     // for identities that are not linked yet
  std::vector<std::string> allowed_domains = {};  // verified e-mail domains; empty: any
  bool counts_as_strong = false;                  // a sign-in counts as two factors
  bool allows_private_addresses = false;          // loopback and private networks
  bool allows_http = false;                       // loopback only
};

// Explains as a sentence why the URL cannot be a provider's; nullopt: the URL is acceptable.
std::optional<std::string> fault_in_provider_url(std::string_view url, bool allows_http);

// The members of a provider's metadata that this gateway uses.
struct ProviderMetadata {
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string jwks_uri;
  bool sends_issuer = false;  // as `iss` in each answer (RFC 9207)
  bool takes_basic = true;    // client_secret_basic
  bool takes_post = false;    // client_secret_post
  std::vector<crypto::JwsAlgorithm> algorithms = {};  // of ID tokens; only those supported here
};
// The error is a sentence for the operator.
Result<ProviderMetadata, std::string> read_provider_metadata(std::string_view json,
                                                             const ProviderSettings& settings);

// An error for the person, and its reason for the operator.
struct ProviderFault {
  base::Error error;
  std::string reason;
};

// The parameters of a redirect to the provider.
struct ProviderRequest {
  std::string state;
  std::string nonce;
  std::string verifier;  // of PKCE; only its digest is sent
  // If set, the person must authenticate at the provider again, not before this time.
  std::optional<std::int64_t> authenticated_since_ms = {};
};

// The parameters with which the browser returns.
struct ProviderAnswer {
  std::string state;
  std::string code;
  std::string error = {};   // instead of a code
  std::string issuer = {};  // RFC 9207
};

class OidcProvider {
 public:
  static constexpr std::int64_t kept_ms = 3'600'000;    // metadata and keys
  static constexpr std::int64_t key_retry_ms = 30'000;  // between fetches for an unknown key
  static constexpr std::int64_t retry_ms = 5'000;       // after a failed fetch of metadata
  static constexpr std::uint64_t document_bytes_max = 128 * 1024;
  static constexpr std::int64_t begin_timeout_ms = 5'000;
  static constexpr std::int64_t redeem_timeout_ms = 10'000;

  OidcProvider(ProviderSettings settings, std::string redirect_uri, Http& http,
               const Clock& clock);

  [[nodiscard]] const ProviderSettings& settings() const noexcept { return settings_; }

  // auth.unavailable: the provider did not answer, or its answer is invalid.
  [[nodiscard]] Result<std::string, ProviderFault> authorization_url(
      const ProviderRequest& request);
  // `request`: the parameters of the redirect. auth.sign_in_failed, auth.unavailable.
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
  // `unfit`: keys that did not verify the token.
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

  runtime::Mutex fetching_;  // serializes fetches of the provider's documents
  std::mutex mutex_;         // guards all members below
  Metadata metadata_;
  std::int64_t metadata_until_ns_ = 0;
  KnownKeys keys_;
  std::optional<ProviderFault> last_fault_;  // of the last fetch of metadata
  std::int64_t retry_from_ns_ = 0;           // no fetch before this time
};

}  // namespace turnpike::identity
