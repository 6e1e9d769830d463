#include "wire/server.h"

#include <memory>
#include <utility>

#include "runtime/runtime.h"
#include "wire/acceptor.h"
#include "wire/server_loop.h"

namespace turnpike::wire {
namespace {

constexpr std::int64_t loop_answer_ms = 1'000;

class LoopServer final : public Server {
 public:
  LoopServer(runtime::Runtime& runtime, const ServerLimits& limits, base::Log& log)
      : shared_(limits, log), acceptor_(runtime, shared_, loops_) {
    for (const auto& loop : runtime.loops()) {
      loops_.push_back(std::make_unique<ServerLoop>(shared_, *loop));
    }
  }

  ~LoopServer() override {
    drain(std::chrono::milliseconds(0));
    (void)close(runtime::Deadline::never());
  }

  Result<ListenerAddress, std::string> reserve(const std::string& name,
                                               const std::string& address) override {
    return acceptor_.listen({name, address, nullptr});
  }

  Result<std::vector<ListenerAddress>, std::string> start(
      std::vector<ListenerSettings> listeners) override {
    std::vector<ListenerAddress> addresses;
    for (const ListenerSettings& listener : listeners) {
      auto taken = acceptor_.listen(listener);
      if (!taken) return std::move(taken).error();
      addresses.push_back(*std::move(taken));
    }
    acceptor_.start();
    return addresses;
  }

  bool drain(std::chrono::milliseconds drain_time) override {
    const auto deadline = runtime::Deadline::after_ms(drain_time.count());
    acceptor_.stop();
    shared_.is_draining.store(true);
    on_every_loop(&ServerLoop::close_idle, runtime::Deadline::after_ms(loop_answer_ms));
    if (shared_.connections.load() == 0) shared_.all_closed.set();
    if (shared_.all_closed.wait(deadline) == runtime::Wake::ready) return true;
    // A connection that has sent its last reply is not aborted, only given less time. The order of
    // the two loads matters: a connection that closes in between must count as lingering.
    const std::uint64_t lingering = shared_.lingering.load();
    const bool is_whole = shared_.connections.load() <= lingering;
    on_every_loop(&ServerLoop::break_off, runtime::Deadline{0});
    return is_whole;
  }

  bool close(runtime::Deadline give_up) override {
    // A loop executes posts in order: when it answers, it has executed all posts of drain().
    return shared_.all_closed.wait(give_up) == runtime::Wake::ready &&
           on_every_loop(&ServerLoop::close_idle, give_up);
  }

  [[nodiscard]] std::uint64_t connections_open() const noexcept override {
    return shared_.connections.load();
  }

 private:
  // True if all loops have executed it by the deadline; the others execute it when they turn again.
  bool on_every_loop(void (ServerLoop::*function)() noexcept, runtime::Deadline deadline) {
    const auto done = std::make_shared<runtime::Semaphore>(0);
    for (const auto& loop : loops_) {
      loop->loop().post([done, function, home = loop.get()] {
        (home->*function)();
        done->release();
      });
    }
    const runtime::CancelMask mask;
    for (std::size_t at = 0; at < loops_.size(); ++at) {
      if (done->acquire(deadline) != runtime::Wake::ready) return false;
    }
    return true;
  }

  ServerShared shared_;
  std::vector<std::unique_ptr<ServerLoop>> loops_;
  Acceptor acceptor_;
};

}  // namespace

std::unique_ptr<Server> make_server(runtime::Runtime& runtime, const ServerLimits& limits,
                                    base::Log& log) {
  return std::make_unique<LoopServer>(runtime, limits, log);
}

}  // namespace turnpike::wire
