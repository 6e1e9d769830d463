// Engine: what the calls of a bound lane share, and likewise the purchases of the processor: the
// facilitators and chains, the payment records, the keys, and the code that brings an open
// settlement to its end, in the call that began it or later. Several engines may work on one store
// at the same time, because nodes and generations do.
//
// Owned by the bound lane or processor. Any fiber, any thread; but only the owner's run() calls
// reconcile() and refresh().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <turnpike/lane.h>

#include "x402/challenge.h"
#include "x402/offers/did.h"
#include "x402/offers/keys.h"
#include "x402/payments.h"
#include "x402/protocol/binding.h"
#include "x402/remote/chain.h"
#include "x402/remote/facilitator.h"
#include "x402/settings.h"

namespace turnpike::x402 {

// What is known of a payment after an attempt to collect it.
struct Collected {
  enum class Outcome : std::uint8_t { paid, refused, not_asked, unknown };
  Outcome outcome = Outcome::unknown;
  std::string reason;  // a code, if refused
};

class Engine {
 public:
  struct Place {
    std::string_view public_origin;
    std::string_view data_dir;
  };
  // May wait: reads keys and asks the store and the facilitators. A failure comes from the settings
  // or the environment. `boot` tells this life of the process from its earlier ones.
  static Result<std::unique_ptr<Engine>> open(const Place& place, LaneSettings settings,
                                              const std::string& boot, Host& host);

  // Gives this node the lease of the payment for `duration_ms` from now on.
  void lease(PaymentRecord& record, std::int64_t duration_ms) const;
  [[nodiscard]] bool is_leased(const PaymentRecord& record) const noexcept;
  // For a payment whose owner could not take `step`: whether nobody else can have collected it in
  // the meantime.
  [[nodiscard]] bool is_still_ours(Step step, const PaymentRecord& record) const noexcept {
    return step != Step::lost && is_leased(record);
  }

  // Nothing was collected, and the holder of the lease does nothing more with the payment.
  Step release(KnownPayment& payment, std::string_view reason, Call& call);

  // What the chain shows of a payment at this moment.
  enum class Shown : std::uint8_t { nothing, unused, used, no_answer };  // nothing: no chain to ask
  Shown shown_by_chain(const PaymentRecord& record, Call& call);
  // Opens the settlement of a payment that was thought to be unpaid but may have been paid.
  Step reopen(KnownPayment& payment, const OpenSettlement& open, Call& call);

  // Asks a facilitator once to settle the payment and writes the outcome. REQUIRES: the payment's
  // state is `settling` and this node holds its lease. `paid` means that the record durably says
  // so, in the state `when_paid`.
  Collected collect(KnownPayment& payment, const OpenSettlement& open, PaymentState when_paid,
                    Call& call);

  // Brings an open settlement whose lease is over one step further. The caller then reads the
  // payment again. `is_awaited`: the payer sent the payment again. Fails if the store does not
  // answer.
  Done resolve(KnownPayment payment, bool is_awaited, Call& call);

  // Looks after every payment with an open settlement whose lease is over, and after payments that
  // are watched, to be audited or to be forgotten.
  Done reconcile(Call& call);
  // Whether the store answered when reconcile() last began. While it does not, nothing can be paid.
  [[nodiscard]] bool has_store() const noexcept {
    return has_store_.load(std::memory_order_relaxed);
  }
  // Takes in changes of this node's keys and asks the facilitators what they support, each when it
  // is due. Returns true if the facilitators were asked.
  bool refresh(Call& call);

  // The longest time that one settlement may take, durable writes included.
  [[nodiscard]] std::int64_t settle_budget_ms() const noexcept { return settle_budget_ms_; }
  [[nodiscard]] std::int64_t verify_budget_ms() const noexcept { return verify_budget_ms_; }

  Host& host;
  const LaneSettings settings;
  const DidWeb did;
  const std::unique_ptr<KeyRing> keys;
  Facilitators facilitators;
  Chains chains;
  Payments payments;
  const Binding binding;
  Challenges challenges;

 private:
  // Returns the PAYMENT-RESPONSE of a payment that is being settled now, with its signed receipt.
  [[nodiscard]] std::string payment_response(const PaymentRecord& record) const;
  struct Identity {
    std::string node;  // the name of this data_dir, for ever
    std::string boot;
  };
  Engine(const Place& place, Host& lane_host, LaneSettings lane_settings, DidWeb did_web,
         std::unique_ptr<KeyRing> ring, const std::array<std::uint8_t, 32>& binding_key,
         Identity identity);

  Collected ended(KnownPayment& payment, const Settlement& settlement, Shown shown,
                  PaymentState when_paid, Call& call);
  enum class Source : std::uint8_t { facilitator, chain };
  Step write_paid(KnownPayment& payment, const std::string& transaction, Source source,
                  PaymentState when_paid, Call& call);
  Step write_unpaid(KnownPayment& payment, PaymentState state, std::string_view reason, Call& call,
                    std::int64_t watch_ms = 0);
  void stay_unknown(KnownPayment& payment, const Settlement& settlement, std::int64_t pause_ms,
                    Call& call);
  Done resolve_unearned(KnownPayment& payment, Call& call);
  std::optional<Done> give_to_purchase(KnownPayment& payment, Call& call);
  [[nodiscard]] std::int64_t end_of_watch_ms(const PaymentRecord& record) const noexcept;
  Done look_at_watched(Call& call);
  Done resolve_watched(KnownPayment& payment, Call& call);
  Result<std::vector<std::string>> look_at_open(Call& call);
  Done audit(Call& call);
  // Asks the chain about a settlement that only a facilitator has reported.
  void audit(const Payments::DueAudit& due, Call& call);
  void audited(KnownPayment& payment, const Payments::DueAudit& due, const ChainAnswer& answer,
               Call& call);
  void confirm(KnownPayment& payment, const Payments::DueAudit& due, const std::string& transaction,
               Call& call);
  void disprove(KnownPayment& payment, const Payments::DueAudit& due, std::string_view proof,
                Call& call);
  void put_off(KnownPayment& payment, const Payments::DueAudit& due, bool is_doubted, Call& call);
  Done forget_some(Call& call);
  void refresh_keys(Call& call);

  const Identity identity_;
  std::int64_t settle_budget_ms_ = 0;
  std::int64_t verify_budget_ms_ = 0;
  std::atomic<bool> has_store_{true};
  std::int64_t refresh_at_ms_ = 0;  // this and the members below are used by run() alone
  std::int64_t keys_at_ms_ = 0;
  std::int64_t audit_at_ms_ = 0;
  std::string forget_after_;
  std::uint64_t passes_ = 0;
  std::uint64_t forget_pass_ = 0;
};

}  // namespace turnpike::x402
