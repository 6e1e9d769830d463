// Manipulations of the books behind the gateway's back, and the exact text with which verify()
// reports each: rows of every table that carries money are changed, removed and inserted, in every
// kind of column.
#include <thread>

#include "conformance/engines.h"
#include "identity/accounts.h"
#include "ledger/audit/chain.h"
#include "storage/engine/database.h"
#include "text/encoding.h"

namespace turnpike::ledger {
namespace {

using Problems = std::vector<std::string>;

// Books with three batches in one stream: facts m1 to m5, of which m2 is uncharged and m3 was paid
// by two leases; one closed lease (3), one expired allocation.
class Tampering : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    write_books();
    settings_ = store_->settings();
    intruder_ =
        std::make_unique<storage::Connection>(settings_, storage::connection_target(settings_));
    if (GetParam() == storage::Engine::sqlite) intruder_->run_once("PRAGMA foreign_keys = OFF");
    keep();
    ASSERT_EQ(problems(), Problems{});
  }

  void write_books() {
    a_ = account_with(0);
    b_ = account_with(0);
    w_ = grant(b_, 1, 1'000);
    ASSERT_TRUE(node_->ledger().start().ok());
    leases_ = node_->ledger().open_leases();
    stream_ = *node_->ledger().open_stream();
    store_->clock.move_ms(2'000);
    ASSERT_EQ(leases_->tend(store_->clock.now_ms())->expired, 1u);
    x_ = grant(a_, 3, day_ms);
    y_ = grant(a_, 9, 2 * day_ms);
    z_ = grant(b_, 10, day_ms);
    const LeaseRequest requests[] = {request(a_, 5), request(b_, 4)};
    const auto answers = *leases_->acquire(requests);
    const LeaseGrant x = answers[0].grants.at(0), y = answers[0].grants.at(1);
    const LeaseGrant z = answers[1].grants.at(0);
    ASSERT_EQ(x.lease_id, 1);
    ASSERT_EQ(z.lease_id, 3);
    settle({{"m1", a_, {{x.lease_id, x.epoch, 1}}}, {"m2", b_, {}}});
    settle({{"m3", a_, {{y.lease_id, y.epoch, 1}, {x.lease_id, x.epoch, 2}}}});
    settle({{"m4", b_, {{z.lease_id, z.epoch, 1}}}, {"m5", b_, {{z.lease_id, z.epoch, 2}}}});
    const LeaseReturn back[] = {{z.lease_id, z.epoch}};
    ASSERT_TRUE(leases_->close(back).ok());
  }

  static LeaseRequest request(const std::string& account, Credits units) {
    return {.account_id = account, .calls = {units}, .hold_ms = 30'000, .settle_ms = 90'000};
  }

  struct Call {
    std::string message;
    std::string account;
    std::vector<LeaseShare> shares;
  };
  void settle(const std::vector<Call>& calls) {
    std::vector<UsageFact> facts(calls.size());
    std::vector<SettleEntry> entries;
    for (std::size_t at = 0; at < calls.size(); ++at) {
      facts[at].message_id = facts[at].request_id = calls[at].message;
      facts[at].account_id = calls[at].account;
      facts[at].occurred_at_ms = store_->clock.now_ms();
      facts[at].method = "GET";
      entries.push_back({&facts[at], calls[at].shares});
    }
    ASSERT_TRUE(stream_->settle(++number_, entries)->committed());
  }

  void tamper(const std::string& sql) { intruder_->run_once(sql); }
  Problems problems(const Checkpoint* earlier = nullptr) {
    const auto verified = node_->ledger().verify(earlier);
    EXPECT_TRUE(verified.ok());
    return verified.ok() ? verified->problems : Problems{verified.error().text};
  }
  Checkpoint checkpoint() { return node_->ledger().verify()->books; }
  // Returns the problems that verify() reports after `changes`, then restores the books.
  Problems after(std::initializer_list<std::string> changes) {
    for (const std::string& sql : changes) tamper(sql);
    Problems found = problems();
    restore();
    return found;
  }
  Problems after(const std::string& change) { return after({change}); }

  // In the order of their references: a row is inserted before the rows that refer to it.
  static constexpr const char* tables[] = {"allocation",   "lease", "posting",
                                           "settle_batch", "fact",  "fact_share"};
  void keep() {
    for (const std::string table : tables) {
      intruder_->run_once("CREATE TEMPORARY TABLE kept_" + table + " AS SELECT * FROM " + table);
    }
  }
  void restore() {
    for (const std::string table : {"lease", "posting", "settle_batch", "fact", "fact_share"}) {
      intruder_->run_once("DELETE FROM " + table);
    }
    intruder_->run_once("DELETE FROM allocation");
    const bool is_postgres = GetParam() == storage::Engine::postgres;
    for (const std::string table : tables) {
      intruder_->run_once("INSERT INTO " + table + (is_postgres ? " OVERRIDING SYSTEM VALUE" : "") +
                          " SELECT * FROM kept_" + table);
    }
  }

  static std::string fact(int seq, const std::string& message) {
    return "fact " + std::to_string(seq) + " of stream 64 (message " + message + ")";
  }
  static std::string changed(int seq, const std::string& message) {
    return fact(seq, message) +
           " was changed: its hash is not that of its columns and the fact before";
  }
  static std::string lease_off(int id) {
    return "lease " + std::to_string(id) + " does not carry what its postings and facts add up to";
  }
  static std::string allocation_off(const std::string& id) {
    return "allocation " + id + " does not carry what its postings add up to";
  }
  static std::string account_off(const std::string& id, int granted) {
    return "account " + id + ": granted " + std::to_string(granted) +
           " is not the sum of where the units are";
  }
  static Problems sorted(Problems list) {
    std::sort(list.begin(), list.end());
    return list;
  }

  std::string a_, b_, w_, x_, y_, z_;
  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<SettlementStream> stream_;
  std::int64_t number_ = 0;
  storage::Settings settings_;
  std::unique_ptr<storage::Connection> intruder_;
};
TURNPIKE_ON_EVERY_ENGINE(Tampering);

TEST_P(Tampering, EveryColumnOfAFactThatCarriesNoMoneyIsChained) {
  for (const char* column : {"request_id", "client_request_id", "api_key_id", "route_id", "method",
                             "lane", "generation", "outcome_reason"}) {
    const std::string name = column;
    EXPECT_EQ(after("UPDATE fact SET " + name + " = " + name + " || 'x' WHERE seq = 4"),
              Problems{changed(4, "m4")})
        << name;
  }
  for (const char* column : {"occurred_at", "route_revision", "credit_cost", "price_version",
                             "upstream_status", "upstream_ms"}) {
    const std::string name = column;
    EXPECT_EQ(after("UPDATE fact SET " + name + " = " + name + " + 4294967296 WHERE seq = 2"),
              Problems{changed(2, "m2")})
        << name;
  }
  EXPECT_EQ(after("UPDATE fact SET message_id = 'other' WHERE seq = 4"),
            Problems{changed(4, "other")});
}

TEST_P(Tampering, AChangedHashIsToldOnce) {
  EXPECT_EQ(after("UPDATE fact SET hash = '' WHERE seq = 4"), Problems{changed(4, "m4")});
  EXPECT_EQ(after("UPDATE fact SET hash = 'x' || hash WHERE seq = 1"), Problems{changed(1, "m1")});
  const std::string other = "(SELECT f.hash FROM fact f WHERE f.seq = 1)";
  EXPECT_EQ(after("UPDATE fact SET hash = " + other + " WHERE seq = 5"),
            Problems{changed(5, "m5")});
}

TEST_P(Tampering, EveryColumnOfAFactThatCarriesMoneyIsChainedAndAddedUp) {
  EXPECT_EQ(after("UPDATE fact SET credits_charged = 2 WHERE seq = 4"),
            (Problems{changed(4, "m4"), lease_off(3), account_off(b_, 11)}));
  EXPECT_EQ(after("UPDATE fact SET lease_id = 2 WHERE seq = 4"),
            (Problems{changed(4, "m4"), lease_off(2), lease_off(3)}));
  EXPECT_EQ(after("UPDATE fact SET lease_id = 0 WHERE seq = 4"),
            (Problems{"the charge of " + fact(4, "m4") + " is not what its leases paid",
                      changed(4, "m4"), lease_off(3)}));
  EXPECT_EQ(after("UPDATE fact SET account_id = 'acc_x' WHERE seq = 4"),
            (Problems{changed(4, "m4"), account_off(b_, 11), account_off("acc_x", 0)}));
}

TEST_P(Tampering, AFactThatIsMissingIsNamed) {
  EXPECT_EQ(after("DELETE FROM fact WHERE seq = 2"), Problems{"fact 2 of stream 64 is missing"});
  EXPECT_EQ(after("DELETE FROM fact WHERE seq <= 2"),
            (Problems{"facts 1 to 2 of stream 64 are missing", lease_off(1), account_off(a_, 12)}));
  EXPECT_EQ(after("DELETE FROM fact WHERE seq = 5"),
            (Problems{"fact 5 of stream 64 is missing", lease_off(3), account_off(b_, 11)}));
}

TEST_P(Tampering, WhatFollowsAMissingBatchIsStillJudgedByItsHead) {
  EXPECT_EQ(
      after({"DELETE FROM fact WHERE seq = 2", "UPDATE fact SET method = 'PUT' WHERE seq = 3"}),
      (Problems{"fact 2 of stream 64 is missing", changed(3, "m3")}));
}

TEST_P(Tampering, AFactThatWasInsertedIsNamed) {
  const std::string columns =
      "message_id || 'x', request_id, client_request_id, account_id, api_key_id, occurred_at,"
      " route_id, route_revision, method, lane, credit_cost, 0, price_version, generation,"
      " outcome_reason, upstream_status, upstream_ms, 0, hash FROM fact WHERE seq = 5";
  const std::string after_the_last =
      fact(6, "m5x") + " is in no batch: it was inserted, or its batch taken away";
  EXPECT_EQ(after("INSERT INTO fact SELECT stream, 6, " + columns), Problems{after_the_last});
  EXPECT_EQ(after("INSERT INTO fact SELECT stream, 0, " + columns),
            Problems{fact(0, "m5x") + " is in no batch: it was inserted, or its batch taken away"});
  EXPECT_EQ(after("INSERT INTO fact SELECT 7, 1, " + columns),
            Problems{"fact 1 of stream 7 (message m5x) is in no batch: it was inserted, or its "
                     "batch taken away"});
}

TEST_P(Tampering, AFactThatWasMovedIsMissingWhereItWas) {
  EXPECT_EQ(after("UPDATE fact SET seq = 9 WHERE seq = 5"),
            (Problems{fact(9, "m5") + " is in no batch: it was inserted, or its batch taken away",
                      "fact 5 of stream 64 is missing"}));
  EXPECT_EQ(after("UPDATE fact SET stream = 65 WHERE seq = 2"),
            (Problems{"fact 2 of stream 64 is missing",
                      "fact 2 of stream 65 (message m2) is in no batch: it was inserted, or its "
                      "batch taken away"}));
}

TEST_P(Tampering, EveryColumnOfABatchIsComparedWithItsFacts) {
  EXPECT_EQ(after("UPDATE settle_batch SET head = 'x' WHERE no = 2"),
            Problems{"batch 2 of stream 64 does not end with the hash of " + fact(3, "m3")});
  EXPECT_EQ(
      after("UPDATE settle_batch SET facts = 3 WHERE no = 1"),
      (Problems{"batch 2 of stream 64 does not follow on the one before: it begins at fact 3, "
                "not at 4",
                "batch 1 of stream 64 does not end with the hash of " + fact(3, "m3")}));
  EXPECT_EQ(
      after("UPDATE settle_batch SET first_seq = 5 WHERE no = 3"),
      (Problems{"batch 3 of stream 64 does not follow on the one before: it begins at fact 5, "
                "not at 4",
                "fact 6 of stream 64 is missing"}));
  EXPECT_EQ(after("DELETE FROM settle_batch WHERE no = 2"),
            Problems{"batch 3 of stream 64 does not follow on the one before: it begins at fact 4, "
                     "not at 3"});
  EXPECT_EQ(
      after("UPDATE settle_batch SET facts = 0 WHERE no = 3"),
      (Problems{fact(4, "m4") + " is in no batch: it was inserted, or its batch taken away",
                fact(5, "m5") + " is in no batch: it was inserted, or its batch taken away"}));
  EXPECT_EQ(after("INSERT INTO settle_batch VALUES (64, 9, 6, 2, '', '{}')"),
            Problems{"facts 6 to 7 of stream 64 are missing"});
}

TEST_P(Tampering, EveryColumnOfAShareIsChainedAndAddedUp) {
  const std::string unpaid = "the charge of " + fact(3, "m3") + " is not what its leases paid";
  EXPECT_EQ(after("UPDATE fact_share SET units = 3 WHERE lease_id = 1"),
            (Problems{unpaid, changed(3, "m3"), lease_off(1)}));
  EXPECT_EQ(after("UPDATE fact_share SET lease_id = 3 WHERE lease_id = 1"),
            (Problems{changed(3, "m3"), lease_off(1), lease_off(3)}));
  EXPECT_EQ(after("DELETE FROM fact_share WHERE lease_id = 2"),
            (Problems{unpaid, changed(3, "m3"), lease_off(2)}));
  EXPECT_EQ(after("INSERT INTO fact_share VALUES (64, 4, 3, 1)"),
            (Problems{"the charge of " + fact(4, "m4") + " is not what its leases paid",
                      changed(4, "m4"), lease_off(3)}));
  EXPECT_EQ(after("INSERT INTO fact_share VALUES (64, 6, 3, 1)"),
            (Problems{"lease 3 paid for fact 6 of stream 64, which is not there", lease_off(3)}));
  EXPECT_EQ(after("UPDATE fact_share SET seq = 2 WHERE lease_id = 1"),
            (Problems{"the charge of " + fact(2, "m2") + " is not what its leases paid",
                      changed(2, "m2"), unpaid, changed(3, "m3")}));
}

TEST_P(Tampering, EveryColumnOfAPostingIsAddedUp) {
  const std::string grant_of_x = " WHERE from_book = 'issued' AND allocation_id = '" + x_ + "'";
  const std::string lease_of_z = " WHERE to_book = 'escrow' AND lease_id = 3";
  const auto id_of = [&](const std::string& where) {
    return "posting " +
           std::to_string(
               intruder_->query_once("SELECT id FROM posting" + where, "i").number(0, 0));
  };
  const auto of = [&](const std::string& where, const std::string& change) {
    return sorted(after("UPDATE posting SET " + change + where));
  };
  EXPECT_EQ(of(grant_of_x, "units = 4"), Problems{allocation_off(x_)});
  EXPECT_EQ(of(lease_of_z, "units = 5"), sorted({allocation_off(z_), lease_off(3)}));
  const std::string named = id_of(grant_of_x);
  EXPECT_EQ(of(grant_of_x, "from_book = 'nowhere'"),
            sorted({named + " is no movement that the books know", allocation_off(x_)}));
  EXPECT_EQ(of(grant_of_x, "to_book = 'escrow'"),
            sorted({named + " is no movement that the books know", allocation_off(x_)}));
  EXPECT_EQ(of(grant_of_x, "lease_id = 2"),
            sorted({named + " is no movement that the books know",
                    id_of(" WHERE to_book = 'escrow' AND lease_id = 2") +
                        " is of another allocation than the first of lease 2",
                    "lease 2 is on another allocation than its postings"}));
  EXPECT_EQ(of(grant_of_x, "allocation_id = '" + y_ + "'"),
            sorted({allocation_off(x_), allocation_off(y_)}));
  EXPECT_EQ(of(grant_of_x, "account_id = '" + b_ + "'"),
            sorted({id_of(" WHERE to_book = 'escrow' AND lease_id = 1") +
                        " is of another account than the first of allocation " + x_,
                    "allocation " + x_ + " is of another account than its postings"}));
  EXPECT_EQ(after("DELETE FROM posting" + lease_of_z),
            (Problems{lease_off(3), allocation_off(z_)}));
  EXPECT_EQ(
      after("INSERT INTO posting (at, account_id, allocation_id, lease_id, from_book, to_book,"
            " units) SELECT at, account_id, allocation_id, lease_id, from_book, to_book, units"
            " FROM posting" +
            lease_of_z),
      (Problems{lease_off(3), allocation_off(z_)}));
}

TEST_P(Tampering, EveryColumnOfAnAllocationThatCarriesMoneyIsAddedUp) {
  for (const char* column : {"units", "remaining", "expired", "voided"}) {
    const std::string name = column;
    EXPECT_EQ(
        after("UPDATE allocation SET " + name + " = " + name + " + 1 WHERE id = '" + w_ + "'"),
        (Problems{allocation_off(w_), account_off(b_, name == "units" ? 12 : 11)}))
        << name;
  }
  EXPECT_EQ(after("UPDATE allocation SET account_id = '" + b_ + "' WHERE id = '" + x_ + "'"),
            (Problems{"lease 1 is of another account than its allocation",
                      "allocation " + x_ + " is of another account than its postings",
                      account_off(std::min(a_, b_), a_ < b_ ? 9 : 14),
                      account_off(std::max(a_, b_), a_ < b_ ? 14 : 9)}));
  EXPECT_EQ(after("DELETE FROM allocation WHERE id = '" + w_ + "'"),
            Problems{"allocation " + w_ + " is missing: postings name it"});
}

TEST_P(Tampering, EveryColumnOfALeaseThatCarriesMoneyIsAddedUp) {
  EXPECT_EQ(after("UPDATE lease SET granted = granted + 1 WHERE id = 2"),
            (Problems{lease_off(2), account_off(a_, 12)}));
  EXPECT_EQ(after("UPDATE lease SET settled = settled - 1 WHERE id = 1"),
            (Problems{lease_off(1), account_off(a_, 12)}));
  EXPECT_EQ(after("UPDATE lease SET state = 'open' WHERE id = 3"),
            Problems{});  // it has no units left
  EXPECT_EQ(after("UPDATE lease SET state = 'closed' WHERE id = 2"),
            (Problems{lease_off(2), account_off(a_, 12)}));
  EXPECT_EQ(after("UPDATE lease SET allocation_id = '" + w_ + "' WHERE id = 3"),
            Problems{"lease 3 is on another allocation than its postings"});
  EXPECT_EQ(after("UPDATE lease SET account_id = '" + a_ + "' WHERE id = 3"),
            Problems{"lease 3 is of another account than its allocation"});
  EXPECT_EQ(after("DELETE FROM lease WHERE id = 3"),
            Problems{"lease 3 is missing: postings or facts name it"});
}

TEST_P(Tampering, AWithdrawnAllocationMustFitItsLeases) {
  const auto misfit = [](const std::string& id, const std::string& state) {
    return "allocation " + id + " is " + state + ", which does not fit its leases";
  };
  EXPECT_EQ(after("UPDATE allocation SET state = 'voided' WHERE id = '" + y_ + "'"),
            Problems{misfit(y_, "voided")});
  EXPECT_EQ(after("UPDATE allocation SET state = 'voiding' WHERE id = '" + w_ + "'"),
            Problems{misfit(w_, "voiding")});
  ASSERT_TRUE(node_->ledger().void_allocation(y_).ok());
  ASSERT_EQ(problems(), Problems{});
  tamper("UPDATE allocation SET state = 'voided' WHERE id = '" + y_ + "'");
  EXPECT_EQ(problems(), Problems{misfit(y_, "voided")});  // lease 2 is open
}

TEST_P(Tampering, EverySpendWindowCountsWhatTheLeasesOfItsKeyCarry) {
  identity::ApiKeys keys(node_->keys(), identity::Environment::development, store_->random);
  const std::string key = keys.create(a_, "capped")->key.id;
  ASSERT_TRUE(keys.change(key, {.caps = identity::SpendCaps{5, 50}})->has_value());
  LeaseRequest capped = request(a_, 4);
  capped.key_id = key;
  const LeaseRequest requests[] = {capped};
  const LeaseGrant lease = (*leases_->acquire(requests))[0].grants.at(0);
  ASSERT_EQ(problems(), Problems{});
  const auto off = [&](const std::string& span, const SpendWindow& window) {
    return "the " + span + " of key " + key + " from " + std::to_string(window.starts_at_ms) +
           " does not count what its leases carry";
  };
  const std::string day = off("day", utc_day(store_->clock.now_ms()));
  const std::string month = off("month", utc_month(store_->clock.now_ms()));
  const std::string its_lease = " WHERE id = " + std::to_string(lease.lease_id);
  const auto with = [&](const std::string& change, const std::string& undo) {
    tamper(change);
    Problems found = problems();
    tamper(undo);
    return found;
  };
  EXPECT_EQ(with("UPDATE key_window SET taken = taken - 1 WHERE span = 'day'",
                 "UPDATE key_window SET taken = taken + 1 WHERE span = 'day'"),
            Problems{day});
  EXPECT_EQ(with("UPDATE key_window SET taken = taken + 1 WHERE span = 'month'",
                 "UPDATE key_window SET taken = taken - 1 WHERE span = 'month'"),
            Problems{month});
  EXPECT_EQ(with("UPDATE lease SET key_id = ''" + its_lease,
                 "UPDATE lease SET key_id = '" + key + "'" + its_lease),
            (Problems{day, month}));
  tamper("DELETE FROM key_window");
  EXPECT_EQ(problems(), (Problems{day, month}));
}

// ---- what only a checkpoint finds ---------------------------------------------------------------

TEST_P(Tampering, ATailCutOffWithItsBatchIsFoundByACheckpoint) {
  const Checkpoint earlier = checkpoint();
  ASSERT_EQ(earlier.streams.size(), 1u);
  EXPECT_EQ(earlier.streams[0].seq, 5);
  EXPECT_EQ(earlier.totals.granted, 23);
  EXPECT_EQ(earlier.totals.charged, 7);
  tamper("DELETE FROM fact WHERE seq >= 4");
  tamper("DELETE FROM settle_batch WHERE no = 3");
  tamper("UPDATE lease SET granted = 0, settled = 0 WHERE id = 3");
  tamper("UPDATE posting SET units = 4 WHERE from_book = 'escrow'");
  tamper("UPDATE allocation SET remaining = 10 WHERE id = '" + z_ + "'");
  EXPECT_EQ(problems(), Problems{});  // the manipulation is consistent
  EXPECT_EQ(problems(&earlier), (Problems{"stream 64 ends with fact 3, the checkpoint lists fact 5",
                                          "charged in total is 4, the checkpoint says 7"}));
}

TEST_P(Tampering, AChainWrittenAnewIsFoundByACheckpoint) {
  const Checkpoint earlier = checkpoint();
  const storage::Rows row = intruder_->query_once(
      "SELECT f.hash, g.occurred_at FROM fact f, fact g WHERE f.seq = 4 AND g.seq = 5", "ti");
  crypto::Sha256 before{};
  for (std::size_t at = 0; at < before.size(); ++at) {
    before[at] =
        static_cast<std::uint8_t>(std::stoi(row.text(0, 0).substr(2 * at, 2), nullptr, 16));
  }
  FactRow forged;
  forged.stream = 64;
  forged.seq = 5;
  forged.message_id = forged.request_id = "m5";
  forged.account_id = b_;
  forged.occurred_at = row.number(0, 1);
  forged.method = "PUT";
  forged.credits_charged = 2;
  forged.lease_id = 3;
  std::string buffer;
  const std::string hash = text::hex(fact_hash(before, forged, {}, buffer));
  tamper("UPDATE fact SET method = 'PUT', hash = '" + hash + "' WHERE seq = 5");
  EXPECT_EQ(problems(),
            Problems{"batch 3 of stream 64 does not end with the hash of " + fact(5, "m5")});
  tamper("UPDATE settle_batch SET head = '" + hash + "' WHERE no = 3");
  EXPECT_EQ(problems(), Problems{});
  EXPECT_EQ(problems(&earlier),
            Problems{fact(5, "m5") + " is not the one that the checkpoint lists"});
}

TEST_P(Tampering, BooksThatGrewStillContainTheCheckpoint) {
  const Checkpoint earlier = checkpoint();
  settle({{"m6", a_, {}}});
  grant(a_, 5, day_ms);
  EXPECT_EQ(problems(&earlier), Problems{});
  EXPECT_EQ(checkpoint().streams.at(0).seq, 6);
  EXPECT_EQ(checkpoint().totals.granted, 28);
}

TEST_P(Tampering, FactsWithoutTheirHashesAreFoundWithoutACheckpoint) {
  EXPECT_EQ(after("UPDATE fact SET hash = ''").size(), 5u);
  tamper("UPDATE fact SET hash = ''");
  tamper("UPDATE settle_batch SET head = ''");
  EXPECT_EQ(problems().size(), 5u);
}

// ---- beside a running gateway -------------------------------------------------------------------

TEST_P(Tampering, BooksThatMoveWhileTheyAreReadAreRight) {
  const std::jthread gateway([&](const std::stop_token& stop) {
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      const LeaseRequest requests[] = {request(b_, 1)};
      const auto answers = leases_->acquire(requests);
      ASSERT_TRUE(answers.ok());
      if (!(*answers)[0].grants.empty()) {
        const LeaseGrant lease = (*answers)[0].grants[0];
        settle({{"r" + std::to_string(turn), b_, {{lease.lease_id, lease.epoch, 1}}}});
        const LeaseReturn back[] = {{lease.lease_id, lease.epoch}};
        ASSERT_TRUE(leases_->close(back).ok());
      }
      grant(b_, 2, day_ms);
    }
  });
  const auto auditor = store_->open(storage::Role::tool);
  for (int turn = 0; turn < 30; ++turn) {
    const auto verified = auditor->ledger().verify();
    ASSERT_TRUE(verified.ok());
    EXPECT_EQ(verified->problems, Problems{});
  }
}

}  // namespace
}  // namespace turnpike::ledger
