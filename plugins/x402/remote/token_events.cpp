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

std::string signer_call_data(const Word& digest, std::string_view signature) {
  std::string data(is_valid_signature_selector);
  data.append(hex_of(digest).substr(2));
  data.append(hex_of(word_of(2 * sizeof(Word))).substr(2));  // offset of the signature
  data.append(hex_of(word_of(signature.size())).substr(2));
  data.append(hex_encode(signature).substr(2));
  const std::size_t rest = signature.size() % sizeof(Word);
  if (rest != 0) data.append(2 * (sizeof(Word) - rest), '0');
  return data;
}

bool says_signed(const Word& returned) noexcept {
  Word expected{};
  return hex_decode_exactly(is_valid_signature_selector, std::span(expected).first(4)) &&
         returned == expected;
}

bool is_of_undeployed_wallet(std::string_view signature) noexcept {
  constexpr std::size_t magic_bytes = 32;
  if (signature.size() < magic_bytes) return false;
  signature.remove_prefix(signature.size() - magic_bytes);
  for (std::size_t at = 0; at < magic_bytes; ++at) {
    if (signature[at] != (at % 2 == 0 ? '\x64' : '\x92')) return false;
  }
  return true;
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
  bool is_next = false;  // the token's last event was our use
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
