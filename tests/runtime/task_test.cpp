#include "runtime/task.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace turnpike::runtime {
namespace {

template <std::size_t bytes>
void check_ownership() {
  const auto held = std::make_shared<int>(0);
  const std::array<char, bytes> ballast{};
  Task task([held, ballast] { *held += 1 + ballast[0]; });
  EXPECT_EQ(held.use_count(), 2);
  Task moved = std::move(task);
  EXPECT_FALSE(task);  // NOLINT: what a moved-from task is, is promised
  moved();
  Task assigned;
  assigned = std::move(moved);
  assigned();
  EXPECT_EQ(*held, 2);
  EXPECT_EQ(held.use_count(), 2);
  assigned = Task();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Task, OwnsSmallCapturesInPlace) { check_ownership<8>(); }
TEST(Task, OwnsLargeCapturesOnTheHeap) { check_ownership<200>(); }

TEST(Task, HoldsAMoveOnlyCapture) {
  int seen = 0;
  Task task([value = std::make_unique<int>(7), &seen] { seen = *value; });
  task();
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace turnpike::runtime
