// What one paid call costs a loop thread before anybody is asked: decode, match, digest, recovery,
// MAC, and all together, with `allocs` for each. The header is one that clients send: it echoes a
// challenge with two entries, a signed offer, its schema and our binding. The baseline is the same
// header read by nlohmann-json alone. Budget: everything but the recovery in 15 us.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>

#include "plugins/x402/payer.h"
#include "support/allocations.h"
#include "x402/protocol/binding.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/extensions.h"
#include "x402/protocol/signature.h"
#include "x402/protocol/verify.h"

namespace turnpike::x402 {
namespace {

constexpr std::uint64_t now_s = 1'800'000'000;
constexpr std::string_view body = R"({"question":"who voted?","limit":20})";

struct PaidCall {
  PaidCall() {
    const std::string entry = canonical_json(requirements);
    const std::array<std::string_view, 2> entries{entry, entry};
    nlohmann::json payload = signed_payload();
    payload["extensions"] = {
        {"turnpike-binding",
         nlohmann::json::parse(binding.extension_json(request(), entries, now_s + 300, {}))},
        {"payment-identifier",
         {{"info", {{"required", false}, {"id", "pay_0123456789abcdef0123456789abcdef"}}},
          {"schema", {{"type", "object"}, {"properties", {{"id", {{"type", "string"}}}}}}}}},
        {"offer-receipt",
         {{"info",
           {{"offers",
             {{{"format", "jws"}, {"acceptIndex", 0}, {"signature", std::string(560, 'J')}}}}}},
          {"schema", {{"type", "object"}, {"properties", {{"offers", {{"type", "array"}}}}}}}}}};
    header = header_of(payload);
    offered.push_back({"payment-identifier", std::move(*JsonText::parse(R"({"required":false})"))});
    offered.push_back({"offer-receipt", std::move(*JsonText::parse(R"({"offers":[]})"))});
  }

  static BoundRequest request() {
    return {"rt_0123456789abcdef", "POST", "/v1/governance/lookup", "limit=20", sha256(body)};
  }

  [[nodiscard]] PaymentPayload decoded() const { return std::move(*decode_payment(header)); }

  PaymentRequirements requirements = sample_requirements();
  DomainSeparators separators{std::span(&requirements, 1)};
  Binding binding{std::array<std::uint8_t, 32>{1, 2, 3}};
  std::vector<OfferedExtension> offered;
  std::string header;
};

const PaidCall& paid_call() {
  static const PaidCall call;
  return call;
}

// Runs `step` in the benchmark loop of `state` and reports its allocations.
template <class Step>
void measure(benchmark::State& state, Step step) {
  step();  // makes the thread's hash objects
  const std::uint64_t before = allocations_so_far();
  for (auto _ : state) benchmark::DoNotOptimize(step());
  state.counters["allocs"] = benchmark::Counter(static_cast<double>(allocations_so_far() - before),
                                                benchmark::Counter::kAvgIterations);
}

void BM_NlohmannReadsTheHeader(benchmark::State& state) {
  const std::string& header = paid_call().header;
  measure(state, [&] {
    return nlohmann::json::parse(*base64_decode(header, payment_header_bytes_max)).size();
  });
}
BENCHMARK(BM_NlohmannReadsTheHeader);

void BM_JsonTextReadsTheHeader(benchmark::State& state) {
  const std::string& header = paid_call().header;
  measure(state,
          [&] { return JsonText::parse(*base64_decode(header, payment_header_bytes_max)).ok(); });
}
BENCHMARK(BM_JsonTextReadsTheHeader);

void BM_Base64(benchmark::State& state) {
  const std::string& header = paid_call().header;
  measure(state, [&] { return base64_decode(header, payment_header_bytes_max)->size(); });
}
BENCHMARK(BM_Base64);

void BM_Decode(benchmark::State& state) {
  const std::string& header = paid_call().header;
  measure(state, [&] { return decode_payment(header).ok(); });
  state.counters["header_bytes"] = static_cast<double>(header.size());
}
BENCHMARK(BM_Decode);

void BM_Match(benchmark::State& state) {
  const PaidCall& call = paid_call();
  const PaymentPayload payload = call.decoded();
  measure(state, [&] {
    return find_accepted(std::span(&call.requirements, 1), payload).has_value() &&
           echoes(payload, call.offered);
  });
}
BENCHMARK(BM_Match);

void BM_Binding(benchmark::State& state) {
  const PaidCall& call = paid_call();
  const PaymentPayload payload = call.decoded();
  measure(state, [&] { return call.binding.check(PaidCall::request(), payload, now_s); });
}
BENCHMARK(BM_Binding);

void BM_PaymentKey(benchmark::State& state) {
  const PaymentPayload payload = paid_call().decoded();
  measure(state, [&] { return payment_key(payload); });
}
BENCHMARK(BM_PaymentKey);

void BM_Digest(benchmark::State& state) {
  const PaidCall& call = paid_call();
  const PaymentPayload payload = call.decoded();
  measure(state, [&] {
    return digest_of(std::get<Eip3009Payment>(payload.payment),
                     *call.separators.of(call.requirements));
  });
}
BENCHMARK(BM_Digest);

void BM_Recover(benchmark::State& state) {
  const PaidCall& call = paid_call();
  const PaymentPayload payload = call.decoded();
  const auto& payment = std::get<Eip3009Payment>(payload.payment);
  const Word digest = digest_of(payment, *call.separators.of(call.requirements));
  measure(state, [&] { return recover_signer(digest, payment.signature)->is_canonical; });
}
BENCHMARK(BM_Recover);

// Does all that the lane does, and checks the result so that the figures stay honest.
void BM_Whole(benchmark::State& state) {
  const PaidCall& call = paid_call();
  bool is_recovered = true;
  measure(state, [&] {
    const auto payload = decode_payment(call.header);
    const auto unbound = call.binding.check(PaidCall::request(), *payload, now_s);
    const auto verified = verify(*payload, payload->accepted, call.separators, now_s, 40);
    is_recovered &= !unbound && echoes(*payload, call.offered) && verified.ok() &&
                    verified->proof == Proof::recovered;
    return is_recovered;
  });
  if (!is_recovered) state.SkipWithError("the payment was not verified");
}
BENCHMARK(BM_Whole);

void BM_BindAChallengeOfTwoEntries(benchmark::State& state) {
  const PaidCall& call = paid_call();
  const std::string entry = canonical_json(call.requirements);
  const std::array<std::string_view, 2> entries{entry, entry};
  measure(state, [&] {
    return call.binding.extension_json(PaidCall::request(), entries, now_s + 300, {}).size();
  });
}
BENCHMARK(BM_BindAChallengeOfTwoEntries);

}  // namespace
}  // namespace turnpike::x402

BENCHMARK_MAIN();
