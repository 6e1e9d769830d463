// Office: the actions of members on an account's notifications: endpoints, their secrets and tests,
// deliveries, the threshold. The caller has checked the membership; the store checks it again in
// the transaction of a change.
//
// Owned by app/; called on fibers of any loop, which it suspends: the store is asked on the
// blocking pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "notices/store.h"
#include "runtime/pool.h"

namespace turnpike::notices {

// The secret is shown once, to its creator.
struct WithSecret {
  Endpoint endpoint;
  std::string secret;  // "whsec_..."
};

struct DeliveryPage {
  std::vector<Delivery> deliveries;  // newest first
  bool has_more = false;
};

class Office {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;
  // All parts outlive the office.
  struct Parts {
    NoticeStore& store;
    runtime::BlockingPool& pool;
    Random& random;
    EndpointRules rules;
  };
  explicit Office(Parts parts);

  [[nodiscard]] Answer<std::vector<Endpoint>> endpoints(std::string_view account_id) const;
  // REQUIRES: the wish has a URL. Errors: notification.endpoint_invalid,
  // notification.too_many_endpoints.
  [[nodiscard]] Answer<WithSecret> create(std::string_view account_id, const EndpointWish& wish,
                                          const identity::Actor& actor) const;
  // Error of the functions below: notification.endpoint_not_found, if the account has no endpoint
  // with this id.
  [[nodiscard]] Answer<Endpoint> change(std::string_view account_id, std::string_view id,
                                        const EndpointWish& wish,
                                        const identity::Actor& actor) const;
  [[nodiscard]] Answer<Unit> remove(std::string_view account_id, std::string_view id,
                                    const identity::Actor& actor) const;
  [[nodiscard]] Answer<WithSecret> rotate(std::string_view account_id, std::string_view id,
                                          const identity::Actor& actor) const;
  [[nodiscard]] Answer<Delivery> test(std::string_view account_id, std::string_view id,
                                      const identity::Actor& actor) const;
  [[nodiscard]] Answer<DeliveryPage> deliveries(DeliveryQuery query) const;
  [[nodiscard]] Answer<Delivery> retry(std::string_view account_id, std::string_view id,
                                       const identity::Actor& actor) const;
  [[nodiscard]] Answer<NoticeSettings> settings(std::string_view account_id) const;
  [[nodiscard]] Answer<NoticeSettings> set(std::string_view account_id,
                                           const NoticeSettings& settings,
                                           const identity::Actor& actor) const;

 private:
  // Error notification.unavailable: the pool is full, and the work was not started.
  template <class F>
  [[nodiscard]] auto ask(F&& work) const -> std::invoke_result_t<F> {
    std::optional<std::invoke_result_t<F>> answer;
    if (!parts_.pool.run_to_end(user_, [&]() noexcept { answer.emplace(work()); })) {
      return base::Error{base::ErrorCode::notification_unavailable,
                         "The gateway is too busy; nothing was begun.", 1};
    }
    return *std::move(answer);
  }

  const Parts parts_;
  const runtime::PoolUser user_;
};

}  // namespace turnpike::notices
