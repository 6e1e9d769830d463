// One event of a Governor contract, decoded from a raw log (topics and data), a decoded log or a
// CSV row. Decoding throws BadRecord, also for ABI errors. Pure functions; any Thread may call
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "govdata/import/json_records.h"
#include "govdata/store/records.h"

namespace turnpike::govdata {

enum class GovernorEventKind { created, vote, queued, executed, canceled, extended };

struct GovernorEvent {
  GovernorEventKind kind = GovernorEventKind::created;
  std::string proposal_id;  // decimal
  MaybeInteger block, log_index;
  MaybeInteger time_s;  // the block's time, if the log has it
  MaybeText tx_hash, address;
  // created
  MaybeText proposer, description, proposal_type, voting_module;
  MaybeInteger start, end;  // blocks or seconds; extended: end
  std::vector<Action> actions;
  // vote
  std::string voter, support, weight;
  MaybeText reason;
};

// Empty for an event that is not about proposals or votes.
std::optional<GovernorEvent> decode_log(const JsonValue& log);
// `columns` are the normal names (normal_name) in the header. `event` is an event's name; for other
// texts, the columns decide which event it is.
GovernorEvent decode_row(const std::vector<std::string>& columns, std::vector<std::string>& row,
                         std::string_view event);

// A Solidity signature and how chains name it, in hex without 0x: an event by its whole Keccak-256,
// a function by the first four bytes of it (Solidity, contract ABI specification).
struct GovernorSignature {
  std::string_view text;
  std::string_view hash;
};
// The events that decode_log() reads.
std::vector<GovernorSignature> governor_events();
// The functions that tell how a contract counts time, votes and its quorum (ERC-6372, and
// OpenZeppelin's Governor).
inline constexpr GovernorSignature clock_mode_function = {"CLOCK_MODE()", "4bf5d7e9"};
inline constexpr GovernorSignature counting_mode_function = {"COUNTING_MODE()", "dd4e2ba5"};
inline constexpr GovernorSignature quorum_function = {"quorum(uint256)", "f8ce560a"};

// "block_number", "blockNumber" -> "blocknumber".
std::string normal_name(std::string_view name);

}  // namespace turnpike::govdata
