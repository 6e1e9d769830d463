// What the service's own signatures cost, and what the cache of offers saves: a challenge that
// finds its offer compared with one that signs it. With one thread and with two, because a cache
// with one lock for everything would not scale.
#include <benchmark/benchmark.h>

#include <string>

#include "support/allocations.h"
#include "support/sdk_fakes.h"
#include "x402/offers/did.h"
#include "x402/offers/offer.h"
#include "x402/offers/offer_cache.h"
#include "x402/offers/receipt_verify.h"

namespace turnpike::x402 {
namespace {

const char* const kid = "did:web:gateway.example#offer-2026-11-21-01234567";

Offer offer_of(std::string_view path, std::int64_t valid_until_s) {
  return {"https://gateway.example" + std::string(path),
          "exact",
          "eip155:8453",
          "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
          "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
          "1000",
          valid_until_s,
          "off_0123456789abcdef"};
}

PrivateKey key_of(benchmark::State& state) {
  support::SeededRandom random;
  return *PrivateKey::make(static_cast<Algorithm>(state.range(0)), random);
}

void name(benchmark::State& state) {
  state.SetLabel(std::string(name_of(static_cast<Algorithm>(state.range(0)))));
}

void sign(benchmark::State& state) {
  const PrivateKey key = key_of(state);
  const Offer offer = offer_of("/v1/governance/daos", 1'795'300'000);
  const std::uint64_t before = allocations_so_far();
  for (auto _ : state) benchmark::DoNotOptimize(sign_offer(offer, key, kid));
  state.counters["allocations"] = benchmark::Counter(
      static_cast<double>(allocations_so_far() - before), benchmark::Counter::kAvgIterations);
  name(state);
}
BENCHMARK(sign)->Arg(0)->Arg(1);

void verify(benchmark::State& state) {
  const PrivateKey key = key_of(state);
  const auto jws = parse_jws(sign_offer(offer_of("/v1/governance/daos", 1), key, kid));
  for (auto _ : state) benchmark::DoNotOptimize(verify_jws(*jws, key.public_key()));
  name(state);
}
BENCHMARK(verify)->Arg(0)->Arg(1);

// Verifies as `turnpike receipt verify` does, including the document.
void verify_receipt(benchmark::State& state) {
  const PrivateKey key = key_of(state);
  const auto did = did_web("https://gateway.example");
  const PublishedKey published{"k", key.public_key(), 0, std::nullopt};
  const std::string document = did_document(*did, {&published, 1});
  const std::string receipt = sign_receipt(
      {"eip155:8453", "https://gateway.example/x", "0xBD4CB17A", 1'795'300'000, "0x12"}, key,
      did->kid("k"));
  for (auto _ : state) benchmark::DoNotOptimize(verify_statements(receipt, document));
  name(state);
}
BENCHMARK(verify_receipt)->Arg(0)->Arg(1);

constexpr std::int64_t now_s = 1'795'300'000;

// range(0): number of paths, used in turn.
void cache_hit(benchmark::State& state) {
  static OfferCache cache(300, 16 << 20, 2);
  static const PrivateKey key = [] {
    support::SeededRandom random;
    return *PrivateKey::make(Algorithm::es256k, random);
  }();
  std::vector<std::string> paths;
  for (std::int64_t at = 0; at < state.range(0); ++at) {
    paths.push_back("/v1/governance/daos/" + std::to_string(at));
  }
  const auto get = [&](const std::string& path) {
    return cache.get({7, 42, path}, now_s, [&](std::int64_t until_s) {
      return offers_extension(std::vector{sign_offer(offer_of(path, until_s), key, kid)});
    });
  };
  for (const std::string& path : paths) get(path);
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(get(paths[at]));
    if (++at == paths.size()) at = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(cache_hit)->Arg(1)->Arg(1000)->Threads(1)->Threads(2)->UseRealTime();

// Every path is new, which costs a signature, an insertion and an eviction.
void cache_miss(benchmark::State& state) {
  OfferCache cache(300, 1 << 20, 1);
  support::SeededRandom random;
  const PrivateKey key = *PrivateKey::make(Algorithm::es256k, random);
  std::uint64_t turn = 0;
  for (auto _ : state) {
    const std::string path = "/v1/governance/daos/" + std::to_string(++turn);
    benchmark::DoNotOptimize(cache.get({7, 42, path}, now_s, [&](std::int64_t until_s) {
      return offers_extension(std::vector{sign_offer(offer_of(path, until_s), key, kid)});
    }));
  }
  state.counters["bytes"] = static_cast<double>(cache.bytes());
}
BENCHMARK(cache_miss);

}  // namespace
}  // namespace turnpike::x402

BENCHMARK_MAIN();
