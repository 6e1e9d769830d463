// Grants: what a person lets a client do, and the port through which clients, grants and tokens are
// stored (storage/ implements it). Of codes and tokens the SHA-256 alone is kept. Each change is
// one transaction with its audit event; what ends a grant takes the next number of the identity
// changes (identity/key_store.h), so its tokens are dead on every node within a second.
//
// Values; the port is called from the blocking pool or a plain Thread and blocks. Times are the
// store's. Errors of all: auth.unavailable, with nothing changed.
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
  std::string redirect_uri;  // that the client was answered at
  std::string person_id;
  std::string account_id;
  identity::SpendCaps caps = {};
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> last_used_at_ms = {};
  std::int64_t expires_at_ms = 0;
};

// What a person approved. The code is good for one exchange by that client.
struct NewGrant {
  std::string client_id;
  std::string redirect_uri;
  std::string person_id;
  std::string account_id;
  identity::SpendCaps caps = {};
  std::int64_t valid_ms = 0;
  crypto::Sha256 code{};
  std::string challenge;  // of PKCE, S256
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
  std::string_view challenge;                    // of the verifier that came
};

struct RefreshUse {
  crypto::Sha256 token{};
  std::string_view client_id;
  std::string_view sealed_successor;  // the new refresh token, for whoever has the old one
};

// What a refresh came to.
struct Refreshed {
  std::int64_t access_valid_ms = 0;  // less than asked for where the grant ends sooner
  // The successor that was given out for this token already; empty: the new one counts.
  std::string sealed_successor = {};
};

class GrantStore : public identity::GrantTokens {
 public:
  static constexpr std::int64_t clients_unused_max = 10'000;
  static constexpr std::int64_t client_unused_ms = 24 * 3'600'000ll;
  static constexpr std::int64_t code_replay_ms = 10'000;
  static constexpr std::int64_t refresh_grace_ms = 60'000;

  // One with this id that there is already stays as it is and is returned. Of the clients that no
  // person ever decided about the oldest goes when there are too many.
  [[nodiscard]] virtual Result<Client, base::Error> add_client(const Client& client) = 0;
  // The same for one that a document describes: it says this now, and is believed for `kept_ms`.
  [[nodiscard]] virtual Result<Unit, base::Error> keep_document(std::string_view client_id,
                                                                const ClientMetadata& metadata,
                                                                std::int64_t kept_ms) = 0;
  [[nodiscard]] virtual Result<std::optional<Client>, base::Error> find_client(
      std::string_view client_id) = 0;
  // Oldest first; at most 1,000 after `after_id`.
  [[nodiscard]] virtual Result<std::vector<Client>, base::Error> clients(
      std::string_view after_id) = 0;
  // A blocked client gets no grants, and those that it has end. False: there is none with this id.
  [[nodiscard]] virtual Result<bool, base::Error> set_blocked(std::string_view client_id,
                                                              bool is_blocked,
                                                              const identity::Actor& actor) = 0;

  // Uses the request up and makes the grant with its code. oauth.request_ended: it was decided
  // already. oauth.invalid_client: the client is gone or blocked. auth.role_missing,
  // account.forbidden, account.closed, account.absent.
  [[nodiscard]] virtual Result<Grant, base::Error> approve(const identity::UsedCeremony& request,
                                                           const NewGrant& grant,
                                                           const identity::Actor& actor) = 0;
  // Uses the request up. oauth.request_ended.
  [[nodiscard]] virtual Result<Unit, base::Error> deny(const identity::UsedCeremony& request,
                                                       std::string_view client_id,
                                                       const identity::Actor& actor) = 0;

  // Uses the code up and stores the first tokens of the grant. oauth.invalid_grant: it is nobody's,
  // another client's, too old, used, or came with another redirect URI or verifier. A use that is
  // right in all but that it is the second ends the grant, unless it comes within `code_replay_ms`
  // of the first (a client that repeats what got no answer). Returns how long the access token
  // lives, ms.
  [[nodiscard]] virtual Result<std::int64_t, base::Error> redeem(const CodeUse& use,
                                                                 const NewTokens& tokens) = 0;
  // Uses the refresh token up and stores its successor with a new access token. For
  // `refresh_grace_ms`, and while the successor is not used, the old token gets the same successor
  // again; a later use ends the grant. oauth.invalid_grant.
  [[nodiscard]] virtual Result<Refreshed, base::Error> refresh(const RefreshUse& use,
                                                               const NewTokens& tokens) = 0;
  // RFC 7009: ends an access token alone, and with a refresh token the grant. A token of another
  // client, or nobody's, is left alone.
  [[nodiscard]] virtual Result<Unit, base::Error> revoke_token(const crypto::Sha256& token,
                                                               std::string_view client_id) = 0;

  // Those that go on, newest first: of a person, or of an account, or of both where both are given,
  // or all.
  [[nodiscard]] virtual Result<std::vector<Grant>, base::Error> grants(
      std::string_view person_id, std::string_view account_id) = 0;
  // How the clients of these grants of an account call themselves, by the id of the grant; also of
  // grants that ended. What is no grant of it, or of a client without a name, is left out.
  [[nodiscard]] virtual Result<std::map<std::string, std::string>, base::Error> client_names(
      std::string_view account_id, std::span<const std::string> grant_ids) = 0;
  // Ends one, which is of that person or account where one is given. An actor who is not its person
  // needs the role admin in its account. False: there is none that goes on.
  [[nodiscard]] virtual Result<bool, base::Error> revoke(std::string_view grant_id,
                                                         std::string_view person_id,
                                                         std::string_view account_id,
                                                         const identity::Actor& actor) = 0;
  // Nothing: the person has no such grant that goes on.
  [[nodiscard]] virtual Result<std::optional<Grant>, base::Error> set_caps(
      std::string_view grant_id, std::string_view person_id, const identity::SpendCaps& caps,
      const identity::Actor& actor) = 0;
  // Deletes what ended a while ago: codes, tokens, clients that nobody decided about.
  [[nodiscard]] virtual Result<Unit, base::Error> sweep() = 0;
};

}  // namespace turnpike::oauth
