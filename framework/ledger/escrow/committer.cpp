#include "ledger/escrow/committer.h"

#include <algorithm>
#include <unordered_set>

#include "base/thread_turn.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t facts_wait_ms = 100;
constexpr std::size_t queued_max = 1 << 18;

base::Error lease_lost() {
  return {base::ErrorCode::billing_lease_lost,
          "The Credits of this call were taken back before it ended; nothing was charged.", 1};
}

// The uncharged fact of a call whose charge failed.
UsageFact uncharged(UsageFact fact) {
  fact.charged = false;
  fact.outcome_reason = settlement_failed;
  return fact;
}

}  // namespace

// One call's settlement.
struct SettlementJob : runtime::GroupJob<Settlement> {
  SettlementJob(Hold held, OwnedFact usage, std::unique_ptr<const ReplyToKeep> kept)
      : GroupJob(kept == nullptr ? 0 : kept->reply.body.size()),
        hold(std::move(held)),
        units(hold.units()),
        fact(std::move(usage)),
        reply(std::move(kept)) {}

  // True if a repeat of the call gets its stored reply.
  [[nodiscard]] bool reply_is_kept() const noexcept {
    return reply != nullptr && reply->how != ReplyToKeep::How::too_large;
  }
  [[nodiscard]] UnknownCall call() const {
    return {std::string(fact.view().account_id), std::string(fact.view().message_id), units};
  }

  // The number of leases that pay.
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
  const std::unique_ptr<const ReplyToKeep> reply;  // null: the call has no Idempotency-Key
  bool draws_directly = false;                     // the lease was lost once: `drawn` pays
  std::vector<LeaseShare> drawn;
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
      unknown_calls_(sources_.pool, sources_.log),
      group_(*this, {.thread_name = "committer",
                     .not_written = SettlementRefused{ledger_unavailable()},
                     .unknown = SettlementUnknown{},
                     .queued_max = queued_max,
                     .group_jobs_max = settings_.batch_max,
                     .idle_ms = facts_wait_ms,
                     .stop_ms = settings_.commit_budget_ms,
                     // Calls wait for this Thread, which itself waits for the disk.
                     .on_thread = base::take_short_turns}) {}

Committer::~Committer() = default;

Stored<Unit> Committer::start() {
  auto stream = store_.open_stream();
  if (!stream) return stream.error();
  stream_ = *std::move(stream);
  replays_ = store_.open_replays();
  auto notes = store_.open_notes();
  if (!notes) return notes.error();
  auto noted = unknown_calls_.start(*std::move(notes));
  if (!noted) return noted.error();
  left_charged_ = *std::move(noted);  // those that were not charged need no correction
  is_writing_ = true;
  group_.start();
  return Unit{};
}

void Committer::stop() noexcept {
  group_.stop();
  {
    const std::lock_guard lock(facts_mutex_);
    dropped_.add(group_facts_.size() + facts_.size());
    facts_.clear();
  }
  end_facts();
}

Settlement Committer::settle(Hold hold, OwnedFact fact, std::unique_ptr<const ReplyToKeep> reply) {
  const runtime::CancelMask mask;  // from here on the call is charged, or refused with a reason
  const auto job = std::make_shared<Job>(std::move(hold), std::move(fact), std::move(reply));
  const auto refused = [&](const SettlementRefused& why) {
    record(uncharged(job->fact.view()));
    return why;
  };
  if (!group_.push(job)) return refused({ledger_unavailable()});
  switch (group_.wait(*job, runtime::Deadline::after_ms(settings_.commit_budget_ms))) {
    case Group::Waited::withdrawn:
      return refused({ledger_unavailable()});
    case Group::Waited::left:
      return leave(*job);
    case Group::Waited::answered:
      break;
  }
  Settlement answer = job->take_answer();
  if (std::holds_alternative<SettlementUnknown>(answer)) {
    unknown_calls_.open(job->call());
    return leave(*job);
  }
  if (const auto* why = std::get_if<SettlementRefused>(&answer)) return refused(*why);
  return answer;
}

// Opened before the committer can learn that the caller left.
void Committer::leaving(const Job& job) { unknown_calls_.open(job.call()); }

void Committer::stays(const Job& job) { unknown_calls_.close(job.fact.view().message_id); }

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
  ++facts_recorded_;
}

bool Committer::await_facts(runtime::Deadline deadline) {
  std::unique_lock lock(facts_mutex_);
  const std::uint64_t recorded = facts_recorded_;
  while (facts_ended_ < recorded) {
    if (facts_end_ == nullptr) facts_end_ = std::make_shared<runtime::Event>();
    const auto end = facts_end_;
    lock.unlock();
    if (end->wait(deadline) != runtime::Wake::ready) return false;
    lock.lock();
  }
  return true;
}

// ---- the committer Thread -----------------------------------------------------------------------

// Waits for half of the calls in flight, or for the batch's wait time.
runtime::Patience Committer::patience(std::size_t /*waiting*/, const runtime::LastGroup& /*last*/) {
  const auto half = std::min<std::int64_t>(settings_.batch_max, escrow_.holds_in_flight() / 2);
  return {static_cast<std::size_t>(std::max<std::int64_t>(1, half)),
          settings_.batch_wait_us * 1'000};
}

void Committer::withdrawn(const Job& job) { return_drawn(job); }

void Committer::left(const std::shared_ptr<Job>& job) { left_uncharged_.push_back(job); }

// The call is charged. A caller that left with "unknown" can query it from now on; if no repeat can
// get its reply, the charge is given back first.
void Committer::answer(Job& job, const Settled& settled, runtime::WakeBatch& wakes) {
  if (job.answer(settled, wakes)) return;
  if (job.reply_is_kept()) {
    unknown_calls_.close(job.fact.view().message_id);
  } else {
    left_charged_.push_back(job.call());
  }
}

// The call is definitely not charged.
void Committer::refuse(const std::shared_ptr<Job>& job, const base::Error& error,
                       runtime::WakeBatch& wakes) {
  if (!job->answer(SettlementRefused{error}, wakes)) left(job);
}

// Gives back the charges of calls that were answered as unknown.
void Committer::between_groups() {
  while (!left_charged_.empty() && is_writing_) {
    const UnknownCall& call = left_charged_.back();
    const auto restored = store_.restore_credits(call.account_id, call.message_id, call.units);
    if (!restored) {  // retried after the next batch, or in 100 ms
      sources_.log.write(Severity::error, "restore_failed", {{"reason", restored.error().text}});
      return;
    }
    unknown_calls_.close(call.message_id);
    left_charged_.pop_back();
  }
}

// Their uncharged facts are written: does the rest of the work that a present caller does itself.
void Committer::finish_left_uncharged() {
  for (const auto& job : left_uncharged_) {
    return_drawn(*job);
    if (job->reply != nullptr) {
      const auto freed = replays_->free(job->reply->key_digest, job->reply->request_id);
      if (!freed) {  // the claim then ends by its own expiry
        sources_.log.write(Severity::error, "replay_failed", {{"reason", freed.error().text}});
      }
    }
    unknown_calls_.close(job->fact.view().message_id);
  }
  left_uncharged_.clear();
}

bool Committer::has_more() {
  const std::lock_guard lock(facts_mutex_);
  return !facts_.empty() || !left_uncharged_.empty() || !left_charged_.empty();
}

void Committer::take_facts(std::size_t room) {
  const std::lock_guard lock(facts_mutex_);
  const std::size_t count = std::min(room, facts_.size());
  const auto end = facts_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(facts_.begin(), end, std::back_inserter(group_facts_));
  facts_.erase(facts_.begin(), end);
}

// The facts of the current group are written, dropped, or known from earlier. They are the oldest
// ones, so only those that wait are left of all that were recorded.
void Committer::end_facts() {
  group_facts_.clear();
  std::shared_ptr<runtime::Event> end;
  {
    const std::lock_guard lock(facts_mutex_);
    facts_ended_ = facts_recorded_ - facts_.size();
    end = std::move(facts_end_);
  }
  if (end != nullptr) end->set();
}

// The contents of one transaction, and the storage that its entries refer to.
struct Committer::Batch {
  std::vector<SettleEntry> entries;  // of jobs, group_facts_, left_uncharged_, in this order
  std::vector<LeaseShare> shares;    // of all jobs, concatenated
  std::vector<UsageFact> failed;     // of left_uncharged_
};

Committer::Batch Committer::batch_of(const Jobs& jobs) const {
  Batch batch;
  std::size_t share_count = 0;
  for (const auto& job : jobs) share_count += job->share_count();
  batch.shares.reserve(share_count);  // entries hold pointers into these two vectors
  batch.failed.reserve(left_uncharged_.size());
  batch.entries.reserve(jobs.size() + group_facts_.size() + left_uncharged_.size());
  for (const auto& job : jobs) {
    const std::size_t first = batch.shares.size();
    job->append_shares(batch.shares);
    batch.entries.push_back(
        {&job->fact.view(), std::span(batch.shares).subspan(first), job->reply.get()});
  }
  for (const OwnedFact& fact : group_facts_) batch.entries.push_back({&fact.view(), {}, nullptr});
  for (const auto& job : left_uncharged_) {
    batch.failed.push_back(uncharged(job->fact.view()));
    batch.entries.push_back({&batch.failed.back(), {}, nullptr});
  }
  return batch;
}

runtime::Committed Committer::write(Jobs& jobs) {
  const std::size_t room = settings_.batch_max - jobs.size();
  if (group_facts_.size() < room) take_facts(room - group_facts_.size());
  if (jobs.empty() && group_facts_.empty() && left_uncharged_.empty()) {
    is_writing_ = true;  // nothing waits any more; the escrow's heartbeat says when to retry
    end_facts();
    return runtime::Committed::done;
  }
  draw_directly(jobs);
  const Batch batch = batch_of(jobs);
  const auto answer = stream_->settle(++number_, batch.entries);
  if (answer) {
    is_writing_ = true;
    if (answer->committed()) {
      answer_all(jobs);
      return runtime::Committed::done;
    }
    revise(jobs, *answer);
    return runtime::Committed::again;
  }
  if (is_writing_.exchange(false)) {
    sources_.log.write(Severity::error, "settlement_failed", {{"reason", answer.error().text}});
  }
  switch (answer.error().kind) {
    case StoreFailure::Kind::unknown:
      return runtime::Committed::unknown;
    case StoreFailure::Kind::fatal:
      if (sources_.fatal) sources_.fatal(answer.error().text);
      return runtime::Committed::broken;
    case StoreFailure::Kind::unavailable:
      break;
  }
  if (jobs.empty()) {  // uncharged facts alone are not worth waiting for
    dropped_.add(group_facts_.size());
    end_facts();
    // Callers that left rely on the facts of left_uncharged_, so no new calls until those are
    // written.
    is_writing_ = left_uncharged_.empty();
  }
  return runtime::Committed::unavailable;
}

runtime::Committed Committer::outcome(Jobs& jobs) {
  const auto committed = stream_->committed(number_);
  if (!committed) return runtime::Committed::unknown;
  sources_.log.write(Severity::warning, "settlement_proven",
                     {{"batch", number_}, {"committed", *committed}});
  is_writing_ = true;
  if (!*committed) return runtime::Committed::again;
  answer_all(jobs);
  return runtime::Committed::done;
}

// Answers all calls of a committed batch.
void Committer::answer_all(Jobs& jobs) {
  batches_.add();
  settled_.add(jobs.size());
  {
    runtime::WakeBatch wakes;
    const std::int64_t now_ns = runtime::now_ns();
    for (const auto& job : jobs) {
      Credits remaining = -1;
      if (job->draws_directly) {
        Hold lost = std::move(job->hold);  // another lease paid; these units are lost
      } else {
        remaining = Escrow::spend(job->hold, now_ns);
      }
      answer(*job, {job->units, remaining}, wakes);
    }
  }
  end_facts();
  finish_left_uncharged();
}

// Removes known messages and calls that lost their claim, lets calls of lost leases draw directly,
// and retries the rest.
void Committer::revise(Jobs& jobs, const SettleAnswer& answer) {
  const std::unordered_set<std::int64_t> lost(answer.lost_leases.begin(), answer.lost_leases.end());
  lost_.add(lost.size());
  const std::size_t first_fact = jobs.size();
  std::vector<bool> is_gone(first_fact + group_facts_.size() + left_uncharged_.size(), false);
  runtime::WakeBatch wakes;
  for (const RepeatedMessage& repeated : answer.repeated) {
    if (is_gone[repeated.entry]) continue;
    is_gone[repeated.entry] = true;
    if (repeated.entry >= first_fact) continue;  // drops the uncharged fact of a known call
    const auto& job = jobs[repeated.entry];
    if (repeated.charged >= 0) {
      return_drawn(*job);
      this->answer(*job, {repeated.charged, -1}, wakes);
    } else {
      group_.postpone(job);  // retried after the call that it repeats
    }
  }
  for (const std::size_t entry : answer.lost_claims) {
    if (is_gone[entry]) continue;
    is_gone[entry] = true;
    return_drawn(*jobs[entry]);
    refuse(jobs[entry], error_of(ClaimAnswer::Kind::in_progress), wakes);
  }
  for (std::size_t at = 0; at < first_fact; ++at) {
    if (is_gone[at]) continue;
    Job& job = *jobs[at];
    std::vector<LeaseShare> shares;
    job.append_shares(shares);
    const bool is_lost = std::any_of(shares.begin(), shares.end(), [&](const auto& share) {
      return lost.contains(share.lease_id);
    });
    if (!is_lost) continue;
    if (job.draws_directly) {
      is_gone[at] = true;
      refuse(jobs[at], lease_lost(), wakes);
      continue;
    }
    for (const std::int64_t lease_id : lost) Escrow::lose(job.hold, lease_id);
    job.draws_directly = true;
    job.drawn.clear();
  }
  std::size_t entry = 0;
  std::erase_if(jobs, [&](const auto&) { return is_gone[entry++]; });
  std::erase_if(group_facts_, [&](const auto&) { return is_gone[entry++]; });
  std::erase_if(left_uncharged_, [&](const auto& job) {
    const bool is_known = entry < is_gone.size() && is_gone[entry++];  // newer ones have no entry
    if (is_known) unknown_calls_.close(job->fact.view().message_id);
    return is_known;
  });
}

// Acquires leases of the committer's own for calls whose lease was lost. Calls that get too few
// units are refused: definitely not charged.
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
    for (const LeaseGrant& grant : (*answers)[at].grants) {  // covers the whole call, or is empty
      drawing[at]->drawn.push_back({grant.lease_id, grant.epoch, grant.units});
    }
  }
  runtime::WakeBatch wakes;
  std::erase_if(jobs, [&](const auto& job) {
    if (!job->draws_directly || !job->drawn.empty()) return false;
    refuse(job, lease_lost(), wakes);
    return true;
  });
}

// Returns a refused call's units individually, since other calls may have drawn from the same
// lease. If that fails, the lease ends by its own expiry.
void Committer::return_drawn(const Job& job) {
  if (job.draws_directly && !job.drawn.empty()) (void)stream_->give_back(job.drawn);
}

}  // namespace turnpike::ledger
