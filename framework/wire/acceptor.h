// Acceptor: the one Thread that accepts for all listeners and hands each socket to the loop with
// the fewest seats taken. It keeps a spare descriptor: when the process runs out of descriptors,
// the spare one is given up to accept and close one connection, so that clients are refused instead
// of waiting.
//
// Owned by the Server; start() and stop() are for its owner's Thread.
#pragma once

#include <Poco/Net/ServerSocket.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime.h"
#include "wire/server_loop.h"

namespace turnpike::wire {

class Acceptor {
 public:
  Acceptor(runtime::Runtime& runtime, ServerShared& shared,
           const std::vector<std::unique_ptr<ServerLoop>>& loops);
  ~Acceptor() { stop(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Binds and listens, or returns an error. A listener that was bound without a handler gets it.
  Result<ListenerAddress, std::string> listen(const ListenerSettings& settings);
  void start();
  void stop() noexcept;  // closes the listeners

 private:
  struct Listener {
    std::string name;
    Poco::Net::ServerSocket socket;
    Handler* handler;
  };

  void run() noexcept;
  void accept_from(Listener& listener, int connections_max) noexcept;
  void accept_one(int socket, const PeerAddress& peer, Handler& handler) noexcept;
  void shed(int listener) noexcept;
  void pause() noexcept;

  runtime::Runtime& runtime_;
  ServerShared& shared_;
  const std::vector<std::unique_ptr<ServerLoop>>& loops_;
  std::vector<Listener> listeners_;
  std::thread thread_;
  int stop_event_ = -1;
  int spare_ = -1;
  std::uint64_t turned_away_ = 0;   // since the last log line about them
  std::int64_t told_of_it_ns_ = 0;  // time of that line
};

}  // namespace turnpike::wire
