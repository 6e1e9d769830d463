// Lane: the slot for ways to pay per call. A lane admits a request before the upstream is called
// and settles or releases it afterwards. Exactly one lane is chosen per request, from the
// credential headers that the lanes declare; there is no fallback between lanes.
//
// Life: factory -> bind() per registry generation -> admit() concurrently from any host Thread ->
// per admitted call one Ticket, on which exactly one of settle() and release() is called, once;
// also when the caller left, the gateway stops or has no room: then on any Thread, perhaps much
// later, with a deadline of its own. The host owns all objects. A Ticket is destroyed after its one
// call, a BoundLane after its last Ticket; those of a `blocking` lane never on a loop.
//
// A lane may also publish documents (BoundLane::document), do work of its own now and then
// (BoundLane::run) and add commands to the gateway's command line (Lane::command).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/message.h>
#include <turnpike/result.h>
#include <turnpike/settings.h>
#include <turnpike/state.h>

namespace turnpike {

// At most `limit` requests in each window of `seconds`; windows are aligned to 1970.
struct RateWindow {
  std::uint32_t limit = 0;
  std::uint32_t seconds = 0;
};

// What the `:free` variant of an operation allows each account in one bucket.
struct FreeLimits {
  RateWindow window;
  std::uint32_t concurrency = 0;
  std::uint32_t permit_ttl_seconds = 0;  // longer than any call of the operation
  std::optional<RateWindow> quota;
  std::optional<std::uint64_t> cumulative_limit;
};

// When a payment per call is collected: after the upstream's success (the payer risks nothing), or
// before the upstream is asked.
enum class PaymentFlow : std::uint8_t { authorization, upfront };

constexpr std::string_view name_of(PaymentFlow flow) noexcept {
  return flow == PaymentFlow::upfront ? "upfront" : "authorization";
}

// What becomes of a payment that was collected upfront when the upstream then fails: the payer may
// repeat the same request within the payment's validity, or is owed a refund.
enum class UnearnedPayment : std::uint8_t { retry, refund };

constexpr std::string_view name_of(UnearnedPayment unearned) noexcept {
  return unearned == UnearnedPayment::refund ? "refund" : "retry";
}

// Whether a payment has to repeat what binds it to the very request that it was asked for. One that
// may do without buys one call of any operation with the same terms.
enum class PaymentBinding : std::uint8_t { accepted, required };

constexpr std::string_view name_of(PaymentBinding binding) noexcept {
  return binding == PaymentBinding::required ? "required" : "accepted";
}

// How an operation is paid for per call.
struct PerCallPolicy {
  PaymentFlow flow = PaymentFlow::authorization;
  bool verifies_first = true;  // a third party is asked whether the payment would succeed
  UnearnedPayment unearned = UnearnedPayment::retry;
  PaymentBinding binding = PaymentBinding::accepted;
};

// What one operation costs, as the lane sees it. Views are valid as long as the BoundLane.
struct PricedOperation {
  std::string_view route_id;
  std::uint32_t route_revision = 0;
  Method method = Method::get;
  std::string_view path;              // pattern
  std::string_view summary;           // one line for people; may be empty
  std::string_view media_type;        // of a success
  std::uint32_t deadline_ms = 0;      // of the upstream
  std::string_view price_policy_key;  // empty when unpriced
  std::uint32_t price_version = 0;
  std::uint32_t credit_cost = 0;
  bool x402_enabled = false;
  std::string_view x402_terms_json;  // canonical JSON array of terms, "[]" when none
  PerCallPolicy per_call;
  // The operator has blocked it, or a secret that it needs is missing: no call of it succeeds.
  bool is_blocked = false;
  std::optional<FreeLimits> free_limits;  // of its `:free` variant; nothing: it has none
  std::string_view free_bucket;           // where they are counted; stable over generations
};

// What an operator should know of what was bound, although nothing is refused. `check` and `reload`
// print it, and the log has it. `where` is as in a Failure of bind().
struct Note {
  std::string message;
  std::string where = {};
};

// All but `settings` and `notes`, which are valid during bind(), is valid as long as the BoundLane.
//
// A Failure of bind(), and a Note, say in `where` which setting they are about. What begins with
// "registry." is about the x402 terms of the registry instead: "registry.<asset>.address",
// ".pay_to" or ".name", where <asset> is `asset_key` of the terms.
struct LaneBinding {
  std::span<const PricedOperation> operations;
  const Settings& settings;
  std::string_view generation_id;
  std::string_view public_origin;      // hosts.api.base_url
  std::string_view data_dir = {};      // where a plugin may keep files of its own
  std::vector<Note>* notes = nullptr;  // to add to; null: nobody reads them
};

// The request as a lane may see it. Valid until admit() returns.
struct LaneRequest {
  std::uint32_t operation = 0;  // index into LaneBinding::operations
  std::string_view request_id;
  std::string_view client_request_id;  // empty when the caller sent none
  std::string_view path;
  std::string_view query;
  std::string_view content_type;
  std::string_view body;
  Headers credentials;               // only the headers that this lane declared
  std::string_view account_id;       // empty on accountless lanes
  std::string_view principal_id;     // such as "key:<id>"; empty on accountless lanes
  std::string_view idempotency_key;  // empty when the caller sent none
  bool key_is_capped = false;        // the principal's key has spend caps
  Method method = Method::get;
};

// The finished reply of the upstream, before anything of its end was sent to the caller.
struct ReplyView {
  int status = 0;
  Headers headers;
  // Whole when the lane asked for buffer_whole, or the call came with an Idempotency-Key and the
  // body is short enough to be stored; else empty.
  std::string_view body;
  std::uint64_t body_bytes = 0;
  std::uint32_t upstream_ms = 0;
};

// A lane's own answer to the caller. `code` is a name of the gateway's error enum (such as
// "billing.credits_exhausted"), which gives status and envelope; a non-empty `body` replaces the
// envelope (a payment challenge).
struct Refusal {
  std::string code;
  std::string message;
  std::uint32_t retry_after_seconds = 0;  // 0: none
  std::vector<OwnedHeader> headers;
  std::string body;
  std::string content_type;
};

// A stored reply that is given again without work or charge.
struct Replay {
  int status = 200;
  std::vector<OwnedHeader> headers;
  std::string body;
};

enum class Outcome : std::uint8_t {  // why a ticket is released
  upstream_status,
  upstream_timeout,
  upstream_failure,
  response_too_large,
  declared_no_charge,
  client_gone_before_reply,
  gateway_stopped,  // or had no room to settle in time; nothing was charged
};

struct Charged {
  std::vector<OwnedHeader> headers;  // added to the reply
  std::uint64_t credits_charged = 0;
  std::int64_t credits_remaining = -1;  // -1: not known without another read
};
struct NotCharged {
  Refusal refusal;
};  // the reply is withheld; `refusal` is sent instead
struct Unknown {
  Refusal refusal;
};  // whether it was charged is not known; a code that does not say so is replaced by one that does
using Finish = std::variant<Charged, NotCharged, Unknown>;

// An admitted call: the units are held until settle() or release().
class Ticket {
 public:
  virtual ~Ticket() = default;
  // The upstream succeeded as declared: charge durably, then return. May suspend; is not cancelled.
  virtual Finish settle(const ReplyView& reply, Call& call) = 0;
  // Anything else: give the units back. `upstream_status` is 0 when there was no upstream reply.
  // What it returns is sent instead of the gateway's own error or the upstream's reply (when money
  // has moved all the same); nothing: those are sent. Too late for a reply that is being streamed.
  virtual std::optional<Refusal> release(Outcome outcome, int upstream_status, Call& call) = 0;

  // Added to the upstream's reply, charged or not and streamed or not; those of Charged come on
  // top. Set before admit() returns.
  std::vector<OwnedHeader> headers;

  // The same request with the same credential is given again what settle() is shown, over any host.
  // So a reply that only this host cannot carry is settled, too. Set before admit() returns.
  bool keeps_reply = false;
};

using Admission = std::variant<std::unique_ptr<Ticket>, Refusal, Replay>;

// What BoundLane::recall() found; nothing: the lane knows of no such call.
using Recalled = std::variant<std::monostate, Refusal, Replay>;

// What a lane publishes at a path of the API host.
struct Document {
  std::string content_type;
  std::string body;
};

class BoundLane {
 public:
  virtual ~BoundLane() = default;
  virtual Admission admit(const LaneRequest& request, Call& call) = 0;
  // What is due to a caller who brings a credential of this lane to an operation that is gone,
  // blocked or not paid for this way any more, because the very request was paid for before.
  // Nothing is begun. `request.operation` means nothing here. It may wait.
  virtual Recalled recall(const LaneRequest& /*request*/, Call& /*call*/) { return {}; }
  // Whether the operation can be paid for this way now. Must not wait, lock or allocate.
  [[nodiscard]] virtual State state(std::uint32_t /*operation*/) const noexcept { return {}; }
  // The document at one of LaneTraits::documents, or nothing: there is none now. It may wait.
  virtual Result<std::optional<Document>> document(std::string_view /*path*/, Call& /*call*/) {
    return std::optional<Document>{};
  }
  // Work for nobody in particular: called anew as many ms after its end as it returned, for the
  // generation in service alone; 0: never again.
  virtual Result<std::uint32_t> run(Call& /*call*/) { return std::uint32_t{0}; }
};

// One command of a lane: `turnpike <word> ...`.
struct LaneCommand {
  std::string_view word;     // such as "x402"
  std::string_view summary;  // one line
};

// Where a command prints: results to `out`, what went wrong to `error`.
class Console {
 public:
  virtual ~Console() = default;
  virtual void out(std::string_view text) = 0;
  virtual void error(std::string_view text) = 0;
};

// What a command runs with. The gateway may be running beside it.
struct CommandInput {
  std::span<const std::string_view> words;  // after the command's own
  bool json = false;                        // results as one JSON value
  const Settings& settings;                 // of the lane
  std::string_view public_origin;
  std::string_view data_dir;
};

struct LaneTraits {
  std::string_view name;                                 // "credits", "x402"
  std::span<const std::string_view> credential_headers;  // lower case
  bool needs_account = false;    // the gateway authenticates an API key first
  bool buffer_whole = false;     // settle() wants the whole body
  bool charges_credits = false;  // a settled call costs PricedOperation::credit_cost
  // What settle() and an admission that collects may take; 0: what committing to the ledger may.
  std::uint32_t settle_timeout_ms = 0;
  std::span<const std::string_view> documents = {};  // paths below /.well-known/
  std::span<const LaneCommand> commands = {};
};

class Lane {
 public:
  virtual ~Lane() = default;
  [[nodiscard]] virtual LaneTraits traits() const noexcept = 0;  // valid until exit
  virtual Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) = 0;
  // Runs the command `word`, in a process of its own. The exit code: 0 done, 1 failed, 2 usage.
  virtual int command(std::string_view /*word*/, const CommandInput& /*input*/,
                      Console& /*console*/, Host& /*host*/) {
    return 2;
  }
};

}  // namespace turnpike
