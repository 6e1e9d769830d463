#include "app/services/commerce_services.h"

#include <utility>

namespace turnpike::app {
namespace {

using runtime::Deadline;

constexpr std::int64_t pass_each_ms = 1'000;
constexpr std::int64_t own_work_timeout_ms = 300'000;
constexpr std::int64_t check_timeout_ms = 30'000;
constexpr std::uint32_t own_work_retry_ms = 5'000;

commerce::ShopSettings shop_settings(const Config& config, const std::string& web_url) {
  // The purchase's page shows its outcome.
  const std::string page = web_url + "/dashboard/{account}/purchases/{purchase}";
  const CommerceConfig& commerce = config.commerce;
  // The query makes the gateway look the payment up when its payer returns.
  const std::string paid_page = page + "?returned=1";
  return {.success_url = commerce.success_url.empty() ? paid_page : commerce.success_url,
          .cancel_url = commerce.cancel_url.empty() ? page : commerce.cancel_url,
          .checkout_minutes = commerce.checkout_minutes,
          .open_purchases_max = commerce.open_purchases_max,
          .brand = config.site.brand.name,
          .saved_url = web_url + "/dashboard/{account}/auto-top-up/methods/{setup}",
          .top_up = commerce.auto_top_up};
}

}  // namespace

CommerceServices::CommerceServices(const Config& config, const Parts& parts,
                                   const Surroundings& surroundings)
    : parts_(parts),
      bound_(config, parts.plugins, surroundings.api_url, surroundings.deployment_id),
      desk_({parts.store, parts.top_ups, bound_.processors(), parts.runtime.pool(), parts.clock,
             parts.random, parts.log, shop_settings(config, surroundings.web_url)}),
      auto_top_ups_(desk_, parts.top_ups, parts.metrics),
      shop_(desk_, auto_top_ups_),
      reconciler_(desk_, parts.metrics),
      work_(*parts.runtime.loops().front()) {
  const auto& list = bound_.processors().list();
  for (std::size_t at = 0; at < list.size(); ++at) {
    commerce::ProcessorIntake& intake = intakes_.emplace_back(list[at], reconciler_);
    offerings_.push_back({list[at].name, "", bound_.slot_objects()[at]->offers(), &intake});
  }
  report_notes();
}

void CommerceServices::report_notes() const {
  for (const registry::Problem& note : bound_.notes()) {
    parts_.log.write(Severity::warning, "configuration_note", {{"note", note.text()}});
  }
  for (const registry::Problem& secret : bound_.missing_secrets()) {
    parts_.log.write(Severity::warning, "secret_missing", {{"problem", secret.text()}});
  }
}

void CommerceServices::start() {
  work_.spawn("purchases", [this] { reconcile(); });
  work_.spawn("check of processors", [this] { check_processors(); });
  for (std::size_t at = 0; at < offerings_.size(); ++at) {
    if (!offerings_[at].offers.has_own_work) continue;
    const std::string& plugin = offerings_[at].plugin;
    work_.spawn("processor " + plugin, [this, at, &plugin] { run_own_work(intakes_[at], plugin); });
  }
}

// Also finishes purchases that other nodes began, so it runs even when nothing is sold any more.
void CommerceServices::reconcile() {
  do {
    auto_top_ups_.pass();  // the purchases it opens are due now
    reconciler_.pass();
  } while (runtime::sleep_until(Deadline::after_ms(pass_each_ms)) == runtime::Wake::deadline);
}

void CommerceServices::check_processors() {
  for (const commerce::ProcessorInService& processor : bound_.processors().list()) {
    commerce::ProcessorCall call("", check_timeout_ms);
    const auto found = processor.bound->check(call);
    for (const Finding& finding : found) {
      if (!finding.is_wrong) continue;
      parts_.log.write(Severity::warning, "processor_set_up_wrong",
                       {{"processor", processor.name}, {"finding", finding.text}});
    }
  }
}

void CommerceServices::run_own_work(commerce::ProcessorIntake& intake, const std::string& name) {
  std::uint32_t next_ms = 0;
  do {
    commerce::ProcessorCall call("", own_work_timeout_ms);
    const auto asked_ms = intake.run(call);
    if (asked_ms.ok() && *asked_ms == 0) return;
    if (!asked_ms.ok()) {
      parts_.log.write(Severity::warning, "plugin_work_failed",
                       {{"plugin", name}, {"reason", asked_ms.error().message}});
    }
    next_ms = asked_ms.ok() ? *asked_ms : own_work_retry_ms;
  } while (runtime::sleep_until(Deadline::after_ms(next_ms)) == runtime::Wake::deadline);
}

}  // namespace turnpike::app
