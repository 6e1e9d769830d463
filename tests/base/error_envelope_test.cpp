#include "base/error_envelope.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace turnpike::base {
namespace {

using nlohmann::json;

const std::string id = "01939d2c-7a40-7c6e-8f3b-5a1f0e9d2c11";

json rendered(const Error& error) {
  std::string text;
  append_envelope(text, error, id);
  return json::parse(text);
}

TEST(EnvelopeTest, EveryCodeRendersInFull) {
  std::set<std::string> names;
  for (const ErrorInfo& info : error_infos) {
    Error error;
    error.code = info.code;
    error.message = "What happened.";
    const json inner = rendered(error).at("error");
    EXPECT_EQ(inner.at("code"), info.name);
    EXPECT_EQ(inner.at("message"), "What happened.");
    EXPECT_EQ(inner.at("request_id"), id);
    EXPECT_EQ(inner.at("fault"), name_of(info.fault));
    EXPECT_EQ(inner.at("retry"), (json{{"advice", name_of(info.advice)}}));
    EXPECT_EQ(inner.size(), 5u) << "nothing else";
    names.insert(inner.at("code"));
  }
  EXPECT_EQ(names.size(), std::size(error_infos)) << "names are unique";
}

TEST(EnvelopeTest, ShowsDelayAndFields) {
  Error error;
  error.code = ErrorCode::billing_credits_reserved;
  error.message = "Later.";
  error.retry_after_seconds = 3;
  error.fields = {{"query.limit", "too large", "Pass 50."}, {"/name", "missing", "Add it."}};
  EXPECT_EQ(rendered(error), json::parse(R"({"error": {
    "code": "billing.credits_reserved", "message": "Later.",
    "request_id": "01939d2c-7a40-7c6e-8f3b-5a1f0e9d2c11", "fault": "caller",
    "retry": {"advice": "after_delay", "after_seconds": 3},
    "fields": [{"location": "query.limit", "problem": "too large", "fix": "Pass 50."},
               {"location": "/name", "problem": "missing", "fix": "Add it."}]}})"));
}

TEST(EnvelopeTest, EscapesWhatItIsGiven) {
  Error error;
  error.message =
      "quote \" backslash \\ line\nbell\a NUL" + std::string(1, '\0') + " é \xF0\x9F\x99\x82";
  EXPECT_EQ(rendered(error).at("error").at("message"), error.message);
}

TEST(EnvelopeTest, BytesThatAreNotUtf8CannotBreakTheDocument) {
  Error error;
  error.message = "bad \xC3( \xFF end";
  EXPECT_EQ(rendered(error).at("error").at("message"), "bad ?( ? end");
}

}  // namespace
}  // namespace turnpike::base
