#include "identity/id_token.h"

#include <algorithm>
#include <cmath>

#include "crypto/digest.h"
#include "identity/email.h"
#include "text/json_text.h"

namespace turnpike::identity {
namespace {

using nlohmann::json;

constexpr std::size_t subject_bytes_max = 255;
constexpr double seconds_max = 1e11;  // the year 5138

std::string claim_text(const json& claims, const char* name) {
  return text::text_member(claims, name).value_or("");
}

// Reads a NumericDate (RFC 7519 section 2), which may have a fraction; nullopt: missing or invalid.
std::optional<std::int64_t> claim_time_ms(const json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  const auto seconds = found->get<double>();
  if (!(seconds >= 0) || seconds > seconds_max) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(seconds * 1'000));
}

// The audience must contain our client id. `azp`, which several audiences require, must name us.
std::optional<std::string> fault_in_audience(const json& claims, std::string_view client_id) {
  std::vector<std::string> audiences;
  const auto found = claims.find("aud");
  const bool is_list = found != claims.end() && found->is_array();
  if (!is_list) {
    audiences.push_back(claim_text(claims, "aud"));
  } else {
    for (const json& one : *found) {
      if (!one.is_string()) return "Its audience (aud) is in no form that is known.";
      audiences.push_back(one.get<std::string>());
    }
  }
  if (std::find(audiences.begin(), audiences.end(), client_id) == audiences.end()) {
    return "It is for another client (aud).";
  }
  const bool names_party = claims.contains("azp");
  if (audiences.size() > 1 && !names_party) {
    return "It is for several clients (aud) and does not say which it was given to (azp).";
  }
  if (names_party && claim_text(claims, "azp") != client_id) {
    return "It was given to another client (azp).";
  }
  return std::nullopt;
}

std::optional<std::string> fault_in_times(const json& claims, const IdTokenRules& rules) {
  const auto expires_at_ms = claim_time_ms(claims, "exp");
  const auto made_at_ms = claim_time_ms(claims, "iat");
  if (!expires_at_ms || !made_at_ms) return "It does not say since and until when it holds.";
  if (*expires_at_ms + id_token_leeway_ms <= rules.now_ms) return "It has expired (exp).";
  if (*made_at_ms - id_token_leeway_ms > rules.now_ms) return "It is of the future (iat).";
  if (claims.contains("nbf")) {
    const auto holds_from_ms = claim_time_ms(claims, "nbf");
    if (!holds_from_ms || *holds_from_ms - id_token_leeway_ms > rules.now_ms) {
      return "It does not hold yet (nbf).";
    }
  }
  if (!rules.authenticated_since_ms) return std::nullopt;
  const auto proved_at_ms = claim_time_ms(claims, "auth_time");
  if (!proved_at_ms) return "It does not say when you proved who you are (auth_time).";
  if (*proved_at_ms + id_token_leeway_ms < *rules.authenticated_since_ms) {
    return "You did not prove anew who you are (auth_time).";
  }
  if (*proved_at_ms - id_token_leeway_ms > rules.now_ms) return "It is of the future (auth_time).";
  return std::nullopt;
}

bool is_subject(std::string_view text) noexcept {
  return !text.empty() && text.size() <= subject_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

Result<IdTokenClaims, std::string> judge_id_token(std::string_view claims_json,
                                                  const IdTokenRules& rules) {
  using Fault = std::string;
  const json claims = text::parse_json(claims_json);
  if (!claims.is_object()) return Fault("It holds no claims.");
  if (rules.issuer.empty() || claim_text(claims, "iss") != rules.issuer) {
    return Fault("It is of another issuer (iss).");
  }
  if (auto fault = fault_in_audience(claims, rules.client_id)) return *std::move(fault);
  if (auto fault = fault_in_times(claims, rules)) return *std::move(fault);
  if (rules.nonce.empty() ||
      !crypto::equal_in_constant_time(claim_text(claims, "nonce"), rules.nonce)) {
    return Fault("It is the answer to another request (nonce).");
  }
  IdTokenClaims found;
  found.subject = claim_text(claims, "sub");
  if (!is_subject(found.subject)) {
    return Fault("It names nobody, or by something else than 1 to 255 ASCII characters (sub).");
  }
  found.email = claim_text(claims, "email");
  if (fault_in_email(found.email)) found.email.clear();
  const auto verified = claims.find("email_verified");
  found.is_email_verified = !found.email.empty() && verified != claims.end() && *verified == true;
  found.name = claim_text(claims, "name");
  return found;
}

bool is_of_domains(const IdTokenClaims& claims, const std::vector<std::string>& domains) {
  if (!claims.is_email_verified) return false;
  const std::string_view domain =
      std::string_view(claims.email).substr(claims.email.find('@') + 1);
  return std::any_of(domains.begin(), domains.end(),
                     [&](const std::string& one) { return is_same_email(domain, one); });
}

}  // namespace turnpike::identity
