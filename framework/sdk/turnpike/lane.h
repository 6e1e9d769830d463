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
// A lane may also publish documents, answer requests to paths of its own, do work of its own now
// and then and add commands to the gateway's command line: turnpike/offers.h.
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
#include <turnpike/lane_code.h>
#include <turnpike/message.h>
#include <turnpike/offers.h>
#include <turnpike/principal.h>
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
  // Of the lane with terms in the registry, as its read_terms() has worded them:
  bool is_offered = false;  // this operation can be paid for by it
  std::string_view terms;   // PriceTerms::binding; empty: the price has none
  std::string_view policy;  // PolicyTerms::binding of its route
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
// "registry." is about the lane's section of the registry instead: "registry.networks.base".
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
  Headers credentials;            // only the headers that this lane declared
  std::string_view account_id;    // empty on accountless lanes
  std::string_view principal_id;  // within its kind; empty on accountless lanes
  PrincipalKind principal_kind = PrincipalKind::api_key;
  std::string_view idempotency_key;  // empty when the caller sent none
  bool is_capped = false;            // the principal has spend caps
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

// A lane's own answer to the caller. `code` is one of the gateway's (such as
// "billing.credits_exhausted") or of LaneTraits::codes, which gives status and envelope; a
// non-empty `body` replaces the envelope (a payment challenge).
struct Refusal {
  std::string code;
  std::string message = {};
  std::uint32_t retry_after_seconds = 0;  // 0: none
  std::vector<OwnedHeader> headers = {};
  std::string body = {};
  std::string content_type = {};
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

class BoundLane : public BoundObject {
 public:
  virtual Admission admit(const LaneRequest& request, Call& call) = 0;
  // What is due to a caller who brings a credential of this lane to an operation that is gone,
  // blocked or not paid for this way any more, because the very request was paid for before.
  // Nothing is begun. `request.operation` means nothing here. It may wait.
  virtual Recalled recall(const LaneRequest& /*request*/, Call& /*call*/) { return {}; }
  // Whether the operation can be paid for this way now. Must not wait, lock or allocate.
  [[nodiscard]] virtual State state(std::uint32_t /*operation*/) const noexcept { return {}; }
};

// ---- terms in the registry ----------------------------------------------------------------------
//
// The registry holds what operations cost. What they cost in a currency of a lane's own, the
// registry holds under the lane's name (LaneTraits::has_terms): as a section of the program, as a
// part of a price, and as the policy of calls in the defaults of a provider and in a route. The
// gateway takes these parts for what they are, YAML, and asks the lane what they mean.

// What stands under the lane's name. Settings keep their places; their secrets are not resolved.
struct RegistryParts {
  struct Policy {
    const Settings* settings = nullptr;  // null: nothing is said
    std::uint32_t over = 0;              // the earlier policy that it changes key by key
  };
  const Settings* section = nullptr;  // null: there is none
  std::span<const Settings* const> prices;
  std::span<const Policy> policies;  // the first says nothing: all others are over it at last
};

// One thing wrong in the parts.
struct TermsMistake {
  enum class Part : std::uint8_t { section, price, policy };
  Part part = Part::section;
  std::uint32_t index = 0;  // of the price or policy
  std::string where;        // path inside the part: "networks.base.pay_to", "[1].asset"
  std::string message;
  bool is_of_key = false;  // of the key there, not of its value
};

// What the lane makes of the terms of one price. `canonical` and `definition` are JSON in canonical
// form (RFC 8785): they name the program and fix the version of the price, so equal parts give
// equal texts on every machine and with every release of the lane.
struct PriceTerms {
  bool is_offered = false;              // operations at this price can be paid for by the lane
  std::string canonical;                // all of it
  std::string definition;               // without what may change under one version of the price
  std::string binding;                  // for PricedOperation::terms
  std::string amount;                   // for BoundOperation::per_call_amount
  std::string billing;                  // JSON object: billing.<lane> in the catalog
  std::string openapi;                  // JSON object: further members of the operation in OpenAPI
  std::vector<std::uint16_t> statuses;  // of the lane's refusals that only some of its calls get
};

// What it makes of a policy of calls.
struct PolicyTerms {
  std::string canonical;  // JSON; empty: what goes without saying
  std::string binding;    // for PricedOperation::policy
  std::string billing;    // JSON object: further members of billing.<lane>
};

struct ReadTerms {
  std::vector<TermsMistake> mistakes;  // where there are any, the rest means nothing
  bool is_enabled = false;             // the operator has switched the lane on
  std::string canonical;               // of the section
  std::vector<PriceTerms> prices;      // parallel to the parts
  std::vector<PolicyTerms> policies;
};

// How the public documents describe what a lane with terms sells: JSON texts for the catalog and
// the OpenAPI document.
struct TermsDocuments {
  std::string_view contract_version = {};  // of the inventory: `<lane>_contract_version`
  std::string_view sentence = {};          // ends the description of what an operation costs
  std::string_view payment_header = {};    // an OpenAPI parameter: JSON
  std::string_view challenge_header = {};  // names of headers of replies, with what is in them
  std::string_view challenge_text = {};
  std::string_view settlement_header = {};
  std::string_view settlement_text = {};
};

struct LaneTraits {
  std::string_view name;                                 // "credits", "voucher"
  std::span<const std::string_view> credential_headers;  // lower case
  bool needs_account = false;    // the gateway authenticates an API key first
  bool buffer_whole = false;     // settle() wants the whole body
  bool charges_credits = false;  // a settled call costs PricedOperation::credit_cost
  // What settle() and an admission that collects may take; 0: what committing to the ledger may.
  std::uint32_t settle_timeout_ms = 0;
  // Headers of requests and replies that are the lane's, lower case: no route may forward or pass
  // back one of them.
  std::span<const std::string_view> reserved_headers = {};
  // The registry holds terms under `name`, which read_terms() reads. Such a lane needs no account:
  // a caller without any credential is sent to it, to be told what to pay. There is at most one.
  bool has_terms = false;
  const TermsDocuments* terms_documents = nullptr;  // not null with has_terms
  // To refuse with beside those of the gateway. A lane with terms, and no other, has one that says
  // not_payable and one that says unavailable.
  std::span<const LaneCode> codes = {};
};

class Lane : public SlotObject {
 public:
  [[nodiscard]] virtual LaneTraits traits() const noexcept = 0;  // valid until exit
  // The meaning of the lane's parts of a registry, for lanes with `has_terms`. Pure: it depends on
  // nothing but `parts`, waits for nothing and may be called at any time, bound or not.
  [[nodiscard]] virtual Result<ReadTerms> read_terms(const RegistryParts& /*parts*/) const {
    return Failure{FailureKind::plugin_fault, "the lane reads no terms", {}, false};
  }
  virtual Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) = 0;
};

}  // namespace turnpike
