// CheckedSink: sits between a plugin and the sink of its caller and enforces the interface: the
// head once and before the body, a status and header fields that HTTP can carry, no more bytes than
// the route allows, exactly the declared length, no head after the deadline. The first violation
// ends the reply; verdict() then overrides the plugin's return value.
//
// Lives for one call, on the Thread or fiber that runs the plugin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <turnpike/call.h>
#include <turnpike/provider.h>

namespace turnpike::plugin {

class CheckedSink final : public ReplySink {
 public:
  CheckedSink(ReplySink& next, const UpstreamRequest& request, const Call& call) noexcept;

  bool head(int status, Headers headers, std::optional<std::uint64_t> length) noexcept override;
  bool body(std::string_view bytes) noexcept override;

  // The call's result, given what execute() returned.
  [[nodiscard]] Done verdict(Done returned) const;

 private:
  enum class End : std::uint8_t { none, stopped, timeout, too_large, fault };

  bool end(End cause, const char* fault = nullptr) noexcept;
  [[nodiscard]] bool promises_no_body() const noexcept { return status_ == 204 || status_ == 304; }

  ReplySink& next_;
  const std::uint64_t reply_bytes_max_;
  const std::int64_t deadline_ns_;
  End end_ = End::none;
  const char* fault_ = nullptr;
  int status_ = 0;  // 0: no head yet
  std::optional<std::uint64_t> length_;
  std::uint64_t body_bytes_ = 0;
};

}  // namespace turnpike::plugin
