// Serving: what the gateway serves now. It publishes a program to the loops, keeps count of those
// that calls still use, frees them away from the loops, and knows whether what serves is what the
// registry's files say. Generations makes the programs.
//
// Owned by the gateway; must outlive the loops that view its programs. serve() and stand() are for
// one Thread at a time, the rest for any.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/published.h"
#include "catalog/view.h"
#include "exchange/service.h"
#include "hosts/mcp/toolset.h"
#include "runtime/wait.h"
#include "status/traffic.h"

namespace turnpike::app {

// One generation: the calls' side and the public sides.
struct InService {
  std::shared_ptr<const exchange::Service> service;
  std::shared_ptr<const catalog::View> view;
  std::shared_ptr<const hosts::mcp::Toolset> toolset;
  std::shared_ptr<const catalog::ReadinessSource> readiness;
  std::shared_ptr<status::TrafficCells> traffic;  // counts of its calls
};

class Serving {
 public:
  // Programs in service or still used by calls that began under them.
  static constexpr std::uint32_t programs_alive_max = 4;

  Serving();
  ~Serving();  // REQUIRES: no loop views its programs any more
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  [[nodiscard]] const base::Published<InService>& published() const noexcept { return published_; }
  [[nodiscard]] std::shared_ptr<const InService> current() const { return published_.current(); }
  // Whether as many programs are alive as may be.
  [[nodiscard]] bool is_full() const noexcept {
    return programs_alive_.load() >= programs_alive_max;
  }
  // From now on new calls are served by this program.
  void serve(InService program);

  // A sentence on what is out of the ordinary with the program in service, without places and
  // secrets; empty: it is that of the files.
  [[nodiscard]] std::string standing() const;
  // The last reload put a program in service, of which `standing` is to be told.
  void stand(std::string standing);
  // It was refused; what served goes on.
  void refuse();

 private:
  void free_programs();

  mutable std::mutex standing_mutex_;
  std::string standing_;
  bool was_refused_ = false;  // the last reload or rollback
  base::Published<InService> published_;
  std::atomic<std::uint32_t> programs_alive_{0};
  runtime::BatchQueue<InService*> retired_{1024};
  std::thread freeing_thread_;
};

}  // namespace turnpike::app
