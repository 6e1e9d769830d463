#include "substrate/chain/node.h"

#include <algorithm>
#include <utility>

#include "substrate/codec/digest.h"

namespace turnpike::substrate {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr int attempts_max = 3;
constexpr std::uint32_t backoff_ms = 200;
constexpr std::size_t heavy_bytes = 64 * 1024;  // longer answers are parsed on the blocking pool

class TimedCall final : public Call {
 public:
  TimedCall(Call& call, Clock& clock, std::int64_t end_ns)
      : call_(call), clock_(clock), end_ns_(end_ns) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return call_.request_id(); }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override {
    return std::min(call_.deadline_ns(), end_ns_);
  }
  [[nodiscard]] bool cancelled() const noexcept override { return call_.cancelled(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const std::int64_t left_ms = (deadline_ns() - clock_.monotonic_ns()) / ns_per_ms;
    return left_ms > duration_ms && call_.sleep_ms(duration_ms);
  }

 private:
  Call& call_;
  Clock& clock_;
  const std::int64_t end_ns_;
};

class TextSink final : public HttpSink {
 public:
  explicit TextSink(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  bool head(int got_status, Headers, std::optional<std::uint64_t>) override {
    status = got_status;
    return status == 200;
  }
  bool body(std::string_view bytes) override {
    is_too_long = bytes.size() > bytes_max_ - text.size();
    if (!is_too_long) text += bytes;
    return !is_too_long;
  }

  int status = 0;
  std::string text;
  bool is_too_long = false;

 private:
  const std::uint64_t bytes_max_;
};

bool tells_discarded(const std::string& message) noexcept {
  for (const std::string_view words :
       {"State already discarded", "UnknownBlock", "Unknown block", "unknown block",
        "Header was not found", "pruned", "not found in the database"}) {
    if (message.find(words) != message.npos) return true;
  }
  return false;
}

// The result in the reply to the request `id`. Sets `digest` to the hash of the result.
Answered<Json> read_reply(std::string_view text, std::uint64_t id, Hash& digest) {
  auto json = read_bounded_json(text, {16, 4'096});
  if (!json || !json->is_object()) return RpcTrouble::malformed;
  const std::string* const version = text_member(*json, "jsonrpc");
  const Json* const own_id = member_of(*json, "id");
  if (version == nullptr || *version != "2.0" || own_id == nullptr || natural_of(*own_id) != id) {
    return RpcTrouble::malformed;
  }
  if (const Json* const error = member_of(*json, "error")) {
    const std::string* const message = text_member(*error, "message");
    const std::string* const data = text_member(*error, "data");
    const bool is_discarded = (message != nullptr && tells_discarded(*message)) ||
                              (data != nullptr && tells_discarded(*data));
    return is_discarded ? RpcTrouble::discarded : RpcTrouble::refused;
  }
  const auto result = json->find("result");
  if (result == json->end()) return RpcTrouble::malformed;
  const std::string canonical = result->dump(-1, ' ', false, Json::error_handler_t::replace);
  digest = blake2_256(bytes_of_text(canonical));
  return std::move(*result);
}

RpcTrouble trouble_of(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::timeout:
    case FailureKind::cancelled:
      return RpcTrouble::late;
    case FailureKind::too_large:
      return RpcTrouble::too_long;
    case FailureKind::contract:
      return RpcTrouble::malformed;
    default:
      return RpcTrouble::unreachable;
  }
}

}  // namespace

std::string_view text_of(RpcTrouble trouble) noexcept {
  switch (trouble) {
    case RpcTrouble::discarded:
      return "the node does not know this block, or has discarded its state";
    case RpcTrouble::refused:
      return "the node answered with an error";
    case RpcTrouble::malformed:
      return "the node's answer is not of its form";
    case RpcTrouble::too_long:
      return "the node's answer is too long";
    case RpcTrouble::late:
      return "the node did not answer in time";
    case RpcTrouble::unreachable:
      return "the node could not be reached";
    case RpcTrouble::no_credential:
      break;
  }
  return "the credential for the node is missing";
}

Answered<Json> Node::ask_once(std::string_view body, std::uint64_t id,
                              std::uint64_t reply_bytes_max, bool& may_retry, Hash& digest) {
  std::vector<HeaderField> headers = {{"Accept", "application/json"},
                                      {"Content-Type", "application/json"}};
  for (const OwnedHeader& header : endpoint_.headers) {
    headers.push_back({header.name, header.value});
  }
  HttpOptions options;
  options.allow_private_addresses = chain_.allows_private_addresses;
  options.reply_bytes_max = reply_bytes_max;
  const std::int64_t now_ns = host_.clock().monotonic_ns();
  TimedCall timed(call_, host_.clock(),
                  std::min(end_ns_, now_ns + std::int64_t{chain_.call_timeout_ms} * ns_per_ms));
  TextSink sink(reply_bytes_max);
  const Done done = host_.http().call({Method::post, endpoint_.url, headers, body}, options, sink,
                                      timed);
  if (sink.is_too_long) return RpcTrouble::too_long;
  if (sink.status != 0 && sink.status != 200) {
    may_retry = sink.status == 429;
    return RpcTrouble::refused;
  }
  if (!done.ok()) {
    may_retry = done.error().kind == FailureKind::transport;
    return trouble_of(done.error().kind);
  }
  if (sink.text.size() <= heavy_bytes) return read_reply(sink.text, id, digest);
  std::optional<Answered<Json>> read;
  const auto work = [&] { read.emplace(read_reply(sink.text, id, digest)); };
  if (!run_away(host_, work)) return RpcTrouble::unreachable;
  return *std::move(read);
}

Answered<Json> Node::ask(std::string_view method, const Json& params, std::optional<Hash> block,
                         std::uint64_t reply_bytes_max) {
  if (endpoint_.lacks_secret) return RpcTrouble::no_credential;
  ++calls_;
  const std::uint64_t id = calls_;
  const Json request = {
      {"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}};
  const std::string body = request.dump();
  Hash digest{};
  TimedCall timed(call_, host_.clock(), end_ns_);
  for (int attempt = 1;; ++attempt) {
    if (call_.cancelled() || host_.clock().monotonic_ns() >= timed.deadline_ns()) {
      return RpcTrouble::late;
    }
    bool may_retry = false;
    auto answer = ask_once(body, id, reply_bytes_max, may_retry, digest);
    if (answer.ok()) {
      if (evidence_.size() < evidence_max) {
        evidence_.push_back({std::string(method), blake2_256(bytes_of_text(params.dump())), block,
                             digest, endpoint_.key, host_.clock().now_ms()});
      }
      return answer;
    }
    if (!may_retry || attempt == attempts_max) return answer;
    if (!timed.sleep_ms(backoff_ms << (attempt - 1))) return answer;
  }
}

Answered<std::optional<Hash>> Node::ask_hash(std::string_view method, const Json& params,
                                             std::optional<Hash> block) {
  const auto answer = ask(method, params, block);
  if (!answer.ok()) return answer.error();
  if (answer->is_null()) return std::optional<Hash>();
  const auto hash = read_hash(*answer);
  if (!hash) return RpcTrouble::malformed;
  return std::optional(*hash);
}

Answered<std::optional<Hash>> Node::block_hash(std::uint64_t number) {
  return ask_hash("chain_getBlockHash", Json::array({number}), std::nullopt);
}

Answered<std::optional<Hash>> Node::best_hash() {
  return ask_hash("chain_getBlockHash", Json::array(), std::nullopt);
}

Answered<std::optional<Hash>> Node::finalized_hash() {
  return ask_hash("chain_getFinalizedHead", Json::array(), std::nullopt);
}

Answered<Header> Node::header(const Hash& block) {
  const auto answer = ask("chain_getHeader", Json::array({hex_of(block)}), block);
  if (!answer.ok()) return answer.error();
  if (answer->is_null()) return RpcTrouble::discarded;
  auto header = read_header(*answer);
  if (!header) return RpcTrouble::malformed;
  return *std::move(header);
}

Answered<RuntimeVersion> Node::version(const Hash& block) {
  const auto answer = ask("state_getRuntimeVersion", Json::array({hex_of(block)}), block);
  if (!answer.ok()) return answer.error();
  auto version = read_rpc_version(*answer);
  if (!version) return RpcTrouble::malformed;
  return *std::move(version);
}

Answered<std::optional<Hash>> Node::storage_hash(std::string_view key, const Hash& block) {
  return ask_hash("state_getStorageHash", Json::array({key, hex_of(block)}), block);
}

Answered<std::optional<Bytes>> Node::storage(std::string_view key, const Hash& block,
                                             std::uint64_t bytes_max) {
  const auto answer = ask("state_getStorage", Json::array({key, hex_of(block)}), block,
                          std::max<std::uint64_t>(2 * bytes_max + 1'024, rpc_reply_bytes_max));
  if (!answer.ok()) return answer.error();
  if (answer->is_null()) return std::optional<Bytes>();
  const auto* text = answer->get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with("0x")) return RpcTrouble::malformed;
  std::optional<Bytes> bytes;
  const auto work = [&] { bytes = bytes_of_hex(*text); };
  if (text->size() <= heavy_bytes) {
    work();
  } else if (!run_away(host_, work)) {
    return RpcTrouble::unreachable;
  }
  if (!bytes) return RpcTrouble::malformed;
  if (bytes->size() > bytes_max) return RpcTrouble::too_long;
  return bytes;
}

}  // namespace turnpike::substrate
