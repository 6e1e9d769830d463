#include "app/services/notice_services.h"

#include <optional>
#include <utility>

#include "ledger/statements/statements.h"

namespace turnpike::app {
namespace {

using runtime::Deadline;
using runtime::Wake;

constexpr std::uint32_t senders = 16;
constexpr std::int64_t look_each_ms = 1'000;
constexpr std::int64_t indexing_timeout_ms = 30'000;
constexpr std::uint64_t reply_bytes_max = 64 * 1024;

notices::EndpointRules rules_of(const Config& config) {
  return {.allows_http_nearby = config.environment == identity::Environment::development,
          .allows_private = config.notifications.allow_private_addresses};
}

std::unique_ptr<wire::Client> make_notice_client(runtime::Runtime& runtime) {
  wire::ClientSettings settings;
  settings.reply_bytes_max = reply_bytes_max;
  settings.origins_max = 2 * senders;
  settings.idle_connection_ms = 1'000;
  return wire::make_client(runtime, settings);
}

// The price of each operation that accounts call.
std::vector<notices::RoutePrice> prices_of(const registry::Program& program) {
  std::vector<notices::RoutePrice> prices;
  for (const registry::Operation& operation : program.operations()) {
    if (!operation.price) continue;
    const registry::Route& route = program.routes()[operation.route];
    prices.push_back({route.id, std::string(name_of(operation.method)), route.matcher.pattern,
                      program.prices()[*operation.price].credit_cost});
  }
  return prices;
}

}  // namespace

NoticeServices::NoticeServices(const Config& config, const Parts& parts)
    : parts_(parts),
      client_(make_notice_client(parts.runtime)),
      office_({parts.store, parts.runtime.pool(), parts.random, rules_of(config)}),
      sender_({parts.store, parts.runtime.pool(), *client_, parts.clock, parts.random, parts.log,
               parts.metrics, config.notifications.allow_private_addresses}),
      indexing_(parts.runtime.pool().add_user("usage for prices", 1, 1)),
      work_(*parts.runtime.loops().front()) {}

void NoticeServices::start() {
  free_ = senders;
  for (std::uint32_t at = 0; at < senders; ++at) {
    work_.spawn("notification", [this] { send_what_comes(); });
  }
  work_.spawn("notifications", [this] { take_and_hand_out(); });
  work_.spawn("notification scans", [this] { scan(); });
}

void NoticeServices::stop_client() { client_->stop(); }

// Takes only as many deliveries as there are free senders, so that deliveries which another node
// could send do not wait here. At a stop the senders may end before this fiber is cancelled. It
// then gives back the deliveries that no sender has begun, so that other nodes may send them at
// once.
void NoticeServices::take_and_hand_out() {
  while (!runtime::cancelled()) {
    freed_.reset();
    const std::uint32_t free = [&] {
      const std::lock_guard lock(mutex_);
      return free_;
    }();
    std::vector<notices::DueDelivery> due;
    if (free > 0) due = sender_.take(free);
    const auto taken = static_cast<std::uint32_t>(due.size());
    {
      const std::lock_guard lock(mutex_);
      free_ -= taken;
      for (auto& delivery : due) taken_.push_back(std::move(delivery));
    }
    if (taken > 0) waiting_.release(taken);
    (void)freed_.wait(Deadline::after_ms(look_each_ms));
  }
  while (const auto delivery = next_taken()) sender_.give_back(*delivery);
}

std::optional<notices::DueDelivery> NoticeServices::next_taken() {
  const std::lock_guard lock(mutex_);
  if (taken_.empty()) return std::nullopt;
  notices::DueDelivery delivery = std::move(taken_.front());
  taken_.pop_front();
  return delivery;
}

void NoticeServices::send_what_comes() {
  while (waiting_.acquire(Deadline::never()) == Wake::ready) {
    const auto delivery = next_taken();
    if (!delivery) return;  // given back
    sender_.send(*delivery);
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.set();
  }
}

// Each node notes the prices once for each program that it serves: if another node reloaded first,
// nothing has changed by then.
void NoticeServices::scan() {
  do {
    const auto current = parts_.serving.current();
    const std::string generation =
        current == nullptr ? std::string() : current->service->generation().id;
    if (generation == noted_generation_) {
      (void)sender_.scan(generation, nullptr);
    } else {
      if (note_prices(generation, current->service->program())) noted_generation_ = generation;
    }
  } while (runtime::sleep_until(Deadline::after_ms(look_each_ms)) == Wake::deadline);
}

// Usage is indexed first, so that accounts with very recent calls of a route also learn its new
// price.
bool NoticeServices::note_prices(const std::string& generation,
                                 const registry::Program& program) {
  std::optional<Result<Unit, base::Error>> indexed;
  const bool was_run = parts_.runtime.pool().run_to_end(indexing_, [&]() noexcept {
    indexed.emplace(
        ledger::catch_up_whole(parts_.usage, Deadline::after_ms(indexing_timeout_ms)));
  });
  if (!was_run || !indexed->ok()) {
    parts_.log.write(Severity::warning, "notifications_failed",
                     {{"what", "index usage"},
                      {"reason", was_run ? indexed->error().message : "The pool is full."}});
    (void)sender_.scan(generation, nullptr);
    return false;
  }
  const auto prices = prices_of(program);
  return sender_.scan(generation, &prices);
}

}  // namespace turnpike::app
