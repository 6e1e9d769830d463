// ClientDocuments: fetches the documents by which clients describe themselves
// (oauth/client_document.h), where an authorization request names one that is not known or too old.
// A fetch waits on the fiber of that request and holds neither a thread of the pool nor a session
// of the database meanwhile. Whoever asks for a document that is on its way waits for that one.
// Nothing that fails is remembered.
//
// Owned by app/, outlives the hosts; called on the fibers of all loop Threads, suspends them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/account/pooled_people.h"
#include "oauth/server.h"
#include "runtime/wait.h"

namespace turnpike::hosts::oauth_server {

class ClientDocuments {
 public:
  static constexpr std::int64_t fetch_ms_max = 5'000;
  static constexpr std::size_t fetches_max = 64;  // at a time

  // All outlive it. `http` keeps to public addresses unless it is told otherwise.
  struct Parts {
    oauth::Server& server;
    const account::PooledPeople& people;
    Http& http;
  };
  explicit ClientDocuments(const Parts& parts) : parts_(parts) {}

  // When it returns, Server::authorize() knows what there is to know of the client. The error is
  // for the person whose browser came: why the document cannot be had, or is none.
  [[nodiscard]] Result<Unit, base::Error> learn(const std::string& client_id);

 private:
  using Learned = Result<Unit, base::Error>;
  struct Fetch {
    runtime::Event ended;
    std::optional<Learned> learned;  // once ended
  };
  [[nodiscard]] Learned learn_alone(const std::string& client_id);

  const Parts parts_;
  std::mutex mutex_;  // guards the map alone
  std::map<std::string, std::shared_ptr<Fetch>> under_way_;
};

}  // namespace turnpike::hosts::oauth_server
