#include "substrate/upstream.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "substrate/chain/keys.h"
#include "substrate/codec/scale.h"
#include "substrate/tool.h"
#include "substrate/verify/offline.h"
#include "substrate/verify/online.h"

namespace turnpike::substrate {
namespace {

// Longer requests are processed on the blocking pool, not on the event loop.
constexpr std::size_t heavy_request_bytes = 64 * 1024;
constexpr std::uint32_t slot_wait_ms = 20;
constexpr std::int64_t slot_wait_ns_max = 5'000'000'000;
constexpr std::int64_t chain_ns_max = 30'000'000'000;  // for all requests to nodes together

// The body of a 400 that lists the problems of the input.
std::string problem_json(const std::vector<InputProblem>& problems) {
  std::string message = "The input cannot be verified:";
  OrderedJson list = OrderedJson::array();
  for (const InputProblem& problem : problems) {
    message += " " + (problem.location.empty() ? "it" : problem.location) + " " + problem.problem;
    message += &problem == &problems.back() ? "." : ";";
    list.push_back({{"location", problem.location}, {"problem", problem.problem}});
  }
  return dump({{"error", {{"code", "invalid_input"}, {"message", message}, {"problems", list}}}});
}

Failure unavailable(std::string message) {
  return Failure{FailureKind::unavailable, std::move(message), {}, false};
}

// A slot for a long request. The number of slots limits the memory of concurrent long requests.
class HeavySlot {
 public:
  explicit HeavySlot(std::atomic<std::uint32_t>& taken) : taken_(taken) {}
  HeavySlot(const HeavySlot&) = delete;
  HeavySlot& operator=(const HeavySlot&) = delete;
  ~HeavySlot() {
    if (is_taken_) taken_.fetch_sub(1, std::memory_order_relaxed);
  }

  bool take(std::uint32_t slots, Call& call, const Clock& clock) {
    const std::int64_t end_ns = clock.monotonic_ns() + slot_wait_ns_max;
    while (true) {
      std::uint32_t taken = taken_.load(std::memory_order_relaxed);
      while (taken < slots) {
        if (!taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed)) continue;
        is_taken_ = true;
        return true;
      }
      if (clock.monotonic_ns() >= end_ns || !call.sleep_ms(slot_wait_ms)) return false;
    }
  }

 private:
  std::atomic<std::uint32_t>& taken_;
  bool is_taken_ = false;
};

// One verification from its input to its reply.
class Verification {
 public:
  Verification(const Configuration& configuration, AnswerCache& cache, Host& host, Call& call,
               bool is_heavy)
      : configuration_(configuration),
        cache_(cache),
        host_(host),
        call_(call),
        is_heavy_(is_heavy) {}

  // The status and the body of the reply. The caller is not charged for a Failure.
  Result<std::pair<int, std::string>> run(std::string_view body) {
    if (!work([&] { begin(body); })) return unavailable("the pool has no room for its work");
    if (!problems_.empty()) return std::pair(400, problem_json(problems_));
    const bool is_online =
        chain_ != nullptr && (input_.mode == VerifyMode::live ||
                              input_.mode == VerifyMode::transition ||
                              input_.mode == VerifyMode::authorization);
    if (is_online) {
      if (Done asked = ask_chain(); !asked.ok()) return std::move(asked).error();
    }
    std::string reply;
    if (!work([&] { reply = finish(is_online); })) {
      return unavailable("the pool has no room for its work");
    }
    return std::pair(200, std::move(reply));
  }

 private:
  template <class Work>
  bool work(Work task) {
    if (is_heavy_) return run_away(host_, task);
    task();
    return true;
  }

  void begin(std::string_view body) {
    auto input = read_input(body);
    if (!input.ok()) {
      problems_ = std::move(input).error();
      return;
    }
    input_ = *std::move(input);
    if (input_.chain) find_chain();
    if (!problems_.empty()) return;
    if (chain_ != nullptr) {
      terms_ = {chain_->pallets, chain_->code_size_max};
      report_.chain = ChainFacts{chain_->key, chain_->genesis_hash, chain_->name};
    }
    if (input_.system_pallet_index) terms_.pallets.system = *input_.system_pallet_index;
    report_.mode = input_.mode;
    report_.min_assurance = input_.min_assurance;
    report_.generated_at_ms = host_.clock().now_ms();
    check_code(input_, terms_, report_);
  }

  void find_chain() {
    chain_ = configuration_.find(*input_.chain);
    if (chain_ != nullptr) return;
    std::string problem = "is no chain of this server; ";
    if (configuration_.chains.empty()) {
      problem += "none is configured here, and blob and authorization work without one";
    } else {
      problem += "there are";
      for (const ChainSettings& chain : configuration_.chains) problem += " " + chain.key;
    }
    problems_.push_back({"/chain", std::move(problem)});
  }

  Done ask_chain() {
    const std::int64_t end_ns = host_.clock().monotonic_ns() + chain_ns_max;
    std::vector<Node> nodes;
    for (const EndpointSettings& endpoint : chain_->endpoints) {
      nodes.emplace_back(host_, cache_, *chain_, endpoint, call_, end_ns, report_.evidence);
    }
    const auto primary = ask_endpoints(nodes);
    if (!primary) return why_unavailable();
    Node& node = nodes[*primary];
    fetch_code(node);
    fetch_preimage(node);
    if (!chain_->relay_key.empty()) ask_relay(node, end_ns);
    const EndpointFacts& first = online_.endpoints.front();
    const bool can_compare = first.header.is_known() && first.code_hash.is_known();
    if (input_.mode == VerifyMode::transition && can_compare) {
      online_.transition = gather_transition(node, input_.from, first);
    }
    look_again(node, online_.endpoints.front());
    return Unit{};
  }

  // Asks all endpoints and fills online_.endpoints; its first element is the primary endpoint, with
  // which the others are compared. Returns the primary's index in `nodes`; empty if none answered.
  std::optional<std::size_t> ask_endpoints(std::vector<Node>& nodes) {
    std::optional<std::size_t> primary;
    std::optional<Hash> agreed;
    std::size_t place = 0;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      EndpointFacts facts = gather_block(nodes[at], input_.at, agreed);
      const bool says_more = facts.has_answered() && !agreed;
      if (facts.genesis.is_known() && (!primary || says_more)) {
        primary = at;
        place = online_.endpoints.size();
      }
      if (says_more) agreed = facts.block.value;
      last_reason_ = facts.genesis.is_known() ? last_reason_ : facts.genesis.reason;
      online_.endpoints.push_back(std::move(facts));
    }
    if (primary) std::swap(online_.endpoints.front(), online_.endpoints[place]);
    return primary;
  }

  [[nodiscard]] Failure why_unavailable() const {
    if (call_.cancelled()) return Failure{FailureKind::cancelled, "the caller left", {}, true};
    const bool is_late = last_reason_ == text_of(RpcTrouble::late);
    return Failure{is_late ? FailureKind::timeout : FailureKind::unavailable,
                   "no endpoint of the chain " + chain_->key + " answered: " + last_reason_, {},
                   true};
  }

  void fetch_code(Node& node) {
    const EndpointFacts& facts = online_.endpoints.front();
    if (!needs_code(input_, report_, facts)) return;
    const auto bytes = node.storage(keys::code, *facts.block.value, chain_->code_size_max);
    if (!bytes.ok() || !*bytes) {
      online_.fetch_problem = bytes.ok() ? "the node tells of no code at all"
                                         : std::string(text_of(bytes.error()));
      return;
    }
    const auto examine = [&] { fetched_ = examine_code(**bytes); };
    if (run_away(host_, examine)) {
      online_.fetched = &*fetched_;
    } else {
      online_.fetch_problem = "there is no room to hash it now";
    }
  }

  // Fetches the call from the chain's preimages if the caller gave only its hash.
  void fetch_preimage(Node& node) {
    const auto& proposal = input_.proposal;
    const auto& block = online_.endpoints.front().block;
    const bool is_wanted = proposal && !proposal->call && proposal->preimage_hash &&
                           proposal->preimage_length && block.is_known();
    if (!is_wanted || *proposal->preimage_length > code_bytes_max) return;
    const auto value =
        node.storage(keys::preimage(*proposal->preimage_hash, *proposal->preimage_length),
                     *block.value, std::uint64_t{*proposal->preimage_length} + 8);
    if (!value.ok() || !*value) return;
    ScaleReader reader(**value);
    const auto length = reader.compact();
    const auto call = length ? reader.take(*length) : std::nullopt;
    if (call && reader.rest().empty()) preimage_ = Bytes(call->begin(), call->end());
  }

  void ask_relay(Node& node, std::int64_t end_ns) {
    ParachainFacts facts;
    const auto& block = online_.endpoints.front().block;
    if (block.is_known()) gather_parachain(node, *block.value, facts);
    const ChainSettings& relay = *configuration_.find(chain_->relay_key);
    for (const EndpointSettings& endpoint : relay.endpoints) {
      Node other(host_, cache_, relay, endpoint, call_, end_ns, report_.evidence);
      gather_relay(other, relay.genesis_hash, chain_->para_id, facts);
      if (facts.relay_current.is_known()) break;
    }
    online_.parachain = std::move(facts);
  }

  std::string finish(bool is_online) {
    if (input_.proposal) {
      std::optional<ByteView> call;
      if (input_.proposal->call) call = *input_.proposal->call;
      if (preimage_) call = *preimage_;
      check_proposal(input_, call, terms_, report_);
    }
    if (is_online) check_online(input_, *chain_, online_, report_);
    check_left_over(input_, terms_, report_);
    return render(report_);
  }

  const Configuration& configuration_;
  AnswerCache& cache_;
  Host& host_;
  Call& call_;
  const bool is_heavy_;
  Input input_;
  std::vector<InputProblem> problems_;
  const ChainSettings* chain_ = nullptr;
  OfflineTerms terms_;
  Report report_;
  OnlineFacts online_;
  std::optional<CodeFacts> fetched_;
  std::optional<Bytes> preimage_;
  std::string last_reason_ = "none is configured";
};

class Verifier final : public Upstream {
 public:
  Verifier(Configuration configuration, Host& host)
      : configuration_(std::move(configuration)), host_(host) {}

  Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override {
    const bool is_heavy = request.body.size() > heavy_request_bytes;
    HeavySlot slot(heavy_);
    if (is_heavy && !slot.take(configuration_.heavy_max, call, host_.clock())) {
      return unavailable("as many long requests as it takes at once are worked on");
    }
    // On the heap, since a Verification is too large for a fiber's stack.
    const auto verification =
        std::make_unique<Verification>(configuration_, cache_, host_, call, is_heavy);
    auto outcome = verification->run(request.body);
    if (!outcome.ok()) return std::move(outcome).error();
    const auto& [status, body] = *outcome;
    const HeaderField headers[] = {{"Content-Type", "application/json"},
                                   {"Cache-Control", "no-store"}};
    if (sink.head(status, headers, body.size())) sink.body(body);
    return Unit{};
  }

  [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
  // Always ok: the offline modes need no network, and nodes are only asked for a caller.
  Done probe(Call&) override { return Unit{}; }
  [[nodiscard]] const OperationTool* tool(std::uint32_t) const noexcept override {
    return &verifier_tool();
  }

 private:
  const Configuration configuration_;
  Host& host_;
  AnswerCache cache_;
  std::atomic<std::uint32_t> heavy_{0};
};

}  // namespace

std::unique_ptr<Upstream> make_upstream(Configuration configuration, Host& host) {
  return std::make_unique<Verifier>(std::move(configuration), host);
}

}  // namespace turnpike::substrate
