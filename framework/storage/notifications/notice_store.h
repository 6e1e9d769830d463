// SqlNoticeStore: notices::NoticeStore on both engines. Endpoints and deliveries are in
// notice_store.cpp, sending in notice_sending.cpp, scans in notice_scans.cpp.
//
// Private to storage/. Rows are locked in one order: the account, the endpoint, its deliveries.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "notices/store.h"
#include "storage/books/usage_index.h"
#include "storage/stores.h"

namespace turnpike::storage {

class SqlNoticeStore final : public notices::NoticeStore {
 public:
  explicit SqlNoticeStore(const Context& context) : context_(context), index_(context) {}

  Answer<notices::Endpoint> create(const notices::NewEndpoint& wanted,
                                   const identity::Actor& actor) override;
  Answer<std::vector<notices::Endpoint>> endpoints(std::string_view account_id) override;
  Answer<std::optional<notices::Endpoint>> change(std::string_view account_id, std::string_view id,
                                                  const notices::EndpointWish& wish,
                                                  const identity::Actor& actor) override;
  Answer<bool> remove(std::string_view account_id, std::string_view id,
                      const identity::Actor& actor) override;
  Answer<std::optional<notices::Endpoint>> rotate(std::string_view account_id, std::string_view id,
                                                  std::string_view secret,
                                                  const identity::Actor& actor) override;
  Answer<std::optional<notices::Delivery>> test(std::string_view account_id, std::string_view id,
                                                const identity::Actor& actor) override;
  Answer<std::vector<notices::Delivery>> deliveries(const notices::DeliveryQuery& query) override;
  Answer<std::optional<notices::Delivery>> retry(std::string_view account_id, std::string_view id,
                                                 const identity::Actor& actor) override;
  Answer<notices::NoticeSettings> settings(std::string_view account_id) override;
  Answer<notices::NoticeSettings> set(std::string_view account_id,
                                      const notices::NoticeSettings& settings,
                                      const identity::Actor& actor) override;

  Answer<std::vector<notices::DueDelivery>> take_due(std::int64_t lease_ms,
                                                     std::uint32_t limit) override;
  Answer<notices::DisabledReason> finish(const notices::DueDelivery& delivery,
                                         const notices::Attempt& attempt,
                                         std::uint32_t chance) override;
  Answer<notices::NoticeStanding> standing() override;

  Answer<bool> take_scan(notices::Scan scan, std::int64_t each_ms) override;
  Answer<std::uint32_t> tell_low_credits() override;
  Answer<std::uint32_t> tell_reached_caps() override;
  Answer<std::uint32_t> note_prices(std::string_view generation,
                                    std::span<const notices::RoutePrice> prices) override;
  Answer<std::uint32_t> sweep(std::int64_t kept_ms) override;

 private:
  // One change in a transaction of its own; an error rolls it back.
  template <class T, class F>
  Answer<T> changed_by(std::string_view what, F&& work) const {
    return changed<T>(context_, base::ErrorCode::notification_unavailable, what,
                      std::forward<F>(work));
  }
  template <class T, class F>
  Answer<T> read(std::string_view what, F&& work) const {
    return answered<T>(context_, base::ErrorCode::notification_unavailable, what,
                       [&]() -> Answer<T> { return context_.database.with(work); });
  }
  void audit(Transaction& transaction, const identity::Actor& actor, std::string_view account_id,
             std::string_view action, std::string_view target, std::string detail) const;
  // Disables the endpoint: no further delivery is sent to it. REQUIRES: the endpoint's row is
  // locked.
  void disable(Transaction& transaction, std::string_view id, notices::DisabledReason reason,
               std::int64_t now_ms) const;

  // Reads books and usage together, which are two files on SQLite; call it outside of any
  // transaction.
  template <class T, class F>
  Answer<T> read_usage(std::string_view what, F&& work) {
    return answered<T>(context_, base::ErrorCode::notification_unavailable, what,
                       [&]() -> Answer<T> { return index_.open().with(work); });
  }

  const Context& context_;
  UsageIndex index_;
};

}  // namespace turnpike::storage
