#include "hosts/oauth/client_documents.h"

#include <utility>

#include "oauth/client_document.h"
#include "runtime/deadline.h"
#include "runtime/fiber.h"

namespace turnpike::hosts::oauth_server {

namespace {

using base::Error;
using base::ErrorCode;
using runtime::Deadline;

// The fetch is not cancelled when a waiting request ends, since others may wait for it.
class FetchCall final : public Call {
 public:
  explicit FetchCall(Deadline deadline) noexcept : deadline_(deadline) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const Deadline until = Deadline::after_ms(duration_ms);
    return runtime::sleep_until(until.earlier(deadline_)) == runtime::Wake::deadline &&
           until.ns <= deadline_.ns;
  }

 private:
  const Deadline deadline_;
};

// Whether the type is application/json or has the suffix "+json" (RFC 6839 section 3.1), with any
// parameters.
bool is_json(std::string_view content_type) noexcept {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  type = type.substr(0, type.find_last_not_of(" \t") + 1);
  if (same_header_name(type, "application/json")) return true;
  constexpr std::string_view suffix = "+json";
  return type.size() > suffix.size() &&
         same_header_name(type.substr(0, 12), "application/") &&
         same_header_name(type.substr(type.size() - suffix.size()), suffix);
}

class DocumentSink final : public HttpSink {
 public:
  bool head(int status, Headers headers, std::optional<std::uint64_t>) override {
    status_ = status;
    bool has_json = false;
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "Content-Type")) has_json = is_json(field.value);
      if (!same_header_name(field.name, "Cache-Control")) continue;
      if (!document_.cache_control.empty()) document_.cache_control += ',';
      document_.cache_control += field.value;
    }
    is_of_other_type_ = !has_json;
    return status == 200 && has_json;
  }
  bool body(std::string_view bytes) override {
    document_.json.append(bytes);
    return true;
  }

  [[nodiscard]] const oauth::FetchedDocument& document() const noexcept { return document_; }
  // Returns why the answer was not read further; empty: its head has no problem.
  [[nodiscard]] std::string problem() const {
    if (status_ != 0 && status_ != 200) {
      return "the answer was " + std::to_string(status_) + ", not 200";
    }
    return is_of_other_type_ ? "the answer is no JSON by its Content-Type" : "";
  }

 private:
  oauth::FetchedDocument document_;
  int status_ = 0;
  bool is_of_other_type_ = false;
};

// The text reveals no more of the network than an unauthenticated client may learn.
std::string problem_of(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::timeout:
      return "it took too long";
    case FailureKind::too_large:
      return "it is larger than " + std::to_string(oauth::document_bytes_max) + " bytes";
    case FailureKind::contract:
      return "the answer is not HTTP as it should be";
    default:
      return "there is no way to its host, or its address is not public";
  }
}

Result<oauth::FetchedDocument, Error> fetch(Http& http, const std::string& url) {
  const HeaderField headers[] = {{"Accept", "application/json"}};
  HttpOptions options;
  options.fresh_connection = true;
  options.allow_private_addresses = oauth::is_document_nearby(url);
  options.connect_timeout_ms = ClientDocuments::fetch_ms_max;
  options.reply_bytes_max = oauth::document_bytes_max;
  DocumentSink sink;
  FetchCall call(Deadline::after_ms(ClientDocuments::fetch_ms_max));
  const Done done = http.call({Method::get, url, headers, {}}, options, sink, call);
  std::string problem = sink.problem();
  if (problem.empty() && !done.ok()) problem = problem_of(done.error());
  if (problem.empty()) return sink.document();
  return Error{ErrorCode::oauth_invalid_client_metadata,
               "The document at the client_id cannot be fetched: " + problem + "."};
}

Error too_many() {
  return {ErrorCode::auth_overloaded, "Too many documents of clients are being fetched: try again.",
          1};
}

}  // namespace

ClientDocuments::Learned ClientDocuments::learn(const std::string& client_id) {
  if (!oauth::is_document_id(client_id)) return Unit{};
  // The outcome is for all waiting requests, so cancelling the first one does not end the fetch.
  const runtime::CancelMask mask;
  std::shared_ptr<Fetch> fetch;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = under_way_.find(client_id);
    is_first = found == under_way_.end();
    if (is_first && under_way_.size() >= fetches_max) return too_many();
    fetch = is_first ? std::make_shared<Fetch>() : found->second;
    if (is_first) under_way_.emplace(client_id, fetch);
  }
  if (!is_first) {
    (void)fetch->ended.wait(Deadline::never());
    return fetch->learned ? *fetch->learned : Learned(too_many());
  }
  // Ends the fetch also when memory is exhausted, so that no request waits forever.
  struct Ending {
    ClientDocuments& documents;
    const std::string& client_id;
    Fetch& fetch;
    ~Ending() {
      {
        const std::lock_guard lock(documents.mutex_);
        documents.under_way_.erase(client_id);
      }
      fetch.ended.set();
    }
  } const ending{*this, client_id, *fetch};
  fetch->learned = learn_alone(client_id);
  return *fetch->learned;
}

ClientDocuments::Learned ClientDocuments::learn_alone(const std::string& client_id) {
  const auto wanted = parts_.people.ask([&] { return parts_.server.wants_document(client_id); });
  if (!wanted.ok()) return wanted.error();
  if (!*wanted) return Unit{};
  const auto document = fetch(parts_.http, client_id);
  if (!document.ok()) return document.error();
  return parts_.people.ask([&] { return parts_.server.keep_document(client_id, *document); });
}

}  // namespace turnpike::hosts::oauth_server
