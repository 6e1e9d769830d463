// Victim: a process that works on the test's database until the test kills it, and writes one byte
// to a pipe for each thing that it promised, after that. VictimSide is what its main() stands on.
// The one is used by one Thread; the other's members are as safe as they are, promised() is.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/sources.h"
#include "runtime/pool.h"
#include "storage/node.h"

namespace turnpike::support {

class Victim {
 public:
  // Starts `program` of the tests, with `words` for it. Throws std::system_error.
  Victim(const std::string& program, const storage::Settings& settings,
         const std::vector<std::string>& words = {});
  ~Victim();  // kills it
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  // Waits for that many promises, or its end; how many it has made so far.
  int wait_for(int promises);
  // kill -9. How many promises it made; -1 when it had ended by itself.
  int kill();

 private:
  pid_t process_ = -1;  // -1: it was waited for
  int pipe_ = -1;
  int promises_ = 0;
};

class VictimSide {
 public:
  // Of main(). Opens the database by the system's clock; ends the process when it cannot.
  VictimSide(int count, char** words);

  // False when the test is gone.
  [[nodiscard]] bool promised() const noexcept;
  // Runs `work` on that many Threads until all have returned.
  static void run_on_threads(int threads, const std::function<void()>& work);

  std::vector<std::string> words;
  base::SystemClock clock;
  base::SystemRandom random;
  std::unique_ptr<base::Log> log = base::make_silent_log();
  runtime::BlockingPool pool{1, 16};
  std::unique_ptr<storage::Node> node;

 private:
  int pipe_ = -1;
};

}  // namespace turnpike::support
