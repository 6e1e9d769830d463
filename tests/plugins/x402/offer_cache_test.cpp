#include "x402/offers/offer_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/allocations.h"

namespace turnpike::x402 {
namespace {

constexpr std::uint32_t window_s = 60;
constexpr std::int64_t now_s = 1'795'300'020;  // the start of a window

// Counts signatures. Its text says what was requested.
class Signer {
 public:
  explicit Signer(OfferCache& cache) : cache_(cache) {}
  OfferCache::Text get(const OfferCache::Key& key, std::int64_t at_s = now_s) {
    return cache_.get(key, at_s, [&](std::int64_t until_s) {
      ++signatures;
      return std::to_string(key.operation) + std::string(key.path) + std::to_string(key.terms) +
             "until" + std::to_string(until_s);
    });
  }
  int signatures = 0;

 private:
  OfferCache& cache_;
};

TEST(OfferCache, SignsOnceInAWindow) {
  OfferCache cache(window_s, 1 << 20, 1);
  Signer signer(cache);
  ASSERT_EQ(now_s % window_s, 0);
  const auto first = signer.get({1, 7, "/a"});
  for (std::int64_t at_s = now_s; at_s < now_s + window_s; ++at_s) {
    EXPECT_EQ(signer.get({1, 7, "/a"}, at_s), first);
  }
  EXPECT_EQ(signer.signatures, 1);
  EXPECT_EQ(*first, "1/a7until" + std::to_string(now_s + 2 * window_s));
  EXPECT_NE(*signer.get({1, 7, "/a"}, now_s + window_s), *first);
  EXPECT_EQ(signer.signatures, 2);
}

TEST(OfferCache, GivesBetweenOneAndTwoWindows) {
  const OfferCache cache(window_s, 1 << 20, 1);
  for (std::int64_t at_s = now_s - 200; at_s < now_s + 200; ++at_s) {
    const std::int64_t left_s = cache.valid_until_s(at_s) - at_s;
    EXPECT_GT(left_s, window_s);
    EXPECT_LE(left_s, 2 * window_s);
    EXPECT_EQ(cache.valid_until_s(at_s) % window_s, 0);
  }
}

TEST(OfferCache, TellsOperationsTermsAndPathsApart) {
  OfferCache cache(window_s, 1 << 20, 1);
  Signer signer(cache);
  const OfferCache::Key keys[] = {
      {1, 7, "/a"}, {2, 7, "/a"}, {1, 8, "/a"}, {1, 7, "/b"}, {1, 7, ""}};
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& key : keys) {
      EXPECT_EQ(signer.get(key)->find(std::to_string(key.operation) + std::string(key.path)), 0u);
    }
  }
  EXPECT_EQ(signer.signatures, 5);
}

TEST(OfferCache, ForgetsNothingThatACallerHolds) {
  OfferCache cache(window_s, 1024, 1);
  Signer signer(cache);
  const auto held = signer.get({1, 7, "/a"});
  for (int at = 0; at < 100; ++at) signer.get({1, 7, "/" + std::to_string(at)});
  EXPECT_EQ(held->find("1/a7until"), 0u);
}

TEST(OfferCache, StaysWithinItsBytesWhateverPathsCallersMakeUp) {
  constexpr std::size_t bytes_max = 64 * 1024;
  OfferCache cache(window_s, bytes_max, 1);
  Signer signer(cache);
  for (int at = 0; at < 10'000; ++at) {
    signer.get({1, 7, "/" + std::to_string(at)});
    ASSERT_LE(cache.bytes(), bytes_max);
  }
  EXPECT_GT(cache.bytes(), bytes_max / 2);
  // A text larger than the whole cache is returned but not kept.
  const auto large = signer.get({1, 7, std::string(2 * bytes_max, 'p')});
  EXPECT_GT(large->size(), 2 * bytes_max);
  EXPECT_LE(cache.bytes(), bytes_max);
}

TEST(OfferCache, KeepsWhatIsAskedOftenThroughAFloodOfOtherPaths) {
  OfferCache cache(window_s, 64 * 1024, 1);
  Signer signer(cache);
  signer.get({1, 7, "/often"});
  for (int at = 0; at < 10'000; ++at) {
    signer.get({1, 7, "/flood/" + std::to_string(at)});
    if (at % 20 == 0) signer.get({1, 7, "/often"});
  }
  EXPECT_EQ(signer.signatures, 1 + 10'000);
}

TEST(OfferCache, ReplacesTheOfferOfAWindowThatIsOver) {
  OfferCache cache(window_s, 1 << 20, 1);
  Signer signer(cache);
  signer.get({1, 7, "/a"});
  const std::size_t bytes = cache.bytes();
  for (int turn = 1; turn < 100; ++turn) signer.get({1, 7, "/a"}, now_s + turn * window_s);
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(signer.signatures, 100);
  signer.get({1, 7, "/a"}, now_s);  // the clock was set back
  EXPECT_EQ(signer.signatures, 101);
}

TEST(OfferCache, AHitAllocatesNothing) {
  OfferCache cache(window_s, 1 << 20, 4);
  Signer signer(cache);
  const std::string path(200, 'p');
  signer.get({1, 7, path});
  const std::uint64_t before = allocations_so_far();
  for (int at = 0; at < 100; ++at) signer.get({1, 7, path});
  EXPECT_EQ(allocations_so_far(), before);
}

// There are more threads than parts, so some share one.
TEST(OfferCache, ThreadsGetTheirOwnOffers) {
  OfferCache cache(window_s, 32 * 1024, 2);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 5; ++thread) {
    threads.emplace_back([&, thread] {
      Signer signer(cache);
      for (int at = 0; at < 5'000; ++at) {
        const std::string path = "/" + std::to_string(at * (thread + 1) % 97);
        const auto text = signer.get({1, 7, path}, now_s + at % 3 * window_s);
        if (text->find("1" + path + "7until") != 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.bytes(), 32u * 1024);
}

}  // namespace
}  // namespace turnpike::x402
