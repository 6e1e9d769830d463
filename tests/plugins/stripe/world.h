// A bound stripe processor over a Stripe that follows a script, and the requests that it sent. One
// Thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/http/scripted_host.h"
#include "stripe/processor.h"

namespace turnpike::stripe {

using Answer = http::ScriptedHost::Answer;
using Seen = http::ScriptedHost::Seen;
using Pairs = std::vector<std::pair<std::string, std::string>>;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

inline const std::string key = "rk_test_topSECRETkey";
inline const std::string webhook_secret = "whsec_topSECRETtoo";

// The names and values of a form or a query, decoded.
inline Pairs decoded(std::string_view form) {
  const auto plain = [](std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '%') {
        out += text[at];
        continue;
      }
      out += static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16));
      at += 2;
    }
    return out;
  };
  Pairs pairs;
  while (!form.empty()) {
    const std::string_view item = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(form.size(), item.size() + 1));
    const std::size_t middle = item.find('=');
    pairs.emplace_back(plain(item.substr(0, middle)), plain(item.substr(middle + 1)));
  }
  return pairs;
}

inline Answer json(std::string body, int status = 200, std::vector<OwnedHeader> headers = {}) {
  headers.push_back({"Request-Id", "req_1"});
  return {status, std::move(headers), std::move(body)};
}
inline Answer refusal(int status, const std::string& members) {
  return json(R"({"error":{)" + members + "}}", status);
}
inline Answer broken(FailureKind kind, bool maybe_sent) {
  Answer answer;
  answer.failure = Failure{kind, "the connection broke", {}, maybe_sent};
  return answer;
}

class StripeTest : public ::testing::Test {
 protected:
  StripeTest() {
    constexpr std::int64_t passed_ms = 1'790'000'000'000 - 1'000;
    host_.scripted_clock.move_ms(passed_ms);
    call_.extend_ms(passed_ms);
  }

  static std::vector<Settings::Field> fields() {
    return {{"api_key", secret(key)}, {"webhook_secrets", list({secret(webhook_secret)})}};
  }
  // The settings with these fields replaced or added.
  static Settings with(std::vector<Settings::Field> more) {
    std::vector<Settings::Field> all = fields();
    for (Settings::Field& field : more) {
      std::erase_if(all, [&field](const auto& each) { return each.name == field.name; });
      all.push_back(std::move(field));
    }
    return map(std::move(all));
  }
  Result<std::unique_ptr<BoundProcessor>> try_bind(const Settings& settings,
                                                   std::string_view environment = "development") {
    ProcessorBinding binding{settings, "https://api.example.org", environment, "dep_1"};
    binding.notes = &notes_;
    StripeProcessor processor;
    return processor.bind(binding, host_);
  }
  BoundProcessor& bind(const Settings& settings = map(fields())) {
    auto bound = try_bind(settings);
    EXPECT_TRUE(bound.ok()) << (bound.ok() ? "" : bound.error().message);
    bound_ = *std::move(bound);
    return *bound_;
  }
  BoundProcessor& stripe() { return bound_ == nullptr ? bind() : *bound_; }

  void answer(Answer next) { host_.script.push_back(std::move(next)); }
  // Answers that nothing was refunded or disputed.
  void answer_nothing_followed() {
    answer(json(R"({"data":[],"has_more":false})"));
    answer(json(R"({"data":[],"has_more":false})"));
  }
  [[nodiscard]] const Seen& sent(std::size_t number = 0) const { return host_.seen.at(number); }
  [[nodiscard]] Pairs form_sent(std::size_t number = 0) const { return decoded(sent(number).body); }
  [[nodiscard]] Pairs query_sent(std::size_t number = 0) const {
    const std::string& url = sent(number).url;
    const std::size_t at = url.find('?');
    return at == url.npos ? Pairs{} : decoded(std::string_view(url).substr(at + 1));
  }
  [[nodiscard]] std::string path_sent(std::size_t number = 0) const {
    const std::string url = sent(number).url.substr(0, sent(number).url.find('?'));
    return url.substr(std::string("https://api.stripe.com").size());
  }
  [[nodiscard]] std::string key_sent(std::size_t number = 0) const {
    const auto values = sent(number).values_of("Idempotency-Key");
    return values.size() == 1 ? values[0] : "";
  }
  // Checks after each test that the operator's logs contain no secret.
  void TearDown() override {
    for (const std::string& line : host_.logged) expect_no_secret(line);
    EXPECT_TRUE(host_.script.empty()) << host_.script.size() << " answers nobody asked for";
  }
  static void expect_no_secret(const std::string& text) {
    EXPECT_THAT(text, Not(HasSubstr("SECRET")));
    EXPECT_THAT(text, Not(HasSubstr("4242")));  // a card number in the tests' refusals
  }

  static Order order() {
    Order order;
    order.purchase_id = "pur_1";
    order.account_id = "acc_1";
    order.title = "10,000 Credits";
    order.customer = "cus_1";
    order.success_url = "https://web.example.org/bought?a=1&b=2";
    order.cancel_url = "https://web.example.org/not";
    order.step_key = "pur_1.begin";
    order.price = {"USD", 1000};
    order.expires_at_ms = 1'790'003'600'000;
    return order;
  }

  http::ScriptedHost host_;
  http::ScriptedCall call_{host_.scripted_clock, 10'000};
  std::vector<Note> notes_;
  std::unique_ptr<BoundProcessor> bound_;
};

}  // namespace turnpike::stripe
