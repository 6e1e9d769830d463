// MailThread: a thread of its own that sends due mail, so that nothing else waits for a mail
// server. Every node may have one: each mail is leased to one of them.
//
// Owned by the gateway. Its thread starts with the object and ends with it; the Transport, the
// Postman and the log outlive it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/outage.h"
#include "mail/postman.h"
#include "mail/transport.h"

namespace turnpike::mail {

class MailThread {
 public:
  MailThread(Postman& postman, Transport& transport, base::Log& log);
  ~MailThread();  // cancels a running send, which is retried later
  MailThread(const MailThread&) = delete;
  MailThread& operator=(const MailThread&) = delete;

 private:
  void run();
  void deliver_all();
  [[nodiscard]] bool is_stopping();
  template <class Result>
  bool report(const Result& result);

  Postman& postman_;
  Transport& transport_;
  base::Log& log_;
  base::Outage outage_;  // of the database
  std::mutex mutex_;
  std::condition_variable stop_wanted_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: its thread uses the other members
};

}  // namespace turnpike::mail
