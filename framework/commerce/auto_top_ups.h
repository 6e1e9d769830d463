// AutoTopUps: Auto Top-Up for people (save a method, see and replace the policy) and its background
// work: methods being saved are looked at, and accounts with few Credits get a run, which the
// reconciler then begins and charges.
//
// Owned by app/. Its functions for people are called on fibers of any loop, which they suspend;
// pass() by one fiber at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "commerce/desk.h"

namespace turnpike::commerce {

// A request to replace the policy.
struct PolicyWish {
  Policy policy;  // without revision, author and time; Credits are filled in
  std::int64_t expected_revision = 0;
  std::string idempotency_key;
};

struct BegunSetup {
  std::string body;
  std::string id;
  bool is_repeat = false;
  bool is_begun = true;  // false: the payment service has not answered yet
};

class AutoTopUps {
 public:
  AutoTopUps(Desk& desk, AutoTopUpStore& store, base::Metrics& metrics)
      : desk_(desk), store_(store), metrics_(metrics) {}

  static constexpr std::uint32_t setups_shown_max = 20;
  static constexpr std::uint32_t revisions_shown_max = 20;

  // Processors in service that charge saved methods; empty: no policy can be turned on.
  [[nodiscard]] std::vector<const ProcessorInService*> processors() const;

  Result<AutoTopUp, base::Error> look(std::string_view account_id);
  // Newest first, at most revisions_shown_max.
  Result<std::vector<Policy>, base::Error> revisions(std::string_view account_id);
  // Errors: those of AutoTopUpStore::replace() and of problem_of(Policy, Terms), and
  // purchase.offer_not_found: the method's processor sells nothing here.
  Result<WrittenPolicy, base::Error> replace(PolicyWish wish, const identity::Actor& actor);

  // `body_of` renders the reply for the current setup. Once a setup was begun, its key always gets
  // the same reply. Errors: purchase.offer_not_found (no such processor charges saved methods
  // here), purchase.declined (the processor refused to begin), idempotency.in_progress, those of
  // AutoTopUpStore::open_setup().
  using SetupBody = std::function<std::string(const MethodSetup&)>;
  Result<BegunSetup, base::Error> begin_setup(std::string_view account_id,
                                              std::string_view processor, std::string_view key,
                                              const identity::Actor& actor,
                                              const SetupBody& body_of);
  // auto_reload.setup_not_found: the account has no setup with this id. A setup that waits for a
  // person is looked at now, unless it was looked at just before.
  Result<MethodSetup, base::Error> find_setup(std::string_view account_id, std::string_view id);
  // Newest first.
  Result<std::vector<MethodSetup>, base::Error> setups(std::string_view account_id);
  // Removes a saved method. It is charged no more; that the processor forgets it is background
  // work, repeated until it is done. Errors: those of AutoTopUpStore::remove_method().
  Result<MethodSetup, base::Error> remove(std::string_view account_id, std::string_view id,
                                          const identity::Actor& actor);

  // One round: due setups, and a scan for accounts with few Credits. The runs that it opens are due
  // at once.
  void pass();

 private:
  // Fills in the Credits that the policy's amount buys now, or the problem.
  Result<Unit, base::Error> price(NewPolicy& wanted);
  Result<MethodSetup, base::Error> work_on(const MethodSetup& setup);
  Result<MethodSetup, base::Error> begin(const MethodSetup& setup);
  Result<MethodSetup, base::Error> forget(const MethodSetup& setup);
  Result<MethodSetup, base::Error> write(const MethodSetup& next);
  Result<MethodSetup, base::Error> give_up(const MethodSetup& setup, const Failure& failure,
                                           std::string_view what);
  Result<std::vector<Offer>, base::Error> offers();
  void look_at_due();
  void report(std::string_view what, const base::Error& error);
  void report_counts();

  Desk& desk_;
  AutoTopUpStore& store_;
  base::Metrics& metrics_;
  std::int64_t counted_ns_ = 0;
};

}  // namespace turnpike::commerce
