// A Call and a sink for tests that call a plugin directly. One Thread, except that any Thread may
// set the stop flag of CallByHand.
#pragma once

#include <turnpike/call.h>
#include <turnpike/provider.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "runtime/deadline.h"
#include "runtime/wait.h"
#include "support/settings.h"

namespace turnpike::plugin {

class CallByHand final : public Call {
 public:
  explicit CallByHand(runtime::Deadline deadline = runtime::Deadline::after_ms(30'000))
      : deadline_(deadline) {}
  [[nodiscard]] std::string_view request_id() const noexcept override {
    return "01930000-0000-7000-8000-000000000001";
  }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  [[nodiscard]] bool cancelled() const noexcept override { return runtime::cancelled(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const runtime::Deadline wanted = runtime::Deadline::after_ms(duration_ms);
    return runtime::sleep_until(deadline_.earlier(wanted)) == runtime::Wake::deadline &&
           wanted.ns <= deadline_.ns;
  }

  void move_deadline(runtime::Deadline to) noexcept { deadline_ = to; }

 private:
  runtime::Deadline deadline_;
};

class KeptReply final : public ReplySink {
 public:
  bool head(int got_status, Headers got_headers, std::optional<std::uint64_t> length) override {
    ++heads;
    status = got_status;
    declared = length;
    for (const HeaderField& field : got_headers) {
      headers.push_back({std::string(field.name), std::string(field.value)});
    }
    return !stops_at_head;
  }
  bool body(std::string_view bytes) override {
    body_text += bytes;
    ++pieces;
    return body_text.size() < stops_after_bytes;
  }

  bool stops_at_head = false;
  std::size_t stops_after_bytes = ~std::size_t{0};
  int heads = 0;
  int status = 0;
  int pieces = 0;
  std::optional<std::uint64_t> declared;
  std::vector<OwnedHeader> headers;
  std::string body_text;
};

}  // namespace turnpike::plugin
