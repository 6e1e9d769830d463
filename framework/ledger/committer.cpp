#include "ledger/committer.h"

#include <algorithm>
#include <unordered_set>

#include "base/thread_name.h"
#include "base/thread_turn.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t facts_wait_ms = 100;
constexpr std::int64_t retry_pause_ms = 50;
constexpr std::size_t queue_max = 1 << 18;

base::Error unavailable() {
  return {base::ErrorCode::billing_ledger_unavailable,
          "The Credit ledger cannot be reached; nothing was charged.", 1};
}

base::Error lease_lost() {
  return {base::ErrorCode::billing_lease_lost,
          "The Credits of this call were taken back before it ended; nothing was charged.", 1};
}

// What is on record of a call that was to be charged and could not be.
UsageFact uncharged(UsageFact fact) {
  fact.charged = false;
  fact.outcome_reason = settlement_failed;
  return fact;
}

}  // namespace

// One call's settlement, shared by the call and the committer, since either may leave first.
struct Committer::Job {
  Job(Hold held, OwnedFact usage, std::unique_ptr<const ReplyToKeep> kept)
      : hold(std::move(held)),
        units(hold.units()),
        fact(std::move(usage)),
        reply(std::move(kept)) {}

  // queued -> taken -> queued ... -> answered; the caller leaves by queued -> withdrawn or
  // taken -> left.
  enum class State : std::uint8_t { queued, taken, answered, withdrawn, left };
  bool move(State from, State to) noexcept { return state.compare_exchange_strong(from, to); }
  // A repeat of the call gets its reply.
  [[nodiscard]] bool reply_is_kept() const noexcept {
    return reply != nullptr && reply->how != ReplyToKeep::How::too_large;
  }
  [[nodiscard]] UnknownCall call() const {
    return {std::string(fact.view().account_id), std::string(fact.view().message_id), units};
  }

  // What pays.
  [[nodiscard]] std::size_t share_count() const noexcept {
    return draws_directly ? drawn.size() : Escrow::share_count(hold);
  }
  void append_shares(std::vector<LeaseShare>& to) const {
    if (draws_directly) {
      to.insert(to.end(), drawn.begin(), drawn.end());
    } else {
      Escrow::append_shares(hold, to);
    }
  }

  Hold hold;
  const Credits units;
  const OwnedFact fact;
  const std::unique_ptr<const ReplyToKeep> reply;  // null: the call came without a key
  bool draws_directly = false;                     // its lease was lost once: `drawn` pays
  std::vector<LeaseShare> drawn;
  std::atomic<State> state{State::queued};
  runtime::OneShot<Settlement> answer;
};

Committer::Committer(LedgerStore& store, Escrow& escrow, const LedgerSettings& settings,
                     EscrowLedger::Sources sources)
    : store_(store),
      escrow_(escrow),
      settings_(settings),
      sources_(std::move(sources)),
      batches_(sources_.metrics.counter("turnpike_ledger_batches_total",
                                        "Settlement transactions committed", {})),
      settled_(
          sources_.metrics.counter("turnpike_ledger_settlements_total", "Paid calls charged", {})),
      unknown_(sources_.metrics.counter("turnpike_ledger_unknown_total",
                                        "Settlements answered as unknown", {})),
      lost_(sources_.metrics.counter("turnpike_ledger_lost_leases_total",
                                     "Leases found lost at settlement", {})),
      dropped_(sources_.metrics.counter("turnpike_ledger_dropped_facts_total",
                                        "Uncharged facts not recorded", {})),
      queue_(queue_max),
      unknown_calls_(sources_.pool, sources_.log) {}

Committer::~Committer() {
  is_abandoned_ = true;
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

Stored<Unit> Committer::start() {
  auto stream = store_.open_stream();
  if (!stream) return stream.error();
  stream_ = *std::move(stream);
  replays_ = store_.open_replays();
  auto notes = store_.open_notes();
  if (!notes) return notes.error();
  auto noted = unknown_calls_.start(*std::move(notes));
  if (!noted) return noted.error();
  charged_unheard_ = *std::move(noted);  // or not charged: then there is nothing to give back
  is_writing_ = true;
  thread_ = std::thread([this] { run(); });
  return Unit{};
}

void Committer::stop() noexcept {
  drain_until_ns_ = runtime::now_ns() + settings_.commit_budget_ms * ns_per_ms;
  is_draining_ = true;
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

Settlement Committer::settle(Hold hold, OwnedFact fact, std::unique_ptr<const ReplyToKeep> reply) {
  const runtime::CancelMask mask;  // from here the call is charged or told why not
  const auto job = std::make_shared<Job>(std::move(hold), std::move(fact), std::move(reply));
  const auto refused = [&](const SettlementRefused& why) {
    record(uncharged(job->fact.view()));
    return why;
  };
  if (!queue_.push(job)) return refused({unavailable()});
  const auto budget = runtime::Deadline::after_ms(settings_.commit_budget_ms);
  while (job->answer.wait(budget) != runtime::Wake::ready) {
    if (job->move(Job::State::queued, Job::State::withdrawn)) {
      return refused({unavailable()});
    }
    unknown_calls_.open(job->call());  // before the committer can know that we left
    if (job->move(Job::State::taken, Job::State::left)) return leave(*job);
    unknown_calls_.close(job->fact.view().message_id);
    // It was put back, taken again or answered between the two looks.
  }
  Settlement answer = job->answer.take();
  if (std::holds_alternative<SettlementUnknown>(answer)) {
    unknown_calls_.open(job->call());
    return leave(*job);
  }
  if (const auto* why = std::get_if<SettlementRefused>(&answer)) return refused(*why);
  return answer;
}

SettlementUnknown Committer::leave(const Job& job) {
  unknown_.add();
  if (!job.reply_is_kept()) unknown_calls_.note(job.call());
  return {};
}

void Committer::record(OwnedFact fact) noexcept {
  const std::lock_guard lock(facts_mutex_);
  if (facts_.size() >= settings_.released_facts_max) {
    dropped_.add();
    return;
  }
  facts_.push_back(std::move(fact));
}

// ---- the committer Thread -----------------------------------------------------------------------

void Committer::run() {
  base::name_this_thread("committer");
  base::take_short_turns();  // calls wait for it, and it waits for the disk
  Jobs jobs;
  while (!is_abandoned_) {
    jobs.clear();
    take(jobs, runtime::Deadline::after_ms(facts_wait_ms));
    const bool is_drained = !has_more() || runtime::now_ns() > drain_until_ns_;
    if (is_abandoned_ || (is_draining_ && jobs.empty() && is_drained)) break;
    commit(jobs);
    if (is_broken_) break;
    restore_unheard();
  }
  // A crash, or a store that is given up: callers that still wait are told at once.
  Jobs rest = std::move(jobs);
  jobs.clear();
  (void)queue_.take(jobs, 1, runtime::Deadline::after_ms(0));
  std::move(jobs.begin(), jobs.end(), std::back_inserter(rest));
  runtime::WakeBatch wakes;
  for (const auto& job : rest) {
    if (job != nullptr && job->move(Job::State::queued, Job::State::taken)) {
      refuse(job, unavailable(), wakes);
    }
  }
}

// To a caller that still waits. One that left as unknown can ask for it from now on; if it was
// charged, and no repeat will ever get its reply, the charge is given back first.
void Committer::answer(const std::shared_ptr<Job>& job, Settlement settlement,
                       runtime::WakeBatch& wakes) {
  if (job->move(Job::State::taken, Job::State::answered)) {
    job->answer.set(std::move(settlement), wakes);
  } else if (std::holds_alternative<Settled>(settlement) && !job->reply_is_kept()) {
    charged_unheard_.push_back(job->call());
  } else if (!std::holds_alternative<SettlementUnknown>(settlement)) {
    unknown_calls_.close(job->fact.view().message_id);
  }
}

void Committer::restore_unheard() {
  while (!charged_unheard_.empty() && is_writing_) {
    const UnknownCall& call = charged_unheard_.back();
    const auto restored = store_.restore_credits(call.account_id, call.message_id, call.units);
    if (!restored) {  // tried again after the next batch, or in 100 ms
      sources_.log.write(Severity::error, "restore_failed", {{"reason", restored.error().text}});
      return;
    }
    unknown_calls_.close(call.message_id);
    charged_unheard_.pop_back();
  }
}

// Certainly not charged.
void Committer::refuse(const std::shared_ptr<Job>& job, const base::Error& error,
                       runtime::WakeBatch& wakes) {
  if (job->move(Job::State::taken, Job::State::answered)) {
    job->answer.set(SettlementRefused{error}, wakes);
  } else {
    disowned_.push_back(job);
  }
}

// To be settled again, unless its caller has left: a call that was told that its settlement is
// unknown is never charged afterwards.
bool Committer::put_back(const std::shared_ptr<Job>& job) {
  if (job->move(Job::State::taken, Job::State::queued)) return true;
  disowned_.push_back(job);
  return false;
}

// Their uncharged facts are written: what is left of what a call does for itself.
void Committer::finish_disowned() {
  for (const auto& job : disowned_) {
    return_drawn(*job);
    if (job->reply != nullptr) {
      const auto freed = replays_->free(job->reply->key_digest, job->reply->request_id);
      if (!freed) {  // then the claim ends by its own time
        sources_.log.write(Severity::error, "replay_failed", {{"reason", freed.error().text}});
      }
    }
    unknown_calls_.close(job->fact.view().message_id);
  }
  disowned_.clear();
}

// Half of what is in flight, or what came within the batch's wait after the first.
void Committer::take(Jobs& jobs, runtime::Deadline until) {
  (void)queue_.take(jobs, 1, until);
  if (jobs.empty()) return;
  const auto half = static_cast<std::size_t>(std::max<std::int64_t>(
      1, std::min<std::int64_t>(settings_.batch_max, escrow_.holds_in_flight() / 2)));
  if (jobs.size() >= half) return;
  Jobs more;
  const runtime::Deadline wait{runtime::now_ns() + settings_.batch_wait_us * 1'000};
  (void)queue_.take(more, half - jobs.size(), wait);
  std::move(more.begin(), more.end(), std::back_inserter(jobs));
}

bool Committer::has_more() {
  const std::lock_guard lock(facts_mutex_);
  return !facts_.empty() || !disowned_.empty() || !charged_unheard_.empty();
}

void Committer::take_facts(std::vector<OwnedFact>& facts, std::size_t room) {
  const std::lock_guard lock(facts_mutex_);
  const std::size_t count = std::min(room, facts_.size());
  const auto end = facts_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(facts_.begin(), end, std::back_inserter(facts));
  facts_.erase(facts_.begin(), end);
}

void Committer::commit(Jobs& jobs) {
  std::size_t from = 0;
  do {
    const std::size_t count = std::min<std::size_t>(settings_.batch_max, jobs.size() - from);
    Jobs some(std::make_move_iterator(jobs.begin() + static_cast<std::ptrdiff_t>(from)),
              std::make_move_iterator(jobs.begin() + static_cast<std::ptrdiff_t>(from + count)));
    from += count;
    std::vector<OwnedFact> facts;
    take_facts(facts, settings_.batch_max - count);
    while (attempt(some, facts) == Next::again && !is_abandoned_) {
    }
  } while (from < jobs.size() && !is_broken_);
}

// What one transaction writes, with the bytes that its entries refer to.
struct Committer::Batch {
  std::vector<SettleEntry> entries;  // of the calls, the facts, the disowned, in this order
  std::vector<LeaseShare> shares;    // of all calls, one after the other
  std::vector<UsageFact> failed;     // of the disowned
};

Committer::Batch Committer::batch_of(const Jobs& jobs, const std::vector<OwnedFact>& facts) const {
  Batch batch;
  std::size_t share_count = 0;
  for (const auto& job : jobs) share_count += job->share_count();
  batch.shares.reserve(share_count);  // entries refer to them, as to the next
  batch.failed.reserve(disowned_.size());
  batch.entries.reserve(jobs.size() + facts.size() + disowned_.size());
  for (const auto& job : jobs) {
    const std::size_t first = batch.shares.size();
    job->append_shares(batch.shares);
    batch.entries.push_back(
        {&job->fact.view(), std::span(batch.shares).subspan(first), job->reply.get()});
  }
  for (const OwnedFact& fact : facts) batch.entries.push_back({&fact.view(), {}, nullptr});
  for (const auto& job : disowned_) {
    batch.failed.push_back(uncharged(job->fact.view()));
    batch.entries.push_back({&batch.failed.back(), {}, nullptr});
  }
  return batch;
}

Committer::Next Committer::attempt(Jobs& jobs, std::vector<OwnedFact>& facts) {
  std::erase_if(jobs, [&](const auto& job) {
    if (job->move(Job::State::queued, Job::State::taken)) return false;
    return_drawn(*job);  // its caller took it along
    return true;
  });
  if (jobs.empty() && facts.empty() && disowned_.empty()) {
    is_writing_ = true;  // nobody waits any more; the escrow's heartbeat tells when to try again
    return Next::done;
  }
  draw_directly(jobs);
  const Batch batch = batch_of(jobs, facts);
  const std::int64_t number = ++number_;
  const auto answer = stream_->settle(number, batch.entries);
  if (answer) {
    is_writing_ = true;
    if (!answer->committed()) {
      revise(jobs, facts, *answer);
      return Next::again;
    }
    batches_.add();
    answer_all(jobs);
    finish_disowned();
    return Next::done;
  }
  if (is_writing_.exchange(false)) {
    sources_.log.write(Severity::error, "settlement_failed", {{"reason", answer.error().text}});
  }
  switch (answer.error().kind) {
    case StoreFailure::Kind::unknown:
      return prove(jobs, facts, number);
    case StoreFailure::Kind::fatal:
      give_up(jobs, answer.error());
      return Next::give_up;
    case StoreFailure::Kind::unavailable:
      break;
  }
  if (jobs.empty()) {  // uncharged facts alone are not worth waiting for
    dropped_.add(facts.size());
    is_writing_ = disowned_.empty();  // those were promised: until they are written, no new ones
    return Next::done;
  }
  for (const auto& job : jobs) {
    if (is_draining_) {
      runtime::WakeBatch wakes;
      refuse(job, unavailable(), wakes);
    } else {
      put_back(job);
    }
  }
  if (is_draining_) return Next::give_up;
  pause();
  return Next::again;
}

// Nothing may be written before the fate of that transaction is known.
Committer::Next Committer::prove(Jobs& jobs, std::vector<OwnedFact>& facts, std::int64_t number) {
  while (!is_abandoned_) {
    const auto committed = stream_->committed(number);
    if (committed) {
      sources_.log.write(Severity::warning, "settlement_proven",
                         {{"batch", number}, {"committed", *committed}});
      is_writing_ = true;
      if (*committed) {
        batches_.add();
        answer_all(jobs);
        finish_disowned();
        return Next::done;
      }
      for (const auto& job : jobs) put_back(job);
      return Next::again;
    }
    if (is_draining_ && runtime::now_ns() > drain_until_ns_) break;
    pause();
  }
  runtime::WakeBatch wakes;
  for (const auto& job : jobs) answer(job, SettlementUnknown{}, wakes);
  dropped_.add(facts.size());
  jobs.clear();
  return Next::give_up;
}

void Committer::answer_all(Jobs& jobs) {
  runtime::WakeBatch wakes;
  const std::int64_t now_ns = runtime::now_ns();
  for (const auto& job : jobs) {
    Credits remaining = -1;
    if (job->draws_directly) {
      Hold lost = std::move(job->hold);  // its units are another lease's; these are gone already
    } else {
      remaining = Escrow::spend(job->hold, now_ns);
    }
    answer(job, Settled{job->units, remaining}, wakes);
  }
  settled_.add(jobs.size());
  jobs.clear();
}

// Takes known messages and calls without their claim out and has calls of lost leases draw
// directly; the rest is queued again.
void Committer::revise(Jobs& jobs, std::vector<OwnedFact>& facts, const SettleAnswer& answer) {
  const std::unordered_set<std::int64_t> lost(answer.lost_leases.begin(), answer.lost_leases.end());
  lost_.add(lost.size());
  const std::size_t first_disowned = jobs.size() + facts.size();
  std::vector<bool> is_gone(first_disowned + disowned_.size(), false);
  runtime::WakeBatch wakes;
  for (const RepeatedMessage& repeated : answer.repeated) {
    if (is_gone[repeated.entry]) continue;
    is_gone[repeated.entry] = true;
    if (repeated.entry >= jobs.size()) continue;  // an uncharged fact of a known call: dropped
    const auto& job = jobs[repeated.entry];
    if (repeated.charged >= 0) {
      return_drawn(*job);
      this->answer(job, Settled{repeated.charged, -1}, wakes);
    } else if (put_back(job)) {
      (void)queue_.push(job);  // after the one it repeats
    }
  }
  for (const std::size_t entry : answer.lost_claims) {
    if (is_gone[entry]) continue;
    is_gone[entry] = true;
    return_drawn(*jobs[entry]);
    refuse(jobs[entry], error_of(ClaimAnswer::Kind::in_progress), wakes);
  }
  Jobs kept;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (is_gone[at]) continue;
    Job& job = *jobs[at];
    std::vector<LeaseShare> shares;
    job.append_shares(shares);
    const bool is_lost = std::any_of(shares.begin(), shares.end(), [&](const auto& share) {
      return lost.contains(share.lease_id);
    });
    if (is_lost && job.draws_directly) {
      refuse(jobs[at], lease_lost(), wakes);
      continue;
    }
    if (is_lost) {
      for (const std::int64_t lease_id : lost) Escrow::lose(job.hold, lease_id);
      job.draws_directly = true;
      job.drawn.clear();
    }
    if (put_back(jobs[at])) kept.push_back(jobs[at]);
  }
  jobs = std::move(kept);
  std::size_t fact_at = first_disowned - facts.size();
  std::erase_if(facts, [&](const OwnedFact&) { return is_gone[fact_at++]; });
  std::size_t disowned_at = first_disowned;
  std::erase_if(disowned_, [&](const auto& job) {
    const bool is_known = disowned_at < is_gone.size() && is_gone[disowned_at++];
    if (is_known) unknown_calls_.close(job->fact.view().message_id);
    return is_known;
  });
}

// Leases of the committer's own for the calls whose lease was lost. Those that find too little are
// refused: certainly not charged.
void Committer::draw_directly(Jobs& jobs) {
  std::vector<LeaseRequest> requests;
  Jobs drawing;
  for (const auto& job : jobs) {
    if (!job->draws_directly || !job->drawn.empty()) continue;
    drawing.push_back(job);
    LeaseRequest request;
    request.account_id = job->fact.view().account_id;
    request.key_id = Escrow::capped_key(job->hold);
    request.calls = {job->units};
    request.hold_ms = request.settle_ms = settings_.settle_margin_ms;
    requests.push_back(std::move(request));
  }
  if (requests.empty()) return;
  const auto answers = stream_->acquire(requests);
  for (std::size_t at = 0; answers && at < drawing.size(); ++at) {
    for (const LeaseGrant& grant : (*answers)[at].grants) {  // the whole call's, or none
      drawing[at]->drawn.push_back({grant.lease_id, grant.epoch, grant.units});
    }
  }
  runtime::WakeBatch wakes;
  std::erase_if(jobs, [&](const std::shared_ptr<Job>& job) {
    if (!job->draws_directly || !job->drawn.empty()) return false;
    refuse(job, lease_lost(), wakes);
    return true;
  });
}

// What was drawn for a call that does not pay goes back by its units: other calls may have drawn
// from the same lease. If that fails, the lease ends by its own time.
void Committer::return_drawn(const Job& job) {
  if (job.draws_directly && !job.drawn.empty()) (void)stream_->give_back(job.drawn);
}

void Committer::give_up(Jobs& jobs, const StoreFailure& failure) {
  is_broken_ = true;
  queue_.close();
  if (sources_.fatal) sources_.fatal(failure.text);
  runtime::WakeBatch wakes;
  for (const auto& job : jobs) answer(job, SettlementUnknown{}, wakes);
  jobs.clear();
}

void Committer::pause() { (void)runtime::sleep_until(runtime::Deadline::after_ms(retry_pause_ms)); }

}  // namespace turnpike::ledger
