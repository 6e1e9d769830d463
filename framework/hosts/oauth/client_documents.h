// ClientDocuments: fetches the documents by which clients describe themselves
// (oauth/client_document.h), when an authorization request names a document that is unknown or too
// old. A fetch waits on the fiber of that request, and holds neither a thread of the pool nor a
// database session meanwhile. Concurrent requests for one document share a fetch. Failures are not
// cached.
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

  // All parts outlive the object. `http` connects to public addresses only, unless configured
  // otherwise.
  struct Parts {
    oauth::Server& server;
    const account::PooledPeople& people;
    Http& http;
  };
  explicit ClientDocuments(const Parts& parts) : parts_(parts) {}

  // After success Server::authorize() knows the client's document. The error is for the person
  // whose browser sent the request: why the document cannot be fetched, or is invalid.
  [[nodiscard]] Result<Unit, base::Error> learn(const std::string& client_id);

 private:
  using Learned = Result<Unit, base::Error>;
  struct Fetch {
    runtime::Event ended;
    std::optional<Learned> learned;  // set when the fetch ends
  };
  [[nodiscard]] Learned learn_alone(const std::string& client_id);

  const Parts parts_;
  std::mutex mutex_;  // guards only the map
  std::map<std::string, std::shared_ptr<Fetch>> under_way_;
};

}  // namespace turnpike::hosts::oauth_server
