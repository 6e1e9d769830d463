// Processor: the slot for ways to buy Credits with money: a payment service, a bank account that an
// operator watches, a chain. The gateway keeps purchases, their states and the Credits; a processor
// knows the state of the payments and nothing else.
//
// Life: factory -> bind() once in a process -> the bound object's functions, on any host Thread,
// several at once, also for one purchase. The host owns all objects.
//
// The host guarantees:
// - It stores the reference of begin() durably before it shows the URL or calls charge().
// - It calls charge() again for a reference only after look_up() returned never_ran.
// - It grants Credits by the result of look_up() or charge(), never by the content of a notice.
//
// The processor guarantees:
// - begin() and look_up() move no money.
// - A Failure says truthfully whether the other side may have seen the request
//   (Failure::maybe_sent).
// - It keeps no states of purchases.
//
// A Failure is not final: the host tries again later, begin() for up to a day. It repeats begin()
// under the same step_key, or under a new one if the other side may have seen the request. It
// repeats charge() only after a look_up(). A definite refusal of the other side is a value:
// Begun::refusal, Refunded::refusal, Progress::declined.
//
// A processor may also publish documents, answer requests to paths of its own, run periodic work
// and add commands: turnpike/offers.h. Its settings are `processors.<name>`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/lane.h>
#include <turnpike/message.h>
#include <turnpike/offers.h>
#include <turnpike/result.h>
#include <turnpike/settings.h>

namespace turnpike {

// An amount of money in the smallest part of its currency: {"USD", 1000} is ten dollars.
struct Price {
  std::string_view currency;  // ISO 4217
  std::int64_t minor = 0;
};

// A purchase to pay for, or a setup, which saves a payment method for an account. Views are valid
// during the call.
struct Order {
  std::string_view purchase_id;  // "pur_..."; for a setup "pms_..."
  std::string_view account_id;
  std::string_view title;         // for the person who pays: "10,000 Credits"
  std::string_view customer;      // Begun::customer of an earlier order of the account; or empty
  std::string_view saved_method;  // SavedMethod::reference, for charge(); empty: the person pays
  std::string_view success_url;   // the browser goes there afterwards; empty for charge()
  std::string_view cancel_url;    // likewise, if the person does not pay
  // The idempotency key of this step of this order. It never expires: the same key always means a
  // retry of the same step. Up to 60 characters of a-z, A-Z, 0-9, '_', '-' and '.'.
  std::string_view step_key;
  Price price;                     // the amount is 0 for a setup
  std::int64_t expires_at_ms = 0;  // the person must begin to pay before this time
  bool saves_method = false;       // the person wants the payment method to be saved
};

// The result of begin() and begin_setup().
struct Begun {
  std::string reference = {};      // the processor's id, which look_up() takes; 1 to 255 characters
  std::string url = {};            // http or https, where the person pays; empty: no such page
  std::string customer = {};       // for later orders of the account; up to 255 characters
  std::int64_t expires_at_ms = 0;  // 0: as in the order
  std::string refusal = {};        // a code for people; if set, other members have no meaning
};

// The result of refund().
struct Refunded {
  std::string reference = {};  // the processor's id of the refund
  std::string refusal = {};    // a code; if set, nothing was refunded or will be
};

enum class Progress : std::uint8_t {
  open,        // the person has not paid
  processing,  // the person has paid, and the money is on its way
  paid,
  declined,  // final
  expired,
  cancelled,
  never_ran,  // charge() had no effect for this reference, and may be called again
};

// The consequence of a decline for further charges of the saved method.
enum class Decline : std::uint8_t {
  none,
  later,           // another try on another day may work
  needs_customer,  // the person must confirm it
  method_gone,
  never,  // no further try is allowed
};

enum class Dispute : std::uint8_t { none, inquiry, open, won, lost };

// The state of a payment. The sums are totals since its beginning.
struct Payment {
  Progress progress = Progress::open;
  Decline decline = Decline::none;
  Dispute dispute = Dispute::none;
  std::string currency = {};
  std::int64_t net = 0;       // without tax; the host compares it with the order's price
  std::int64_t total = 0;     // including tax
  std::int64_t refunded = 0;  // of the total
  std::string code = {};      // of a decline, for people: "card_declined"
  std::string payment = {};   // the processor's id of the payment; set at the latest with `paid`
  std::string purchase_id = {};  // as the processor recorded it; empty: not recorded
  std::string dispute_id = {};
  std::int64_t tax() const noexcept { return total - net; }
};

// A payment method that a person has saved, for later charges.
struct SavedMethod {
  std::string reference;
  std::string brand;        // "visa"
  std::string last4;        // for people
  std::string fingerprint;  // equal for the same card, even in other accounts; empty: not known
  int expires_month = 0;
  int expires_year = 0;
};

// The state of a setup. It is still open if neither `method` nor `failure` is set.
struct SetupState {
  std::optional<SavedMethod> method = {};
  std::string failure = {};  // a code for people; if set, there will be no method
};

// Names an object that may have changed. Its only effect is that the host looks the object up.
struct Hint {
  enum class Of : std::uint8_t {
    purchase,   // the id of a purchase
    reference,  // of begin() or begin_setup()
    payment,    // Payment::payment
    setup,      // the id of a setup
    method,     // SavedMethod::reference
  };
  Of of = Of::purchase;
  std::string id;
};

// The answer to a request to the processor's intake. The host sends `reply` after it has stored the
// hints durably. If it cannot store them, it tells the sender to send the request again. The rules
// for IntakeReply apply to `reply`.
struct Notice {
  IntakeReply reply = {};
  std::vector<Hint> hints = {};
  // The sender understands the reply as a confirmation of the credit. So the host looks at due
  // purchases, those of hints first, before it sends the reply. It sends the reply even if a
  // look-up fails.
  bool after_credit = false;
};

// A page of changes since a moment. The pages may come in any order of time.
struct Changes {
  std::vector<Hint> hints;    // oldest first
  std::string cursor;         // for the next page; empty: this is the last page
  std::int64_t until_ms = 0;  // with the last page: all changes before this time are listed
};

enum class PaymentDocument : std::uint8_t { invoice, invoice_pdf, receipt };

constexpr std::string_view name_of(PaymentDocument kind) noexcept {
  switch (kind) {
    case PaymentDocument::invoice: return "invoice";
    case PaymentDocument::invoice_pdf: return "invoice_pdf";
    case PaymentDocument::receipt: return "receipt";
  }
  return "";
}

// A finding of check(): something that is right or wrong, and how to fix it. Without secrets.
struct Finding {
  bool is_wrong = false;
  std::string text;
};

// `settings`, `lane_settings` and `notes` are valid during bind(), everything else as long as the
// BoundProcessor. The `where` of a Note or a Failure is a path in `settings`.
struct ProcessorBinding {
  const Settings& settings;  // processors.<name>
  std::string_view public_origin;  // hosts.api.base_url, the base URL of its intake
  std::string_view environment;    // "development", "staging", "production"
  // A random, permanent id of this deployment's database; empty in commands of the command line.
  std::string_view deployment_id;
  std::string_view data_dir = {};
  std::vector<Note>* notes = nullptr;
  // lanes.<name>, if the plugin is also a lane: the settings that both slots share are there. Null
  // if the plugin is not a lane or the configuration has no such settings.
  const Settings* lane_settings = nullptr;
};

class BoundProcessor : public BoundObject {
 public:
  // Creates the page where the order is paid, or prepares charge() for an order with a saved
  // method. Moves no money. May be called again with the same step_key if the answer was lost. Then
  // it gives the same page again, or another one; a page that the host did not store is shown to
  // nobody.
  virtual Result<Begun> begin(const Order& order, Call& call) = 0;
  // The current state of a payment.
  virtual Result<Payment> look_up(std::string_view reference, Call& call) = 0;

  // The functions below are optional. The host calls a function that ProcessorTraits names only if
  // its trait is set, cancel() and forget_method() only with charges_saved, and notice() only with
  // Offers::intake.

  // Charges the saved method for an order that begin() prepared. Called again for a reference only
  // after look_up() returned never_ran, with another step_key.
  virtual Result<Payment> charge(const Order& /*order*/, std::string_view /*reference*/,
                                 Call& /*call*/) {
    return none();
  }
  // Cancels a payment that charge() has not charged: no money may be taken afterwards. Success does
  // not mean that it was in time; the host calls look_up() to learn that.
  virtual Done cancel(std::string_view /*reference*/, Call& /*call*/) { return Unit{}; }
  // Refunds `price` of the payment. `key` is the idempotency key of the refund and never expires,
  // like step_key.
  virtual Result<Refunded> refund(std::string_view /*payment*/, Price /*price*/,
                                  std::string_view /*key*/, Call& /*call*/) {
    return none();
  }
  // An operator confirms that the money has arrived, for a processor that cannot see this itself.
  virtual Done confirm(std::string_view /*reference*/, Price /*price*/, std::string_view /*note*/,
                       Call& /*call*/) {
    return none();
  }
  virtual Result<Begun> begin_setup(const Order& /*order*/, Call& /*call*/) { return none(); }
  virtual Result<SetupState> look_up_setup(std::string_view /*reference*/, Call& /*call*/) {
    return none();
  }
  // Forgets a saved method (SavedMethod::reference), which a person removed: nobody can charge it
  // afterwards. Success also if it is not there any more. Called again until it succeeds.
  virtual Done forget_method(std::string_view /*method*/, Call& /*call*/) { return Unit{}; }
  // A fresh http or https URL of the document; empty if the payment has no such document.
  virtual Result<std::optional<std::string>> payment_document(std::string_view /*reference*/,
                                                              PaymentDocument /*kind*/,
                                                              Call& /*call*/) {
    return std::optional<std::string>{};
  }
  // Handles a request to a path of Offers::intake, instead of receive(). It must authenticate the
  // sender. The content of the request has no effects except through the returned hints.
  virtual Result<Notice> notice(const IntakeRequest& /*request*/, Call& /*call*/) { return none(); }
  // A page of changes. `cursor` is that of the page before; empty for the first page.
  virtual Result<Changes> changes(std::int64_t /*since_ms*/, std::string_view /*cursor*/,
                                  Call& /*call*/) {
    return none();
  }
  // Findings for the operator about the processor's configuration. May ask the remote service.
  virtual std::vector<Finding> check(Call& /*call*/) { return {}; }

 protected:
  static Failure none() {
    return {FailureKind::plugin_fault, "its traits name what it does not have", {}, false};
  }
};

struct ProcessorTraits {
  std::string_view name;               // that of the plugin
  std::string_view title = {};         // for people: "Card"; empty: the name
  bool hosts_checkout = false;         // begin() returns a URL where a person pays
  bool charges_saved = false;          // begin_setup(), look_up_setup(), charge()
  bool refunds = false;                // refund()
  bool is_confirmed_by_operator = false;  // confirm()
  bool has_documents = false;          // payment_document()
  bool lists_changes = false;          // changes()
  std::uint32_t begin_timeout_ms = 10'000;  // the time for begin() and begin_setup()
};

class Processor : public SlotObject {
 public:
  [[nodiscard]] virtual ProcessorTraits traits() const noexcept = 0;  // valid until exit
  virtual Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding& binding,
                                                       Host& host) = 0;
};

}  // namespace turnpike
