// NoHttp: an HTTP client without a network. Any Thread.
#pragma once

#include <turnpike/host.h>

namespace turnpike::support {

class NoHttp final : public Http {
 public:
  Done call(const HttpRequest&, const HttpOptions&, HttpSink&, Call&) noexcept override {
    return Failure{FailureKind::transport, "no network in this test", {}, false};
  }
};

}  // namespace turnpike::support
