#include "x402/remote/facilitator.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <turnpike/helpers/mistakes.h>

#include "x402/remote/json_http.h"

namespace turnpike::x402 {

namespace {

constexpr int supported_attempts_max = 3;
constexpr std::size_t facilitators_max = 16;
constexpr std::string_view authorization_header = "Authorization";

std::string body_of(const FacilitatorRequest& request) {
  std::string body;
  body.reserve(request.payload_json.size() + request.requirements_json.size() + 80);
  body.append(R"({"x402Version":2,"paymentPayload":)").append(request.payload_json);
  body.append(R"(,"paymentRequirements":)").append(request.requirements_json).append("}");
  return body;
}

void read_networks(const Settings& settings, std::vector<std::string>& networks,
                   Mistakes& mistakes) {
  const Settings* list = settings.find("networks");
  if (list == nullptr) return;
  if (list->kind != Settings::Kind::list)
    return mistakes.add(Settings::wrong("networks", "a list"));
  for (std::size_t at = 0; at < list->items.size(); ++at) {
    const Settings& item = list->items[at];
    const bool is_pattern = item.text.ends_with(":*") && item.text.size() > 2;
    if (item.kind != Settings::Kind::scalar || !(is_pattern || is_network(item.text))) {
      mistakes.add(Settings::wrong("networks[" + std::to_string(at) + "]",
                                   "a CAIP-2 network such as eip155:8453 or eip155:*"));
    }
    networks.push_back(item.text);
  }
}

// The fields under `all` come first, so that an endpoint's own fields replace them.
void read_all_headers(const Settings& settings, FacilitatorSettings& into, Mistakes& mistakes) {
  const Settings* headers = settings.find("headers");
  if (headers == nullptr) return;
  Mistakes own;
  own.only(*headers, {"all", "verify", "settle", "supported"});
  const auto read = [&](std::string_view key, std::vector<OwnedHeader>& fields) {
    const Settings* section = headers->find(key);
    if (section != nullptr) own.note(read_headers(*section, fields, into.lacks_secret), key);
  };
  std::vector<OwnedHeader> all;
  read("all", all);
  into.verify_headers = into.settle_headers = into.supported_headers = all;
  read("verify", into.verify_headers);
  read("settle", into.settle_headers);
  read("supported", into.supported_headers);
  mistakes.note(own.done(), "headers");
}

void read_cdp_key(const Settings& settings, FacilitatorSettings& into, Mistakes& mistakes) {
  const Settings* const map = settings.find("cdp_key");
  if (map == nullptr) return;
  into.cdp_key = mistakes.take(CdpKey::read(*map), {}, "cdp_key");
  if (into.cdp_key == nullptr) into.lacks_secret = true;
  const auto makes_twice = [](const std::vector<OwnedHeader>& headers) {
    return std::any_of(headers.begin(), headers.end(), [](const OwnedHeader& header) {
      return same_header_name(header.name, authorization_header);
    });
  };
  if (makes_twice(into.verify_headers) || makes_twice(into.settle_headers) ||
      makes_twice(into.supported_headers)) {
    mistakes.add("cdp_key", "makes Authorization; remove it from `headers`");
  }
}

FacilitatorSettings read_facilitator(const Settings& settings, Mistakes& mistakes) {
  FacilitatorSettings read;
  mistakes.only(settings, {"url", "networks", "headers", "cdp_key", "verify_timeout_ms",
                           "settle_timeout_ms", "allow_private_addresses", "unproven_per_minute"});
  if (!may_have_fields(settings)) return read;
  read.url = mistakes.take(read_url(settings, "url", false));
  read_networks(settings, read.networks, mistakes);
  read_all_headers(settings, read, mistakes);
  read_cdp_key(settings, read, mistakes);
  mistakes.note(read_number(settings, "verify_timeout_ms", read.verify_timeout_ms, 1, 60'000));
  mistakes.note(read_number(settings, "settle_timeout_ms", read.settle_timeout_ms, 1, 300'000));
  mistakes.note(
      read_number(settings, "unproven_per_minute", read.unproven_per_minute, 1, 1'000'000));
  mistakes.note(read_reach(settings, "url", read.url, read.allow_private_addresses));
  for (const std::string_view endpoint : {"/verify", "/settle", "/supported"}) {
    if (!read.url.text.ends_with(endpoint)) continue;
    mistakes.add("url",
                 "is the URL that `/verify`, `/settle` and `/supported` are below: leave \"" +
                     std::string(endpoint) + "\" out");
  }
  return read;
}

// Says what a facilitator answered instead, for the log: "status 401, no VerifyResponse".
std::string problem_of(int status, std::string_view missing) {
  std::string problem = "status " + std::to_string(status) + ", ";
  problem.append(missing);
  return problem;
}

std::string problem_of(const JsonFailure& failure) {
  std::string problem(name_of(failure.kind));
  if (!failure.message.empty()) problem.append(": ").append(failure.message);
  return problem;
}

}  // namespace

Result<std::vector<FacilitatorSettings>> read_facilitators(const Settings& list) {
  const auto wrong_size =
      Settings::wrong({}, "a list of 1 to " + std::to_string(facilitators_max) + " facilitators");
  if (list.kind != Settings::Kind::list || list.items.empty()) return wrong_size;
  Mistakes mistakes;
  if (list.items.size() > facilitators_max) mistakes.add(wrong_size);
  std::vector<FacilitatorSettings> read;
  for (const Settings& item : list.items) {
    Mistakes own;
    FacilitatorSettings facilitator = read_facilitator(item, own);
    const bool is_twice = std::any_of(read.begin(), read.end(), [&](const auto& other) {
      return !other.url.text.empty() && other.url.text == facilitator.url.text;
    });
    if (is_twice) own.add("url", "is in the list twice: leave one out");
    mistakes.note(own.done(), "[" + std::to_string(read.size()) + "]");
    read.push_back(std::move(facilitator));
  }
  if (!mistakes.none()) return mistakes.failure();
  return read;
}

struct Facilitators::Known {
  Supported supported;
  std::int64_t seen_ns = 0;

  [[nodiscard]] const SupportedKind* find(std::string_view scheme, std::string_view network) const {
    for (const SupportedKind& kind : supported.kinds) {
      if (kind.scheme == scheme && names_network(kind.network, network)) return &kind;
    }
    return nullptr;
  }
  [[nodiscard]] bool pays_with(std::string_view account) const {
    const auto& signers = supported.signers;
    return std::find(signers.begin(), signers.end(), account) != signers.end() ||
           std::any_of(supported.kinds.begin(), supported.kinds.end(),
                       [account](const auto& kind) { return kind.fee_payer == account; });
  }
};

struct Facilitators::Facilitator {
  explicit Facilitator(FacilitatorSettings own)
      : settings(std::move(own)), unproven(settings.unproven_per_minute) {}

  [[nodiscard]] bool may_serve(std::string_view network) const noexcept {
    if (settings.lacks_secret) return false;
    return settings.networks.empty() ||
           std::any_of(settings.networks.begin(), settings.networks.end(),
                       [network](const auto& pattern) { return names_network(pattern, network); });
  }
  // What it recently said it supports; null if that is not known.
  [[nodiscard]] std::shared_ptr<const Known> known(std::int64_t now_ns) const noexcept {
    if (refuses_us(now_ns)) return nullptr;
    const std::lock_guard lock(mutex);
    if (last_known == nullptr || now_ns - last_known->seen_ns > kinds_kept_ms * ns_per_ms) {
      return nullptr;
    }
    return last_known;
  }
  void learn(std::shared_ptr<const Known> news) noexcept {
    const std::lock_guard lock(mutex);
    last_known.swap(news);
  }
  [[nodiscard]] bool refuses_us(std::int64_t now_ns) const noexcept {
    return now_ns < refuses_us_until_ns.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_behind(std::int64_t now_ns) const noexcept {
    return now_ns < behind_until_ns.load(std::memory_order_relaxed);
  }
  // The fixed fields of an endpoint, and its token for one request.
  [[nodiscard]] std::vector<OwnedHeader> headers_for(const std::vector<OwnedHeader>& fixed,
                                                     std::string_view method, std::string_view url,
                                                     Host& host) const {
    std::vector<OwnedHeader> all = fixed;
    if (settings.cdp_key != nullptr) {
      all.push_back(
          {std::string(authorization_header),
           settings.cdp_key->bearer(method, url, host.clock().now_ms() / 1000, host.random())});
    }
    return all;
  }
  [[nodiscard]] JsonRequest request(std::string_view url, std::span<const OwnedHeader> headers,
                                    std::uint32_t timeout_ms) const noexcept {
    JsonRequest to_send;
    to_send.url = url;
    to_send.headers = headers;
    to_send.timeout_ms = timeout_ms;
    to_send.allow_private_addresses = settings.allow_private_addresses;
    return to_send;
  }

  const FacilitatorSettings settings;
  Allowance unproven;
  const std::string verify_url = settings.url.text + "/verify";
  const std::string settle_url = settings.url.text + "/settle";
  const std::string supported_url = settings.url.text + "/supported";
  std::atomic<std::uint32_t> failures{0};  // in a row
  std::atomic<std::int64_t> behind_until_ns{0};
  std::atomic<std::int64_t> refuses_us_until_ns{0};
  mutable std::mutex mutex;  // guards the pointer alone; never held while waiting
  std::shared_ptr<const Known> last_known;
};

Facilitators::Facilitators(std::vector<FacilitatorSettings> settings, Host& host) : host_(host) {
  for (FacilitatorSettings& own : settings) {
    facilitators_.push_back(std::make_unique<Facilitator>(std::move(own)));
  }
}

Facilitators::~Facilitators() = default;

void Facilitators::note(Facilitator& facilitator, bool is_success, std::string_view doing,
                        std::string_view problem) {
  if (is_success) {
    if (facilitator.failures.exchange(0, std::memory_order_relaxed) >= failures_max) {
      facilitator.behind_until_ns.store(0, std::memory_order_relaxed);
      host_.report().log(Severity::info,
                         "facilitator " + facilitator.settings.url.origin + " works again");
    }
    return;
  }
  host_.report().count("facilitator_failures", 1);
  const std::uint32_t failures = facilitator.failures.fetch_add(1, std::memory_order_relaxed) + 1;
  if (failures < failures_max) return;
  facilitator.behind_until_ns.store(host_.clock().monotonic_ns() + behind_ms * ns_per_ms,
                                    std::memory_order_relaxed);
  if (failures != failures_max) return;
  std::string text = "facilitator " + facilitator.settings.url.origin + " keeps failing; last at ";
  text.append(doing).append(": ").append(problem);
  host_.report().log(Severity::warning, text);
}

// A facilitator that answers 401 or 403 does not serve us, whatever it claims to support. Until it
// is tried again, no caller is asked to sign a payment for it.
void Facilitators::note_status(Facilitator& facilitator, int status) {
  if (status != 401 && status != 403) return;
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  const bool is_news = !facilitator.refuses_us(now_ns);
  facilitator.refuses_us_until_ns.store(now_ns + refuses_us_ms * ns_per_ms,
                                        std::memory_order_relaxed);
  if (!is_news) return;
  host_.report().log(Severity::error, "facilitator " + facilitator.settings.url.origin +
                                          " refuses our credentials: status " +
                                          std::to_string(status) +
                                          "; see its `headers` or its `cdp_key`");
}

std::uint32_t Facilitators::refusing_us() const noexcept {
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  std::uint32_t mask = 0;
  for (std::size_t at = 0; at < facilitators_.size(); ++at) {
    if (facilitators_[at]->refuses_us(now_ns)) mask |= 1u << at;
  }
  return mask;
}

bool Facilitators::refresh_supported(Call& call) noexcept {
  bool all_answered = true;
  for (const auto& facilitator : facilitators_) {
    if (facilitator->settings.lacks_secret) continue;
    bool answered = false;
    try {
      answered = refresh(*facilitator, call);
    } catch (...) {  // memory exhaustion; what is known is kept
    }
    all_answered = all_answered && answered;
  }
  return all_answered;
}

bool Facilitators::refresh(Facilitator& facilitator, Call& call) {
  JsonRequest request =
      facilitator.request(facilitator.supported_url, {}, facilitator.settings.verify_timeout_ms);
  request.method = Method::get;
  request.fresh_connection = true;  // asked too seldom for a pooled connection to be alive
  for (int attempt = 0;; ++attempt) {
    const auto headers = facilitator.headers_for(facilitator.settings.supported_headers, "GET",
                                                 facilitator.supported_url, host_);
    request.headers = headers;
    const auto reply = exchange_json(host_, request, call);
    if (!reply.ok()) {
      if (reply.error().kind != FailureKind::cancelled) {
        note(facilitator, false, "supported", problem_of(reply.error()));
      }
      return false;
    }
    if (reply->status == 429 && attempt + 1 < supported_attempts_max) {
      const std::uint32_t wait_s = reply->retry_after_seconds.value_or(0);
      if (call.sleep_ms(wait_s != 0 ? wait_s * 1000 : 1000u << attempt)) continue;
      return false;
    }
    note_status(facilitator, reply->status);
    auto supported = reply->status / 100 == 2 ? read_supported(reply->body()) : std::nullopt;
    note(facilitator, supported.has_value(), "supported",
         problem_of(reply->status, "no SupportedResponse"));
    if (!supported) return false;
    auto known = std::make_shared<Known>();
    known->supported = *std::move(supported);
    known->seen_ns = host_.clock().monotonic_ns();
    facilitator.learn(std::move(known));
    return true;
  }
}

bool Facilitators::supports(std::string_view scheme, std::string_view network) const noexcept {
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  return std::any_of(facilitators_.begin(), facilitators_.end(), [&](const auto& facilitator) {
    if (!facilitator->may_serve(network)) return false;
    const auto known = facilitator->known(now_ns);
    return known != nullptr && known->find(scheme, network) != nullptr;
  });
}

std::optional<SupportedKind> Facilitators::extra_of(std::string_view scheme,
                                                    std::string_view network) const {
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  for (const auto& facilitator : facilitators_) {
    if (!facilitator->may_serve(network)) continue;
    const auto known = facilitator->known(now_ns);
    if (known == nullptr) continue;
    if (const SupportedKind* kind = known->find(scheme, network)) return *kind;
  }
  return std::nullopt;
}

std::vector<FacilitatorState> Facilitators::state() const {
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  std::vector<FacilitatorState> states;
  for (const auto& facilitator : facilitators_) {
    FacilitatorState state;
    state.origin = facilitator->settings.url.origin;
    state.lacks_secret = facilitator->settings.lacks_secret;
    state.is_behind = facilitator->is_behind(now_ns);
    state.failures = facilitator->failures.load(std::memory_order_relaxed);
    if (const auto known = facilitator->known(now_ns)) {
      state.age_ms = (now_ns - known->seen_ns) / ns_per_ms;
    }
    states.push_back(std::move(state));
  }
  return states;
}

// Returns the facilitators that may handle the payment: `first`, then healthy ones that said so,
// then those that keep failing, then those whose kinds are not known. One that says it supports
// only other kinds is left out: it would refuse, and the refusal would be told as the payment's
// fault.
Facilitators::Order Facilitators::order_for(const FacilitatorRequest& request,
                                            std::string_view first) const {
  struct Candidate {
    Facilitator* facilitator;
    int rank;
    bool pays;
  };
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  std::vector<Candidate> candidates;
  for (const auto& facilitator : facilitators_) {
    if (!facilitator->may_serve(request.network)) continue;
    const auto known = facilitator->known(now_ns);
    const bool is_first = !first.empty() && facilitator->settings.url.text == first;
    if (known != nullptr && !is_first && known->find(request.scheme, request.network) == nullptr) {
      continue;
    }
    const int rank = is_first ? 0 : known == nullptr ? 3 : facilitator->is_behind(now_ns) ? 2 : 1;
    const bool pays = known != nullptr && known->pays_with(request.fee_payer);
    candidates.push_back({facilitator.get(), rank, pays});
  }
  const auto pays = [](const Candidate& candidate) { return candidate.pays; };
  if (!request.fee_payer.empty() && std::any_of(candidates.begin(), candidates.end(), pays)) {
    std::erase_if(candidates, [&pays](const Candidate& candidate) { return !pays(candidate); });
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& left, const auto& right) { return left.rank < right.rank; });
  Order order;
  for (const Candidate& candidate : candidates) order.push_back(candidate.facilitator);
  return order;
}

Verification Facilitators::verify(const FacilitatorRequest& request, bool is_proven,
                                  Call& call) noexcept {
  try {
    Verification verification = verify_in_order(request, is_proven, call);
    host_.report().count("facilitator_verify_" + std::string(name_of(verification.outcome)), 1);
    return verification;
  } catch (...) {  // memory exhaustion
    return {};
  }
}

Verification Facilitators::verify_in_order(const FacilitatorRequest& request, bool is_proven,
                                           Call& call) {
  const std::string body = body_of(request);
  Verification none;
  for (Facilitator* const facilitator : order_for(request, {})) {
    if (!is_proven && !facilitator->unproven.take(host_.clock().monotonic_ns())) {
      none.outcome = Verification::Outcome::too_many;
      continue;
    }
    auto verification = verify_once(*facilitator, request, body, call);
    const bool is_invalid = verification && verification->outcome == Verification::Outcome::invalid;
    if (!is_proven && !is_invalid) facilitator->unproven.give_back();
    if (verification) return *std::move(verification);
    if (call.cancelled() || host_.clock().monotonic_ns() >= call.deadline_ns()) return {};
  }
  return none;
}

// Returns nullopt if the facilitator did not say.
std::optional<Verification> Facilitators::verify_once(Facilitator& facilitator,
                                                      const FacilitatorRequest& request,
                                                      const std::string& body, Call& call) {
  const auto ask = [&](bool is_fresh) {
    const auto headers = facilitator.headers_for(facilitator.settings.verify_headers, "POST",
                                                 facilitator.verify_url, host_);
    JsonRequest to_send = facilitator.request(facilitator.verify_url, headers,
                                              facilitator.settings.verify_timeout_ms);
    to_send.body = body;
    to_send.fresh_connection = is_fresh;
    return exchange_json(host_, to_send, call);
  };
  auto reply = ask(false);
  if (!reply.ok() && reply.error().kind == FailureKind::transport && reply.error().maybe_sent) {
    reply = ask(true);  // the pooled connection may have been closed while idle
  }
  if (!reply.ok()) {
    if (!call.cancelled()) note(facilitator, false, "verify", problem_of(reply.error()));
    return std::nullopt;
  }
  auto verification = read_verification(reply->body(), request.network);
  if (!verification) note_status(facilitator, reply->status);
  note(facilitator, verification.has_value(), "verify",
       problem_of(reply->status, "no VerifyResponse"));
  return verification;
}

Settlement Facilitators::settle(const FacilitatorRequest& request, Call& call,
                                std::string_view first) noexcept {
  try {
    Settlement settlement = settle_in_order(request, call, first);
    host_.report().count("facilitator_settle_" + std::string(name_of(settlement.outcome)), 1);
    return settlement;
  } catch (...) {  // memory exhaustion, before or after it was sent
    return {};
  }
}

Settlement Facilitators::settle_in_order(const FacilitatorRequest& request, Call& call,
                                         std::string_view first) {
  const std::string body = body_of(request);
  const std::int64_t begin_ns = host_.clock().monotonic_ns();
  Settlement settlement;
  settlement.outcome = Settlement::Outcome::not_sent;
  for (Facilitator* const facilitator : order_for(request, first)) {
    auto answer = settle_once(*facilitator, request, body, begin_ns, call);
    if (!answer) continue;
    if (answer->outcome == Settlement::Outcome::pending) {
      // The facilitator now only looks for its transaction. Any answer other than a confirmation
      // proves nothing about the transaction that it named.
      auto confirmed = settle_once(*facilitator, request, body, begin_ns, call);
      if (confirmed && confirmed->outcome == Settlement::Outcome::settled) {
        answer = std::move(confirmed);
      }
    }
    settlement = *std::move(answer);
    settlement.facilitator = facilitator->settings.url.text;
    break;
  }
  return settlement;
}

// Keeps within the facilitator's time since `begin_ns`. Returns nullopt if certainly nothing was
// sent.
std::optional<Settlement> Facilitators::settle_once(Facilitator& facilitator,
                                                    const FacilitatorRequest& request,
                                                    const std::string& body, std::int64_t begin_ns,
                                                    Call& call) {
  const std::int64_t passed_ms = (host_.clock().monotonic_ns() - begin_ns) / ns_per_ms;
  const std::int64_t left_ms = facilitator.settings.settle_timeout_ms - passed_ms;
  if (left_ms <= 0) return std::nullopt;
  const auto headers = facilitator.headers_for(facilitator.settings.settle_headers, "POST",
                                               facilitator.settle_url, host_);
  JsonRequest to_send =
      facilitator.request(facilitator.settle_url, headers, static_cast<std::uint32_t>(left_ms));
  to_send.body = body;
  to_send.fresh_connection = true;
  to_send.is_cancellable = false;
  const auto reply = exchange_json(host_, to_send, call);
  Settlement settlement;
  std::string problem;
  if (reply.ok()) {
    bool is_typed = false;
    settlement = read_settlement(reply->body(), request.network, is_typed);
    problem = problem_of(reply->status, "no SettlementResponse");
    note(facilitator, is_typed, "settle", problem);
    if (!is_typed) note_status(facilitator, reply->status);
    if (is_typed) problem = "open";
  } else {
    problem = problem_of(reply.error());
    if (reply.error().kind != FailureKind::cancelled) {
      note(facilitator, false, "settle", problem);
    }
    if (!reply.error().maybe_sent) return std::nullopt;
  }
  if (settlement.outcome == Settlement::Outcome::unknown) {
    std::string text = "a settlement by " + facilitator.settings.url.origin + " for request ";
    text.append(call.request_id()).append(" has an unknown outcome: ").append(problem);
    host_.report().log(Severity::warning, text);
  }
  return settlement;
}

}  // namespace turnpike::x402
