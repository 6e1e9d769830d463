// Processor: the slot for ways to buy Credits with money: a payment service, a bank account that an
// operator looks at, a chain. The gateway keeps purchases, their states and the Credits; a
// processor knows what became of the money and nothing else.
//
// Life: factory -> bind() once at start -> the bound object's functions, on any host Thread,
// several at once, also for one purchase. The host owns all objects.
//
// The host promises: the reference that begin() answered is durable before its URL is shown or
// charge() is called; charge() is called again for a reference only when look_up() said that it
// never ran; Credits follow from what look_up() says, never from what a notice says.
// The processor promises: begin() and look_up() move no money; a Failure says honestly whether the
// other side may have seen the request (Failure::maybe_sent); it keeps no states of purchases.
//
// A Failure is nobody's last word: whatever failed is tried again, under the same step_key or after
// a look. What the other side refuses for good is an answer: Begun::refusal, Refunded::refusal,
// Progress::declined.
//
// A processor may also publish documents, answer requests to paths of its own, do work of its own
// and add commands: turnpike/offers.h. Settings stand under `processors.<name>`.
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

// What is to be paid for, or, of a setup, for whom a method is to be kept. Views are valid during
// the call.
struct Order {
  std::string_view purchase_id;  // "pur_..."; of a setup "pms_..."
  std::string_view account_id;
  std::string_view title;         // for the person who pays: "10,000 Credits"
  std::string_view customer;      // Begun::customer of an earlier order of the account; or empty
  std::string_view saved_method;  // SavedMethod::reference, for charge(); empty: the person pays
  std::string_view success_url;   // where the person's browser goes afterwards
  std::string_view cancel_url;
  // Names this step of this order for ever: the same text is the same step, tried again. Up to 60
  // characters of a-z, A-Z, 0-9, '_', '-' and '.'.
  std::string_view step_key;
  Price price;
  std::int64_t expires_at_ms = 0;  // when the person may not begin to pay any more
  bool saves_method = false;       // the person wants what they pay with to be kept
};

// What begin() and begin_setup() answer.
struct Begun {
  std::string reference = {};      // of the processor: look_up() takes it; 1 to 255 characters
  std::string url = {};            // where the person pays, https; empty: nowhere
  std::string customer = {};       // for further orders of the account
  std::int64_t expires_at_ms = 0;  // 0: as the order said
  std::string refusal = {};        // a code for people; then the rest means nothing
};

// What refund() answers.
struct Refunded {
  std::string reference = {};  // the processor's name for it
  std::string refusal = {};    // a code; then nothing was given back, nor will be
};

enum class Progress : std::uint8_t {
  open,        // the person has not paid
  processing,  // they have, and the money is on its way
  paid,
  declined,  // for good
  expired,
  cancelled,
  never_ran,  // charge() of this reference had no effect, and may be called
};

// What a decline means for further charges of the saved method.
enum class Decline : std::uint8_t {
  none,
  later,           // another try may work on another day
  needs_customer,  // the person must confirm it
  method_gone,
  never,  // no further try is allowed
};

enum class Dispute : std::uint8_t { none, inquiry, open, won, lost };

// All that is known of a payment, from its beginning: what was refunded is the sum until now.
struct Payment {
  Progress progress = Progress::open;
  Decline decline = Decline::none;
  Dispute dispute = Dispute::none;
  std::string currency = {};
  std::int64_t net = 0;       // asked for, without tax
  std::int64_t total = 0;     // with tax
  std::int64_t refunded = 0;  // of the total
  std::string code = {};      // of a decline, for people: "card_declined"
  std::string payment = {};   // the processor's name for it; set from `paid` on
  std::string purchase_id = {};  // whose it is, as the processor knows; empty: it has no note
  std::string dispute_id = {};
  std::int64_t tax() const noexcept { return total - net; }
};

// What a person lets the gateway charge later.
struct SavedMethod {
  std::string reference;
  std::string brand;        // "visa"
  std::string last4;        // for people
  std::string fingerprint;  // the same for the same card, whoever saved it; empty: not known
  int expires_month = 0;
  int expires_year = 0;
};

// What became of a setup: nothing of `method`, and no `failure`: it is still open.
struct SetupState {
  std::optional<SavedMethod> method = {};
  std::string failure = {};  // a code for people; then there will be no method
};

// Names something that may have changed: a reason to look it up, and no more.
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

// The answer to a request to the processor's intake. It is sent once the hints are durable: when
// that fails, the sender is told to come again. A fault is named as for IntakeReply.
struct Notice {
  IntakeReply reply = {};
  std::vector<Hint> hints = {};
  // The reply waits until the purchases of the hints were looked up and credited, since the sender
  // takes it for that.
  bool after_credit = false;
};

// Changes since a moment, oldest first.
struct Changes {
  std::vector<Hint> hints;
  std::string cursor;       // for the next page; empty: this was the last
  std::int64_t until_ms = 0;  // all before it has been told, once the last page was read
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

// One finding of check(): what is right or wrong, and what to do about it. No secrets.
struct Finding {
  bool is_wrong = false;
  std::string text;
};

// All but the settings and `notes` are valid as long as the BoundProcessor. Failures and notes say
// in `where` which setting of `settings` they are about.
struct ProcessorBinding {
  const Settings& settings;  // processors.<name>
  std::string_view public_origin;  // hosts.api.base_url, below which its intake stands
  std::string_view environment;    // "development", "staging", "production"
  std::string_view deployment_id;  // random, of this deployment's database for ever
  std::string_view data_dir = {};
  std::vector<Note>* notes = nullptr;
  // lanes.<name>, of a plugin that is a lane, too: what both need stands there once. Null: the
  // configuration has none, or the plugin is no lane.
  const Settings* lane_settings = nullptr;
};

class BoundProcessor : public BoundObject {
 public:
  // Makes the place where the order is paid. Moves no money. May be called again with the same
  // step_key, when the answer was lost; then the same place is made, or a second one of which
  // nobody learns.
  virtual Result<Begun> begin(const Order& order, Call& call) = 0;
  // The whole truth about a payment, now.
  virtual Result<Payment> look_up(std::string_view reference, Call& call) = 0;

  // The functions below are called where ProcessorTraits says that there is such a thing.

  // Takes the money of a begun order from its saved method. Once for a reference.
  virtual Result<Payment> charge(const Order& /*order*/, std::string_view /*reference*/,
                                 Call& /*call*/) {
    return none();
  }
  // No money is to be taken any more. It may be too late: look_up() tells.
  virtual Done cancel(std::string_view /*reference*/, Call& /*call*/) { return Unit{}; }
  // Gives `price` of the payment back; `key` names the refund for ever, as a step_key does.
  virtual Result<Refunded> refund(std::string_view /*payment*/, Price /*price*/,
                                  std::string_view /*key*/, Call& /*call*/) {
    return none();
  }
  // An operator has seen the money, of a processor that cannot see it.
  virtual Done confirm(std::string_view /*reference*/, Price /*price*/, std::string_view /*note*/,
                       Call& /*call*/) {
    return none();
  }
  virtual Result<Begun> begin_setup(const Order& /*order*/, Call& /*call*/) { return none(); }
  virtual Result<SetupState> look_up_setup(std::string_view /*reference*/, Call& /*call*/) {
    return none();
  }
  // A fresh URL, https; nothing: the payment has no such document.
  virtual Result<std::optional<std::string>> payment_document(std::string_view /*reference*/,
                                                              PaymentDocument /*kind*/,
                                                              Call& /*call*/) {
    return std::optional<std::string>{};
  }
  // A request to a path of Offers::intake, in place of receive(). Who speaks is checked here;
  // whatever it says has effects through the hints alone.
  virtual Result<Notice> notice(const IntakeRequest& /*request*/, Call& /*call*/) { return none(); }
  // A page of what changed; `cursor`: that of the page before, or empty.
  virtual Result<Changes> changes(std::int64_t /*since_ms*/, std::string_view /*cursor*/,
                                  Call& /*call*/) {
    return none();
  }
  // What an operator should know of how the processor is set up. It may ask the other side.
  virtual std::vector<Finding> check(Call& /*call*/) { return {}; }

 protected:
  static Failure none() {
    return {FailureKind::plugin_fault, "its traits name what it does not have", {}, false};
  }
};

struct ProcessorTraits {
  std::string_view name;               // that of the plugin
  std::string_view title = {};         // for people: "Card"; empty: the name
  bool hosts_checkout = false;         // begin() answers a URL where a person pays
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
