#include "base/published.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::base {
namespace {

TEST(Published, ShowsNothingBeforeTheFirstValue) {
  const Published<int> published;
  LoopView<int> view(published);
  EXPECT_FALSE(view.pin());
  EXPECT_EQ(view.pin().get(), nullptr);
  EXPECT_EQ(published.current(), nullptr);
}

TEST(Published, KeepsAPinnedValueUntilItsLastPinGoes) {
  Published<int> published;
  auto first = std::make_shared<const int>(1);
  const std::weak_ptr<const int> watched = first;
  published.publish(std::move(first));
  LoopView<int> view(published);
  auto pin = view.pin();
  auto second_pin = view.pin();
  published.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*view.pin(), 2);
  EXPECT_EQ(*pin, 1);
  EXPECT_EQ(view.retired(), 1u);
  pin = {};
  EXPECT_FALSE(watched.expired());
  second_pin = {};
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(view.retired(), 0u);
}

TEST(Published, PinsAnOlderValueAsLongAsTheLoopHasIt) {
  Published<int> published;
  LoopView<int> view(published);
  const auto is_first = [](int value) { return value == 1; };
  EXPECT_FALSE(view.pin_where(is_first));
  auto nothing = view.pin();
  published.publish(std::make_shared<const int>(1));
  auto pin = view.pin();
  published.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*view.pin_where(is_first), 1);
  EXPECT_EQ(*view.pin_where([](int value) { return value == 2; }), 2);
  EXPECT_EQ(*view.pin_where([](int) { return false; }), 2);
  {
    const auto again = view.pin_where(is_first);
    pin = {};
    EXPECT_EQ(*again, 1);
  }
  EXPECT_EQ(*view.pin_where(is_first), 2) << "nobody had it any more";
  nothing = {};
  EXPECT_EQ(view.retired(), 0u);
}

TEST(Published, LetsGoOfAnUnpinnedValueAtRefresh) {
  Published<int> published;
  auto first = std::make_shared<const int>(1);
  const std::weak_ptr<const int> watched = first;
  published.publish(std::move(first));
  LoopView<int> view(published);
  EXPECT_EQ(*view.pin(), 1);
  published.publish(std::make_shared<const int>(2));
  EXPECT_FALSE(watched.expired());
  view.refresh();
  EXPECT_TRUE(watched.expired());
}

TEST(Published, SharesWhatTheLoopSees) {
  Published<int> published;
  LoopView<int> view(published);
  EXPECT_EQ(view.share(), nullptr);
  published.publish(std::make_shared<const int>(1));
  const auto kept = view.share();
  EXPECT_EQ(*kept, 1);
  published.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*view.share(), 2);
  EXPECT_EQ(*kept, 1) << "kept beyond the view";
  EXPECT_EQ(view.retired(), 0u);
}

TEST(Published, CanBeTakenBack) {
  Published<int> published;
  published.publish(std::make_shared<const int>(1));
  LoopView<int> view(published);
  EXPECT_TRUE(view.pin());
  published.publish(nullptr);
  EXPECT_FALSE(view.pin());
}

TEST(Published, SwapsSeveralPinsInAnyOrder) {
  Published<int> published;
  LoopView<int> view(published);
  std::vector<LoopView<int>::Pin> pins;
  for (int value = 0; value < 5; ++value) {
    published.publish(std::make_shared<const int>(value));
    pins.push_back(view.pin());
  }
  EXPECT_EQ(view.retired(), 4u);
  pins.erase(pins.begin() + 2);
  pins.erase(pins.begin());
  EXPECT_EQ(view.retired(), 2u);
  EXPECT_EQ(*pins[0], 1);
  EXPECT_EQ(*pins[1], 3);
  pins.clear();
  EXPECT_EQ(view.retired(), 0u);
  EXPECT_EQ(*view.pin(), 4);
}

// Loops read while another Thread publishes: a pinned value is complete and never older than what
// the same loop saw before.
TEST(Published, IsReadByLoopsWhileItIsReplaced) {
  struct Pair {
    int left;
    int right;
  };
  Published<Pair> published;
  published.publish(std::make_shared<const Pair>(Pair{0, 0}));
  std::atomic<bool> is_done{false};
  std::vector<std::thread> loops;
  std::atomic<int> wrong{0};
  for (int loop = 0; loop < 3; ++loop) {
    loops.emplace_back([&] {
      LoopView<Pair> view(published);
      int last = 0;
      while (!is_done.load()) {
        const auto pin = view.pin();
        if (pin->left != pin->right || pin->left < last) ++wrong;
        last = pin->left;
      }
      if (view.pin()->left != 2000) ++wrong;
    });
  }
  for (int value = 1; value <= 2000; ++value) {
    published.publish(std::make_shared<const Pair>(Pair{value, value}));
  }
  is_done = true;
  for (std::thread& loop : loops) loop.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(published.version(), 2001u);
}

}  // namespace
}  // namespace turnpike::base
