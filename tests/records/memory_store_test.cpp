// The faults that MemoryStore simulates, on which tests of plugins rely.
#include "records/fixture.h"

namespace turnpike::records {
namespace {

using support::MemoryStore;

class MemoryStoreFaults : public testing::Test {
 protected:
  StoreApplied put(std::string_view key, const Checks& checks = {}) {
    return store_.apply(checks, Writes{{key, "v"}}, call_);
  }
  bool has(std::string_view key) { return store_.records().contains(std::string(key)); }

  MemoryStore store_;
  TestCall call_;
};

TEST_F(MemoryStoreFaults, ComeInTheOrderGivenAndThenNoMore) {
  store_.fail_next(MemoryStore::Fault::conflict);
  store_.fail_next(MemoryStore::Fault::unavailable);
  store_.fail_next(MemoryStore::Fault::none);
  store_.fail_next(MemoryStore::Fault::unknown_lost);
  store_.fail_next(MemoryStore::Fault::unknown_applied);
  EXPECT_EQ(put("a").outcome, StoreOutcome::conflict);
  EXPECT_EQ(put("b").outcome, StoreOutcome::unavailable);
  EXPECT_EQ(put("c").outcome, StoreOutcome::applied);
  EXPECT_EQ(put("d").outcome, StoreOutcome::unknown);
  EXPECT_EQ(put("e").outcome, StoreOutcome::unknown);
  EXPECT_EQ(put("f").outcome, StoreOutcome::applied);
  EXPECT_FALSE(has("a") || has("b") || has("d"));
  EXPECT_TRUE(has("c") && has("e") && has("f"));
  EXPECT_EQ(store_.applies(), 6u);
}

TEST_F(MemoryStoreFaults, AnUnknownApplyWhoseChecksFailIsNotDone) {
  ASSERT_EQ(put("a").outcome, StoreOutcome::applied);
  store_.fail_next(MemoryStore::Fault::unknown_applied);
  EXPECT_EQ(put("b", {{"a", 0}}).outcome, StoreOutcome::unknown);
  EXPECT_FALSE(has("b"));
}

TEST_F(MemoryStoreFaults, DeathBeforeAnApplyUndoesItAndDeathAfterItHidesIt) {
  store_.before_apply = [this] { store_.die(); };
  EXPECT_EQ(put("a").outcome, StoreOutcome::unavailable);
  store_.before_apply = nullptr;
  EXPECT_EQ(put("b").outcome, StoreOutcome::unavailable);
  EXPECT_FALSE(store_.get("b", call_).ok());
  EXPECT_FALSE(store_.scan("", "", 1, call_).ok());
  store_.revive();
  EXPECT_TRUE(store_.records().empty());
  store_.after_apply = [this] { store_.die(); };
  EXPECT_EQ(put("c").outcome, StoreOutcome::unavailable);
  store_.revive();
  EXPECT_TRUE(has("c"));
}

TEST_F(MemoryStoreFaults, ReadsFailWhileTheTestSaysSo) {
  store_.fail_reads(true);
  EXPECT_EQ(store_.get("a", call_).error().kind, FailureKind::unavailable);
  EXPECT_EQ(store_.scan("", "", 1, call_).error().kind, FailureKind::unavailable);
  store_.fail_reads(false);
  EXPECT_TRUE(store_.get("a", call_).ok());
}

}  // namespace
}  // namespace turnpike::records
