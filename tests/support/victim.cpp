#include "support/victim.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "support/paths.h"
#include "support/stores.h"

namespace turnpike::support {

Victim::Victim(const std::string& program, const storage::Settings& settings,
               const std::vector<std::string>& words) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
  const bool is_sqlite = settings.engine == storage::Engine::sqlite;
  std::vector<std::string> all = {
      build_path("tests/" + program), name_of(settings.engine), settings.data_dir,
      is_sqlite ? settings.sqlite_path : settings.postgres_url, std::to_string(pipe[1])};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) {
    ::fcntl(pipe[1], F_SETFD, 0);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  pipe_ = pipe[0];
}

Victim::~Victim() {
  kill();
  ::close(pipe_);
}

int Victim::wait_for(int promises) {
  char bytes[256];
  while (promises_ < promises) {
    const ssize_t size = ::read(pipe_, bytes, sizeof bytes);
    if (size <= 0) break;
    promises_ += static_cast<int>(size);
  }
  return promises_;
}

int Victim::kill() {
  if (process_ == -1) return promises_;
  ::kill(process_, SIGKILL);
  wait_for(1 << 30);
  int status = 0;
  ::waitpid(std::exchange(process_, -1), &status, 0);
  return WIFSIGNALED(status) ? promises_ : -1;
}

VictimSide::VictimSide(int count, char** given) : words(given + std::min(count, 5), given + count) {
  if (count < 5) std::exit(2);
  storage::Settings settings;
  settings.engine = given[1] == name_of(storage::Engine::sqlite) ? storage::Engine::sqlite
                                                                 : storage::Engine::postgres;
  settings.data_dir = given[2];
  settings.sqlite_path = settings.postgres_url = given[3];
  settings.sessions = 2;
  pipe_ = std::atoi(given[4]);
  auto opened = storage::Node::open(settings, storage::Role::gateway, {clock, random});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().c_str());
    std::exit(1);
  }
  node = *std::move(opened);
}

bool VictimSide::promised() const noexcept { return ::write(pipe_, "x", 1) == 1; }

void VictimSide::run_on_threads(int threads, const std::function<void()>& work) {
  std::vector<std::thread> all;
  for (int at = 0; at < threads; ++at) all.emplace_back(work);
  for (std::thread& thread : all) thread.join();
}

}  // namespace turnpike::support
