// Passes calls on to a remote service that has the same paths below /v1.
#include <turnpike/helpers/probe.h>

#include "govdata/upstream.h"

namespace turnpike::govdata {
namespace {

constexpr std::string_view gateway_mark = "/global/v1";

// The part of the caller's raw path after gateway_mark; empty if the mark is missing.
std::string_view rest_of(std::string_view path) {
  const std::size_t at = path.find(gateway_mark);
  return at == std::string_view::npos ? std::string_view{} : path.substr(at + gateway_mark.size());
}

// Passes the service's reply on, except redirects and refusals of the gateway's own credential.
class PassOn final : public HttpSink {
 public:
  explicit PassOn(ReplySink& sink) : sink_(sink) {}
  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override {
    status_ = status;
    if (!may_pass()) return false;
    std::vector<HeaderField> passed;
    for (const HeaderField& header : headers) {
      for (const std::string_view name : {"Content-Type", "Retry-After", "ETag", "Cache-Control"}) {
        if (same_header_name(header.name, name)) passed.push_back(header);
      }
    }
    return sink_.head(status, passed, length);
  }
  bool body(std::string_view bytes) override { return sink_.body(bytes); }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] bool is_credential() const {
    return status_ == 401 || status_ == 402 || status_ == 403;
  }
  [[nodiscard]] bool is_redirect() const { return status_ >= 300 && status_ < 400; }
  [[nodiscard]] bool may_pass() const { return !is_credential() && !is_redirect(); }

 private:
  ReplySink& sink_;
  int status_ = 0;
};

class StatusOnly final : public HttpSink {
 public:
  bool head(int got_status, Headers, std::optional<std::uint64_t>) override {
    status = got_status;
    return true;
  }
  bool body(std::string_view) override { return true; }
  int status = 0;
};

enum class Token : std::uint8_t { sent, withheld };

class Proxy final : public Upstream {
 public:
  Proxy(const ProxySettings& settings, Host& host) : settings_(settings), host_(host) {}

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override {
    const std::string_view rest = rest_of(request.path);
    if (rest.empty()) {
      return Failure{
          FailureKind::contract, "the path has no " + std::string(gateway_mark), {}, false};
    }
    std::string url = settings_.base_url + "/v1" + std::string(rest);
    if (!request.query.empty()) url += "?" + std::string(request.query);
    if (settings_.api_token.empty()) {
      return Failure{FailureKind::credential, "the upstream token is not available", {}, false};
    }
    PassOn pass(sink);
    Done done = ask(url, Token::sent, request.reply_bytes_max, pass, call);
    // The service answers a bad token with 402 and a payment offer of its own, which must not reach
    // the caller.
    if (pass.is_credential()) {
      return Failure{FailureKind::credential,
                     "the upstream refused our token with " + std::to_string(pass.status()),
                     {},
                     true};
    }
    if (pass.is_redirect()) return redirected();
    return done;
  }

  [[nodiscard]] State state(std::uint32_t) const noexcept override {
    if (!settings_.api_token.empty()) return {};
    return {Condition::credential_missing, "The credential of the upstream service is missing."};
  }

  // Probes run periodically, so they send the token only if the registry says so: it is meant for
  // calls.
  Done probe(Call& call) override {
    const bool sends_token = settings_.probe_sends_token;
    if (sends_token && settings_.api_token.empty()) {
      return Failure{FailureKind::credential, "the upstream token is not available", {}, false};
    }
    StatusOnly sink;
    const Done done = ask(settings_.base_url + "/health",
                          sends_token ? Token::sent : Token::withheld, 0, sink, call);
    if (!done.ok()) return done;
    if (sink.status >= 300 && sink.status < 400) return redirected();
    return judge_probe(sink.status, "GET /health", sends_token);
  }

 private:
  static Failure redirected() {
    return Failure{FailureKind::redirect, "the upstream redirects", {}, true};
  }

  Done ask(const std::string& url, Token token, std::uint64_t reply_bytes_max, HttpSink& sink,
           Call& call) {
    const HeaderField headers[] = {{"Accept", "application/json"},
                                   {"User-Agent", settings_.user_agent},
                                   {"x-degov-api-token", settings_.api_token}};
    HttpRequest request;
    request.url = url;
    request.headers = Headers(headers).first(token == Token::sent ? 3 : 2);
    HttpOptions options;
    options.allow_private_addresses = settings_.allow_private_addresses;
    options.connect_timeout_ms = settings_.connect_timeout_ms;
    options.reply_bytes_max = reply_bytes_max;
    return host_.http().call(request, options, sink, call);
  }

  const ProxySettings settings_;
  Host& host_;
};

}  // namespace

std::unique_ptr<Upstream> make_proxy(const Configuration& configuration, Host& host) {
  return std::make_unique<Proxy>(configuration.proxy, host);
}

}  // namespace turnpike::govdata
