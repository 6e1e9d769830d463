// Desk: the steps of purchases that call a processor and write its answer. The shop takes steps for
// a waiting caller, the reconciler in the background; each step is done once, whoever comes first
// (PurchaseStore::advance).
//
// Owned by app/, outlives both. Its functions are called on fibers of any loop, and on plain
// Threads: the store is asked on the blocking pool, the processor where it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "base/log.h"
#include "commerce/auto_top_up_store.h"
#include "commerce/processors.h"
#include "commerce/store.h"
#include "runtime/pool.h"

namespace turnpike::commerce {

struct ShopSettings {
  // Redirect URLs after paying or cancelling; "{account}" and "{purchase}" are replaced by the ids.
  std::string success_url = {};
  std::string cancel_url = {};
  std::uint32_t checkout_minutes = 60;
  std::uint32_t open_purchases_max = 20;
  std::string brand = "Turnpike";  // shown to payers
  // Redirect URL after a method was saved or not; "{account}" and "{setup}" are replaced by the
  // ids.
  std::string saved_url = {};
  TopUpSettings top_up = {};
};

class Desk {
 public:
  // All members outlive the Desk.
  struct Parts {
    PurchaseStore& store;
    AutoTopUpStore& top_ups;
    const Processors& processors;
    runtime::BlockingPool& pool;
    const Clock& clock;
    Random& random;
    base::Log& log;
    ShopSettings settings;
  };
  explicit Desk(Parts parts);

  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  [[nodiscard]] PurchaseStore& store() const noexcept { return parts_.store; }
  [[nodiscard]] const ShopSettings& settings() const noexcept { return parts_.settings; }

  // Runs `work`, which asks the store and returns a Result, on the pool. purchase.unavailable: the
  // pool is full, and nothing was begun.
  template <class F>
  [[nodiscard]] auto ask(F&& work) const -> std::invoke_result_t<F> {
    std::optional<std::invoke_result_t<F>> answer;
    if (!parts_.pool.run_to_end(user_, [&]() noexcept { answer.emplace(work()); })) {
      return base::Error{base::ErrorCode::purchase_unavailable,
                         "The gateway is too busy; nothing was begun.", 1};
    }
    return *std::move(answer);
  }

  // The lease time for work on a purchase.
  [[nodiscard]] std::int64_t lease_ms(const ProcessorInService& processor) const noexcept;

  // Each takes the purchase one step further and returns its new state; the caller holds the
  // purchase's lease. purchase.processor_unavailable: the processor did not answer, and the step is
  // due again.
  //
  // From `created`: has the processor begin the payment.
  Result<Purchase, base::Error> begin(const Purchase& purchase);
  // From any other state: looks up the payment. A run that was never charged is charged.
  Result<Purchase, base::Error> look(const Purchase& purchase);

  // Takes whichever step is next: a run is begun and charged in one go.
  Result<Purchase, base::Error> work_on(const Purchase& purchase);

  // A step_key: "pur_1.begin"; "pur_1.begin.2" for a retry that is a separate step.
  static std::string step_key(std::string_view id, std::string_view step, std::int64_t number);
  // Replaces "{account}" and the placeholder `place`.
  static std::string url_for(std::string url, std::string_view account_id,
                             std::string_view place, std::string_view id);

 private:
  // REQUIRES: an awaiting run without a known charge.
  Result<Purchase, base::Error> charge(const Purchase& run);
  Result<Purchase, base::Error> cancel(const Purchase& run, const ProcessorInService& processor);
  Result<Purchase, base::Error> write(const Step& step);
  Result<Purchase, base::Error> give_up(const Purchase& purchase, const Failure& failure,
                                        std::string_view what);
  Result<Purchase, base::Error> without_processor(const Purchase& purchase);
  [[nodiscard]] std::int64_t due_after_step(const Purchase& next) const;

  const Parts parts_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::commerce
