// serve(): the product: one call in, one reply out. It refuses faulty requests, cheapest checks
// first, holds units on the one lane that the credentials select, calls the upstream, and charges
// exactly when the upstream's outcome is a declared success, before the end of the reply is sent.
// It is independent of sockets.
//
// Called by the hosts on the fiber of the call, or by tests on a plain Thread; may suspend. All
// members of Context outlive the call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

#include "base/error.h"
#include "exchange/invocation.h"
#include "exchange/reply.h"
#include "identity/principal.h"

namespace turnpike::identity {
class Authenticator;
}

namespace turnpike::exchange {

class ChargeRules;
class LoopState;
class Service;
class TransferSlots;

struct Context {
  const Service* service = nullptr;  // pinned for the call by the host; null: no valid program
  LoopState& loop;                   // of the calling loop Thread
  identity::Authenticator& authenticator;
  TransferSlots& transfers;  // one per node, as are the rules
  const ChargeRules& rules;
  const Clock& clock;
};

enum class Ending : std::uint8_t {
  replied,      // a complete reply of the upstream, or a stored one, was given to the writer
  refused,      // an error or a lane's own answer was given to the writer
  cut,          // a reply that had begun was aborted
  caller_gone,  // the caller left: nothing, or only a part, could be sent
};

// The upstream's outcome, independent of how the call ended.
enum class UpstreamPart : std::uint8_t {
  none,    // not called, or the caller left or the gateway stopped before its outcome
  worked,  // answered with a reply that can be passed on
  failed,  // failed, or the plugin that calls it failed
};

// Facts about a call for access log and metrics. The views are valid as long as the Service.
struct Served {
  Ending ending = Ending::refused;
  std::optional<base::ErrorCode> error;  // why it was refused or cut; empty on success
  int upstream_status = 0;               // 0: no upstream reply
  UpstreamPart upstream_part = UpstreamPart::none;
  std::string_view route;             // id; empty without a match, as are the next three
  std::string_view provider;          // key
  std::string_view operation_method;  // "GET"; empty when the route lacks the method
  std::string_view operation_path;    // the route's pattern
  static constexpr std::uint32_t no_operation = 0xFFFF'FFFF;
  std::uint32_t operation = no_operation;  // in Program::operations() of the service that ran it
  std::string_view lane;              // empty when none was chosen
  std::shared_ptr<const identity::Principal> principal;  // null: no account is known
  std::uint64_t credits_charged = 0;
  std::uint64_t request_bytes = 0;  // body
  std::uint64_t reply_bytes = 0;    // body handed to the writer
  std::uint32_t total_us = 0;
  std::uint32_t upstream_us = 0;
  std::string operator_note;  // a plugin's note on a failure: for our log, never for callers
};

[[nodiscard]] Served serve(const Context& context, const Invocation& invocation,
                           ReplyWriter& writer);

}  // namespace turnpike::exchange
