#include "x402/processor.h"

#include <algorithm>

#include "x402/advice.h"
#include "x402/offers/did.h"
#include "x402/purchase_visit.h"
#include "x402/terms.h"
#include "x402/ticket.h"

namespace turnpike::x402 {
namespace {

constexpr std::uint32_t own_work_pause_ms = 1'000;
constexpr std::string_view lane_settings_place = "lanes.x402";

constexpr IntakePath intake[] = {
    {.path = "purchases/*", .takes_get = true, .takes_post = true, .body_bytes_max = 4 * 1024}};

// Reads the lane's settings and reports their mistakes as the lane's.
LaneSettings read_settings_of_lane(const Settings* settings, Mistakes& mistakes) {
  const Settings none;
  Mistakes of_lane;
  LaneSettings read = read_settings(settings == nullptr ? none : *settings, true, of_lane);
  for (const Mistake& mistake : of_lane.found()) {
    std::string place(lane_settings_place);
    if (!mistake.where.empty()) place.append(".").append(mistake.where);
    mistakes.add("", place + ", which the processor needs, too: " + mistake.message);
  }
  return read;
}

void check_origin(std::string_view origin, Mistakes& mistakes) {
  const auto did = did_web(origin);
  if (!did.ok()) return mistakes.add("", "hosts.api.base_url: " + did.error());
  if (!is_unspecified(origin)) return;
  mistakes.add("",
               "hosts.api.base_url: is needed where the API listens on all addresses: purchases "
               "would be paid at " +
                   std::string(origin));
}

bool has_chain(const LaneSettings& lane, std::string_view network) {
  return std::any_of(lane.chains.begin(), lane.chains.end(),
                     [network](const ChainSettings& chain) { return chain.network == network; });
}

Failure nothing_is_taken() {
  return {FailureKind::unavailable,
          "nothing is taken for purchases now: write `pay_to` under processors.x402, or let prices "
          "of the registry ask for USDC by x402",
          {},
          false};
}

}  // namespace

BoundX402Processor::BoundX402Processor(Parts parts, Host& host)
    : parts_(std::move(parts)), host_(host), purchases_(host.store()) {}

Result<Begun> BoundX402Processor::begin(const Order& order, Call& call) {
  if (order.price.currency != "USD") return Begun{.refusal = "currency_not_supported"};
  if (!purchase_id_of(order.purchase_id) || order.price.minor <= 0) {
    return Failure{FailureKind::contract, "that is no order of a purchase", {}, false};
  }
  const auto assets = assets_for_sale(parts_.settings, parts_.premises->assets());
  if (assets.empty()) return nothing_is_taken();
  PurchaseRecord wanted;
  wanted.step_key = order.step_key;
  wanted.title = order.title;
  wanted.currency = order.price.currency;
  wanted.minor = order.price.minor;
  wanted.terms = terms_of_purchase(order.price.minor, assets);
  wanted.expires_ms = order.expires_at_ms;
  const auto ordered = purchases_.order(order.purchase_id, wanted, call);
  if (!ordered.ok()) return ordered.error();
  return Begun{.reference = std::string(order.purchase_id),
               .url = parts_.public_origin + path_of_purchase(order.purchase_id),
               .expires_at_ms = ordered->expires_ms};
}

Result<Payment> BoundX402Processor::look_up(std::string_view reference, Call& call) {
  return purchases_.look_up(reference, call);
}

Done BoundX402Processor::cancel(std::string_view reference, Call& call) {
  return purchases_.cancel(reference, call);
}

Result<Refunded> BoundX402Processor::refund(std::string_view payment, Price price,
                                            std::string_view key, Call& call) {
  auto owed = purchases_.owe(payment, price, key, call);
  if (owed.ok() && owed->refusal.empty()) {
    host_.report().log(Severity::warning, "a refund is owed for the payment " +
                                              std::string(payment) +
                                              ": see turnpike x402 obligations");
  }
  return owed;
}

Result<Notice> BoundX402Processor::notice(const IntakeRequest& request, Call& call) {
  Engine* const engine = open_engine_.load(std::memory_order_acquire);
  if (engine == nullptr) return Notice{.reply = reply_of(unavailable(), call.request_id())};
  return PurchaseVisit(*engine, purchases_, call).serve(request);
}

Result<Changes> BoundX402Processor::changes(std::int64_t since_ms, std::string_view cursor,
                                            Call& call) {
  return purchases_.changes(since_ms, cursor, call);
}

Result<std::uint32_t> BoundX402Processor::run(Call& call) {
  if (engine_ == nullptr) {
    auto engine = Engine::open({parts_.public_origin, parts_.data_dir}, parts_.lane,
                               parts_.premises->boot(host_.random()), host_);
    if (!engine.ok()) return std::move(engine).error();
    engine_ = *std::move(engine);
    open_engine_.store(engine_.get(), std::memory_order_release);
  }
  (void)engine_->refresh(call);
  if (parts_.premises->was_swept(host_.clock().monotonic_ns())) return own_work_pause_ms;
  if (auto done = engine_->reconcile(call); !done.ok()) return std::move(done).error();
  return own_work_pause_ms;
}

std::vector<Finding> BoundX402Processor::check(Call& call) {
  std::vector<Finding> findings;
  Facilitators facilitators(parts_.lane.facilitators, host_);
  if (!facilitators.refresh_supported(call)) {
    findings.push_back({true, "a facilitator of lanes.x402 did not say what it supports"});
  }
  const auto assets = assets_for_sale(parts_.settings, parts_.premises->assets());
  for (const PricedAsset& asset : assets) find_out_about(asset, facilitators, findings);
  if (assets.empty()) {
    findings.push_back(
        {false, "is paid in the USDC that prices of the registry in service ask for by x402"});
  }
  return findings;
}

void BoundX402Processor::find_out_about(const PricedAsset& asset, const Facilitators& facilitators,
                                        std::vector<Finding>& findings) const {
  const std::string what = asset.address + " on " + asset.network;
  const bool is_supported = facilitators.supports("exact", asset.network);
  findings.push_back({!is_supported, is_supported ? "is paid in " + what
                                                  : "no facilitator settles " + what});
  if (is_solana(asset.network) || has_chain(parts_.lane, asset.network)) return;
  findings.push_back({true, "no chain is configured for " + asset.network +
                                " in lanes.x402.chains: what a facilitator says is believed "
                                "unseen, and a settlement whose answer is lost stays open"});
}

ProcessorTraits X402Processor::traits() const noexcept {
  return {.name = "x402",
          .title = "USDC (x402)",
          .hosts_checkout = true,
          .refunds = true,
          .lists_changes = true};
}

Offers X402Processor::offers() const noexcept {
  return {.intake = intake, .has_own_work = true};
}

Result<std::unique_ptr<BoundProcessor>> X402Processor::bind(const ProcessorBinding& binding,
                                                            Host& host) {
  Mistakes mistakes;
  LaneSettings lane = read_settings_of_lane(binding.lane_settings, mistakes);
  ProcessorSettings settings =
      read_processor_settings(binding.settings, lane, binding.environment, mistakes);
  check_origin(binding.public_origin, mistakes);
  if (!mistakes.none()) return mistakes.failure();
  const bool lacks_chain = settings.own && !is_solana(settings.own->network) &&
                           !has_chain(lane, settings.own->network);
  if (lacks_chain && binding.notes != nullptr) {
    binding.notes->push_back({"no chain is configured for " + settings.own->network +
                                  " in lanes.x402.chains: what a facilitator says is believed "
                                  "unseen",
                              "network"});
  }
  return std::unique_ptr<BoundProcessor>(std::make_unique<BoundX402Processor>(
      BoundX402Processor::Parts{std::move(settings), std::move(lane),
                                std::string(binding.public_origin), std::string(binding.data_dir),
                                premises_},
      host));
}

}  // namespace turnpike::x402
