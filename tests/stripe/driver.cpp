// Drives the stripe processor from outside: a command a line on standard input, its answer a line
// on standard output, both JSON. The arguments are the base of the API, the key and the secret of
// webhooks. tests/e2e/test_stripe_contract.py starts it.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "plugin/call_by_hand.h"
#include "plugin/host.h"
#include "plugin/surroundings.h"
#include "runtime/runtime.h"
#include "stripe/processor.h"
#include "wire/client.h"

namespace turnpike::stripe {
namespace {

using nlohmann::json;

constexpr std::string_view progress_names[] = {"open",    "processing", "paid",     "declined",
                                               "expired", "cancelled",  "never_ran"};
constexpr std::string_view decline_names[] = {"none", "later", "needs_customer", "method_gone",
                                              "never"};
constexpr std::string_view dispute_names[] = {"none", "inquiry", "open", "won", "lost"};
constexpr std::string_view hint_names[] = {"purchase", "reference", "payment", "setup", "method"};

template <std::size_t Size, class Enum>
std::string name_in(const std::string_view (&names)[Size], Enum value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

json shown(const Begun& begun) {
  return {{"reference", begun.reference},
          {"url", begun.url},
          {"customer", begun.customer},
          {"expires_at_ms", begun.expires_at_ms},
          {"refusal", begun.refusal}};
}

json shown(const Payment& payment) {
  return {{"progress", name_in(progress_names, payment.progress)},
          {"decline", name_in(decline_names, payment.decline)},
          {"dispute", name_in(dispute_names, payment.dispute)},
          {"currency", payment.currency},
          {"net", payment.net},
          {"total", payment.total},
          {"refunded", payment.refunded},
          {"code", payment.code},
          {"payment", payment.payment},
          {"purchase_id", payment.purchase_id},
          {"dispute_id", payment.dispute_id}};
}

json shown(const Refunded& refunded) {
  return {{"reference", refunded.reference}, {"refusal", refunded.refusal}};
}

json shown(const SetupState& state) {
  json out = {{"failure", state.failure}, {"method", nullptr}};
  if (state.method) {
    out["method"] = {{"reference", state.method->reference},
                     {"brand", state.method->brand},
                     {"last4", state.method->last4},
                     {"fingerprint", state.method->fingerprint}};
  }
  return out;
}

json shown(const std::vector<Hint>& hints) {
  json out = json::array();
  for (const Hint& hint : hints) out.push_back(name_in(hint_names, hint.of) + " " + hint.id);
  return out;
}

json shown(const Notice& notice) {
  return {{"status", notice.reply.status}, {"hints", shown(notice.hints)}};
}

json shown(const Changes& changes) {
  return {
      {"hints", shown(changes.hints)}, {"cursor", changes.cursor}, {"until_ms", changes.until_ms}};
}

json shown(const std::optional<std::string>& url) { return url ? json(*url) : json(nullptr); }
json shown(const Unit&) { return true; }

template <class T>
json shown(const Result<T>& result) {
  if (result.ok()) return {{"done", shown(*result)}};
  return {{"failed", result.error().message}, {"maybe_sent", result.error().maybe_sent}};
}

struct OwnedOrder {
  explicit OwnedOrder(const json& from) : texts(from) {
    order.purchase_id = text("purchase_id");
    order.account_id = text("account_id");
    order.title = text("title");
    order.customer = text("customer");
    order.saved_method = text("saved_method");
    order.success_url = text("success_url");
    order.cancel_url = text("cancel_url");
    order.step_key = text("step_key");
    order.price = {"USD", from.value("minor", std::int64_t{0})};
    order.expires_at_ms = from.value("expires_at_ms", std::int64_t{0});
    order.saves_method = from.value("saves_method", false);
  }
  [[nodiscard]] std::string_view text(const char* name) const {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string_view()
                                : std::string_view(found->get_ref<const std::string&>());
  }
  json texts;
  Order order;
};

json run(BoundProcessor& stripe, const json& command) {
  const std::string name = command.at("do");
  const std::string reference = command.value("reference", "");
  plugin::CallByHand call(runtime::Deadline::after_ms(command.value("timeout_ms", 30'000)));
  const OwnedOrder owned(command.value("order", json::object()));
  if (name == "begin") return shown(stripe.begin(owned.order, call));
  if (name == "charge") return shown(stripe.charge(owned.order, reference, call));
  if (name == "begin_setup") return shown(stripe.begin_setup(owned.order, call));
  if (name == "look_up") return shown(stripe.look_up(reference, call));
  if (name == "look_up_setup") return shown(stripe.look_up_setup(reference, call));
  if (name == "forget_method") return shown(stripe.forget_method(reference, call));
  if (name == "cancel") return shown(stripe.cancel(reference, call));
  if (name == "refund") {
    const Price price{"USD", command.at("minor").get<std::int64_t>()};
    return shown(stripe.refund(reference, price, command.at("key").get<std::string>(), call));
  }
  if (name == "document") {
    const auto kind = static_cast<PaymentDocument>(command.at("kind").get<int>());
    return shown(stripe.payment_document(reference, kind, call));
  }
  if (name == "notice") {
    const std::string body = command.at("body"), signature = command.at("signature");
    const HeaderField header{"Stripe-Signature", signature};
    IntakeRequest request;
    request.path = "webhook";
    request.headers = {&header, 1};
    request.body = body;
    return shown(stripe.notice(request, call));
  }
  if (name == "changes") {
    return shown(stripe.changes(command.value("since_ms", std::int64_t{0}),
                                command.value("cursor", ""), call));
  }
  json findings = json::array();
  for (const Finding& finding : stripe.check(call)) {
    findings.push_back({{"is_wrong", finding.is_wrong}, {"text", finding.text}});
  }
  return {{"done", findings}};
}

Settings settings_of(char** arguments, std::string_view tax) {
  return map({{"api_base", scalar(arguments[1])},
              {"api_key", secret(arguments[2])},
              {"webhook_secrets", list({secret(arguments[3])})},
              {"tax", scalar(std::string(tax))}});
}

int drive(char** arguments) {
  plugin::Surroundings surroundings;
  runtime::Runtime runtime{runtime::RuntimeOptions{}};
  const auto client = wire::make_client(runtime, {});
  auto resources = surroundings.resources();
  plugin::PluginHost host("stripe", plugin::HostResources{.log = resources.log,
                                                          .metrics = resources.metrics,
                                                          .clock = resources.clock,
                                                          .random = resources.random,
                                                          .http = *client,
                                                          .pool = runtime.pool(),
                                                          .stores = resources.stores});
  StripeProcessor processor;
  const auto bind = [&](std::string_view tax) {
    const Settings settings = settings_of(arguments, tax);
    auto bound = processor.bind({settings, "http://gateway.test", "development", "dep_1"}, host);
    if (bound.ok()) return *std::move(bound);
    std::cerr << bound.error().where << ": " << bound.error().message << '\n';
    return std::unique_ptr<BoundProcessor>();
  };
  const auto taxed = bind("automatic");
  const auto untaxed = bind("none");  // cards are saved and charged without tax alone
  if (!taxed || !untaxed) return 1;
  std::cout << R"({"ready":true})" << '\n' << std::flush;
  for (std::string line; std::getline(std::cin, line);) {
    const json command = json::parse(line);
    const json order = command.value("order", json::object());
    const bool is_of_card =
        command.at("do") == "begin_setup" || !order.value("saved_method", "").empty();
    std::cout << run(is_of_card ? *untaxed : *taxed, command).dump() << '\n' << std::flush;
  }
  client->stop();
  return 0;
}

}  // namespace
}  // namespace turnpike::stripe

int main(int count, char** arguments) {
  if (count != 4) return 2;
  return turnpike::stripe::drive(arguments);
}
