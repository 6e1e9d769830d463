// The guard of processors (guard.h): runs each function of a bound processor where it may block,
// with arguments that the call owns, and checks its answers against the interface
// (turnpike/processor.h).
#include <algorithm>
#include <array>
#include <utility>

#include "plugin/guard.h"
#include "plugin/guarded.h"
#include "plugin/offers.h"

namespace turnpike::plugin {
namespace {

constexpr std::size_t reference_bytes_max = 255;
constexpr std::size_t url_bytes_max = 4'096;

Failure broken(std::string what) {
  return {FailureKind::plugin_fault, std::move(what), {}, true};
}

// An order whose views point into itself.
class OwnedOrder {
 public:
  explicit OwnedOrder(const Order& order)
      : texts_{std::string(order.purchase_id),  std::string(order.account_id),
               std::string(order.title),        std::string(order.customer),
               std::string(order.saved_method), std::string(order.success_url),
               std::string(order.cancel_url),   std::string(order.step_key),
               std::string(order.price.currency)},
        minor_(order.price.minor),
        expires_at_ms_(order.expires_at_ms),
        saves_method_(order.saves_method) {}
  OwnedOrder(const OwnedOrder&) = delete;
  OwnedOrder& operator=(const OwnedOrder&) = delete;
  [[nodiscard]] Order view() const {
    return {texts_[0], texts_[1], texts_[2], texts_[3], texts_[4],
            texts_[5], texts_[6], texts_[7], {texts_[8], minor_}, expires_at_ms_,
            saves_method_};
  }

 private:
  const std::array<std::string, 9> texts_;
  const std::int64_t minor_;
  const std::int64_t expires_at_ms_;
  const bool saves_method_;
};

bool is_visible(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(), [](char each) { return each > ' ' && each <= '~'; });
}

bool is_web_url(std::string_view url) {
  return is_visible(url, url_bytes_max) &&
         (url.starts_with("https://") || url.starts_with("http://"));
}

Result<Begun> checked(Result<Begun> begun) {
  if (!begun.ok() || !begun->refusal.empty()) return begun;
  if (begun->reference.empty() || !is_visible(begun->reference, reference_bytes_max)) {
    return broken("it began an order without a reference of 1 to 255 visible characters");
  }
  if (!is_visible(begun->customer, reference_bytes_max)) {
    return broken("its name of a customer is not up to 255 visible characters");
  }
  if (!begun->url.empty() && !is_web_url(begun->url)) {
    return broken("it answered a URL that is none of the web");
  }
  return begun;
}

Result<Payment> checked(Result<Payment> payment) {
  if (!payment.ok()) return payment;
  const bool is_paid = payment->progress == Progress::paid;
  if (is_paid && (payment->payment.empty() || payment->currency.empty() || payment->net <= 0)) {
    return broken("it says paid without the payment's name, currency and amount");
  }
  if (payment->total < payment->net || payment->net < 0 || payment->refunded < 0 ||
      payment->refunded > payment->total) {
    return broken("its amounts of a payment do not fit each other");
  }
  if (!is_visible(payment->payment, reference_bytes_max) ||
      !is_visible(payment->dispute_id, reference_bytes_max) || payment->code.size() > 200) {
    return broken("its names of a payment are too long, or not visible");
  }
  return payment;
}

class GuardedBoundProcessor final : public GuardedBound<BoundProcessor> {
 public:
  GuardedBoundProcessor(Guard& guard, std::shared_ptr<BoundProcessor> inner)
      : GuardedBound(guard, inner), inner_(std::move(inner)) {}

  Result<Begun> begin(const Order& order, Call& call) override {
    return call_plugin(guard_, call, [inner = inner_, kept = keep(order)](Call& own) {
      return checked(inner->begin(kept->view(), own));
    });
  }

  Result<Payment> look_up(std::string_view reference, Call& call) override {
    return call_plugin(guard_, call, [inner = inner_, name = std::string(reference)](Call& own) {
      return checked(inner->look_up(name, own));
    });
  }

  Result<Payment> charge(const Order& order, std::string_view reference, Call& call) override {
    return call_plugin(guard_, call,
                       [inner = inner_, kept = keep(order),
                        name = std::string(reference)](Call& own) {
                         return checked(inner->charge(kept->view(), name, own));
                       });
  }

  Done cancel(std::string_view reference, Call& call) override {
    return call_plugin(guard_, call, [inner = inner_, name = std::string(reference)](Call& own) {
      return inner->cancel(name, own);
    });
  }

  Result<Refunded> refund(std::string_view payment, Price price, std::string_view key,
                          Call& call) override {
    return call_plugin(guard_, call,
                       [inner = inner_, name = std::string(payment),
                        currency = std::string(price.currency), minor = price.minor,
                        own_key = std::string(key)](Call& own) {
                         return inner->refund(name, {currency, minor}, own_key, own);
                       });
  }

  Done confirm(std::string_view reference, Price price, std::string_view note,
               Call& call) override {
    return call_plugin(guard_, call,
                       [inner = inner_, name = std::string(reference),
                        currency = std::string(price.currency), minor = price.minor,
                        own_note = std::string(note)](Call& own) {
                         return inner->confirm(name, {currency, minor}, own_note, own);
                       });
  }

  Result<Begun> begin_setup(const Order& order, Call& call) override {
    return call_plugin(guard_, call, [inner = inner_, kept = keep(order)](Call& own) {
      return checked(inner->begin_setup(kept->view(), own));
    });
  }

  Result<SetupState> look_up_setup(std::string_view reference, Call& call) override {
    return call_plugin(
        guard_, call,
        [inner = inner_, name = std::string(reference)](Call& own) -> Result<SetupState> {
          auto state = inner->look_up_setup(name, own);
          if (!state.ok() || !state->method) return state;
          if (!state->method->reference.empty()) return state;
          return broken("it saved a method without a reference");
        });
  }

  Done forget_method(std::string_view method, Call& call) override {
    return call_plugin(guard_, call, [inner = inner_, name = std::string(method)](Call& own) {
      return inner->forget_method(name, own);
    });
  }

  Result<std::optional<std::string>> payment_document(std::string_view reference,
                                                      PaymentDocument kind, Call& call) override {
    using Url = Result<std::optional<std::string>>;
    return call_plugin(guard_, call,
                       [inner = inner_, name = std::string(reference), kind](Call& own) -> Url {
                         auto url = inner->payment_document(name, kind, own);
                         if (!url.ok() || !*url || is_web_url(**url)) return url;
                         return broken("its document is at a URL that is none of the web");
                       });
  }

  Result<Notice> notice(const IntakeRequest& request, Call& call) override {
    const auto kept = std::make_shared<OwnedIntake>(request);
    return call_plugin(guard_, call, [inner = inner_, kept](Call& own) -> Result<Notice> {
      auto notice = inner->notice(kept->view(), own);
      if (!notice.ok()) return notice;
      std::string problem = problem_of_reply(notice->reply);
      if (problem.empty()) return notice;
      return broken(std::move(problem));
    });
  }

  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call& call) override {
    return call_plugin(guard_, call,
                       [inner = inner_, since_ms, place = std::string(cursor)](Call& own) {
                         return inner->changes(since_ms, place, own);
                       });
  }

  std::vector<Finding> check(Call& call) override {
    using Found = Result<std::vector<Finding>>;
    auto found = call_plugin(guard_, call, [inner = inner_](Call& own) -> Found {
      return inner->check(own);
    });
    if (found.ok()) return *std::move(found);
    return {{true, found.error().message}};
  }

 private:
  static std::shared_ptr<OwnedOrder> keep(const Order& order) {
    return std::make_shared<OwnedOrder>(order);
  }

  const std::shared_ptr<BoundProcessor> inner_;
};

class GuardedProcessor final : public GuardedSlot<Processor> {
 public:
  using GuardedSlot::GuardedSlot;

  [[nodiscard]] ProcessorTraits traits() const noexcept override { return inner_.traits(); }

  // The objects that `binding` refers to outlive the bound processor, so they are not copied.
  Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding& binding,
                                               Host& host) override {
    auto bound = bind_guarded<BoundProcessor>(guard_, "processor",
                                              [&] { return inner_.bind(binding, host); });
    if (!bound.ok()) return bound;
    return std::unique_ptr<BoundProcessor>(
        std::make_unique<GuardedBoundProcessor>(guard_, share(guard_, *std::move(bound))));
  }
};

}  // namespace

std::unique_ptr<Processor> Guard::wrap(Processor& processor) {
  return std::make_unique<GuardedProcessor>(*this, processor);
}

}  // namespace turnpike::plugin
