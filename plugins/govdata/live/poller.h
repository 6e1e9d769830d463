// Poller: polls the sources of `mode: poll` in turn. A source makes its next request when it is due
// and its host may be asked again. run() makes at most one step of each source and returns, so no
// pool thread is blocked while nothing is due. Owned by the Upstream; run() is called by one Thread
// at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <turnpike/host.h>

#include "govdata/live/source.h"

namespace turnpike::govdata {

class Poller {
 public:
  Poller(std::vector<SourceSettings> settings, std::string database_path, Host& host);
  ~Poller();

  // Makes the steps that are due and returns the pause until the next call, in ms. A Failure if the
  // store cannot be opened.
  Result<std::uint32_t> run(Call& call);
  // Whether the last run() wrote to the store, so that its freshness must be read again.
  [[nodiscard]] bool has_written() const noexcept { return has_written_; }

 private:
  struct Polled {
    SourceSettings settings;
    std::unique_ptr<Source> source;
    std::string host;  // sources of one host share its request rate
    std::int64_t source_id = 0;
    std::int64_t due_ms = 0;  // on the monotonic clock
    std::uint32_t failures = 0;
  };

  void step(Polled& polled, Database& database, Call& call);
  void take(Polled& polled, const Step& step, Database& database);
  void fail(Polled& polled, const std::string& problem, Database& database);
  void note(const Polled& polled, const std::string& problem, Database& database);
  [[nodiscard]] std::int64_t monotonic_ms() const;
  [[nodiscard]] std::int64_t due_ms(const Polled& polled) const;

  Host& host_;
  const std::string database_path_;
  std::vector<Polled> polled_;
  std::map<std::string, std::int64_t> free_at_ms_;  // by host
  bool has_written_ = false;
};

}  // namespace turnpike::govdata
