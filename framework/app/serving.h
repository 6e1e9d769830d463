// Serving: the program that the gateway serves now. It publishes a program to the loops, counts the
// programs that calls still use, frees them away from the loops, and knows whether the program in
// service matches the registry's files. Generations makes the programs.
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

// One generation: its Service for calls and its public views.
struct InService {
  std::shared_ptr<const exchange::Service> service;
  std::shared_ptr<const catalog::View> view;
  std::shared_ptr<const hosts::mcp::Toolset> toolset;
  std::shared_ptr<const catalog::ReadinessSource> readiness;
  std::shared_ptr<status::TrafficCells> traffic;  // call counts
};

class Serving {
 public:
  // The bound of programs in service or still used by calls that began under them.
  static constexpr std::uint32_t programs_alive_max = 4;

  Serving();
  ~Serving();  // REQUIRES: no loop views its programs
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  [[nodiscard]] const base::Published<InService>& published() const noexcept { return published_; }
  [[nodiscard]] std::shared_ptr<const InService> current() const { return published_.current(); }
  // Whether programs_alive_max is reached.
  [[nodiscard]] bool is_full() const noexcept {
    return programs_alive_.load() >= programs_alive_max;
  }
  // Publishes the program to new calls.
  void serve(InService program);

  // Returns a sentence on unusual facts about the program in service, without places and secrets;
  // empty: it is the program of the files.
  [[nodiscard]] std::string standing() const;
  // Records that the last reload put a program in service; `standing` is reported of it.
  void stand(std::string standing);
  // Records that the last reload was refused; the program in service stays.
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
