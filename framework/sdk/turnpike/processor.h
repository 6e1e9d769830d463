// Processor: the slot for ways to buy Credits with money: a payment service, a bank account that an
// operator watches, a chain. The gateway keeps purchases, their states and the Credits; a processor
// knows the state of the payments and nothing else.
//
// Life: factory -> bind() once at start -> the bound object's functions, on any host Thread,
// several at once, also for one purchase. The host owns all objects.
//
// The host guarantees: it stores the reference of begin() durably before it shows the URL or calls
// charge(); it calls charge() again for a reference only after look_up() said never_ran; it grants
// Credits by the result of look_up(), never by the content of a notice. The processor guarantees:
// begin() and look_up() move no money; a Failure says truthfully whether the other side may have
// seen the request (Failure::maybe_sent); it keeps no states of purchases.
//
// A Failure is never final: the host tries again, under the same step_key or after a look_up(). A
// definite refusal of the other side is a value: Begun::refusal, Refunded::refusal,
// Progress::declined.
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

// A purchase to pay for; or, for a setup, the account to keep a payment method for. Views are valid
// during the call.
struct Order {
  std::string_view purchase_id;  // "pur_..."; of a setup "pms_..."
  std::string_view account_id;
  std::string_view title;         // for the person who pays: "10,000 Credits"
  std::string_view customer;      // Begun::customer of an earlier order of the account; or empty
  std::string_view saved_method;  // SavedMethod::reference, for charge(); empty: the person pays
  std::string_view success_url;   // the browser goes there afterwards
  std::string_view cancel_url;
  // The idempotency key of this step of this order, valid for ever: the same text is a retry of the
  // same step. Up to 60 characters of a-z, A-Z, 0-9, '_', '-' and '.'.
  std::string_view step_key;
  Price price;
  std::int64_t expires_at_ms = 0;  // the person must begin to pay before
  bool saves_method = false;       // the person wants the payment method to be saved
};

// The result of begin() and begin_setup().
struct Begun {
  std::string reference = {};      // the processor's id, which look_up() takes; 1 to 255 characters
  std::string url = {};            // https, where the person pays; empty: there is no such place
  std::string customer = {};       // for later orders of the account
  std::int64_t expires_at_ms = 0;  // 0: as in the order
  std::string refusal = {};        // a code for people; if set, the other members mean nothing
};

// The result of refund().
struct Refunded {
  std::string reference = {};  // the processor's id of the refund
  std::string refusal = {};    // a code; if set, nothing was refunded, nor will be
};

enum class Progress : std::uint8_t {
  open,        // the person has not paid
  processing,  // the person has paid, and the money is on its way
  paid,
  declined,  // final
  expired,
  cancelled,
  never_ran,  // charge() of this reference had no effect, and may be called
};

// The consequence of a decline for further charges of the saved method.
enum class Decline : std::uint8_t {
  none,
  later,           // another try may work on another day
  needs_customer,  // the person must confirm it
  method_gone,
  never,  // no further try is allowed
};

enum class Dispute : std::uint8_t { none, inquiry, open, won, lost };

// The state of a payment, with its sums since its beginning.
struct Payment {
  Progress progress = Progress::open;
  Decline decline = Decline::none;
  Dispute dispute = Dispute::none;
  std::string currency = {};
  std::int64_t net = 0;       // asked for, without tax
  std::int64_t total = 0;     // including tax
  std::int64_t refunded = 0;  // of the total
  std::string code = {};      // of a decline, for people: "card_declined"
  std::string payment = {};   // the processor's id of the payment; set from `paid` on
  std::string purchase_id = {};  // as the processor recorded it; empty: it has no record
  std::string dispute_id = {};
  std::int64_t tax() const noexcept { return total - net; }
};

// A payment method that a person has saved, for later charges.
struct SavedMethod {
  std::string reference;
  std::string brand;        // "visa"
  std::string last4;        // for people
  std::string fingerprint;  // the same for the same card, whoever saved it; empty: not known
  int expires_month = 0;
  int expires_year = 0;
};

// The state of a setup. Without `method` and `failure` the setup is still open.
struct SetupState {
  std::optional<SavedMethod> method = {};
  std::string failure = {};  // a code for people; if set, there will be no method
};

// Names an object that may have changed. The host only looks it up.
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

// The answer to a request to the processor's intake. The host sends it once the hints are durable;
// when that fails, it tells the sender to send the request again. Faults are those of IntakeReply.
struct Notice {
  IntakeReply reply = {};
  std::vector<Hint> hints = {};
  // Delay the reply until the purchases of the hints were looked up and credited, since the sender
  // understands it as that confirmation.
  bool after_credit = false;
};

// A page of changes since a moment, oldest first.
struct Changes {
  std::vector<Hint> hints;
  std::string cursor;       // for the next page; empty: this was the last one
  std::int64_t until_ms = 0;  // with the last page: all changes before this time were listed
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

// One finding of check(): what is right or wrong, and how to fix it. No secrets.
struct Finding {
  bool is_wrong = false;
  std::string text;
};

// `settings` and `notes` are valid during bind(), everything else as long as the BoundProcessor.
// `where` of failures and notes is a path in `settings`.
struct ProcessorBinding {
  const Settings& settings;  // processors.<name>
  std::string_view public_origin;  // hosts.api.base_url, the base URL of its intake
  std::string_view environment;    // "development", "staging", "production"
  std::string_view deployment_id;  // random, permanent id of this deployment's database
  std::string_view data_dir = {};
  std::vector<Note>* notes = nullptr;
  // lanes.<name>, when the plugin is also a lane: the settings that both slots share are there.
  // Null: the configuration has none, or the plugin is no lane.
  const Settings* lane_settings = nullptr;
};

class BoundProcessor : public BoundObject {
 public:
  // Creates the page where the order is paid. Moves no money. May be called again with the same
  // step_key when the answer was lost; it then creates the same page, or a second one whose URL is
  // shown to no person.
  virtual Result<Begun> begin(const Order& order, Call& call) = 0;
  // The current state of a payment.
  virtual Result<Payment> look_up(std::string_view reference, Call& call) = 0;

  // The functions below are called only when ProcessorTraits declares them.

  // Charges the saved method for an order that begin() took. Called once for a reference.
  virtual Result<Payment> charge(const Order& /*order*/, std::string_view /*reference*/,
                                 Call& /*call*/) {
    return none();
  }
  // Stops the payment: no money shall be taken any more. It may be too late; look_up() tells.
  virtual Done cancel(std::string_view /*reference*/, Call& /*call*/) { return Unit{}; }
  // Refunds `price` of the payment. `key` is the permanent idempotency key of the refund, like
  // step_key.
  virtual Result<Refunded> refund(std::string_view /*payment*/, Price /*price*/,
                                  std::string_view /*key*/, Call& /*call*/) {
    return none();
  }
  // An operator confirms that the money came, for a processor that cannot see that itself.
  virtual Done confirm(std::string_view /*reference*/, Price /*price*/, std::string_view /*note*/,
                       Call& /*call*/) {
    return none();
  }
  virtual Result<Begun> begin_setup(const Order& /*order*/, Call& /*call*/) { return none(); }
  virtual Result<SetupState> look_up_setup(std::string_view /*reference*/, Call& /*call*/) {
    return none();
  }
  // A fresh https URL of the document; nothing: the payment has no such document.
  virtual Result<std::optional<std::string>> payment_document(std::string_view /*reference*/,
                                                              PaymentDocument /*kind*/,
                                                              Call& /*call*/) {
    return std::optional<std::string>{};
  }
  // Handles a request to a path of Offers::intake, instead of receive(). It authenticates the
  // sender. The content of the request has effects through the returned hints alone.
  virtual Result<Notice> notice(const IntakeRequest& /*request*/, Call& /*call*/) { return none(); }
  // A page of changes; `cursor` is that of the page before, or empty.
  virtual Result<Changes> changes(std::int64_t /*since_ms*/, std::string_view /*cursor*/,
                                  Call& /*call*/) {
    return none();
  }
  // Findings for the operator about the processor's configuration. It may ask the remote service.
  virtual std::vector<Finding> check(Call& /*call*/) { return {}; }

 protected:
  static Failure none() {
    return {FailureKind::plugin_fault, "its traits name what it does not have", {}, false};
  }
};

struct ProcessorTraits {
  std::string_view name;               // the plugin's
  std::string_view title = {};         // for people: "Card"; empty: the name
  bool hosts_checkout = false;         // begin() returns a URL where a person pays
  bool charges_saved = false;          // begin_setup(), look_up_setup(), charge()
  bool refunds = false;                // refund()
  bool is_confirmed_by_operator = false;  // confirm()
  bool has_documents = false;          // payment_document()
  bool lists_changes = false;          // changes()
  std::uint32_t begin_timeout_ms = 10'000;
};

class Processor : public SlotObject {
 public:
  [[nodiscard]] virtual ProcessorTraits traits() const noexcept = 0;  // valid until exit
  virtual Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding& binding,
                                                       Host& host) = 0;
};

}  // namespace turnpike
