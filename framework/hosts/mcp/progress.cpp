#include "hosts/mcp/progress.h"

#include <utility>

#include "hosts/mcp/answer.h"
#include "text/canonical_json.h"

namespace turnpike::hosts::mcp {

Progress::Progress(Turn& turn, std::string token, std::uint32_t interval_ms)
    : turn_(turn),
      token_(std::move(token)),
      interval_ms_(interval_ms),
      started_ns_(runtime::now_ns()) {
  auto* const loop = runtime::Loop::current();
  if (token_.empty() || loop == nullptr) return;
  timer_.emplace(*loop, &Progress::on_timer, this);
  arm();
}

void Progress::arm() noexcept { timer_->arm(runtime::Deadline::after_ms(interval_ms_)); }

void Progress::on_timer(void* object) noexcept {
  auto& progress = *static_cast<Progress*>(object);
  try {
    // On a fiber of its own, since a client that does not read makes the writer wait.
    runtime::Loop::current()->spawn([&progress] { progress.notify(); });
    progress.is_writing_ = true;
    progress.written_.reset();
  } catch (...) {  // out of memory
    progress.arm();
  }
}

void Progress::notify() noexcept {
  try {
    if (!is_stopped_) write_notification();
  } catch (...) {  // out of memory
  }
  if (!is_stopped_) arm();
  is_writing_ = false;
  written_.set();  // from here on the object may be destroyed
}

void Progress::write_notification() {
  if (!turn_.responder.begun() && !begin_event_stream(turn_)) return;
  const std::int64_t elapsed_ms = (runtime::now_ns() - started_ns_) / 1'000'000;
  std::string json =
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)";
  json.append(token_).append(R"(,"progress":)");
  text::append_canonical_number(json, static_cast<double>(elapsed_ms) / 1'000);
  json += R"(,"message":"The call is still running after )";
  text::append_canonical_integer(json, elapsed_ms / 1'000);
  json += R"( s."}})";
  turn_.responder.write(as_event(json));
}

void Progress::stop() noexcept {
  if (!timer_) return;
  is_stopped_ = true;
  timer_->disarm();
  // The wait is bounded by the transfer timeout of the wire for a client that does not read.
  const runtime::CancelMask mask;
  if (is_writing_) static_cast<void>(written_.wait(runtime::Deadline::never()));
}

bool begin_event_stream(Turn& turn) {
  ReplyFields fields;
  fields.add("Content-Type", "text/event-stream");
  fields.add("Cache-Control", "no-store");
  fields.add("X-Accel-Buffering", "no");
  turn.add_common_fields(fields);
  turn.record.status = 200;
  return turn.responder.begin(200, fields.view(), std::nullopt);
}

}  // namespace turnpike::hosts::mcp
