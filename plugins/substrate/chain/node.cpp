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

// A value, or `malformed`.
template <class T>
Answered<T> or_malformed(std::optional<T> value) {
  if (!value) return RpcTrouble::malformed;
  return *std::move(value);
}

// The result of the reply to `id`, with its digest.
Answered<std::shared_ptr<NodeAnswer>> read_reply(std::string_view text, std::uint64_t id) {
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
  auto answer = std::make_shared<NodeAnswer>();
  answer->digest = blake2_256(bytes_of_text(canonical));
  answer->bytes = text.size();
  answer->result = std::move(*result);
  return answer;
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

Answered<Node::Answer> Node::ask_once(std::string_view body, std::uint64_t id,
                                      std::uint64_t reply_bytes_max, bool& may_retry) {
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
  std::optional<Answered<std::shared_ptr<NodeAnswer>>> read;
  const auto work = [&] { read.emplace(read_reply(sink.text, id)); };
  if (sink.text.size() <= heavy_bytes) {
    work();
  } else if (!run_away(host_, work)) {
    return RpcTrouble::unreachable;
  }
  if (!read->ok()) return read->error();
  (**read)->at_ms = host_.clock().now_ms();
  return Answer(**read);
}

Answered<Node::Answer> Node::ask_node(const Question& question) {
  ++calls_;
  const std::uint64_t id = calls_;
  const Json request = {
      {"jsonrpc", "2.0"}, {"id", id}, {"method", question.method}, {"params", question.params}};
  const std::string body = request.dump();
  TimedCall timed(call_, host_.clock(), end_ns_);
  for (int attempt = 1;; ++attempt) {
    if (call_.cancelled() || host_.clock().monotonic_ns() >= timed.deadline_ns()) {
      return RpcTrouble::late;
    }
    bool may_retry = false;
    auto answer = ask_once(body, id, question.reply_bytes_max, may_retry);
    if (answer.ok() || !may_retry || attempt == attempts_max) return answer;
    if (!timed.sleep_ms(backoff_ms << (attempt - 1))) return answer;
  }
}

template <class T, class Read>
Answered<std::optional<T>> Node::ask(const Question& question, Read read) {
  if (endpoint_.lacks_secret) return RpcTrouble::no_credential;
  const std::string params = question.params.dump();
  const std::string text = endpoint_.key + ' ' + std::string(question.method) + ' ' + params;
  const Hash digest = blake2_256(bytes_of_text(text));
  const std::int64_t now_ms = host_.clock().monotonic_ns() / ns_per_ms;
  Answer answer;
  if (chain_.caches_answers && question.age == Age::cached) answer = cache_.find(digest, now_ms);
  const bool is_new = answer == nullptr;
  if (is_new) {
    auto got = ask_node(question);
    if (!got.ok()) return got.error();
    answer = *std::move(got);
  }
  if (evidence_.size() < evidence_max) {
    evidence_.push_back({std::string(question.method), blake2_256(bytes_of_text(params)),
                         question.block, answer->digest, endpoint_.key, answer->at_ms});
  }
  std::optional<T> value;
  if (!answer->result.is_null()) {
    auto got = read(answer->result);
    if (!got.ok()) return got.error();
    value = *std::move(got);
  }
  if (is_new) {
    // A node that is behind has no value yet, so an absent one is not kept for long.
    const bool is_lasting = question.block.has_value() && value.has_value();
    cache_.keep(digest, std::move(answer),
                is_lasting ? AnswerCache::block_keep_ms : AnswerCache::head_keep_ms, now_ms);
  }
  return value;
}

Answered<std::optional<Hash>> Node::ask_hash(const Question& question) {
  return ask<Hash>(question, [](const Json& result) { return or_malformed(read_hash(result)); });
}

Answered<std::optional<Hash>> Node::block_hash(std::uint64_t number, Age age) {
  Question question{"chain_getBlockHash", Json::array({number})};
  question.age = age;
  return ask_hash(question);
}

Answered<std::optional<Hash>> Node::best_hash() {
  return ask_hash({"chain_getBlockHash", Json::array()});
}

Answered<std::optional<Hash>> Node::finalized_hash() {
  return ask_hash({"chain_getFinalizedHead", Json::array()});
}

Answered<Header> Node::header(const Hash& block) {
  auto header = ask<Header>({"chain_getHeader", Json::array({hex_of(block)}), block},
                            [](const Json& result) { return or_malformed(read_header(result)); });
  if (!header.ok()) return header.error();
  if (!*header) return RpcTrouble::discarded;
  return **std::move(header);
}

Answered<RuntimeVersion> Node::version(const Hash& block) {
  auto version = ask<RuntimeVersion>(
      {"state_getRuntimeVersion", Json::array({hex_of(block)}), block},
      [](const Json& result) { return or_malformed(read_rpc_version(result)); });
  if (!version.ok()) return version.error();
  return or_malformed(*std::move(version));
}

Answered<std::optional<Hash>> Node::storage_hash(std::string_view key, const Hash& block) {
  return ask_hash({"state_getStorageHash", Json::array({key, hex_of(block)}), block});
}

Answered<std::optional<Bytes>> Node::storage(std::string_view key, const Hash& block,
                                             std::uint64_t bytes_max) {
  const auto read = [&](const Json& result) -> Answered<Bytes> {
    const auto* text = result.get_ptr<const std::string*>();
    if (text == nullptr || !text->starts_with("0x")) return RpcTrouble::malformed;
    std::optional<Bytes> bytes;
    const auto work = [&] { bytes = bytes_of_hex(*text); };
    if (text->size() <= heavy_bytes) {
      work();
    } else if (!run_away(host_, work)) {
      return RpcTrouble::unreachable;
    }
    if (bytes && bytes->size() > bytes_max) return RpcTrouble::too_long;
    return or_malformed(std::move(bytes));
  };
  Question question{"state_getStorage", Json::array({key, hex_of(block)}), block};
  question.reply_bytes_max =
      std::max<std::uint64_t>(2 * bytes_max + 1'024, rpc_reply_bytes_max);
  return ask<Bytes>(question, read);
}

}  // namespace turnpike::substrate
