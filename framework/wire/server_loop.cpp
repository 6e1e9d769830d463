#include "wire/server_loop.h"

#include <cassert>
#include <ctime>
#include <utility>

#include "wire/connection.h"
#include "wire/session.h"

namespace turnpike::wire {

ServerShared::ServerShared(const ServerLimits& server_limits, base::Log& server_log)
    : limits(server_limits),
      head_bounds{limits.path_bytes_max, limits.query_bytes_max, limits.header_bytes_max,
                  limits.header_fields_max},
      log(server_log) {}

ServerLoop::ServerLoop(ServerShared& shared, runtime::Loop& loop) : shared_(shared), loop_(loop) {}

ServerLoop::~ServerLoop() { assert(first_ == nullptr); }

std::string_view ServerLoop::date() noexcept {
  return date_.at(loop_.turn_ns(), [] { return static_cast<std::int64_t>(std::time(nullptr)); });
}

std::unique_ptr<Session> ServerLoop::take_session() {
  if (idle_sessions_.empty()) return std::make_unique<Session>(shared_.head_bounds);
  std::unique_ptr<Session> session = std::move(idle_sessions_.back());
  idle_sessions_.pop_back();
  return session;
}

void ServerLoop::give_back(std::unique_ptr<Session> session) noexcept {
  if (idle_sessions_.size() >= idle_sessions_max) return;
  session->shrink();
  idle_sessions_.push_back(std::move(session));
}

void ServerLoop::link(Connection& connection) noexcept {
  connection.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &connection;
  first_ = &connection;
}

void ServerLoop::unlink(Connection& connection) noexcept {
  if (connection.previous_ != nullptr) {
    connection.previous_->next_ = connection.next_;
  } else {
    first_ = connection.next_;
  }
  if (connection.next_ != nullptr) connection.next_->previous_ = connection.previous_;
}

void ServerLoop::close_idle() noexcept {
  for (Connection* connection = first_; connection != nullptr;) {
    Connection* const next = connection->next_;
    connection->close_if_idle();
    connection = next;
  }
}

void ServerLoop::break_off() noexcept {
  for (Connection* connection = first_; connection != nullptr;) {
    Connection* const next = connection->next_;
    connection->break_off();
    connection = next;
  }
}

}  // namespace turnpike::wire
