// SqlAutoTopUpStore: commerce::AutoTopUpStore on both engines. Setups are in
// auto_top_up_setups.cpp, policies and their standing in auto_top_up_store.cpp, runs in
// auto_top_up_runs.cpp.
//
// Private to storage/. Rows are locked in one order: the account, the purchase or setup, the
// account's standing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commerce/auto_top_up_store.h"
#include "storage/stores.h"

namespace turnpike::storage {

class SqlAutoTopUpStore final : public commerce::AutoTopUpStore {
 public:
  explicit SqlAutoTopUpStore(const Context& context) : context_(context) {}

  Answer<commerce::OpenedSetup> open_setup(const commerce::NewSetup& wanted,
                                           const identity::Actor& actor) override;
  Answer<std::optional<commerce::MethodSetup>> find_setup(std::string_view id) override;
  Answer<std::vector<commerce::MethodSetup>> setups(std::string_view account_id,
                                                    std::uint32_t limit) override;
  Answer<std::optional<commerce::MethodSetup>> advance_setup(const commerce::MethodSetup& next,
                                                             std::int64_t due_ms) override;
  Answer<std::string> keep_setup_reply(std::string_view id, std::string_view reply) override;
  Answer<commerce::MethodSetup> remove_method(std::string_view account_id, std::string_view id,
                                              const identity::Actor& actor) override;
  Answer<std::vector<commerce::MethodSetup>> take_due_setups(std::int64_t lease_ms,
                                                             std::uint32_t limit) override;

  Answer<commerce::AutoTopUp> look(std::string_view account_id) override;
  Answer<std::vector<commerce::Policy>> revisions(std::string_view account_id,
                                                  std::uint32_t limit) override;
  Answer<commerce::WrittenPolicy> replace(const commerce::NewPolicy& wanted,
                                          const identity::Actor& actor) override;

  Answer<std::optional<std::uint32_t>> open_runs(const commerce::RunRules& rules,
                                                 std::int64_t each_ms) override;
  Answer<std::optional<commerce::Purchase>> note_charge(const commerce::Purchase& run,
                                                        std::int64_t lease_ms) override;

  Answer<std::vector<commerce::AutoTopUp>> list(const commerce::AutoTopUpQuery& query) override;
  Answer<std::optional<commerce::TopUpStanding>> resume(std::string_view account_id,
                                                        const identity::Actor& actor) override;
  Answer<std::optional<commerce::TopUpStanding>> pause(std::string_view account_id,
                                                       const identity::Actor& actor) override;
  Answer<Counts> counts() override;

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
  commerce::Policy write_policy(Transaction& transaction, const commerce::NewPolicy& wanted,
                                std::int64_t revision, const identity::Actor& actor) const;
  // Returns whether a run was opened.
  bool open_run(Transaction& transaction, std::string_view account_id,
                const commerce::RunRules& rules) const;
  // Accounts with few Credits that may run; nullopt: another node scans.
  Answer<std::optional<std::vector<std::string>>> take_scan(std::int64_t each_ms) const;
  commerce::AutoTopUp look_in(Connection& connection, std::string_view account_id) const;
  Answer<std::optional<commerce::TopUpStanding>> set_standing(
      std::string_view account_id, const identity::Actor& actor,
      const commerce::TopUpStanding& standing, std::string_view action) const;

  const Context& context_;
};

}  // namespace turnpike::storage
