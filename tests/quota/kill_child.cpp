// The process that the kill test kills: takes permits on many Threads and writes one byte for every
// one that was confirmed, after that, to the pipe it inherited.
//
//   quota_kill_child sqlite|postgres DATA_DIR PATH_OR_URL PIPE_FD
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/sources.h"
#include "quota/node_store.h"
#include "storage/node.h"

namespace {

using namespace turnpike;

void call_for_ever(quota::NodeStore& store, int pipe) {
  quota::Limits limits;
  limits.window = {1'000'000, 366 * 86'400};
  limits.cumulative_limit = 1'000'000;
  limits.concurrency = 1'000;
  limits.permit_ttl_seconds = 60;
  const quota::Bucket& bucket = store.bucket("b");
  while (true) {
    const auto deadline = runtime::Deadline::after_ms(5'000);
    const auto decided = store.take("acc_1", bucket, limits, deadline);
    if (!decided.ok() || decided->permit == nullptr) continue;
    if (decided->permit->confirm(deadline).ok() && ::write(pipe, "x", 1) != 1) return;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  storage::Settings settings;
  settings.engine =
      std::string(words[1]) == "sqlite" ? storage::Engine::sqlite : storage::Engine::postgres;
  settings.data_dir = words[2];
  settings.sqlite_path = words[3];
  settings.postgres_url = words[3];
  settings.sessions = 2;
  const int pipe = std::atoi(words[4]);
  const base::SystemClock clock;
  base::SystemRandom random;
  auto node = storage::Node::open(settings, storage::Role::gateway, {clock, random});
  if (!node) {
    std::fprintf(stderr, "%s\n", node.error().c_str());
    return 1;
  }
  const auto log = base::make_silent_log();
  runtime::BlockingPool pool(1, 16);
  quota::NodeStore store(clock, quota::NodeStore::Durable{(*node)->free_counts(), pool, *log});
  if (!store.start().ok()) return 1;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] { call_for_ever(store, pipe); });
  }
  for (std::thread& caller : callers) caller.join();
  return 0;
}
