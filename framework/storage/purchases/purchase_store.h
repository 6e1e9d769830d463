// SqlPurchaseStore: commerce::PurchaseStore on both engines. Purchases and their steps are in
// purchase_store.cpp, terms in purchase_terms.cpp, operators' actions in purchase_refunds.cpp.
//
// Private to storage/. Rows are locked in one order: the account, the purchase, its allocations.
#pragma once

#include "commerce/store.h"
#include "storage/stores.h"

namespace turnpike::storage {

class SqlPurchaseStore final : public commerce::PurchaseStore {
 public:
  explicit SqlPurchaseStore(const Context& context) : context_(context) {}

  Answer<std::vector<commerce::PublishedTerms>> terms() override;
  Answer<commerce::PublishedTerms> publish(const commerce::Terms& terms, std::string_view processor,
                                           const identity::Actor& actor) override;
  Answer<std::optional<commerce::PublishedTerms>> retire(std::int64_t revision,
                                                         const identity::Actor& actor) override;

  Answer<commerce::Opened> open(const commerce::NewPurchase& wanted,
                                const identity::Actor& actor) override;
  Answer<std::optional<commerce::Purchase>> find(std::string_view id) override;
  Answer<std::vector<commerce::Purchase>> list(const commerce::PurchaseQuery& query) override;
  Answer<bool> is_locked(std::string_view account_id) override;
  Answer<std::string> customer(std::string_view account_id, std::string_view processor) override;
  Answer<std::optional<commerce::Purchase>> advance(const commerce::Step& step,
                                                    std::int64_t due_ms) override;
  Answer<std::string> keep_reply(std::string_view id, std::string_view reply) override;
  Answer<std::vector<commerce::Purchase>> take_due(std::int64_t lease_ms,
                                                   std::uint32_t limit) override;
  Answer<std::uint32_t> hint(std::string_view processor,
                             std::span<const Hint> hints) override;
  Answer<bool> hurry(std::string_view id) override;
  Answer<std::optional<commerce::ChangesPlace>> take_changes(std::string_view processor,
                                                             std::int64_t not_since_ms,
                                                             std::int64_t lease_ms) override;
  Answer<Unit> keep_changes(std::string_view processor,
                            const commerce::ChangesPlace& place) override;

  Answer<commerce::Refund> request_refund(const commerce::RefundRequest& request,
                                          const identity::Actor& actor) override;
  Answer<std::vector<commerce::Refund>> refunds_to_send(std::uint32_t limit) override;
  Answer<std::vector<commerce::Refund>> refunds(std::string_view purchase_id) override;
  Answer<Unit> end_refund(std::string_view refund_id, commerce::RefundState state,
                          std::string_view detail) override;
  Answer<std::uint32_t> unlock(std::string_view account_id, const identity::Actor& actor) override;
  Answer<commerce::Purchase> resolve(std::string_view id, const identity::Actor& actor) override;
  Answer<commerce::Standing> standing() override;

 private:
  // One change in a transaction of its own; an error rolls it back.
  template <class T, class F>
  Answer<T> change(std::string_view what, F&& work) const {
    return changed<T>(context_, base::ErrorCode::purchase_unavailable, what,
                      std::forward<F>(work));
  }
  template <class T, class F>
  Answer<T> read(std::string_view what, F&& work) const {
    return answered<T>(context_, base::ErrorCode::purchase_unavailable, what,
                       [&]() -> Answer<T> { return context_.database.with(work); });
  }
  Answer<commerce::Opened> opened_before(Transaction& transaction,
                                         const commerce::NewPurchase& wanted, const Rows& rows,
                                         std::int64_t now_ms) const;
  // Writes the row of a step and the step's ledger changes. nullopt: the row has another version.
  std::optional<commerce::Purchase> write_step(Transaction& transaction, commerce::Step step,
                                               std::int64_t due_ms) const;

  const Context& context_;
};

}  // namespace turnpike::storage
