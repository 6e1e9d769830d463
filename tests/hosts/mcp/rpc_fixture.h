// A JSON-RPC request without a connection, for code that answers one, and a backend with or without
// a program. Used by the test's Thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "hosts/backend.h"
#include "hosts/mcp/tool.h"

namespace turnpike::hosts::mcp {

class NoWire final : public wire::Request, public wire::Responder {
 public:
  [[nodiscard]] std::string_view peer_address() noexcept override { return "127.0.0.1:1"; }
  [[nodiscard]] std::uint64_t peer_network() const noexcept override { return 1; }
  Result<std::string_view, base::Error> read_body(std::uint64_t,
                                                  wire::BodyMeter*) noexcept override {
    return std::string_view();
  }
  [[nodiscard]] bool client_gone() const noexcept override { return false; }
  bool send(int, Headers, std::string_view) noexcept override { return true; }
  bool begin(int, Headers, std::optional<std::uint64_t>) noexcept override { return true; }
  bool write(std::string_view) noexcept override { return true; }
  bool finish() noexcept override { return true; }
  void cut() noexcept override {}
  [[nodiscard]] bool begun() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t body_bytes_sent() const noexcept override { return 0; }
};

class OneRequest {
 public:
  explicit OneRequest(Era era = Era::modern)
      : request{message_, era, Door::account, turn_, stop_} {}

 private:
  NoWire wire_;
  const Cors cors_{Origins({}), {}};
  const Message message_;
  const std::atomic<bool> stop_{false};
  Turn turn_{wire_, wire_, cors_, {}, 0};

 public:
  const RpcRequest request;
  [[nodiscard]] const AccessRecord& record() const noexcept { return turn_.record; }
};

class ViewBackend final : public Backend {
 public:
  exchange::Served serve(const exchange::Invocation&, exchange::ReplyWriter&) override {
    ADD_FAILURE() << "nothing here is a call";
    return {};
  }
  std::shared_ptr<const catalog::View> view() override { return program; }
  Health health() override { return {{{"database", false, "It does not answer."}}, {}}; }

  std::shared_ptr<const catalog::View> program;  // null: no valid one is installed
};

// The result object of an answer, without the members that depend on the era.
inline Json result_of(const Answer& answer) {
  EXPECT_TRUE(answer.ok()) << answer.error().message;
  if (!answer.ok()) return nullptr;
  return Json::parse("{" + (answer->kept != nullptr ? *answer->kept : answer->members) + "}");
}

inline RpcError error_of(const Answer& answer) {
  EXPECT_FALSE(answer.ok());
  return answer.ok() ? RpcError{} : answer.error();
}

}  // namespace turnpike::hosts::mcp
