#include "x402/remote/token_events.h"

#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

namespace {

bool is_about(const LogEntry& log, const Word& event, const Authorization& authorization) noexcept {
  return log.address == authorization.token && log.topics.size() == 3 && log.topics[0] == event &&
         log.topics[1] == word_of(authorization.from) && log.topics[2] == authorization.nonce;
}

bool is_event_of_payer(const LogEntry& log, const Word& event,
                       const Authorization& authorization) noexcept {
  return log.topics.size() == 3 && log.topics[0] == event &&
         log.topics[1] == word_of(authorization.from);
}

}  // namespace

std::string state_call_data(const Authorization& authorization) {
  std::string data(authorization_state_selector);
  data.append(hex_of(word_of(authorization.from)).substr(2));
  return data.append(hex_of(authorization.nonce).substr(2));
}

std::string use_filter(const Authorization& authorization, const std::string& from_block,
                       const std::string& to_block) {
  std::string filter = R"({"address":")" + hex_of(authorization.token);
  filter.append(R"(","fromBlock":")").append(from_block);
  filter.append(R"(","toBlock":")").append(to_block);
  filter.append(R"(","topics":[[")").append(hex_of(authorization_used_event));
  filter.append(R"(",")").append(hex_of(authorization_canceled_event));
  filter.append(R"("],")").append(hex_of(word_of(authorization.from)));
  return filter.append(R"(",")").append(hex_of(authorization.nonce)).append(R"("]})");
}

bool says_used(const LogEntry& log, const Authorization& authorization) noexcept {
  return is_about(log, authorization_used_event, authorization);
}

bool says_cancelled(const LogEntry& log, const Authorization& authorization) noexcept {
  return is_about(log, authorization_canceled_event, authorization);
}

bool pays(std::span<const LogEntry> logs, const Authorization& authorization) noexcept {
  const auto is_the_transfer = [&](const LogEntry& log) {
    return is_event_of_payer(log, transfer_event, authorization) &&
           log.topics[2] == word_of(authorization.to) && log.data == authorization.value;
  };
  bool is_used = false;
  bool is_next = false;  // the last event of the token was our use
  int uses = 0;          // by the payer
  int transfers = 0;
  int fitting = 0;
  for (const LogEntry& log : logs) {
    if (log.address != authorization.token) continue;
    if (is_next && is_the_transfer(log)) return true;
    is_next = says_used(log, authorization);
    is_used = is_used || is_next;
    uses += is_event_of_payer(log, authorization_used_event, authorization) ? 1 : 0;
    transfers += is_event_of_payer(log, transfer_event, authorization) ? 1 : 0;
    fitting += is_the_transfer(log) ? 1 : 0;
  }
  return is_used && uses == 1 && transfers == 1 && fitting == 1;
}

}  // namespace turnpike::x402
