// The guarantees of sdk/turnpike/store.h, tested on every Store.
#include <set>
#include <thread>

#include "base/limits.h"
#include "records/fixture.h"

namespace turnpike::records {
namespace {

namespace limits = base::limits;

class StoreContract : public OnEveryStore {
 protected:
  void SetUp() override {
    OnEveryStore::SetUp();
    if (!IsSkipped()) store_ = store_of("first");
  }
  StoreApplied apply(const Checks& checks, const Writes& writes) {
    return store_->apply(checks, writes, call_);
  }
  // Returns the version, or 0 if the record was not written.
  std::uint64_t put(std::string_view key, std::string_view value) {
    const StoreApplied applied = apply({}, {{key, value}});
    return applied.outcome == StoreOutcome::applied ? applied.version : 0;
  }
  std::optional<StoreRecord> get(std::string_view key) {
    auto record = store_->get(key, call_);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() ? *std::move(record) : std::nullopt;
  }
  std::string value(std::string_view key) {
    const auto record = get(key);
    return record ? record->value : "(none)";
  }
  std::string scanned(std::string_view prefix, std::string_view after, std::uint32_t limit = 100) {
    const auto page = store_->scan(prefix, after, limit, call_);
    EXPECT_TRUE(page.ok());
    std::string keys;
    for (std::size_t at = 0; page.ok() && at < page->size(); ++at) keys += (*page)[at].key + " ";
    return keys;
  }
  std::unique_ptr<Store> store_;
};
TURNPIKE_ON_EVERY_STORE(StoreContract);

TEST_P(StoreContract, WhatWasWrittenIsReadWithItsVersion) {
  EXPECT_FALSE(get("a").has_value());
  const std::uint64_t version = put("a", "one");
  ASSERT_NE(version, 0u);
  ASSERT_TRUE(get("a").has_value());
  EXPECT_EQ(get("a")->key, "a");
  EXPECT_EQ(get("a")->value, "one");
  EXPECT_EQ(get("a")->version, version);
  EXPECT_EQ(apply({}, {{"a", {}}}).outcome, StoreOutcome::applied);
  EXPECT_FALSE(get("a").has_value());
}

TEST_P(StoreContract, ValuesAreAnyBytesAndKeysAreVisibleAscii) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  std::string key;
  for (char letter = '!'; letter <= '~'; ++letter) key += letter;
  ASSERT_NE(put(key, bytes), 0u);
  EXPECT_EQ(value(key), bytes);
  ASSERT_NE(put(key, ""), 0u);
  EXPECT_EQ(value(key), "");
  const auto page = store_->scan(key, "", 10, call_);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->size(), 1u);
  EXPECT_EQ(page->front().key, key);
  EXPECT_EQ(page->front().value, "");
}

TEST_P(StoreContract, ACheckHoldsForTheVersionThatIsThereAlone) {
  const std::uint64_t first = put("a", "one");
  EXPECT_EQ(apply({{"a", 0}}, {{"a", "two"}}).outcome, StoreOutcome::conflict);
  EXPECT_EQ(apply({{"a", first + 1}}, {{"a", "two"}}).outcome, StoreOutcome::conflict);
  EXPECT_EQ(value("a"), "one");
  const StoreApplied second = apply({{"a", first}}, {{"a", "two"}});
  EXPECT_EQ(second.outcome, StoreOutcome::applied);
  EXPECT_NE(second.version, first);
  EXPECT_EQ(apply({{"a", first}}, {{"a", "three"}}).outcome, StoreOutcome::conflict);
  EXPECT_EQ(value("a"), "two");
  EXPECT_EQ(apply({{"b", 0}}, {{"b", "new"}}).outcome, StoreOutcome::applied);
  EXPECT_EQ(apply({{"c", 7}}, {{"c", "new"}}).outcome, StoreOutcome::conflict);
}

TEST_P(StoreContract, ARecordMadeAnewIsNotTakenForTheOldOne) {
  const std::uint64_t old = put("a", "same");
  ASSERT_EQ(apply({{"a", old}}, {{"a", {}}}).outcome, StoreOutcome::applied);
  ASSERT_NE(put("a", "same"), 0u);
  EXPECT_EQ(apply({{"a", old}}, {{"a", "mine"}}).outcome, StoreOutcome::conflict);
}

TEST_P(StoreContract, AnApplyIsDoneWholeOrNotAtAll) {
  const std::uint64_t version = put("a", "one");
  ASSERT_NE(put("gone", "x"), 0u);
  const StoreApplied both =
      apply({{"a", version}, {"b", 0}}, {{"a", "two"}, {"b", "two"}, {"c", "two"}, {"gone", {}}});
  EXPECT_EQ(both.outcome, StoreOutcome::applied);
  EXPECT_EQ(scanned("", ""), "a b c ");
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(get(key)->version, both.version) << key;
  const StoreApplied none =
      apply({{"a", both.version}, {"b", 0}}, {{"a", "three"}, {"c", {}}, {"d", "three"}});
  EXPECT_EQ(none.outcome, StoreOutcome::conflict);
  EXPECT_EQ(none.version, 0u);
  EXPECT_EQ(scanned("", ""), "a b c ");
  EXPECT_EQ(value("a"), "two");
}

TEST_P(StoreContract, ChecksWithoutWritesAndWritesWithoutEffectAreFine) {
  const std::uint64_t version = put("a", "one");
  EXPECT_EQ(apply({{"a", version}}, {}).outcome, StoreOutcome::applied);
  EXPECT_EQ(apply({{"b", 0}}, {}).outcome, StoreOutcome::applied);
  EXPECT_EQ(apply({{"a", 0}}, {}).outcome, StoreOutcome::conflict);
  EXPECT_EQ(apply({{"b", version}}, {}).outcome, StoreOutcome::conflict);
  EXPECT_EQ(apply({}, {{"b", {}}}).outcome, StoreOutcome::applied);
  EXPECT_EQ(apply({}, {}).outcome, StoreOutcome::applied);
  EXPECT_EQ(scanned("", ""), "a ");
}

TEST_P(StoreContract, AScanGivesTheKeysOfAPrefixInTheOrderOfTheirBytes) {
  for (const char* key : {"b", "a/2", "a/10", "a", "a/Z", "a/z", "a/", "a~", "B", "a/!", "a/~"}) {
    ASSERT_NE(put(key, key), 0u);
  }
  EXPECT_EQ(scanned("", ""), "B a a/ a/! a/10 a/2 a/Z a/z a/~ a~ b ");
  EXPECT_EQ(scanned("a/", ""), "a/ a/! a/10 a/2 a/Z a/z a/~ ");
  EXPECT_EQ(scanned("a/", "a/10"), "a/2 a/Z a/z a/~ ");
  EXPECT_EQ(scanned("a/", "a/1"), "a/10 a/2 a/Z a/z a/~ ");
  EXPECT_EQ(scanned("a/", "B"), "a/ a/! a/10 a/2 a/Z a/z a/~ ");
  EXPECT_EQ(scanned("a/", "a/~"), "");
  EXPECT_EQ(scanned("a/", "b"), "");
  EXPECT_EQ(scanned("a/", "a/", 2), "a/! a/10 ");
  EXPECT_EQ(scanned("", "", 0), "");
  EXPECT_EQ(scanned("c", ""), "");
}

TEST_P(StoreContract, AScanEndsWithinItsBytesAndGivesOneRecordAtLeast) {
  const std::string value(limits::store_value_bytes_max, 'v');
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_NE(put(key, value), 0u);
  EXPECT_EQ(scanned("", ""), "a b ");
  EXPECT_EQ(scanned("", "b"), "c d ");
  ASSERT_NE(put("a", "short"), 0u);
  EXPECT_EQ(scanned("", ""), "a b c ");
}

TEST_P(StoreContract, AScanHasAThousandRecordsAtMost) {
  Writes writes;
  std::vector<std::string> keys;
  for (int number = 1000; number < 2001; ++number) keys.push_back("k" + std::to_string(number));
  for (const std::string& key : keys) {
    writes.push_back({key, ""});
    if (writes.size() < limits::store_keys_max && key != keys.back()) continue;
    ASSERT_EQ(apply({}, writes).outcome, StoreOutcome::applied);
    writes.clear();
  }
  const auto page = store_->scan("", "", 5'000, call_);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->size(), limits::store_scan_records_max);
  EXPECT_EQ(page->back().key, "k1999");
  EXPECT_EQ(scanned("", "k1999"), "k2000 ");
}

TEST_P(StoreContract, WhatBreaksTheRulesIsAFaultAndChangesNothing) {
  const std::string longest(limits::store_key_bytes_max, 'k');
  const std::string largest(limits::store_value_bytes_max, 'v');
  EXPECT_NE(put(longest, largest), 0u);
  EXPECT_EQ(value(longest), largest);
  ASSERT_EQ(apply({}, {{longest, {}}}).outcome, StoreOutcome::applied);
  EXPECT_EQ(put(longest + "k", ""), 0u);
  EXPECT_EQ(put("a", largest + "v"), 0u);
  for (const char* key : {"", " ", "a b", "\x7f", "\xc3\xa4", "a\n"}) {
    EXPECT_EQ(put(key, "v"), 0u) << key;
    EXPECT_EQ(apply({{key, 0}}, {}).outcome, StoreOutcome::unavailable) << key;
    EXPECT_EQ(store_->get(key, call_).error().kind, FailureKind::plugin_fault) << key;
    if (*key == '\0') continue;
    EXPECT_EQ(store_->scan(key, "", 1, call_).error().kind, FailureKind::plugin_fault) << key;
    EXPECT_EQ(store_->scan("", key, 1, call_).error().kind, FailureKind::plugin_fault) << key;
  }
  EXPECT_EQ(apply({}, {{"a", "1"}, {"a", "2"}}).outcome, StoreOutcome::unavailable);
  EXPECT_EQ(apply({{"a", 0}, {"a", 0}}, {}).outcome, StoreOutcome::unavailable);
  EXPECT_EQ(scanned("", ""), "");
}

TEST_P(StoreContract, AnApplyIsBoundedInKeysAndBytes) {
  std::vector<std::string> keys;
  for (std::uint32_t at = 0; at < limits::store_keys_max; ++at) {
    keys.push_back("k" + std::to_string(at));
  }
  Writes writes;
  for (const std::string& key : keys) writes.push_back({key, "v"});
  EXPECT_EQ(apply({}, writes).outcome, StoreOutcome::applied);
  EXPECT_EQ(apply({{"other", 0}}, writes).outcome, StoreOutcome::unavailable);
  const std::string half(limits::store_apply_bytes_max / 2 - 1, 'v');
  EXPECT_EQ(apply({}, {{"a", half}, {"b", half}}).outcome, StoreOutcome::applied);
  EXPECT_EQ(apply({}, {{"a", half}, {"b", half}, {"c", "v"}}).outcome, StoreOutcome::unavailable);
}

TEST_P(StoreContract, APluginSeesItsOwnRecordsAlone) {
  const auto other = store_of("second");
  const std::uint64_t version = put("a", "of the first");
  EXPECT_FALSE(other->get("a", call_)->has_value());
  EXPECT_TRUE(other->scan("", "", 10, call_)->empty());
  EXPECT_EQ(other->apply(Checks{{"a", version}}, {}, call_).outcome, StoreOutcome::conflict);
  EXPECT_EQ(other->apply(Checks{{"a", 0}}, Writes{{"a", "of the second"}}, call_).outcome,
            StoreOutcome::applied);
  EXPECT_EQ(value("a"), "of the first");
  EXPECT_EQ(other->apply({}, Writes{{"a", {}}}, call_).outcome, StoreOutcome::applied);
  EXPECT_EQ(get("a")->version, version);
}

TEST_P(StoreContract, AnotherProcessSeesWhatWasAnswered) {
  const auto other = store_of("first", true);
  const std::uint64_t version = put("a", "one");
  const auto seen = other->get("a", call_);
  ASSERT_TRUE(seen.ok() && seen->has_value());
  EXPECT_EQ((*seen)->version, version);
  EXPECT_EQ(other->apply(Checks{{"a", version}}, Writes{{"a", "two"}}, call_).outcome,
            StoreOutcome::applied);
  EXPECT_EQ(value("a"), "two");
  EXPECT_EQ(apply({{"a", version}}, {{"a", "three"}}).outcome, StoreOutcome::conflict);
}

// Callers in two processes increment one number: every success counts once.
TEST_P(StoreContract, OfSeveralWhoChangeTheSameVersionOneSucceeds) {
  constexpr int callers = 8;
  constexpr int successes = 20;
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, store = store_of("first", caller % 2 == 1)] {
      TestCall call;
      for (int done = 0; done < successes;) {
        const auto record = store->get("number", call);
        ASSERT_TRUE(record.ok());
        const bool is_there = record->has_value();
        const int number = is_there ? std::stoi((*record)->value) : 0;
        const std::string next = std::to_string(number + 1);
        const StoreApplied applied = store->apply(
            Checks{{"number", is_there ? (*record)->version : 0}}, Writes{{"number", next}}, call);
        ASSERT_TRUE(applied.outcome == StoreOutcome::applied ||
                    applied.outcome == StoreOutcome::conflict);
        done += applied.outcome == StoreOutcome::applied ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value("number"), std::to_string(callers * successes));
}

TEST_P(StoreContract, AConflictFailsNoNeighbour) {
  ASSERT_NE(put("taken", "x"), 0u);
  std::vector<std::thread> threads;
  for (int caller = 0; caller < 16; ++caller) {
    threads.emplace_back([&, caller] {
      TestCall call;
      for (int turn = 0; turn < 20; ++turn) {
        const std::string key = std::to_string(caller) + "/" + std::to_string(turn);
        const bool fails = turn % 2 == 1;
        const StoreApplied applied =
            store_->apply(Checks{{fails ? "taken" : key, 0}}, Writes{{key, "v"}}, call);
        EXPECT_EQ(applied.outcome, fails ? StoreOutcome::conflict : StoreOutcome::applied);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto page = store_->scan("", "", 1'000, call_);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->size(), 16u * 10 + 1);
}

}  // namespace
}  // namespace turnpike::records
