// Guard::wrap() for lanes: as for providers, with additional rules since money is involved. A
// refusal must name an error of the gateway. Every ticket gets exactly one end, whatever happens to
// its call: the end is posted to the pool (BlockingPool::post), so a full pool delays it and a
// stopping one waits for it. "Not charged" is reported only for a settlement that can never start;
// a settlement that started without a visible end is unknown.
#include <atomic>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "plugin/guard.h"
#include "plugin/guarded.h"
#include "text/canonical_json.h"
#include "text/json_text.h"

namespace turnpike::plugin {

namespace {

using runtime::Deadline;
using runtime::PoolOutcome;
using runtime::Wake;

Refusal refusal(std::string_view code, std::string message) {
  return {std::string(code), std::move(message), 0, {}, {}, {}};
}

constexpr std::string_view fault_code = "gateway.plugin_fault";

// The refusal that a lane's caller gets for a fault of the lane, which is counted and logged for
// the operator.
Refusal fault(Guard& guard, std::string reason, std::string_view request_id) {
  const Done failed =
      guard.finish(Failure{FailureKind::plugin_fault, std::move(reason), {}, true}, request_id);
  return refusal(fault_code, failed.error().message);
}

Refusal no_room(const Guard& guard) {
  Refusal busy =
      refusal("gateway.overloaded", "lane " + guard.name() + ": its share of the pool is full");
  busy.retry_after_seconds = 1;
  return busy;
}

Unknown unknown(std::string message) {
  return {refusal("billing.settlement_unknown", std::move(message))};
}

bool says_unknown(std::string_view code) noexcept {
  const base::ErrorInfo* const known = base::find_error(code);
  return known != nullptr && base::role_of(known->code) == base::CodeRole::outcome_unknown;
}

// An unknown code would have no status. The code of a fault comes from contained(), which caught
// the lane's exception.
void correct(Guard& guard, Refusal& refusal, std::string_view request_id) {
  if (refusal.code == fault_code) {
    refusal = fault(guard, std::move(refusal.message), request_id);
  } else if (base::find_error(refusal.code) == nullptr) {
    refusal =
        fault(guard, "it refused with the unknown code " + refusal.code + ": " + refusal.message,
              request_id);
  }
}

// An unknown outcome must not be reported under the code of a known one.
Finish corrected(Guard& guard, Finish finish, std::string_view request_id) {
  if (auto* not_charged = std::get_if<NotCharged>(&finish)) {
    correct(guard, not_charged->refusal, request_id);
  }
  auto* open = std::get_if<Unknown>(&finish);
  if (open == nullptr || says_unknown(open->refusal.code)) return finish;
  correct(guard, open->refusal, request_id);
  return unknown(open->refusal.code + ": " + open->refusal.message);
}

Admission admit(Guard& guard, BoundLane& lane, const LaneRequest& request, Call& call) {
  auto contained_admission =
      contained([&]() -> Result<Admission> { return lane.admit(request, call); });
  Admission admission = contained_admission.ok()
                            ? *std::move(contained_admission)
                            : refusal(fault_code, contained_admission.error().message);
  if (auto* refused = std::get_if<Refusal>(&admission)) correct(guard, *refused, call.request_id());
  return admission;
}

Finish settle(Guard& guard, Ticket& ticket, const ReplyView& reply, Call& call) {
  auto finish = contained([&]() -> Result<Finish> { return ticket.settle(reply, call); });
  // It is unknown whether the lane charged before it threw.
  return corrected(
      guard,
      finish.ok() ? *std::move(finish) : Unknown{refusal(fault_code, finish.error().message)},
      call.request_id());
}

struct Release {
  Outcome outcome = Outcome::gateway_stopped;
  int upstream_status = 0;
};

// The refusal for the caller; nullopt when the lane failed: its hold then ends by its own expiry.
std::optional<Refusal> release(Guard& guard, Ticket& ticket, const Release& why, Call& call) {
  auto contained_release = contained([&]() -> Result<std::optional<Refusal>> {
    return ticket.release(why.outcome, why.upstream_status, call);
  });
  auto answer = contained_release.ok() ? *std::move(contained_release)
                                       : refusal(fault_code, contained_release.error().message);
  if (!answer) return std::nullopt;
  const bool has_thrown = answer->code == fault_code;
  correct(guard, *answer, call.request_id());
  if (has_thrown) return std::nullopt;
  return answer;
}

bool is_canonical(const std::string& text) {
  const nlohmann::json json = text::parse_json(text);
  return !json.is_discarded() && text::canonical_json(json) == text;
}

bool is_object(const std::string& text) { return text::parse_json(text).is_object(); }

// Checks terms that the lane accepted: their names are used in programs, and documents are made of
// them. Empty: no fault.
std::string_view fault_of(const ReadTerms& read, const RegistryParts& parts) {
  if (read.prices.size() != parts.prices.size() || read.policies.size() != parts.policies.size()) {
    return "it read other terms than it was given";
  }
  constexpr std::string_view not_canonical = "it words terms in no canonical JSON (RFC 8785)";
  constexpr std::string_view no_object = "it describes terms by what is no JSON object";
  if (parts.section != nullptr && !is_canonical(read.canonical)) return not_canonical;
  for (const PriceTerms& price : read.prices) {
    if (!is_canonical(price.canonical) || !is_canonical(price.definition)) return not_canonical;
    if (!is_object(price.billing) || !is_object(price.openapi)) return no_object;
  }
  for (const PolicyTerms& policy : read.policies) {
    if (!policy.canonical.empty() && !is_canonical(policy.canonical)) return not_canonical;
    if (!is_object(policy.billing)) return no_object;
  }
  return {};
}

// A bound lane with copies of the data that its binding refers to: abandoned calls keep both beyond
// the generation in which they began.
struct KeptLane {
  explicit KeptLane(const LaneBinding& binding)
      : generation_id(binding.generation_id),
        public_origin(binding.public_origin),
        data_dir(binding.data_dir) {
    const auto keep = [this](std::string_view text) -> std::string_view {
      return *texts.emplace(text).first;
    };
    operations.reserve(binding.operations.size());
    for (PricedOperation operation : binding.operations) {
      for (std::string_view* text :
           {&operation.route_id, &operation.path, &operation.price_policy_key, &operation.terms,
            &operation.policy, &operation.free_bucket, &operation.summary, &operation.media_type}) {
        *text = keep(*text);
      }
      operations.push_back(operation);
    }
  }
  std::unordered_set<std::string> texts;  // interned: many operations share their terms
  std::vector<PricedOperation> operations;
  const std::string generation_id;
  const std::string public_origin;
  const std::string data_dir;
  std::unique_ptr<BoundLane> lane;  // destroyed before the data that it may view
};

// The copies that a lane on the pool reads from.
struct OwnedLaneRequest {
  explicit OwnedLaneRequest(const LaneRequest& request)
      : operation(request.operation),
        principal_kind(request.principal_kind),
        is_capped(request.is_capped),
        method(request.method),
        texts{std::string(request.request_id),     std::string(request.client_request_id),
              std::string(request.path),           std::string(request.query),
              std::string(request.content_type),   std::string(request.body),
              std::string(request.account_id),     std::string(request.principal_id),
              std::string(request.idempotency_key)} {
    for (const HeaderField& field : request.credentials) {
      credentials.push_back({std::string(field.name), std::string(field.value)});
    }
    for (const OwnedHeader& header : credentials) fields.push_back({header.name, header.value});
  }
  [[nodiscard]] LaneRequest view() const {
    return {operation, texts[0], texts[1], texts[2],       texts[3], texts[4],  texts[5],
            fields,    texts[6], texts[7], principal_kind, texts[8], is_capped, method};
  }
  std::uint32_t operation;
  PrincipalKind principal_kind;
  bool is_capped;
  Method method;
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

// The single end of a ticket, on the pool. It is posted, so it runs exactly once, whatever happens
// to its caller, and then destroys the ticket. One atomic decides its action: a settlement starts
// only while the stage is `waiting`, so a caller that succeeded in withdrawing knows for certain
// that it never will; the ticket is then released.
class Ending final : public runtime::PoolWork {
 public:
  Ending(Guard& guard, std::shared_ptr<KeptLane> lane, std::unique_ptr<Ticket> ticket,
         std::string_view request_id, const Release& why)
      : guard_(guard),
        lane_(std::move(lane)),
        ticket_(std::move(ticket)),
        request_id_(request_id),
        release_(why) {}

  // REQUIRES: not yet given to the pool.
  void settle_instead(const ReplyView& reply, Deadline deadline) {
    reply_.emplace(reply);
    settle_by_ = deadline;
  }

  void run() noexcept override {
    auto stage = Stage::waiting;
    if (reply_ && stage_.compare_exchange_strong(stage, Stage::begun)) {
      PoolCircumstances call(request_id_, settle_by_);
      finish_.emplace(settle(guard_, *ticket_, reply_->view(), call));
    } else {
      // The caller's time may be over; the release gets some time of its own.
      PoolCircumstances call(request_id_, Deadline::after_ms(base::limits::commit_budget_ms));
      answer_ = release(guard_, *ticket_, release_, call);
    }
    ended_.set();
    ticket_.reset();
    lane_.reset();
  }

  Wake wait(Deadline deadline) { return ended_.wait(deadline); }
  // True: the ticket will never be settled.
  bool withdraw() noexcept {
    auto stage = Stage::waiting;
    return stage_.compare_exchange_strong(stage, Stage::withdrawn);
  }
  // REQUIRES: wait() ended ready, and this was to settle and was not withdrawn; call once.
  [[nodiscard]] Finish take_finish() { return *std::move(finish_); }
  // REQUIRES: wait() ended ready, and this was to release; call once.
  [[nodiscard]] std::optional<Refusal> take_answer() { return std::move(answer_); }

 private:
  enum class Stage : std::uint8_t { waiting, begun, withdrawn };

  Guard& guard_;
  std::shared_ptr<KeptLane> lane_;
  std::unique_ptr<Ticket> ticket_;
  const std::string request_id_;
  const Release release_;
  std::optional<OwnedReply> reply_;
  Deadline settle_by_{0};
  std::atomic<Stage> stage_{Stage::waiting};
  std::optional<Finish> finish_;
  std::optional<Refusal> answer_;
  runtime::Event ended_;
};

class GuardedTicket final : public Ticket {
 public:
  GuardedTicket(Guard& guard, std::shared_ptr<KeptLane> lane, std::unique_ptr<Ticket> ticket)
      : guard_(guard), lane_(std::move(lane)), ticket_(std::move(ticket)) {
    headers = std::move(ticket_->headers);
    keeps_reply = ticket_->keeps_reply;
  }

  // Reached with a ticket only if an exception passed through the call.
  ~GuardedTicket() override {
    if (ticket_ != nullptr) run_owed(guard_, ending({}, {}));
  }

  Finish settle(const ReplyView& reply, Call& call) override {
    const Guard::Visit visit(guard_);
    const runtime::CancelMask mask;
    if (guard_.uses_pool()) return settle_on_pool(reply, call);
    const Guard::Tag tag(guard_);
    const std::unique_ptr<Ticket> ticket = std::move(ticket_);
    return plugin::settle(guard_, *ticket, reply, call);
  }

  std::optional<Refusal> release(Outcome outcome, int upstream_status, Call& call) override {
    const Guard::Visit visit(guard_);
    const runtime::CancelMask mask;
    const Release why{outcome, upstream_status};
    if (guard_.uses_pool()) {
      const auto ending = this->ending(call.request_id(), why);
      run_owed(guard_, ending);
      if (ending->wait(Deadline{call.deadline_ns()}) != Wake::ready) return std::nullopt;
      return ending->take_answer();
    }
    const Guard::Tag tag(guard_);
    const std::unique_ptr<Ticket> ticket = std::move(ticket_);
    return plugin::release(guard_, *ticket, why, call);
  }

 private:
  std::shared_ptr<Ending> ending(std::string_view request_id, const Release& why) {
    return std::make_shared<Ending>(guard_, lane_, std::move(ticket_), request_id, why);
  }

  Finish settle_on_pool(const ReplyView& reply, Call& call) {
    const Deadline deadline{call.deadline_ns()};
    const auto ending = this->ending(call.request_id(), {Outcome::gateway_stopped, reply.status});
    ending->settle_instead(reply, deadline);
    run_owed(guard_, ending);
    if (ending->wait(deadline) == Wake::ready) return ending->take_finish();
    if (ending->withdraw()) return NotCharged{no_room(guard_)};
    const Done late =
        guard_.finish(Failure{FailureKind::timeout, "it had not settled at the deadline", {}, true},
                      call.request_id());
    return unknown(late.error().message);
  }

  Guard& guard_;
  const std::shared_ptr<KeptLane> lane_;
  std::unique_ptr<Ticket> ticket_;  // null once its end has begun or is posted
};

// An admission on the pool. One atomic decides, too, whether the caller takes it or has left: the
// work itself ends the ticket of a caller that left.
class AdmitWork final : public runtime::PoolWork {
 public:
  AdmitWork(Guard& guard, std::shared_ptr<KeptLane> lane, const LaneRequest& request,
            const Call& call)
      : guard_(guard), lane_(std::move(lane)), request_(request), circumstances_(call) {}

  void run() noexcept override {
    admission_.emplace(admit(guard_, *lane_->lane, request_.view(), circumstances_));
    auto stage = Stage::at_work;
    if (stage_.compare_exchange_strong(stage, Stage::admitted)) return;
    auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&*admission_);
    if (ticket == nullptr || *ticket == nullptr) return;
    Ending(guard_, lane_, std::move(*ticket), circumstances_.request_id(),
           {Outcome::client_gone_before_reply, 0})
        .run();
  }

  // For the caller, once: the lane's answer; nullopt: there is none yet.
  [[nodiscard]] std::optional<Admission> take_or_leave() {
    auto stage = Stage::at_work;
    if (!stage_.compare_exchange_strong(stage, Stage::left)) return std::move(admission_);
    circumstances_.stop();
    return std::nullopt;
  }

 private:
  enum class Stage : std::uint8_t { at_work, admitted, left };

  Guard& guard_;
  const std::shared_ptr<KeptLane> lane_;
  const OwnedLaneRequest request_;
  PoolCircumstances circumstances_;
  std::optional<Admission> admission_;
  std::atomic<Stage> stage_{Stage::at_work};
};

class GuardedBoundLane final : public GuardedBound<BoundLane> {
 public:
  GuardedBoundLane(Guard& guard, const std::shared_ptr<KeptLane>& lane)
      : GuardedBound(guard, {lane, lane->lane.get()}), lane_(lane) {}

  Admission admit(const LaneRequest& request, Call& call) override {
    const Guard::Visit visit(guard_);
    Admission admission =
        guard_.uses_pool() ? admit_on_pool(request, call) : admit_here(request, call);
    if (const auto* replay = std::get_if<Replay>(&admission)) {
      if (replay->status < 200 || replay->status > 599) {
        return fault(guard_, "it replays a status outside 200 to 599", call.request_id());
      }
    }
    auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission);
    if (ticket == nullptr) return admission;
    if (*ticket == nullptr) {
      return fault(guard_, "it admitted without a ticket", call.request_id());
    }
    return std::unique_ptr<Ticket>(
        std::make_unique<GuardedTicket>(guard_, lane_, std::move(*ticket)));
  }

  Recalled recall(const LaneRequest& request, Call& call) override {
    const auto kept = std::make_shared<OwnedLaneRequest>(request);
    auto recalled = call_plugin(guard_, call, [lane = lane_, kept](Call& own) {
      return Result<Recalled>(lane->lane->recall(kept->view(), own));
    });
    if (!recalled.ok()) {
      if (recalled.error().kind == FailureKind::unavailable) return no_room(guard_);
      return refusal(fault_code, recalled.error().message);
    }
    if (auto* refusal = std::get_if<Refusal>(&*recalled)) {
      correct(guard_, *refusal, call.request_id());
    }
    return *std::move(recalled);
  }

  // state() never waits by its contract, so it is called directly.
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    return lane_->lane->state(operation);
  }

 private:
  Admission admit_here(const LaneRequest& request, Call& call) {
    const Guard::Tag tag(guard_);
    return plugin::admit(guard_, *lane_->lane, request, call);
  }

  Admission admit_on_pool(const LaneRequest& request, Call& call) {
    const auto work = std::make_shared<AdmitWork>(guard_, lane_, request, call);
    const PoolOutcome outcome =
        guard_.pool().run(guard_.pool_user(), work, Deadline{call.deadline_ns()});
    if (auto admission = work->take_or_leave()) return *std::move(admission);
    if (outcome == PoolOutcome::refused) return no_room(guard_);
    if (outcome == PoolOutcome::deadline) {
      return fault(guard_, "it had not admitted at the deadline", call.request_id());
    }
    return refusal("gateway.stopping", "the call was cancelled while its payment was admitted");
  }

  const std::shared_ptr<KeptLane> lane_;
};

class GuardedLane final : public GuardedSlot<Lane> {
 public:
  using GuardedSlot::GuardedSlot;

  [[nodiscard]] LaneTraits traits() const noexcept override { return inner_.traits(); }

  // Pure, and never called on a loop: the code that compiles a registry waits for it anyway.
  [[nodiscard]] Result<ReadTerms> read_terms(const RegistryParts& parts) const override {
    const Guard::Tag tag(guard_);
    auto read = contained([&]() -> Result<ReadTerms> { return inner_.read_terms(parts); });
    if (!read.ok()) return guard_.finish(std::move(read).error(), "").error();
    const std::string_view fault = read->mistakes.empty() ? fault_of(*read, parts) : "";
    if (fault.empty()) return read;
    const Failure broken{FailureKind::plugin_fault, std::string(fault), {}, true};
    return guard_.finish(broken, "").error();
  }

  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) override {
    auto kept = std::make_unique<KeptLane>(binding);
    const LaneBinding copy{kept->operations,    binding.settings, kept->generation_id,
                           kept->public_origin, kept->data_dir,   binding.notes};
    auto bound = bind_guarded<BoundLane>(guard_, "lane", [&] { return inner_.bind(copy, host); });
    if (!bound.ok()) return bound;
    kept->lane = *std::move(bound);
    return std::unique_ptr<BoundLane>(
        std::make_unique<GuardedBoundLane>(guard_, share(guard_, std::move(kept))));
  }
};

}  // namespace

std::unique_ptr<Lane> Guard::wrap(Lane& lane) { return std::make_unique<GuardedLane>(*this, lane); }

}  // namespace turnpike::plugin
