// Lane: the slot for ways to pay per call. A lane admits a request before the upstream is called
// and settles or releases it afterwards. Exactly one lane is chosen per request, from the
// credential headers that the lanes declare; there is no fallback between lanes.
//
// Life: factory -> bind() for each registry generation -> admit() concurrently from any host Thread
// -> one Ticket for each admitted call. The host calls exactly one of settle() and release() on a
// Ticket, once. It does so even if the caller has left, the gateway stops or its pool is full. In
// these cases the call may come much later, on any Thread, with a deadline of its own. The host
// owns all objects. It destroys a Ticket after that one call, and a BoundLane after its last
// Ticket. It never destroys the objects of a `blocking` lane on a loop.
//
// A lane may also publish documents, answer requests to paths of its own, run periodic work and add
// commands to the gateway's command line: turnpike/offers.h.
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

// At most `limit` requests in each window of `seconds`. Windows are aligned to 1970-01-01 UTC.
struct RateWindow {
  std::uint32_t limit = 0;
  std::uint32_t seconds = 0;
};

// The limits of the `:free` variant of an operation. They apply to each account in each bucket.
struct FreeLimits {
  RateWindow window;
  std::uint32_t concurrency = 0;
  std::uint32_t permit_ttl_seconds = 0;  // longer than any call of the operation
  std::optional<RateWindow> quota;
  std::optional<std::uint64_t> cumulative_limit;
};

// The price and the terms of one operation. Views are valid as long as the BoundLane.
struct PricedOperation {
  std::string_view route_id;
  std::uint32_t route_revision = 0;
  Method method = Method::get;
  std::string_view path;              // pattern
  std::string_view summary;           // one line for people; may be empty
  std::string_view media_type;        // of a successful reply
  std::uint32_t deadline_ms = 0;      // of the upstream
  std::string_view price_policy_key;  // empty when unpriced
  std::uint32_t price_version = 0;
  std::uint32_t credit_cost = 0;
  // For the lane with terms in the registry, from its read_terms():
  bool is_offered = false;  // this lane accepts payment for the operation
  std::string_view terms;   // PriceTerms::binding; empty: the price has no terms
  std::string_view policy;  // PolicyTerms::binding of its route
  // The operator has blocked the operation, or a secret that it needs is missing. Every call fails.
  bool is_blocked = false;
  std::optional<FreeLimits> free_limits;  // of the `:free` variant; empty: there is no such variant
  std::string_view free_bucket;           // the bucket of its counters; stable over generations
};

// A warning about settings that bind() accepted. The commands `check` and `reload` print it, and it
// is logged. `where` is as in a Failure of bind().
struct Note {
  std::string message;
  std::string where = {};
};

// `settings` and `notes` are valid during bind(), everything else as long as the BoundLane.
//
// The `where` of a Note or of a Failure of bind() is the path of a setting. A path that begins with
// "registry." is in the lane's section of the registry instead: "registry.networks.base".
struct LaneBinding {
  std::span<const PricedOperation> operations;
  const Settings& settings;
  std::string_view generation_id;
  std::string_view public_origin;      // hosts.api.base_url
  std::string_view data_dir = {};      // for the plugin's own files
  std::vector<Note>* notes = nullptr;  // bind() may append to it; null: notes are ignored
};

// The parts of a request that a lane may see. Valid until admit() returns.
struct LaneRequest {
  std::uint32_t operation = 0;  // index into LaneBinding::operations
  std::string_view request_id;
  std::string_view client_request_id;  // empty when the caller sent none
  std::string_view path;
  std::string_view query;
  std::string_view content_type;
  std::string_view body;
  Headers credentials;            // only the headers that this lane declares
  std::string_view account_id;    // empty on accountless lanes
  std::string_view principal_id;  // within its kind; empty on accountless lanes
  PrincipalKind principal_kind = PrincipalKind::api_key;
  std::string_view idempotency_key;  // empty when the caller sent none
  bool is_capped = false;            // the principal has spend caps
  Method method = Method::get;
};

// The upstream's reply, received completely. Its last bytes have not been sent to the caller yet.
struct ReplyView {
  int status = 0;
  Headers headers;
  // The complete body if the reply is not streamed, which LaneTraits::buffer_whole ensures, or if
  // the call has an Idempotency-Key and the body is short enough to be stored. Otherwise empty.
  std::string_view body;
  std::uint64_t body_bytes = 0;
  std::uint32_t upstream_ms = 0;
};

// A lane's own answer to the caller. `code` is a code of the gateway, such as
// "billing.credits_exhausted", or of LaneTraits::codes. It determines the status and the error
// envelope. A non-empty `body`, such as a payment challenge, replaces the envelope.
struct Refusal {
  std::string code;
  std::string message = {};
  std::uint32_t retry_after_seconds = 0;  // 0: none
  std::vector<OwnedHeader> headers = {};
  std::string body = {};
  std::string content_type = {};
};

// A stored reply that is sent again, without work or charge.
struct Replay {
  int status = 200;  // 200 to 599
  std::vector<OwnedHeader> headers;
  std::string body;
};

enum class Outcome : std::uint8_t {  // the reason why a ticket is released
  upstream_status,
  upstream_timeout,
  upstream_failure,
  response_too_large,
  declared_no_charge,
  client_gone_before_reply,
  gateway_stopped,  // also: its pool had no room to settle in time; nothing was charged
};

struct Charged {
  std::vector<OwnedHeader> headers;  // added to the reply, unless it is already being streamed
  std::uint64_t credits_charged = 0;
  std::int64_t credits_remaining = -1;  // -1: not known without another read
};
struct NotCharged {
  Refusal refusal;
};  // the reply is withheld; `refusal` is sent instead
struct Unknown {
  Refusal refusal;
};  // it is not known whether the call was charged; the host replaces a code that does not say so
using Finish = std::variant<Charged, NotCharged, Unknown>;

// An admitted call. It holds the charged units until settle() or release().
class Ticket {
 public:
  virtual ~Ticket() = default;
  // The upstream succeeded as declared: charges durably, then returns. May suspend; is not
  // cancelled.
  virtual Finish settle(const ReplyView& reply, Call& call) = 0;
  // All other cases: gives the units back. `upstream_status` is 0 if there was no upstream reply.
  // A returned Refusal replaces the gateway's own error or the upstream's reply, for the case that
  // money has moved nevertheless. It cannot replace a reply that is already being streamed.
  virtual std::optional<Refusal> release(Outcome outcome, int upstream_status, Call& call) = 0;

  // Headers to add to the upstream's reply, charged or not, streamed or not. A reply that is not
  // streamed also gets those of Charged. Set before admit() returns.
  std::vector<OwnedHeader> headers;

  // The lane stores the reply that settle() is given, and gives it to the same request with the
  // same credential again, over any host. So the host settles the reply even if it is too long for
  // the host that received the request. Set before admit() returns.
  bool keeps_reply = false;
};

using Admission = std::variant<std::unique_ptr<Ticket>, Refusal, Replay>;

// The result of BoundLane::recall(). std::monostate: the lane does not know such a call.
using Recalled = std::variant<std::monostate, Refusal, Replay>;

class BoundLane : public BoundObject {
 public:
  virtual Admission admit(const LaneRequest& request, Call& call) = 0;
  // The answer to a request with a credential of this lane that the current registry refuses, for
  // example because the operation is gone, blocked or not paid for this way any more. The same
  // request may have been paid for before. Starts no new work. `request.operation` has no meaning.
  // May wait. Called only for the lane with terms.
  virtual Recalled recall(const LaneRequest& /*request*/, Call& /*call*/) { return {}; }
  // Whether this lane accepts payment for the operation now. Must not wait, lock or allocate.
  [[nodiscard]] virtual State state(std::uint32_t /*operation*/) const noexcept { return {}; }
};

// ---- terms in the registry ----------------------------------------------------------------------
//
// The registry contains the prices of operations. Terms in a lane's own currency are registered
// under the lane's name (LaneTraits::has_terms): as a section of the program, as a part of a price,
// and as the policy of calls in the defaults of a provider and in a route. The gateway does not
// interpret these parts of YAML; it asks the lane for their meaning.

// The YAML nodes under the lane's name. Settings keep their source places; their secrets are not
// resolved.
struct RegistryParts {
  struct Policy {
    const Settings* settings = nullptr;  // null: the policy is not given
    std::uint32_t over = 0;              // index of the earlier policy whose keys this overrides
  };
  const Settings* section = nullptr;  // null: the registry has no such section
  std::span<const Settings* const> prices;
  std::span<const Policy> policies;  // the first is empty; all others override it, some indirectly
};

// One mistake in the parts.
struct TermsMistake {
  enum class Part : std::uint8_t { section, price, policy };
  Part part = Part::section;
  std::uint32_t index = 0;  // of the price or policy in question
  std::string where;        // path inside the part: "networks.base.pay_to", "[1].asset"
  std::string message;
  bool is_of_key = false;  // the key at `where` is wrong, not its value
};

// The lane's result for the terms of one price. `canonical` and `definition` are JSON in canonical
// form (RFC 8785). The program's hash and the version of the price depend on them, so equal parts
// must give equal texts on every machine and with every release of the lane.
struct PriceTerms {
  bool is_offered = false;              // the lane accepts payment for operations at this price
  std::string canonical;                // all terms
  std::string definition;               // without terms that may change within a price version
  std::string binding;                  // for PricedOperation::terms
  std::string amount;                   // for BoundOperation::per_call_amount
  std::string billing;                  // JSON object: billing.<lane> in the catalog
  std::string openapi;                  // JSON object: further members of the operation in OpenAPI
  std::vector<std::uint16_t> statuses;  // of the lane's refusals that only some calls get
};

// The lane's result for a policy of calls.
struct PolicyTerms {
  std::string canonical;  // JSON; empty: the default policy
  std::string binding;    // for PricedOperation::policy
  std::string billing;    // JSON object: further members of billing.<lane>
};

struct ReadTerms {
  std::vector<TermsMistake> mistakes;  // if there are any, the other members have no meaning
  bool is_enabled = false;             // the operator has switched the lane on
  std::string canonical;               // of the section
  std::vector<PriceTerms> prices;      // parallel to the parts
  std::vector<PolicyTerms> policies;
};

// The texts by which public documents describe the payments of a lane with terms: JSON for the
// catalog and the OpenAPI document.
struct TermsDocuments {
  std::string_view contract_version = {};  // of the inventory: `<lane>_contract_version`
  std::string_view sentence = {};          // last sentence of an operation's price description
  std::string_view payment_header = {};    // an OpenAPI parameter: JSON
  std::string_view challenge_header = {};  // response headers by name, with their contents
  std::string_view challenge_text = {};
  std::string_view settlement_header = {};
  std::string_view settlement_text = {};
};

struct LaneTraits {
  std::string_view name;                                 // "credits", "voucher"
  std::span<const std::string_view> credential_headers;  // lower case
  bool needs_account = false;    // the gateway authenticates an API key first
  bool buffer_whole = false;     // settle() needs the whole body; replies are not streamed
  bool charges_credits = false;  // a settled call costs PricedOperation::credit_cost
  // The time that settle() may take, at least that of a ledger commit. If it is longer, admit() may
  // collect a payment: the time for the upstream then begins anew after admit().
  std::uint32_t settle_timeout_ms = 0;
  // Request and reply headers of the lane, lower case. No route may forward them or pass them back.
  std::span<const std::string_view> reserved_headers = {};
  // The registry has terms under `name`, which read_terms() reads. Such a lane must not need an
  // account. For the operations that it sells, it also gets the requests without any credential, to
  // tell the callers what to pay. At most one lane has terms.
  bool has_terms = false;
  const TermsDocuments* terms_documents = nullptr;  // not null with has_terms
  // Codes of the lane's refusals, in addition to those of the gateway. A lane with terms must have
  // a code with the role not_payable and one with the role unavailable; other lanes must have
  // neither.
  std::span<const LaneCode> codes = {};
};

class Lane : public SlotObject {
 public:
  [[nodiscard]] virtual LaneTraits traits() const noexcept = 0;  // valid until exit
  // Reads the lane's parts of a registry, for a lane with `has_terms`. Pure: the result depends
  // only on `parts`. Must not wait. May be called at any time, before bind(), too.
  [[nodiscard]] virtual Result<ReadTerms> read_terms(const RegistryParts& /*parts*/) const {
    return Failure{FailureKind::plugin_fault, "the lane reads no terms", {}, false};
  }
  virtual Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host& host) = 0;
};

}  // namespace turnpike
