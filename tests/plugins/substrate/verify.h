// Verifications without a gateway: the provider over a TestHost, called with JSON as callers do.
// One Thread.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <turnpike/helpers/test_host.h>

#include "substrate/configuration.h"
#include "substrate/upstream.h"
#include "substrate/verify/json.h"
#include "plugins/substrate/vectors.h"

namespace turnpike::substrate {

class VerifyTest : public ::testing::Test {
 protected:
  void serve(Configuration configuration) {
    upstream_ = make_upstream(std::move(configuration), host_);
  }
  // Returns the reply and stores its status.
  Json verify(const OrderedJson& input) { return verify_text(input.dump()); }
  Json verify_text(const std::string& body) {
    if (upstream_ == nullptr) serve({});
    TestReply reply;
    UpstreamRequest request;
    request.method = Method::post;
    request.body = body;
    const Done done = upstream_->execute(request, reply, call_);
    failure_ = done.ok() ? std::nullopt : std::optional(done.error());
    status_ = reply.status;
    return reply.text.empty() ? Json() : Json::parse(reply.text);
  }
  static std::string status_of(const Json& reply, std::string_view id) {
    for (const Json& check : reply["checks"]) {
      if (check["id"] == id) return check["status"];
    }
    return "absent";
  }

  TestHost host_;
  TestCall call_;
  std::unique_ptr<Upstream> upstream_;
  std::optional<Failure> failure_;
  int status_ = 0;
};

}  // namespace turnpike::substrate
