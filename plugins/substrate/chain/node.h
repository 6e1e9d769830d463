// Node: JSON-RPC with one endpoint of a chain, over the gateway's HTTP. Nodes are not trusted:
// their answers are limited in time and length, the id must match, redirects are refused, and error
// texts of a node never reach a caller. Long answers are parsed on the blocking pool.
//
// Owned by one verification and used by its one fiber or Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/result.h>

#include "substrate/chain/answer_cache.h"
#include "substrate/chain/facts.h"
#include "substrate/configuration.h"
#include "substrate/verify/json.h"
#include "substrate/verify/report.h"

namespace turnpike::substrate {

enum class RpcTrouble : std::uint8_t {
  discarded,  // the node does not know the block, or has discarded its state
  refused,    // the node answered with an error
  malformed,  // the answer does not have the expected form
  too_long,
  late,         // no answer in time
  unreachable,  // no connection, or it broke
  no_credential,
};
// A sentence for callers. It contains no text from the node.
std::string_view text_of(RpcTrouble trouble) noexcept;

template <class T>
using Answered = Result<T, RpcTrouble>;

inline constexpr std::uint64_t rpc_reply_bytes_max = 64 * 1024;
inline constexpr std::size_t evidence_max = 128;

enum class Age : std::uint8_t {
  cached,  // an answer that was kept will do
  fresh,   // the node is asked now
};

class Node {
 public:
  // All outlive it. `end_ns` bounds all that is asked.
  Node(Host& host, AnswerCache& cache, const ChainSettings& chain,
       const EndpointSettings& endpoint, Call& call, std::int64_t end_ns,
       std::vector<Evidence>& evidence)
      : host_(host),
        cache_(cache),
        chain_(chain),
        endpoint_(endpoint),
        call_(call),
        end_ns_(end_ns),
        evidence_(evidence) {}

  [[nodiscard]] const std::string& key() const noexcept { return endpoint_.key; }
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }

  // Nothing in it: the node knows no such block.
  Answered<std::optional<Hash>> block_hash(std::uint64_t number, Age age = Age::cached);
  Answered<std::optional<Hash>> best_hash();
  Answered<std::optional<Hash>> finalized_hash();
  Answered<Header> header(const Hash& block);
  Answered<RuntimeVersion> version(const Hash& block);
  // An empty optional means that there is no value under the key.
  Answered<std::optional<Hash>> storage_hash(std::string_view key, const Hash& block);
  Answered<std::optional<Bytes>> storage(std::string_view key, const Hash& block,
                                         std::uint64_t bytes_max = 4'096);

 private:
  using Answer = std::shared_ptr<const NodeAnswer>;
  struct Question {
    std::string_view method;
    Json params;
    std::optional<Hash> block = std::nullopt;  // the one that it is about; none: the head
    std::uint64_t reply_bytes_max = rpc_reply_bytes_max;
    Age age = Age::cached;
  };

  // What `read` makes of the result: Answered<T>(const Json&). Nothing in it: the result is null.
  template <class T, class Read>
  Answered<std::optional<T>> ask(const Question& question, Read read);
  Answered<Answer> ask_node(const Question& question);
  Answered<Answer> ask_once(std::string_view body, std::uint64_t id,
                            std::uint64_t reply_bytes_max, bool& may_retry);
  Answered<std::optional<Hash>> ask_hash(const Question& question);

  Host& host_;
  AnswerCache& cache_;
  const ChainSettings& chain_;
  const EndpointSettings& endpoint_;
  Call& call_;
  const std::int64_t end_ns_;
  std::vector<Evidence>& evidence_;
  std::uint32_t calls_ = 0;
};

// Runs `work()` on the blocking pool. False if the pool or the memory is exhausted.
template <class Work>
bool run_away(Host& host, Work& work) {
  struct Away {
    Work& work;
    bool is_done = false;
  } away{work};
  const Done done = host.offload().run(
      [](void* argument) noexcept {
        auto& task = *static_cast<Away*>(argument);
        try {
          task.work();
          task.is_done = true;
        } catch (...) {  // out of memory
          task.is_done = false;
        }
      },
      &away);
  return done.ok() && away.is_done;
}

}  // namespace turnpike::substrate
