// Guard::wrap() for lanes: as for providers, but what is at stake is money. A refusal must name an
// error of the gateway; an admission whose caller left is released; a settlement that was begun and
// not seen to end is unknown, never "not charged".
#include <utility>

#include "base/error.h"
#include "plugin/guard.h"
#include "plugin/pool_call.h"
#include "runtime/fiber.h"

namespace turnpike::plugin {

namespace {

using runtime::Deadline;
using runtime::PoolOutcome;

Refusal fault(const Guard& guard, std::string_view reason) {
  return {
      "gateway.plugin_fault", "lane " + guard.name() + ": " + std::string(reason), 0, {}, {}, {}};
}

Refusal no_room(const Guard& guard) {
  return {"gateway.overloaded",
          "lane " + guard.name() + ": its share of the pool is full",
          1,
          {},
          {},
          {}};
}

// A code that is none of ours would have no status.
void correct(const Guard& guard, Refusal& refusal) {
  if (base::find_error(refusal.code) != nullptr) return;
  refusal = fault(guard, "it refused with the unknown code " + refusal.code);
}

Finish corrected(const Guard& guard, Finish finish) {
  if (auto* not_charged = std::get_if<NotCharged>(&finish)) correct(guard, not_charged->refusal);
  if (auto* unknown = std::get_if<Unknown>(&finish)) correct(guard, unknown->refusal);
  return finish;
}

// The copies that a lane on the pool reads from.
struct OwnedLaneRequest {
  explicit OwnedLaneRequest(const LaneRequest& request)
      : operation(request.operation), texts{std::string(request.request_id),
                                            std::string(request.client_request_id),
                                            std::string(request.path),
                                            std::string(request.query),
                                            std::string(request.content_type),
                                            std::string(request.body),
                                            std::string(request.account_id),
                                            std::string(request.principal_id),
                                            std::string(request.idempotency_key)} {
    for (const HeaderField& field : request.credentials) {
      credentials.push_back({std::string(field.name), std::string(field.value)});
    }
    for (const OwnedHeader& header : credentials) fields.push_back({header.name, header.value});
  }
  [[nodiscard]] LaneRequest view() const {
    return {operation, texts[0], texts[1], texts[2], texts[3], texts[4],
            texts[5],  fields,   texts[6], texts[7], texts[8]};
  }
  std::uint32_t operation;
  std::string texts[9];
  std::vector<OwnedHeader> credentials;
  std::vector<HeaderField> fields;
};

struct OwnedReply {
  explicit OwnedReply(const ReplyView& reply) : body(reply.body), shape(reply) {
    for (const HeaderField& field : reply.headers) {
      headers.push_back({std::string(field.name), std::string(field.value)});
    }
    for (const OwnedHeader& header : headers) fields.push_back({header.name, header.value});
  }
  [[nodiscard]] ReplyView view() const {
    ReplyView view = shape;
    view.headers = fields;
    view.body = body;
    return view;
  }
  std::string body;
  ReplyView shape;
  std::vector<OwnedHeader> headers;
  std::vector<HeaderField> fields;
};

class GuardedTicket final : public Ticket {
 public:
  GuardedTicket(Guard& guard, std::shared_ptr<Ticket> inner)
      : guard_(guard), inner_(std::move(inner)) {}

  Finish settle(const ReplyView& reply, Call& call) override {
    const Guard::Visit visit(guard_);
    if (guard_.uses_pool()) return corrected(guard_, settle_on_pool(reply, call));
    const Guard::Tag tag(guard_);
    return corrected(guard_, inner_->settle(reply, call));
  }

  void release(Outcome outcome, int upstream_status, Call& call) override {
    const Guard::Visit visit(guard_);
    if (!guard_.uses_pool()) {
      const Guard::Tag tag(guard_);
      inner_->release(outcome, upstream_status, call);
      return;
    }
    const auto circumstances = std::make_shared<PoolCircumstances>(call);
    const runtime::CancelMask mask;
    // Refused or late: the units come back by the lane's own expiry.
    (void)guard_.pool().call(
        guard_.pool_user(),
        [inner = inner_, outcome, upstream_status, circumstances] {
          inner->release(outcome, upstream_status, *circumstances);
          return Unit{};
        },
        Deadline{call.deadline_ns()});
  }

 private:
  Finish settle_on_pool(const ReplyView& reply, Call& call) {
    struct Settlement {
      Settlement(const ReplyView& view, const Call& original)
          : reply(view), circumstances(original) {}
      OwnedReply reply;
      PoolCircumstances circumstances;
      std::atomic<bool> has_begun{false};
    };
    const auto settlement = std::make_shared<Settlement>(reply, call);
    const runtime::CancelMask mask;
    auto answer = guard_.pool().call(
        guard_.pool_user(),
        [inner = inner_, settlement] {
          settlement->has_begun.store(true, std::memory_order_release);
          return inner->settle(settlement->reply.view(), settlement->circumstances);
        },
        Deadline{call.deadline_ns()});
    if (answer.outcome == PoolOutcome::done) return *std::move(answer.value);
    if (!settlement->has_begun.load(std::memory_order_acquire)) {
      return NotCharged{no_room(guard_)};
    }
    return Unknown{Refusal{"billing.settlement_unknown",
                           "lane " + guard_.name() + ": it had not settled at the deadline",
                           0,
                           {},
                           {},
                           {}}};
  }

  Guard& guard_;
  const std::shared_ptr<Ticket> inner_;
};

// An admission on the pool. When its caller has left, nobody would release the ticket: then the
// work does, on the Thread that finished it.
class AdmitWork final : public runtime::PoolWork {
 public:
  AdmitWork(std::shared_ptr<BoundLane> lane, const LaneRequest& request, const Call& call)
      : lane_(std::move(lane)), request_(request), circumstances_(call) {}
  ~AdmitWork() override {
    if (!admission_) return;
    auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&*admission_);
    if (ticket != nullptr && *ticket != nullptr) {
      (*ticket)->release(Outcome::client_gone_before_reply, 0, circumstances_);
    }
  }
  void run() noexcept override {
    admission_.emplace(lane_->admit(request_.view(), circumstances_));
  }
  [[nodiscard]] Admission take() {
    Admission admission = *std::move(admission_);
    admission_.reset();
    return admission;
  }
  void stop() noexcept { circumstances_.stop(); }

 private:
  const std::shared_ptr<BoundLane> lane_;
  const OwnedLaneRequest request_;
  PoolCircumstances circumstances_;
  std::optional<Admission> admission_;
};

class GuardedBoundLane final : public BoundLane {
 public:
  GuardedBoundLane(Guard& guard, std::shared_ptr<BoundLane> inner)
      : guard_(guard), inner_(std::move(inner)) {}

  Admission admit(const LaneRequest& request, Call& call) override {
    const Guard::Visit visit(guard_);
    Admission admission =
        guard_.uses_pool() ? admit_on_pool(request, call) : admit_here(request, call);
    if (auto* refusal = std::get_if<Refusal>(&admission)) correct(guard_, *refusal);
    if (const auto* replay = std::get_if<Replay>(&admission)) {
      if (replay->status < 200 || replay->status > 599) {
        return fault(guard_, "it replays a status outside 200 to 599");
      }
    }
    auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission);
    if (ticket == nullptr) return admission;
    if (*ticket == nullptr) return fault(guard_, "it admitted without a ticket");
    return std::unique_ptr<Ticket>(
        std::make_unique<GuardedTicket>(guard_, std::shared_ptr<Ticket>(std::move(*ticket))));
  }

 private:
  Admission admit_here(const LaneRequest& request, Call& call) {
    const Guard::Tag tag(guard_);
    return inner_->admit(request, call);
  }

  Admission admit_on_pool(const LaneRequest& request, Call& call) {
    const auto work = std::make_shared<AdmitWork>(inner_, request, call);
    const PoolOutcome outcome =
        guard_.pool().run(guard_.pool_user(), work, Deadline{call.deadline_ns()});
    if (outcome == PoolOutcome::done) return work->take();
    work->stop();
    if (outcome == PoolOutcome::refused) return no_room(guard_);
    return fault(guard_, "it had not admitted at the deadline");
  }

  Guard& guard_;
  const std::shared_ptr<BoundLane> inner_;  // also held by admissions that were abandoned
};

class GuardedLane final : public Lane {
 public:
  GuardedLane(Guard& guard, Lane& inner) : guard_(guard), inner_(inner) {}

  [[nodiscard]] LaneTraits traits() const noexcept override { return inner_.traits(); }

  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override {
    using Bound = Result<std::unique_ptr<BoundLane>>;
    std::optional<Bound> bound;
    const auto bind_here = [&] { bound.emplace(inner_.bind(binding, host)); };
    if (guard_.uses_pool() && runtime::Fiber::current() != nullptr) {
      if (!guard_.pool().run_to_end(guard_.pool_user(), bind_here)) {
        return Failure{FailureKind::unavailable, "its share of the pool is full", {}, false};
      }
    } else {
      const Guard::Tag tag(guard_);
      bind_here();
    }
    if (!bound->ok()) return std::move(*bound).error();
    if (**bound == nullptr) {
      return Failure{FailureKind::plugin_fault, "bind() returned no lane", {}, false};
    }
    return std::unique_ptr<BoundLane>(
        std::make_unique<GuardedBoundLane>(guard_, std::shared_ptr<BoundLane>(**std::move(bound))));
  }

 private:
  Guard& guard_;
  Lane& inner_;
};

}  // namespace

std::unique_ptr<Lane> Guard::wrap(Lane& lane) { return std::make_unique<GuardedLane>(*this, lane); }

}  // namespace turnpike::plugin
