// Server: the authorization server of the MCP endpoint (OAuth 2.1, RFC 6749, 7009, 7591, 7636, 8707
// and 9207; docs/protocols.md, "OAuth"). A client registers, or is described by a document at the
// URL that is its id, and sends a person's browser here. The person decides on the consent page of
// the web host, and the client exchanges the resulting code for tokens. The request is kept in a
// signed text until the person decides, so a flood of unauthenticated requests stores nothing.
// There are no scopes: a grant lets the client call what its account may call, within its caps.
//
// Owned by app/; safe for concurrent use. Functions that ask the store block: call them from the
// blocking pool or a plain Thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/account.h"
#include "identity/audit.h"
#include "oauth/client.h"
#include "oauth/client_document.h"
#include "oauth/grant_store.h"

namespace turnpike::oauth {

struct Lifetimes {
  std::int64_t request_ms = 10 * 60'000ll;
  std::int64_t code_ms = 60'000;
  std::int64_t access_ms = 3'600'000;
  std::int64_t refresh_idle_ms = 30 * 24 * 3'600'000ll;
  std::int64_t grant_ms = 180 * 24 * 3'600'000ll;
};

// The parameters of an authorization request, not validated yet; empty: missing.
struct AuthorizeParameters {
  std::string_view response_type;
  std::string_view client_id;
  std::string_view redirect_uri;
  std::string_view code_challenge;
  std::string_view code_challenge_method;
  std::string_view state;
  std::string_view resource;
  std::string_view response_mode = {};
};

// An authorization request that awaits a person's decision.
struct PendingRequest {
  std::string id;
  std::int64_t expires_at_ms = 0;
  Client client;
  std::string redirect_uri;
  std::string state;
  std::string challenge;
};

struct TokenParameters {
  std::string_view grant_type;
  std::string_view client_id;
  std::string_view code;
  std::string_view redirect_uri;
  std::string_view code_verifier;
  std::string_view refresh_token;
  std::string_view resource;
};

struct Tokens {
  std::string access;  // never stored
  std::string refresh;
  std::int64_t access_valid_ms = 0;
};

class Server {
 public:
  struct Parts {
    GrantStore& grants;
    identity::AuditStore& audit;
    const Clock& clock;
    Random& random;
  };
  struct Settings {
    identity::Environment environment = identity::Environment::development;
    std::string issuer;       // base URL of the MCP host, without a final slash
    std::string consent_url;  // of the web host's page
    std::string request_key;  // a secret that the nodes share
    RedirectRules redirects = {};
    Lifetimes lifetimes = {};
    bool takes_registrations = true;
    bool takes_documents = true;  // accepts clients whose id is the URL of a document
  };
  // Bounds on new clients: of one source in an hour, and of all in a minute. Both are wide, since
  // the clients of one vendor come from few addresses.
  static constexpr std::int64_t registrations_of_source_max = 60;
  static constexpr std::int64_t registrations_max = 600;
  // Bounds on fetched documents in a minute: of one host, and of all hosts.
  static constexpr std::int64_t fetches_of_host_max = 30;
  static constexpr std::int64_t fetches_max = 600;

  Server(const Parts& parts, Settings settings) : parts_(parts), settings_(std::move(settings)) {}

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }

  // `source`: the key of the throttle for this registration. Errors: oauth.invalid_redirect_uri,
  // oauth.invalid_client_metadata, auth.throttled, auth.method_disabled.
  [[nodiscard]] Result<Client, base::Error> add_client(std::string_view json,
                                                       std::string_view source);

  // Whether the document of this client must be fetched before authorize(): it is unknown or
  // expired. Each true counts as a fetch. False also for an id that is not a document's. Errors:
  // oauth.invalid_request (such a URL is not fetched), auth.throttled.
  [[nodiscard]] Result<bool, base::Error> wants_document(std::string_view client_id);
  // Stores the fetched document. Errors: those of read_client_document().
  [[nodiscard]] Result<Unit, base::Error> keep_document(std::string_view client_id,
                                                        const FetchedDocument& document);

  // Returns the URL to redirect the browser to: the consent page, or the client with an error.
  // Error: no client may be redirected to, so the person sees it.
  [[nodiscard]] Result<std::string, base::Error> authorize(const AuthorizeParameters& asked);
  // Error oauth.request_ended: the request is expired, or not signed by this server.
  [[nodiscard]] Result<PendingRequest, base::Error> read_request(std::string_view text);
  // Returns the redirect URL with the code. Errors: those of GrantStore::approve().
  [[nodiscard]] Result<std::string, base::Error> approve(const PendingRequest& request,
                                                         std::string_view account_id,
                                                         const identity::SpendCaps& caps,
                                                         const identity::Actor& actor);
  [[nodiscard]] Result<std::string, base::Error> deny(const PendingRequest& request,
                                                      const identity::Actor& actor);

  // Errors: oauth.invalid_request, oauth.invalid_client, oauth.invalid_grant, oauth.invalid_target,
  // oauth.unsupported_grant_type.
  [[nodiscard]] Result<Tokens, base::Error> exchange(const TokenParameters& asked);
  // After success the token is invalid, whether or not it existed. Errors: oauth.invalid_request,
  // oauth.invalid_client.
  [[nodiscard]] Result<Unit, base::Error> revoke(std::string_view token,
                                                 std::string_view client_id);

  // The metadata of RFC 8414 section 2.
  [[nodiscard]] std::string metadata_json() const;

 private:
  [[nodiscard]] Result<Client, base::Error> find_client(std::string_view client_id);
  // Finds a client for authorize(): a client whose document has expired is unknown.
  [[nodiscard]] Result<Client, base::Error> find_asking_client(std::string_view client_id);
  struct Ceiling {
    std::string key;
    std::int64_t window_ms;
    std::int64_t tries_max;
  };
  [[nodiscard]] Result<Unit, base::Error> count(std::initializer_list<Ceiling> ceilings,
                                                std::string_view refusal);
  [[nodiscard]] bool is_our_resource(std::string_view resource) const noexcept;
  [[nodiscard]] std::string request_text(const AuthorizeParameters& asked);
  [[nodiscard]] std::string refusal_url(const AuthorizeParameters& asked, base::ErrorCode code,
                                        std::string_view description) const;
  [[nodiscard]] Result<Tokens, base::Error> exchange_code(const TokenParameters& asked);
  [[nodiscard]] Result<Tokens, base::Error> exchange_refresh(const TokenParameters& asked);

  const Parts parts_;
  const Settings settings_;
};

}  // namespace turnpike::oauth
