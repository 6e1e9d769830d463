#include "identity/oidc_provider.h"

#include <algorithm>
#include <utility>

#include <turnpike/helpers/own_call.h>

#include "crypto/digest.h"
#include "text/encoding.h"
#include "text/http_field.h"
#include "text/json_text.h"
#include "text/uri.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;
using text::text_member;
using nlohmann::json;

constexpr std::int64_t ms_ns = 1'000'000;
constexpr std::size_t url_bytes_max = 2'048;
constexpr std::size_t word_bytes_max = 40;

// Appends a field to a query or a form.
void add_field(std::string& text, std::string_view name, std::string_view value) {
  if (!text.empty() && !text.ends_with('?') && !text.ends_with('&')) text += '&';
  text.append(name).append("=");
  text::append_percent_encoded(text, value);
}

// Returns the provider's error code for the log, or a fixed text if it has other characters.
std::string error_word(std::string_view text) {
  const bool is_word = !text.empty() && text.size() <= word_bytes_max &&
                       std::all_of(text.begin(), text.end(),
                                   [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_word ? std::string(text) : "an error without a known form";
}

bool lists(const json& metadata, const char* name, std::string_view value) {
  const auto found = metadata.find(name);
  if (found == metadata.end() || !found->is_array()) return false;
  return std::any_of(found->begin(), found->end(), [&](const json& one) {
    return one.is_string() && one.get_ref<const std::string&>() == value;
  });
}

std::string without_slash(std::string_view issuer) {
  if (issuer.ends_with('/')) issuer.remove_suffix(1);
  return std::string(issuer);
}

std::string_view sentence_of(crypto::JwsFault fault) noexcept {
  switch (fault) {
    case crypto::JwsFault::malformed:
      return "It holds no signed token.";
    case crypto::JwsFault::algorithm:
      return "Its token is signed in a way that is not taken here (alg).";
    case crypto::JwsFault::key:
      return "Its token is signed with a key that it does not publish (kid).";
    case crypto::JwsFault::signature:
      break;
  }
  return "The signature of its token is wrong.";
}

// Keeps the reply's body in memory; the HTTP client bounds its size.
class KeepingSink final : public HttpSink {
 public:
  bool head(int status, Headers, std::optional<std::uint64_t>) override {
    status_ = status;
    return true;
  }
  bool body(std::string_view bytes) override {
    text_.append(bytes);
    return true;
  }
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] std::string take() noexcept { return std::move(text_); }

 private:
  int status_ = 0;
  std::string text_;
};

}  // namespace

std::optional<std::string> fault_in_provider_url(std::string_view url, bool allows_http) {
  const bool is_https = url.starts_with("https://");
  if (!is_https && !url.starts_with("http://")) return "is no https URL";
  if (url.size() > url_bytes_max || !text::is_visible_ascii(url)) {
    return "has characters that no URL has, or too many";
  }
  if (url.find('#') != url.npos) return "has a fragment";
  const std::string_view rest = url.substr(url.find("://") + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find_first_of("@\\") != authority.npos) return "has a user name";
  const std::size_t port = authority.rfind(':');
  const bool is_bare_address = authority.ends_with(']');
  const std::string_view host = is_bare_address ? authority : authority.substr(0, port);
  if (host.empty()) return "has no host";
  if (is_https) return std::nullopt;
  const bool is_loopback = host == "localhost" || host == "127.0.0.1" || host == "[::1]";
  if (is_loopback && allows_http) return std::nullopt;
  return "is http: the tokens of people would pass readable. Use https; http is for this machine, "
         "in development";
}

Result<ProviderMetadata, std::string> read_provider_metadata(std::string_view text,
                                                             const ProviderSettings& settings) {
  using Fault = std::string;
  const json whole = text::parse_json(text);
  if (!whole.is_object()) return Fault("its metadata is no JSON object");
  if (text_member(whole, "issuer") != settings.issuer) {
    return Fault("its metadata names another issuer than the configured " + settings.issuer);
  }
  ProviderMetadata metadata;
  const std::pair<const char*, std::string ProviderMetadata::*> urls[] = {
      {"authorization_endpoint", &ProviderMetadata::authorization_endpoint},
      {"token_endpoint", &ProviderMetadata::token_endpoint},
      {"jwks_uri", &ProviderMetadata::jwks_uri}};
  for (const auto& [name, member] : urls) {
    metadata.*member = text_member(whole, name).value_or("");
    const auto fault = fault_in_provider_url(metadata.*member, settings.allows_http);
    if (fault) return Fault("in its metadata " + std::string(name) + ": " + *fault);
  }
  const auto sends_issuer = whole.find("authorization_response_iss_parameter_supported");
  metadata.sends_issuer = sends_issuer != whole.end() && *sends_issuer == true;
  constexpr char methods[] = "token_endpoint_auth_methods_supported";
  metadata.takes_basic = !whole.contains(methods) || lists(whole, methods, "client_secret_basic");
  metadata.takes_post = lists(whole, methods, "client_secret_post");
  if (!settings.client_secret.empty() && !metadata.takes_basic && !metadata.takes_post) {
    return Fault("it takes client secrets neither by client_secret_basic nor client_secret_post");
  }
  constexpr char signing[] = "id_token_signing_alg_values_supported";
  for (const crypto::JwsAlgorithm algorithm : crypto::all_jws_algorithms) {
    if (whole.contains(signing) && !lists(whole, signing, name_of(algorithm))) continue;
    metadata.algorithms.push_back(algorithm);
  }
  if (metadata.algorithms.empty()) {
    return Fault("it signs ID tokens with none of RS256, PS256 and ES256");
  }
  return metadata;
}

struct OidcProvider::Document {
  int status = 0;
  std::string text;
};

OidcProvider::OidcProvider(ProviderSettings settings, std::string redirect_uri, Http& http,
                           const Clock& clock)
    : settings_(std::move(settings)),
      redirect_uri_(std::move(redirect_uri)),
      http_(http),
      clock_(clock) {}

Result<std::string, ProviderFault> OidcProvider::authorization_url(
    const ProviderRequest& request) {
  OwnCall call(clock_, begin_timeout_ms);
  const auto known = metadata(call);
  if (!known.ok()) return known.error();
  const crypto::Sha256 digest = crypto::sha256(request.verifier);
  std::string url = (*known)->authorization_endpoint;
  url += url.find('?') == url.npos ? '?' : '&';
  add_field(url, "response_type", "code");
  add_field(url, "client_id", settings_.client_id);
  add_field(url, "redirect_uri", redirect_uri_);
  add_field(url, "scope", "openid profile email");
  add_field(url, "state", request.state);
  add_field(url, "nonce", request.nonce);
  add_field(url, "code_challenge",
            text::base64url({reinterpret_cast<const char*>(digest.data()), digest.size()}));
  add_field(url, "code_challenge_method", "S256");
  if (request.authenticated_since_ms) add_field(url, "max_age", "0");
  return url;
}

Result<IdTokenClaims, ProviderFault> OidcProvider::redeem(const ProviderAnswer& answer,
                                                          const ProviderRequest& request) {
  OwnCall call(clock_, redeem_timeout_ms);
  const auto known = metadata(call);
  if (!known.ok()) return known.error();
  if (auto fault = fault_in(answer, **known)) return *std::move(fault);
  const auto token = id_token(**known, answer.code, request.verifier, call);
  if (!token.ok()) return token.error();
  const auto claims_json = signed_claims(**known, *token, call);
  if (!claims_json.ok()) return claims_json.error();
  auto claims = judge_id_token(*claims_json, {.issuer = settings_.issuer,
                                              .client_id = settings_.client_id,
                                              .nonce = request.nonce,
                                              .now_ms = clock_.now_ms(),
                                              .authenticated_since_ms =
                                                  request.authenticated_since_ms});
  if (!claims.ok()) return refused(claims.error());
  return *std::move(claims);
}

// Checks `iss` of the answer (RFC 9207), so that another provider's answer is not accepted.
std::optional<ProviderFault> OidcProvider::fault_in(const ProviderAnswer& answer,
                                                    const ProviderMetadata& metadata) const {
  const bool must_name_itself = metadata.sends_issuer || !answer.issuer.empty();
  if (must_name_itself && answer.issuer != settings_.issuer) {
    return refused("It is the answer of another provider (iss).");
  }
  if (answer.error == "access_denied") {
    return refused("It says that you did not agree.", "access_denied");
  }
  if (!answer.error.empty()) {
    return refused("It says: " + error_word(answer.error) + ".", error_word(answer.error));
  }
  if (answer.code.empty()) return refused("It brought no code.");
  return std::nullopt;
}

Result<std::string, ProviderFault> OidcProvider::id_token(const ProviderMetadata& metadata,
                                                          const std::string& code,
                                                          const std::string& verifier,
                                                          Call& call) {
  std::string body;
  add_field(body, "grant_type", "authorization_code");
  add_field(body, "code", code);
  add_field(body, "redirect_uri", redirect_uri_);
  add_field(body, "code_verifier", verifier);
  std::vector<HeaderField> headers = {{"Accept", "application/json"},
                                      {"Content-Type", "application/x-www-form-urlencoded"}};
  std::string authorization;
  if (!settings_.client_secret.empty() && metadata.takes_basic) {  // RFC 6749 section 2.3.1
    std::string pair;
    text::append_percent_encoded(pair, settings_.client_id);
    pair += ':';
    text::append_percent_encoded(pair, settings_.client_secret);
    authorization = "Basic " + text::base64(pair);
    headers.push_back({"Authorization", authorization});
  } else {
    add_field(body, "client_id", settings_.client_id);
    if (!settings_.client_secret.empty()) {
      add_field(body, "client_secret", settings_.client_secret);
    }
  }
  auto reply = ask({.method = Method::post,
                    .url = metadata.token_endpoint,
                    .headers = headers,
                    .body = body},
                   call);
  if (!reply.ok()) return std::move(reply).error();
  const json answer = text::parse_json(reply->text);
  if (reply->status >= 400 && reply->status < 500) {
    const std::string word =
        answer.is_object() ? error_word(text_member(answer, "error").value_or("")) : "";
    return refused("It did not give a token for the code that you brought.",
                   "its token endpoint answered " + std::to_string(reply->status) + " " + word);
  }
  if (reply->status != 200) {
    return unavailable("its token endpoint answered " + std::to_string(reply->status));
  }
  auto token = answer.is_object() ? text_member(answer, "id_token") : std::nullopt;
  if (!token) return unavailable("its token endpoint answered without an ID token");
  return *std::move(token);
}

Result<std::string, ProviderFault> OidcProvider::signed_claims(const ProviderMetadata& metadata,
                                                               std::string_view token,
                                                               Call& call) {
  auto known = keys(metadata, nullptr, call);
  if (!known.ok()) return std::move(known).error();
  auto claims = (*known)->set.verify(token, metadata.algorithms);
  if (!claims.ok() && claims.error() == crypto::JwsFault::key) {
    known = keys(metadata, *known, call);
    if (!known.ok()) return std::move(known).error();
    claims = (*known)->set.verify(token, metadata.algorithms);
  }
  if (!claims.ok()) return refused(sentence_of(claims.error()));
  return *std::move(claims);
}

Result<OidcProvider::Metadata, ProviderFault> OidcProvider::metadata(Call& call) {
  const auto known = [this]() -> Metadata {
    const std::scoped_lock lock(mutex_);
    return clock_.monotonic_ns() < metadata_until_ns_ ? metadata_ : nullptr;
  };
  if (auto metadata = known()) return metadata;
  const runtime::MutexLock one(fetching_, runtime::Deadline{call.deadline_ns()});
  if (!one.owns()) return unavailable("its metadata did not come in time");
  if (auto metadata = known()) return metadata;
  {
    const std::scoped_lock lock(mutex_);
    if (last_fault_ && clock_.monotonic_ns() < retry_from_ns_) return *last_fault_;
  }
  auto fetched = fetch_metadata(call);
  const std::scoped_lock lock(mutex_);
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (fetched.ok()) {
    last_fault_.reset();
    metadata_ = *fetched;
    metadata_until_ns_ = now_ns + kept_ms * ms_ns;
  } else {
    last_fault_ = fetched.error();
    retry_from_ns_ = now_ns + retry_ms * ms_ns;
  }
  return fetched;
}

Result<OidcProvider::Metadata, ProviderFault> OidcProvider::fetch_metadata(Call& call) {
  auto text = get(without_slash(settings_.issuer) + "/.well-known/openid-configuration", call);
  if (!text.ok()) return std::move(text).error();
  auto metadata = read_provider_metadata(*text, settings_);
  if (!metadata.ok()) return unavailable(metadata.error());
  return std::make_shared<const ProviderMetadata>(*std::move(metadata));
}

// A token signed by an unknown key causes a new fetch, at most once per key_retry_ms.
Result<OidcProvider::KnownKeys, ProviderFault> OidcProvider::keys(const ProviderMetadata& metadata,
                                                                  const KnownKeys& unfit,
                                                                  Call& call) {
  const auto known = [&]() -> KnownKeys {
    const std::scoped_lock lock(mutex_);
    if (keys_ == nullptr) return nullptr;
    const std::int64_t age_ns = clock_.monotonic_ns() - keys_->fetched_ns;
    const std::int64_t believed_ms = keys_ == unfit ? key_retry_ms : kept_ms;
    return age_ns < believed_ms * ms_ns ? keys_ : nullptr;
  };
  if (auto keys = known()) return keys;
  const runtime::MutexLock one(fetching_, runtime::Deadline{call.deadline_ns()});
  if (!one.owns()) return unavailable("its keys did not come in time");
  if (auto keys = known()) return keys;
  auto fetched = fetch_keys(metadata, call);
  if (fetched.ok()) {
    const std::scoped_lock lock(mutex_);
    keys_ = *fetched;
  }
  return fetched;
}

Result<OidcProvider::KnownKeys, ProviderFault> OidcProvider::fetch_keys(
    const ProviderMetadata& metadata, Call& call) {
  auto text = get(metadata.jwks_uri, call);
  if (!text.ok()) return std::move(text).error();
  auto set = crypto::KeySet::parse(*text);
  if (!set) return unavailable("its keys (jwks_uri) are no key set");
  return std::make_shared<const Keys>(Keys{*std::move(set), clock_.monotonic_ns()});
}

Result<std::string, ProviderFault> OidcProvider::get(const std::string& url, Call& call) {
  const HeaderField accept[] = {{"Accept", "application/json"}};
  auto reply = ask({.method = Method::get, .url = url, .headers = accept, .body = {}}, call);
  if (!reply.ok()) return std::move(reply).error();
  if (reply->status == 200) return std::move(reply->text);
  return unavailable(url + " answered " + std::to_string(reply->status));
}

Result<OidcProvider::Document, ProviderFault> OidcProvider::ask(const HttpRequest& request,
                                                                Call& call) {
  HttpOptions options;
  options.allow_private_addresses = settings_.allows_private_addresses;
  options.reply_bytes_max = document_bytes_max;
  KeepingSink sink;
  const Done done = http_.call(request, options, sink, call);
  if (!done.ok()) return unavailable(done.error().message);
  return Document{sink.status(), sink.take()};
}

ProviderFault OidcProvider::unavailable(std::string reason) const {
  return {{ErrorCode::auth_unavailable,
           settings_.name + " does not answer as it should: try again shortly, or sign in another "
                            "way.",
           1},
          "provider " + settings_.key + ": " + reason};
}

ProviderFault OidcProvider::refused(std::string_view sentence, std::string reason) const {
  if (reason.empty()) reason = sentence;
  return {{ErrorCode::auth_sign_in_failed,
           "The answer of " + settings_.name + " was not taken. " + std::string(sentence) +
               " Begin anew, or sign in another way."},
          "provider " + settings_.key + ": " + reason};
}

}  // namespace turnpike::identity
