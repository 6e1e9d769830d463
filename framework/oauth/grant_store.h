// Grants: the access that a person gives a client, and the port through which clients, grants and
// tokens are stored (storage/ implements it). Only the SHA-256 of codes and tokens is kept. Each
// change is one transaction with its audit event. The end of a grant takes the next number of the
// identity changes (identity/key_store.h), so its tokens are invalid on every node within a second.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Error of all functions: auth.unavailable, with nothing changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/digest.h"
#include "identity/account.h"
#include "identity/audit.h"
#include "identity/grant_tokens.h"
#include "identity/session.h"
#include "oauth/client.h"

namespace turnpike::oauth {

struct Grant {
  std::string id;  // "ogr_..."
  std::string client_id;
  std::string client_name;
  std::string redirect_uri;  // that received the code
  std::string person_id;
  std::string account_id;
  identity::SpendCaps caps = {};
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms = {};
  std::int64_t expires_at_ms = 0;
};

// A person's approval. The code is valid for one exchange by that client.
struct NewGrant {
  std::string client_id;
  std::string redirect_uri;
  std::string person_id;
  std::string account_id;
  identity::SpendCaps caps = {};
  std::int64_t valid_ms = 0;
  crypto::Sha256 code{};
  std::string challenge;  // PKCE challenge, S256
  std::int64_t code_valid_ms = 0;
};

struct NewTokens {
  crypto::Sha256 access{};
  std::int64_t access_valid_ms = 0;
  crypto::Sha256 refresh{};
  std::int64_t refresh_idle_ms = 0;
};

struct CodeUse {
  crypto::Sha256 code{};
  std::string_view client_id;
  std::optional<std::string_view> redirect_uri;  // nothing: the client did not repeat it
  std::string_view challenge;                    // computed from the verifier in the request
};

struct RefreshUse {
  crypto::Sha256 token{};
  std::string_view client_id;
  std::string_view sealed_successor;  // the new refresh token, sealed with the old one
};

// The outcome of a refresh.
struct Refreshed {
  std::int64_t access_valid_ms = 0;  // shortened if the grant ends sooner
  // The successor that was already issued for this token; empty: the new one is valid.
  std::string sealed_successor = {};
};

class GrantStore : public identity::GrantTokens {
 public:
  static constexpr std::int64_t clients_unused_max = 10'000;
  static constexpr std::int64_t client_unused_ms = 24 * 3'600'000ll;
  static constexpr std::int64_t code_replay_ms = 10'000;
  static constexpr std::int64_t refresh_grace_ms = 60'000;

  // An existing client with this id is returned unchanged. When there are too many clients, the
  // oldest about which no person ever decided is deleted.
  [[nodiscard]] virtual Result<Client, base::Error> add_client(const Client& client) = 0;
  // Stores the current metadata of a client that a document describes, valid for `kept_ms`.
  [[nodiscard]] virtual Result<Unit, base::Error> keep_document(std::string_view client_id,
                                                                const ClientMetadata& metadata,
                                                                std::int64_t kept_ms) = 0;
  [[nodiscard]] virtual Result<std::optional<Client>, base::Error> find_client(
      std::string_view client_id) = 0;
  // Oldest first; at most 1,000 clients after `after_id`.
  [[nodiscard]] virtual Result<std::vector<Client>, base::Error> clients(
      std::string_view after_id) = 0;
  // A blocked client gets no grants, and its grants end. False: there is no client with this id.
  [[nodiscard]] virtual Result<bool, base::Error> set_blocked(std::string_view client_id,
                                                              bool is_blocked,
                                                              const identity::Actor& actor) = 0;

  // Consumes the request and makes the grant with its code. Errors: oauth.request_ended (already
  // decided), oauth.invalid_client (the client is deleted or blocked), auth.role_missing,
  // account.forbidden, account.closed, account.absent.
  [[nodiscard]] virtual Result<Grant, base::Error> approve(const identity::UsedCeremony& request,
                                                           const NewGrant& grant,
                                                           const identity::Actor& actor) = 0;
  // Consumes the request. Error: oauth.request_ended.
  [[nodiscard]] virtual Result<Unit, base::Error> deny(const identity::UsedCeremony& request,
                                                       std::string_view client_id,
                                                       const identity::Actor& actor) = 0;

  // Consumes the code and stores the first tokens of the grant. Error oauth.invalid_grant: the code
  // is unknown, another client's, expired or used, or the redirect URI or verifier differs. An
  // otherwise valid second use ends the grant, unless it comes within `code_replay_ms` of the first
  // (a client that retries a lost reply). Returns the lifetime of the access token in ms.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> redeem(const CodeUse& use,
                                                                 const NewTokens& tokens) = 0;
  // Consumes the refresh token and stores its successor with a new access token. For
  // `refresh_grace_ms`, and while the successor is unused, the old token gets the same successor
  // again; a later use ends the grant. Error: oauth.invalid_grant.
  [[nodiscard]] virtual Result<Refreshed, base::Error> refresh(const RefreshUse& use,
                                                               const NewTokens& tokens) = 0;
  // RFC 7009: revokes an access token alone; a refresh token ends its grant. An unknown token or
  // another client's is ignored.
  [[nodiscard]] virtual Result<Unit, base::Error> revoke_token(const crypto::Sha256& token,
                                                               std::string_view client_id) = 0;

  // Active grants, newest first: of a person, of an account, of both if both are given, or all.
  [[nodiscard]] virtual Result<std::vector<Grant>, base::Error> grants(
      std::string_view person_id, std::string_view account_id) = 0;
  // Returns the names of the clients of these grants of an account, by the id of the grant; also
  // for ended grants. Grants of other accounts and of clients without a name are left out.
  [[nodiscard]] virtual Result<std::map<std::string, std::string>, base::Error> client_names(
      std::string_view account_id, std::span<const std::string> grant_ids) = 0;
  // Ends a grant, which must be of that person or account if one is given. An actor who is not its
  // person needs the role admin in its account. False: there is no such active grant.
  [[nodiscard]] virtual Result<bool, base::Error> revoke(std::string_view grant_id,
                                                         std::string_view person_id,
                                                         std::string_view account_id,
                                                         const identity::Actor& actor) = 0;
  // Nothing: the person has no such active grant.
  [[nodiscard]] virtual Result<std::optional<Grant>, base::Error> set_caps(
      std::string_view grant_id, std::string_view person_id, const identity::SpendCaps& caps,
      const identity::Actor& actor) = 0;
  // Deletes codes and tokens some time after their end, and clients that no person decided about.
  [[nodiscard]] virtual Result<Unit, base::Error> sweep() = 0;
};

}  // namespace turnpike::oauth
