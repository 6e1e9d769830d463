// Victim: a child process that works on the test's database until the test kills it. After each
// thing that it has made durable (a promise) it writes one byte to a pipe. VictimSide is the
// child's side of this, created by its main().
//
// Victim is used by one Thread. VictimSide: promised() may be called on any Thread; each member has
// its own rules.
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
  // Starts `program` of the tests with the arguments `words`. Throws std::system_error.
  Victim(const std::string& program, const storage::Settings& settings,
         const std::vector<std::string>& words = {});
  ~Victim();  // kills it
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  // Waits for that many promises or the end of the process. Returns the number of promises so far.
  int wait_for(int promises);
  // Sends SIGKILL. Returns the number of promises, or -1 if the process had already ended by
  // itself.
  int kill();

 private:
  pid_t process_ = -1;  // -1 once it was waited for
  int pipe_ = -1;
  int promises_ = 0;
};

class VictimSide {
 public:
  // Takes the arguments of main(). Opens the database with the system's clock; exits if it cannot.
  VictimSide(int count, char** words);

  // Reports one promise. Returns false if the test is gone.
  [[nodiscard]] bool promised() const noexcept;
  // Runs `work` on that many Threads and waits for all of them.
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
