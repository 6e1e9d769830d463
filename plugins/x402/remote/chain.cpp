#include "x402/remote/chain.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <turnpike/helpers/mistakes.h>

#include "x402/protocol/encoding.h"
#include "x402/remote/json_http.h"
#include "x402/remote/json_rpc.h"
#include "x402/remote/token_events.h"

namespace turnpike::x402 {

namespace {

constexpr std::uint64_t rpc_reply_bytes_max = 1024 * 1024;  // a block names its transactions
constexpr int requests_max = 96;                            // per inquiry
constexpr std::uint64_t first_step_blocks = 64;
constexpr std::size_t chains_max = 64;

// OP Mainnet, Unichain, World Chain, Base, Arbitrum One, Arbitrum Nova, Celo, Linea and testnets;
// also Avalanche and Sei, whose blocks are final at once.
constexpr std::uint64_t one_deep[] = {10,    130,   480,    1329,     1328,    8453,
                                      84532, 42161, 42170,  42220,    43114,   43113,
                                      59144, 59141, 421614, 11142220, 11155420};

std::uint32_t default_confirmations(std::uint64_t chain_id) noexcept {
  const bool is_fast =
      std::find(std::begin(one_deep), std::end(one_deep), chain_id) != std::end(one_deep);
  return is_fast ? 1 : 12;
}

std::optional<std::uint64_t> chain_id_of(std::string_view network) noexcept {
  if (!network.starts_with("eip155:")) return std::nullopt;
  const auto id = parse_uint64(network.substr(7));
  return id == 0u ? std::nullopt : id;
}

ChainSettings read_chain(const std::string& network, const Settings& settings, Mistakes& mistakes) {
  ChainSettings read;
  const auto id = chain_id_of(network);
  if (!id) mistakes.add(Settings::wrong({}, "an EVM network such as eip155:8453"));
  read.network = network;
  read.chain_id = id.value_or(0);
  read.confirmations = default_confirmations(read.chain_id);
  mistakes.only(settings, {"rpc_url", "headers", "timeout_ms", "allow_private_addresses",
                           "confirmations", "expiry_margin_s", "log_blocks_max", "audit_after_s",
                           "doubt_after_s", "unproven_per_minute"});
  if (!may_have_fields(settings)) return read;
  read.url = mistakes.take(read_url(settings, "rpc_url", true));
  read.lacks_secret = read.url.lacks_secret;
  if (const Settings* headers = settings.find("headers")) {
    mistakes.note(read_headers(*headers, read.headers, read.lacks_secret), "headers");
  }
  const auto number = [&](std::string_view key, std::uint32_t& into, std::uint32_t minimum,
                          std::uint32_t maximum) {
    mistakes.note(read_number(settings, key, into, minimum, maximum));
  };
  number("timeout_ms", read.timeout_ms, 1, 60'000);
  number("confirmations", read.confirmations, 1, 10'000);
  number("expiry_margin_s", read.expiry_margin_s, 0, 86'400);
  number("log_blocks_max", read.log_blocks_max, 1, 1'000'000);
  number("audit_after_s", read.audit_after_s, 1, 86'400);
  number("doubt_after_s", read.doubt_after_s, 1, 86'400);
  number("unproven_per_minute", read.unproven_per_minute, 1, 1'000'000);
  mistakes.note(read_reach(settings, "rpc_url", read.url, read.allow_private_addresses));
  return read;
}

}  // namespace

Result<std::vector<ChainSettings>> read_chains(const Settings& map) {
  std::vector<ChainSettings> read;
  if (map.kind == Settings::Kind::null) return read;
  const auto wrong_size =
      Settings::wrong({}, "a map of at most " + std::to_string(chains_max) + " networks");
  if (map.kind != Settings::Kind::map) return wrong_size;
  Mistakes mistakes;
  if (map.fields.size() > chains_max) mistakes.add(wrong_size);
  for (const auto& [network, settings] : map.fields) {
    Mistakes own;
    read.push_back(read_chain(network, settings, own));
    mistakes.note(own.done(), network);
  }
  if (!mistakes.none()) return mistakes.failure();
  return read;
}

struct Chains::Chain {
  explicit Chain(ChainSettings own)
      : settings(std::move(own)), unproven(settings.unproven_per_minute) {}
  const ChainSettings settings;
  Allowance unproven;
  std::atomic<std::uint64_t> next_id{1};
  // Must be checked, since a node of another chain would prove that nothing was ever paid.
  std::atomic<bool> is_the_right_one{false};
};

// One question to one chain, with a bounded number of requests. If one of them fails, there is no
// answer.
class Chains::Inquiry {
 public:
  Inquiry(Host& host, Chain& chain, Call& call) : host_(host), chain_(chain), call_(call) {}

  ChainAnswer settlement(const Authorization& authorization);
  ChainAnswer receipt(const Authorization& authorization, const Word& transaction);
  std::optional<bool> is_used_now(const Authorization& authorization);
  Signed signer(const Address& from, const Word& digest, std::string_view signature);

 private:
  struct Reply {
    JsonReply whole;
    RpcKind kind;
    // Points into this reply; absent unless the reply is a result.
    [[nodiscard]] JsonValue result() const noexcept {
      return kind == RpcKind::result ? whole.body()["result"] : JsonValue();
    }
  };
  std::optional<Reply> ask(std::string_view method, const std::string& params);
  bool is_the_right_chain();
  std::optional<Block> block(const std::string& tag);
  std::optional<Block> newest_final();
  std::optional<Block> before(Block young, std::int64_t time_s);
  std::optional<bool> is_used(const Authorization& authorization, std::uint64_t at_block);
  std::optional<std::optional<LogEntry>> find_use(const Authorization& authorization,
                                                  std::uint64_t from_block, std::uint64_t to_block);
  ChainAnswer explain_use(const Authorization& authorization, const Block& tip);
  ChainAnswer judge_receipt(const Authorization& authorization, const Word& transaction,
                            const Block& tip);
  ChainAnswer answer(ChainAnswer::Outcome outcome, const Block& tip) const {
    return {outcome, {}, tip.number, tip.time_s, tip.time_s - chain_.settings.expiry_margin_s};
  }

  Host& host_;
  Chain& chain_;
  Call& call_;
  int requests_ = 0;
};

// Returns nullopt if there is no reply of this protocol. An error that the node reports is a reply.
std::optional<Chains::Inquiry::Reply> Chains::Inquiry::ask(std::string_view method,
                                                           const std::string& params) {
  if (++requests_ > requests_max) return std::nullopt;
  const ChainSettings& settings = chain_.settings;
  const std::uint64_t id = chain_.next_id.fetch_add(1, std::memory_order_relaxed);
  std::string body = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")";
  body.append(method).append(R"(","params":[)").append(params).append("]}");
  JsonRequest request;
  request.url = settings.url.text;
  request.headers = settings.headers;
  request.body = body;
  request.timeout_ms = settings.timeout_ms;
  request.reply_bytes_max = rpc_reply_bytes_max;
  request.allow_private_addresses = settings.allow_private_addresses;
  auto exchanged = exchange_json(host_, request, call_);
  if (!exchanged.ok() && exchanged.error().kind == FailureKind::transport &&
      exchanged.error().maybe_sent) {
    request.fresh_connection = true;  // the pooled connection may have been closed while idle
    exchanged = exchange_json(host_, request, call_);
  }
  if (!exchanged.ok() || exchanged->status == 429 || exchanged->status >= 500) return std::nullopt;
  const RpcKind kind = kind_of_rpc(exchanged->body(), id);
  const bool is_odd = kind == RpcKind::result && exchanged->status / 100 != 2;
  if (kind == RpcKind::broken || is_odd) return std::nullopt;
  return Reply{*std::move(exchanged), kind};
}

bool Chains::Inquiry::is_the_right_chain() {
  if (chain_.is_the_right_one.load(std::memory_order_relaxed)) return true;
  const auto reply = ask("eth_chainId", "");
  if (!reply) return false;
  const auto id = read_quantity(reply->result());
  if (id && *id != chain_.settings.chain_id) {
    host_.report().log(Severity::error, "the node configured for " + chain_.settings.network +
                                            " is of the chain eip155:" + std::to_string(*id));
  }
  const bool is_right = id == chain_.settings.chain_id;
  chain_.is_the_right_one.store(is_right, std::memory_order_relaxed);
  return is_right;
}

std::optional<Block> Chains::Inquiry::block(const std::string& tag) {
  const auto reply = ask("eth_getBlockByNumber", "\"" + tag + "\",false");
  return reply ? read_block(reply->result()) : std::nullopt;
}

std::optional<Block> Chains::Inquiry::newest_final() {
  const auto newest = block("latest");
  const std::uint64_t above = chain_.settings.confirmations - 1;
  if (!newest || above == 0) return newest;
  if (newest->number < above) return std::nullopt;
  const auto tip = block(quantity(newest->number - above));
  return tip && tip->number == newest->number - above ? tip : std::nullopt;
}

// Returns a block that is older than `time_s`, or the first block there is. Unless `young` is older
// itself, it is at most log_blocks_max before the oldest block that is not.
std::optional<Block> Chains::Inquiry::before(Block young, std::int64_t time_s) {
  Block old = young;
  for (std::uint64_t step = first_step_blocks; old.time_s >= time_s && old.number > 0; step *= 4) {
    young = old;
    const auto found = block(quantity(young.number - std::min(young.number, step)));
    if (!found || found->number >= young.number) return std::nullopt;
    old = *found;
  }
  for (bool halves = false; young.number - old.number > chain_.settings.log_blocks_max;
       halves = !halves) {
    // Try in turns where an even pace of blocks would put it, and the middle.
    std::uint64_t distance = (young.number - old.number) / 2;
    if (!halves && young.time_s > old.time_s) {
      const double share =
          static_cast<double>(time_s - old.time_s) / static_cast<double>(young.time_s - old.time_s);
      distance = static_cast<std::uint64_t>(std::clamp(share, 0.0, 1.0) *
                                            static_cast<double>(young.number - old.number));
    }
    distance = std::clamp<std::uint64_t>(distance, 1, young.number - old.number - 1);
    const auto found = block(quantity(old.number + distance));
    if (!found || found->number != old.number + distance) return std::nullopt;
    (found->time_s < time_s ? old : young) = *found;
  }
  return old;
}

std::optional<bool> Chains::Inquiry::is_used(const Authorization& authorization,
                                             std::uint64_t at_block) {
  const auto reply =
      ask("eth_call", R"({"to":")" + hex_of(authorization.token) + R"(","data":")" +
                          state_call_data(authorization) + R"("},")" + quantity(at_block) + "\"");
  if (!reply || reply->kind != RpcKind::result) return std::nullopt;
  const auto word = read_word(reply->result());
  if (word == Word{}) return false;
  if (word == word_of(1)) return true;
  return std::nullopt;  // no such contract, or not of this kind
}

// Finds the first event that uses or cancels the authorization. The outer nullopt means that the
// chain could not be asked, the inner one that there is no such event.
std::optional<std::optional<LogEntry>> Chains::Inquiry::find_use(const Authorization& authorization,
                                                                 std::uint64_t from_block,
                                                                 std::uint64_t to_block) {
  std::uint64_t blocks = chain_.settings.log_blocks_max;
  while (from_block <= to_block) {
    const std::uint64_t last = from_block + std::min(blocks - 1, to_block - from_block);
    const auto reply =
        ask("eth_getLogs", use_filter(authorization, quantity(from_block), quantity(last)));
    if (!reply) return std::nullopt;
    if (reply->kind == RpcKind::error) {
      if (blocks == 1) return std::nullopt;
      blocks = (blocks + 1) / 2;  // the usual reason is a range that is too long for the provider
      continue;
    }
    const auto logs = read_logs(reply->result());
    if (!logs) return std::nullopt;
    for (const LogEntry& log : *logs) {
      if (says_used(log, authorization) || says_cancelled(log, authorization)) return {{log}};
    }
    from_block = last + 1;
  }
  return std::optional<LogEntry>();
}

ChainAnswer Chains::Inquiry::settlement(const Authorization& authorization) {
  if (!is_the_right_chain()) return {};
  const auto tip = newest_final();
  if (!tip) return {};
  const auto used = is_used(authorization, tip->number);
  if (!used) return {};
  if (!*used) return answer(ChainAnswer::Outcome::not_used, *tip);
  return explain_use(authorization, *tip);
}

ChainAnswer Chains::Inquiry::explain_use(const Authorization& authorization, const Block& tip) {
  const std::int64_t since_s = authorization.claimed_at_s - claim_slack_s;
  if (tip.time_s < since_s) return {};  // the node is far behind
  const auto oldest = before(tip, since_s);
  if (!oldest) return {};
  const auto use = find_use(authorization, oldest->number + 1, tip.number);
  if (!use) return {};
  if (!use->has_value()) {
    // A node that has not indexed its newest logs says the same as one that has none. So the use
    // counts as an earlier one only if the state of the older block shows it, too.
    const auto used_before = is_used(authorization, oldest->number);
    return used_before == true ? answer(ChainAnswer::Outcome::used_otherwise, tip) : ChainAnswer();
  }
  const LogEntry& log = **use;
  if (log.block <= oldest->number || log.block > tip.number) return {};
  if (says_cancelled(log, authorization)) return answer(ChainAnswer::Outcome::cancelled, tip);
  ChainAnswer judged = judge_receipt(authorization, log.transaction, tip);
  const bool contradicts = judged.outcome == ChainAnswer::Outcome::reverted ||
                           judged.outcome == ChainAnswer::Outcome::not_final;
  return contradicts ? ChainAnswer() : judged;
}

ChainAnswer Chains::Inquiry::judge_receipt(const Authorization& authorization,
                                           const Word& transaction, const Block& tip) {
  const auto reply = ask("eth_getTransactionReceipt", "\"" + hex_of(transaction) + "\"");
  if (!reply || reply->kind != RpcKind::result) return {};
  if (reply->result().is(JsonKind::null)) return answer(ChainAnswer::Outcome::not_final, tip);
  const auto receipt = read_chain_receipt(reply->result());
  if (!receipt || receipt->transaction != transaction) return {};
  if (receipt->block > tip.number) return answer(ChainAnswer::Outcome::not_final, tip);
  if (!receipt->is_success) return answer(ChainAnswer::Outcome::reverted, tip);
  if (!pays(receipt->logs, authorization)) {
    return answer(ChainAnswer::Outcome::used_otherwise, tip);
  }
  const auto mined = block(quantity(receipt->block));
  if (!mined || mined->number != receipt->block) return {};
  if (mined->time_s < authorization.claimed_at_s - claim_slack_s) {
    return answer(ChainAnswer::Outcome::used_otherwise, tip);
  }
  ChainAnswer paid = answer(ChainAnswer::Outcome::paid, tip);
  paid.transaction = hex_of(transaction);
  return paid;
}

ChainAnswer Chains::Inquiry::receipt(const Authorization& authorization, const Word& transaction) {
  if (!is_the_right_chain()) return {};
  const auto tip = newest_final();
  return tip ? judge_receipt(authorization, transaction, *tip) : ChainAnswer();
}

std::optional<bool> Chains::Inquiry::is_used_now(const Authorization& authorization) {
  if (!is_the_right_chain()) return std::nullopt;
  const auto newest = block("latest");
  if (!newest || newest->time_s + behind_s < host_.clock().now_ms() / 1000) return std::nullopt;
  return is_used(authorization, newest->number);
}

// Asks as the token itself does. If a contract reverts or does not know the question, the answer is
// no. A node that is in trouble says so by its status, or does not answer in this protocol.
Chains::Signed Chains::Inquiry::signer(const Address& from, const Word& digest,
                                       std::string_view signature) {
  if (!is_the_right_chain()) return Signed::unavailable;
  const std::string account = "\"" + hex_of(from) + "\"";
  const auto code = ask("eth_getCode", account + R"(,"latest")");
  if (!code || code->kind != RpcKind::result) return Signed::unavailable;
  const JsonValue bytes = code->result();
  if (!bytes.is(JsonKind::string) || !bytes.plain().starts_with("0x")) return Signed::unavailable;
  if (bytes.plain().size() == 2) {
    return is_of_undeployed_wallet(signature) ? Signed::undeployed : Signed::no;
  }
  const auto reply = ask("eth_call", R"({"to":)" + account + R"(,"data":")" +
                                         signer_call_data(digest, signature) + R"("},"latest")");
  if (!reply) return Signed::unavailable;
  if (reply->kind == RpcKind::error) return Signed::no;
  const auto word = read_word(reply->result());
  return word && says_signed(*word) ? Signed::yes : Signed::no;
}

Chains::Chains(std::vector<ChainSettings> settings, Host& host) : host_(host) {
  for (ChainSettings& own : settings) chains_.push_back(std::make_unique<Chain>(std::move(own)));
}

Chains::~Chains() = default;

Chains::Chain* Chains::find(std::string_view network) const noexcept {
  for (const auto& chain : chains_) {
    if (chain->settings.network == network && !chain->settings.lacks_secret) return chain.get();
  }
  return nullptr;
}

bool Chains::knows(std::string_view network) const noexcept { return find(network) != nullptr; }

const ChainSettings* Chains::settings_of(std::string_view network) const noexcept {
  const Chain* const chain = find(network);
  return chain == nullptr ? nullptr : &chain->settings;
}

std::uint32_t Chains::expiry_margin_s(std::string_view network) const noexcept {
  const Chain* const chain = find(network);
  return chain == nullptr ? 0 : chain->settings.expiry_margin_s;
}

ChainAnswer Chains::find_settlement(const Authorization& authorization, Call& call) noexcept {
  try {
    Chain* const chain = find(authorization.network);
    if (chain == nullptr) return {};
    const ChainAnswer answer = Inquiry(host_, *chain, call).settlement(authorization);
    host_.report().count("chain_" + std::string(name_of(answer.outcome)), 1);
    return answer;
  } catch (...) {  // memory exhaustion
    return {};
  }
}

Chains::Signed Chains::ask_signer(std::string_view network, const Address& from, const Word& digest,
                                  std::string_view signature, Call& call) noexcept {
  try {
    Chain* const chain = find(network);
    if (chain == nullptr) return Signed::unavailable;
    if (!chain->unproven.take(host_.clock().monotonic_ns())) return Signed::too_many;
    const Signed said = Inquiry(host_, *chain, call).signer(from, digest, signature);
    if (said != Signed::no) chain->unproven.give_back();
    return said;
  } catch (...) {  // memory exhaustion
    return Signed::unavailable;
  }
}

ChainAnswer Chains::receipt_of(const Authorization& authorization, std::string_view transaction,
                               Call& call) noexcept {
  try {
    Chain* const chain = find(authorization.network);
    Word hash;
    if (chain == nullptr || !hex_decode_exactly(transaction, hash)) return {};
    return Inquiry(host_, *chain, call).receipt(authorization, hash);
  } catch (...) {  // memory exhaustion
    return {};
  }
}

std::optional<bool> Chains::is_used_now(const Authorization& authorization, Call& call) noexcept {
  try {
    Chain* const chain = find(authorization.network);
    return chain == nullptr ? std::nullopt
                            : Inquiry(host_, *chain, call).is_used_now(authorization);
  } catch (...) {  // memory exhaustion
    return std::nullopt;
  }
}

std::string_view name_of(ChainAnswer::Outcome outcome) noexcept {
  switch (outcome) {
    case ChainAnswer::Outcome::paid:
      return "paid";
    case ChainAnswer::Outcome::cancelled:
      return "cancelled";
    case ChainAnswer::Outcome::used_otherwise:
      return "used_otherwise";
    case ChainAnswer::Outcome::not_used:
      return "not_used";
    case ChainAnswer::Outcome::reverted:
      return "reverted";
    case ChainAnswer::Outcome::not_final:
      return "not_final";
    case ChainAnswer::Outcome::unavailable:
      return "unavailable";
  }
  return "";
}

}  // namespace turnpike::x402
