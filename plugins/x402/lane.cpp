#include "x402/lane.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "x402/advice.h"
#include "x402/attempt.h"
#include "x402/calls.h"
#include "x402/codes.h"
#include "x402/commands.h"
#include "x402/engine.h"
#include "x402/policy.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"
#include "x402/published_keys.h"
#include "x402/registry_terms.h"
#include "x402/terms.h"
#include "x402/ticket.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view payment_header[] = {"payment-signature"};
constexpr std::string_view did_path = "/.well-known/did.json";
constexpr std::string_view list_path = "/.well-known/x402";
constexpr std::string_view documents[] = {did_path, list_path};
// The headers of this version of the protocol and of the one before it.
constexpr std::string_view reserved_headers[] = {
    "payment-signature", "payment-required", "payment-response", "x-payment", "x-payment-response"};
constexpr TermsDocuments terms_documents = {
    .contract_version = "service.x402.v2",
    .sentence = "Can be paid per call by x402.",
    .payment_header =
        R"({"name":"PAYMENT-SIGNATURE","in":"header","required":false,)"
        R"("description":"An x402 V2 payment for this very request: base64 of the payload that )"
        R"(answers the `PAYMENT-REQUIRED` header of a 402. Never together with `Authorization`. )"
        R"(The same payment may be sent again: it is charged once and gets the stored reply.",)"
        R"("schema":{"type":"string"}})",
    .challenge_header = "PAYMENT-REQUIRED",
    .challenge_text =
        "To a call without a credential: what pays for it, base64 of an x402 V2 challenge.",
    .settlement_header = "PAYMENT-RESPONSE",
    .settlement_text = "Of a call that was paid for: its settlement, base64 of x402 V2's."};
constexpr std::uint32_t run_pause_ms = 1'000;
constexpr std::int64_t document_kept_ms = 2'000;
constexpr std::int64_t history_timeout_ms = 15'000;       // for what bind() asks the store
constexpr std::uint32_t settle_timeout_ms_max = 400'000;  // bounded by the settings of facilitators

Refusal refuse_unpayable() {
  return refusal("x402.not_payable", "This operation cannot be paid for per call.", 0);
}

// For a registry that offers nothing for payment per call and never did: the lane has nothing to
// do.
class IdleLane final : public BoundLane {
 public:
  Admission admit(const LaneRequest&, Call&) override { return refuse_unpayable(); }
};

// Turns "/users/{id}" into "/users/:id", as the discovery extension writes it. Returns nullopt if
// there are no parameters.
std::optional<std::string> route_template(std::string_view pattern) {
  if (pattern.find('{') == pattern.npos) return std::nullopt;
  std::string text;
  for (const char c : pattern) {
    if (c != '}') text += c == '{' ? ':' : c;
  }
  return text;
}

class X402BoundLane final : public BoundLane {
 public:
  using SharedTerms = std::shared_ptr<Terms>;

  X402BoundLane(std::unique_ptr<Engine> engine, std::shared_ptr<Premises> premises,
                std::span<const PricedOperation> operations, std::vector<SharedTerms> terms,
                std::vector<CallPolicy> policies)
      : engine_(std::move(engine)),
        premises_(std::move(premises)),
        operations_(operations),
        terms_(std::move(terms)),
        policies_(std::move(policies)),
        distinct_terms_(terms_.begin(), terms_.end()),
        separators_(all_requirements()),
        no_body_(sha256("")) {
    offer_what_is_supported();
  }

  Admission admit(const LaneRequest& request, Call& call) override;
  Recalled recall(const LaneRequest& request, Call& call) override;
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override;
  Result<std::optional<Document>> document(std::string_view path, Call& call) override;
  Result<std::uint32_t> run(Call& call) override;

 private:
  [[nodiscard]] std::vector<PaymentRequirements> all_requirements() const;
  [[nodiscard]] std::vector<PricedAsset> assets() const;
  void offer_what_is_supported();
  Result<std::string> make(std::string_view path, Call& call);
  [[nodiscard]] std::string payable_resources() const;
  [[nodiscard]] bool offers_anything() const noexcept {
    return distinct_terms_.size() > (distinct_terms_.contains(nullptr) ? 1u : 0u);
  }
  [[nodiscard]] BoundRequest bound_request(const LaneRequest& request,
                                           std::string_view route_id) const {
    return {route_id, name_of(request.method), request.path, request.query,
            request.body.empty() ? no_body_ : sha256(request.body)};
  }

  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<Premises> premises_;
  const std::span<const PricedOperation> operations_;
  const std::vector<SharedTerms> terms_;    // by operation; null: not offered
  const std::vector<CallPolicy> policies_;  // by operation
  const std::set<SharedTerms> distinct_terms_;
  const DomainSeparators separators_;
  const OfferedExtension identifier_{std::string(payment_identifier_extension),
                                     JsonText::parse(std::string(payment_identifier_info)).value()};
  const Word no_body_;

  const PricedOperation no_operation_;  // for recall()
  const Offered nothing_offered_;
  std::uint32_t refusing_us_ = 0;  // used by run() alone, like the next
  bool has_shown_assets_ = false;

  // Anybody may ask for these documents, so they are made at most once in a while.
  struct Kept {
    Document document;
    std::int64_t until_ns = 0;
  };
  std::mutex kept_mutex_;  // guards the two below; held only to copy
  Kept did_;
  Kept list_;
};

std::vector<PaymentRequirements> X402BoundLane::all_requirements() const {
  std::vector<PaymentRequirements> all;
  for (const SharedTerms& terms : distinct_terms_) {
    if (terms == nullptr) continue;
    for (const Terms::Entry& entry : terms->entries()) all.push_back(entry.requirements);
  }
  const auto signed_for = [](const PaymentRequirements& entry) {
    return std::tie(entry.network, entry.asset, entry.extra.asset_transfer_method);
  };
  std::sort(all.begin(), all.end(), [&](const auto& left, const auto& right) {
    return signed_for(left) < signed_for(right);
  });
  const auto same = [&](const auto& left, const auto& right) {
    return signed_for(left) == signed_for(right);
  };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

// Returns the assets that the operations are paid in, each once.
std::vector<PricedAsset> X402BoundLane::assets() const {
  std::vector<PricedAsset> all;
  for (const SharedTerms& terms : distinct_terms_) {
    if (terms == nullptr) continue;
    for (const Terms::Entry& entry : terms->entries()) {
      const PaymentRequirements& terms_of = entry.requirements;
      PricedAsset asset{terms_of.network,
                        terms_of.asset,
                        terms_of.pay_to,
                        terms_of.extra.name,
                        terms_of.extra.version,
                        terms_of.extra.asset_transfer_method,
                        entry.decimals};
      if (std::find(all.begin(), all.end(), asset) == all.end()) all.push_back(std::move(asset));
    }
  }
  std::sort(all.begin(), all.end(), [](const PricedAsset& left, const PricedAsset& right) {
    return std::tie(left.network, left.address, left.transfer) <
           std::tie(right.network, right.address, right.transfer);
  });
  return all;
}

void X402BoundLane::offer_what_is_supported() {
  for (const SharedTerms& terms : distinct_terms_) {
    if (terms != nullptr) terms->refresh(engine_->facilitators);
  }
}

Admission X402BoundLane::admit(const LaneRequest& request, Call& call) {
  const PricedOperation& operation = operations_[request.operation];
  const SharedTerms& terms = terms_[request.operation];
  if (terms == nullptr) return refuse_unpayable();
  const auto offered = terms->offered();
  const Asked asked{request,
                    operation,
                    policies_[request.operation],
                    *offered,
                    separators_,
                    {&identifier_, 1},
                    bound_request(request, operation.route_id)};
  if (request.credentials.empty()) {
    if (offered->accepts.empty() || !engine_->has_store()) {
      return refusal("x402.unavailable", "Payments cannot be taken now.", 5);
    }
    return challenge(*engine_, asked, "x402.payment_required", "Payment required");
  }
  if (!engine_->has_store()) return unavailable();
  auto payload = decode_payment(request.credentials.front().value);
  if (payload.ok()) return Attempt(*engine_, asked, *std::move(payload), call).run();
  if (const auto* malformed = std::get_if<Malformed>(&payload.error())) {
    return refusal("x402.payment_malformed", malformed->sentence(), 0);
  }
  return challenge(*engine_, asked, "x402.payment_refused",
                   code_of(std::get<Reason>(payload.error())));
}

// The payment may be for an operation that this program does not know, so its record tells which
// operation it was for.
Recalled X402BoundLane::recall(const LaneRequest& request, Call& call) {
  if (request.credentials.empty()) return {};
  if (!engine_->has_store()) return unavailable();
  auto payload = decode_payment(request.credentials.front().value);
  if (!payload.ok()) return {};
  const Asked asked{request,
                    no_operation_,
                    CallPolicy(),
                    nothing_offered_,
                    separators_,
                    {},
                    bound_request(request, {}),
                    /*is_recall=*/true};
  return Attempt(*engine_, asked, *std::move(payload), call).recall();
}

State X402BoundLane::state(std::uint32_t operation) const noexcept {
  const Terms* terms = terms_[operation].get();
  if (terms == nullptr) return {};
  if (!engine_->has_store()) return {Condition::blocked, "Payments cannot be recorded now."};
  if (terms->is_payable()) return {};
  return {Condition::blocked, "No facilitator supports payments for this operation now."};
}

Result<std::optional<Document>> X402BoundLane::document(std::string_view path, Call& call) {
  const bool is_list = path == list_path;
  if (is_list && !offers_anything()) return std::optional<Document>{};
  Kept& kept = is_list ? list_ : did_;
  const std::int64_t now_ns = engine_->host.clock().monotonic_ns();
  {
    const std::scoped_lock lock(kept_mutex_);
    if (now_ns < kept.until_ns) return std::optional(kept.document);
  }
  auto text = make(path, call);
  if (!text.ok()) return std::move(text).error();
  Document made{std::string(is_list ? "application/json" : did_content_type), *std::move(text)};
  const std::scoped_lock lock(kept_mutex_);
  kept = {made, now_ns + document_kept_ms * 1'000'000};
  return std::optional(std::move(made));
}

Result<std::string> X402BoundLane::make(std::string_view path, Call& call) {
  if (path == did_path) {
    const auto keys = published_keys(engine_->host.store(), call);
    if (!keys.ok()) return keys.error();
    return did_document(engine_->did, *keys);
  }
  // There may be 100,000 operations: do not render them on a loop thread.
  struct Rendering {
    const X402BoundLane& lane;
    std::string text;
  } rendering{*this, {}};
  const auto render = [](void* argument) noexcept {
    auto& [lane, text] = *static_cast<Rendering*>(argument);
    text = lane.payable_resources();
  };
  if (auto done = engine_->host.offload().run(render, &rendering); !done.ok()) {
    return std::move(done).error();
  }
  return std::move(rendering.text);
}

// The list that x402 directories read: what can be paid for now. `resources` are absolute URLs that
// answer a request with 402; `items` has the terms of each. A path parameter stays as it is named,
// since any value does for an offer.
std::string X402BoundLane::payable_resources() const {
  using Json = nlohmann::ordered_json;
  Json resources = Json::array();
  Json items = Json::array();
  for (std::size_t at = 0; at < operations_.size(); ++at) {
    const PricedOperation& operation = operations_[at];
    if (terms_[at] == nullptr || operation.is_blocked || !terms_[at]->is_payable()) continue;
    Json accepts = Json::array();
    for (const std::string& entry : terms_[at]->offered()->canonical) {
      accepts.push_back(Json::parse(entry));
    }
    const std::string url = engine_->challenges.resource_url(operation.path, {});
    // The methods of one path are next to each other.
    if (resources.empty() || resources.back() != url) resources.push_back(url);
    Json item = {{"resource", url},
                 {"type", "http"},
                 {"method", name_of(operation.method)},
                 {"x402Version", 2},
                 {"description", operation.summary},
                 {"mimeType", operation.media_type},
                 {"accepts", std::move(accepts)}};
    if (auto text = route_template(operation.path)) item["routeTemplate"] = *std::move(text);
    items.push_back(std::move(item));
  }
  return Json{{"version", 1},
              {"x402Version", 2},
              {"resources", std::move(resources)},
              {"items", std::move(items)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::uint32_t> X402BoundLane::run(Call& call) {
  if (!std::exchange(has_shown_assets_, true)) premises_->show_assets(assets());
  const std::uint32_t refusing_us = engine_->facilitators.refusing_us();
  const bool is_changed = std::exchange(refusing_us_, refusing_us) != refusing_us;
  if (engine_->refresh(call) || is_changed) offer_what_is_supported();
  auto reconciled = engine_->reconcile(call);
  if (!reconciled.ok()) return std::move(reconciled).error();
  premises_->note_sweep(engine_->host.clock().monotonic_ns());
  return run_pause_ms;
}

// One mistake names the operation that takes the longest: a timeout that is long enough for it is
// long enough for all.
void check_timeout(const LaneBinding& binding, const LaneSettings& settings, Mistakes& mistakes) {
  std::uint64_t longest_s = 0;
  std::string_view path;
  for (const PricedOperation& operation : binding.operations) {
    if (!operation.is_offered) continue;
    const std::uint64_t needed_s = needed_seconds(operation) + settlement_margin_s;
    if (needed_s <= longest_s) continue;
    longest_s = needed_s;
    path = operation.path;
  }
  if (settings.max_timeout_seconds >= 2 * longest_s) return;
  mistakes.add("max_timeout_seconds",
               std::string(path) + " may take " + std::to_string(longest_s) +
                   " s with its settlement: payments must be valid for twice as long, " +
                   std::to_string(2 * longest_s) + " s");
}

// Reads the terms of all operations that are offered; equal ones are shared.
std::vector<std::shared_ptr<Terms>> read_all_terms(const LaneBinding& binding,
                                                   const LaneSettings& settings,
                                                   Mistakes& mistakes) {
  std::vector<std::shared_ptr<Terms>> all;
  std::map<std::pair<std::string_view, PaymentFlow>, std::shared_ptr<Terms>> known;
  for (const PricedOperation& operation : binding.operations) {
    if (!operation.is_offered) {
      all.push_back(nullptr);
      continue;
    }
    auto& shared = known[{operation.terms, policy_of(operation.policy).flow}];
    if (shared == nullptr) {
      shared =
          std::make_shared<Terms>(read_terms(operation, settings.max_timeout_seconds, mistakes));
    }
    all.push_back(shared);
  }
  return all;
}

}  // namespace

Offers X402Lane::offers() const noexcept {
  static constexpr Command commands[] = {
      {"x402", "Payments per call: list, totals, obligations, keys"},
      {"receipt", "Verify a signed offer or receipt"}};
  return {.commands = commands, .documents = documents, .has_own_work = true};
}

LaneTraits X402Lane::traits() const noexcept {
  LaneTraits traits;
  traits.name = "x402";
  traits.credential_headers = payment_header;
  traits.buffer_whole = true;
  traits.settle_timeout_ms = settle_timeout_ms_max;
  traits.reserved_headers = reserved_headers;
  traits.has_terms = true;
  traits.terms_documents = &terms_documents;
  traits.codes = lane_codes;
  return traits;
}

// If the lane ever offered anything, it still has payments to end, to answer and to account for
// where nothing is offered any more, and keys to publish for the verification of receipts.
Result<std::unique_ptr<BoundLane>> X402Lane::bind(const LaneBinding& binding, Host& host) {
  const bool offers =
      std::any_of(binding.operations.begin(), binding.operations.end(),
                  [](const PricedOperation& operation) { return operation.is_offered; });
  Mistakes mistakes;
  auto settings = read_settings(binding.settings, offers, mistakes);
  const bool is_timeout_known =
      std::none_of(mistakes.found().begin(), mistakes.found().end(),
                   [](const Mistake& mistake) { return mistake.where == "max_timeout_seconds"; });
  if (is_timeout_known) check_timeout(binding, settings, mistakes);
  auto terms = read_all_terms(binding, settings, mistakes);
  check_offers(binding, settings, terms, mistakes);
  if (!mistakes.none()) return mistakes.failure();
  advise(binding, settings, terms);
  OwnCall call(host.clock(), history_timeout_ms);
  if (!offers) {
    const auto has_history = has_published_keys(host.store(), call);
    if (!has_history.ok()) return has_history.error();
    if (!*has_history) return std::unique_ptr<BoundLane>(std::make_unique<IdleLane>());
  }
  auto engine = Engine::open({binding.public_origin, binding.data_dir}, std::move(settings),
                             premises_->boot(host.random()), host);
  if (!engine.ok()) return std::move(engine).error();
  advise_of_open_payments(binding, **engine, call);
  std::vector<CallPolicy> policies;
  for (const PricedOperation& operation : binding.operations) {
    policies.push_back(policy_of(operation.policy));
  }
  return std::unique_ptr<BoundLane>(std::make_unique<X402BoundLane>(
      *std::move(engine), premises_, binding.operations, std::move(terms), std::move(policies)));
}

Result<ReadTerms> X402Lane::read_terms(const RegistryParts& parts) const {
  return read_registry_terms(parts);
}

int X402Lane::command(std::string_view word, const CommandInput& input, Console& console,
                      Host& host) {
  return run_command(word, input, console, host);
}

}  // namespace turnpike::x402
