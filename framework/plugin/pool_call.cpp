#include "plugin/pool_call.h"

#include <algorithm>

#include "plugin/checked_sink.h"
#include "plugin/contained.h"

namespace turnpike::plugin {

using runtime::Deadline;
using runtime::Wake;
using runtime::WakeBatch;

OwnedRequest::OwnedRequest(const UpstreamRequest& request) : request_(request) {
  std::size_t bytes = request.path.size() + request.query.size() + request.content_type.size() +
                      request.body.size();
  for (const PathParameter& parameter : request.parameters) {
    bytes += parameter.name.size() + parameter.raw.size() + parameter.value.size();
  }
  for (const HeaderField& field : request.headers) bytes += field.name.size() + field.value.size();
  text_.reserve(bytes);  // views into the text require a stable address
  const auto keep = [this](std::string_view text) {
    const std::size_t at = text_.size();
    text_ += text;
    return std::string_view(text_).substr(at);
  };
  request_.path = keep(request.path);
  request_.query = keep(request.query);
  request_.content_type = keep(request.content_type);
  request_.body = keep(request.body);
  for (const PathParameter& parameter : request.parameters) {
    parameters_.push_back({keep(parameter.name), keep(parameter.raw), keep(parameter.value)});
  }
  for (const HeaderField& field : request.headers) {
    headers_.push_back({keep(field.name), keep(field.value)});
  }
  request_.parameters = parameters_;
  request_.headers = headers_;
}

bool PoolCircumstances::sleep_ms(std::uint32_t duration_ms) noexcept {
  const Deadline wanted = Deadline::after_ms(duration_ms);
  const Deadline end = Deadline{deadline_ns()}.earlier(wanted);
  return stop_.wait(end) == Wake::deadline && end.ns == wanted.ns;
}

PoolCall::PoolCall(std::shared_ptr<Upstream> upstream, const UpstreamRequest& request,
                   const Call& call)
    : upstream_(std::move(upstream)), request_(request), circumstances_(call) {}

void PoolCall::run() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (is_left_) return;  // its caller has reported that nothing was sent
    has_begun_ = true;
  }
  CheckedSink sink(*this, request_.view(), circumstances_);
  Done result = sink.verdict(
      contained([&] { return upstream_->execute(request_.view(), sink, circumstances_); }));
  WakeBatch batch;
  const std::lock_guard lock(mutex_);
  result_.emplace(std::move(result));
  if (!taker_.empty()) taker_.grant_first(batch);
}

bool PoolCall::head(int status, Headers headers, std::optional<std::uint64_t> length) {
  Head head{status, {}, length};
  head.headers.reserve(headers.size());
  for (const HeaderField& field : headers) {
    head.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  WakeBatch batch;
  const std::lock_guard lock(mutex_);
  if (is_left_) return false;
  head_.emplace(std::move(head));
  if (!taker_.empty()) taker_.grant_first(batch);
  return true;
}

bool PoolCall::body(std::string_view bytes) {
  while (!bytes.empty()) {
    WakeBatch batch;
    std::unique_lock lock(mutex_);
    // The caller always returns or leaves, so no deadline is needed here.
    while (!is_left_ && buffer_.size() == buffer_bytes_max) {
      writer_.wait(lock, Deadline::never(), "plugin buffer");
    }
    if (is_left_) return false;
    const std::size_t count = std::min(bytes.size(), buffer_bytes_max - buffer_.size());
    buffer_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (!taker_.empty()) taker_.grant_first(batch);
  }
  return true;
}

bool PoolCall::pass_head(const Head& head, ReplySink& sink) {
  std::vector<HeaderField> fields;
  fields.reserve(head.headers.size());
  for (const OwnedHeader& header : head.headers) fields.push_back({header.name, header.value});
  return sink.head(head.status, fields, head.length);
}

Wake PoolCall::forward(ReplySink& sink, const Call& call) {
  std::string taken;
  for (;;) {
    std::optional<Head> head;
    taken.clear();
    {
      WakeBatch batch;
      std::unique_lock lock(mutex_);
      while (!head_ && buffer_.empty() && !result_) {
        const Wake wake = taker_.wait(lock, Deadline{call.deadline_ns()}, "plugin on the pool");
        if (wake != Wake::ready) return wake;
      }
      if (!head_ && buffer_.empty()) return Wake::ready;
      head.swap(head_);
      taken.swap(buffer_);
      if (!writer_.empty()) writer_.grant_first(batch);
    }
    if (head && !pass_head(*head, sink)) return Wake::cancelled;
    if (!taken.empty() && !sink.body(taken)) return Wake::cancelled;
    circumstances_.follow(call);
  }
}

bool PoolCall::leave() noexcept {
  circumstances_.stop();
  WakeBatch batch;
  const std::lock_guard lock(mutex_);
  is_left_ = true;
  if (!writer_.empty()) writer_.grant_first(batch);
  return has_begun_;
}

}  // namespace turnpike::plugin
