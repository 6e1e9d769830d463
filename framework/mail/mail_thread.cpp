#include "mail/mail_thread.h"

#include <signal.h>

#include <chrono>

#include "base/thread_name.h"

namespace turnpike::mail {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds pause{1'000};
constexpr int rounds_between_counts = 10;
constexpr std::int64_t outage_line_interval_ns = 60'000'000'000;

}  // namespace

MailThread::MailThread(Postman& postman, Transport& transport, base::Log& log)
    : postman_(postman),
      transport_(transport),
      log_(log),
      outage_(outage_line_interval_ns, 0),
      thread_([this] { run(); }) {}

MailThread::~MailThread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_wanted_.notify_all();
  transport_.cancel();
  thread_.join();
}

bool MailThread::is_stopping() {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

template <class Result>
bool MailThread::report(const Result& result) {
  const std::int64_t now_ns = Steady::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (result.ok()) {
    if (const auto failures = outage_.worked(now_ns)) {
      log_.write(Severity::info, "mail_outbox_read_again", {{"failures", failures}});
    }
  } else if (const auto failures = outage_.failed(now_ns)) {
    log_.write(Severity::warning, "mail_outbox_not_read",
               {{"reason", result.error().message}, {"failures", failures}});
  }
  return result.ok();
}

void MailThread::deliver_all() {
  while (!is_stopping()) {
    const auto delivered = postman_.deliver_next();
    if (!report(delivered) || !*delivered) return;
  }
}

void MailThread::run() {
  base::name_this_thread("mail");
  // Poco writes to sockets without MSG_NOSIGNAL, so SIGPIPE is blocked: a closed connection must
  // not end the process.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  int rounds = 0;
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    deliver_all();
    if (rounds++ % rounds_between_counts == 0) report(postman_.count());
    lock.lock();
  } while (!stop_wanted_.wait_for(lock, pause, [this] { return is_stopping_; }));
}

}  // namespace turnpike::mail
