// Stripe's webhooks, and its list of events.
#include <algorithm>
#include <charconv>
#include <utility>

#include "stripe/events.h"
#include "stripe/processor.h"
#include "stripe/signature.h"

namespace turnpike::stripe {
namespace {

// An event is 5 to 10 kB, and a page is parsed on the event loop.
constexpr std::int64_t events_per_page = 25;
// Rounds overlap by this time, so that the next round sees events that appear in the list late.
constexpr std::int64_t overlap_ms = 10 * 60 * 1'000;

std::optional<std::string_view> only_signature(Headers headers) {
  std::optional<std::string_view> found;
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "stripe-signature")) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  return found;
}

Notice reply_of(int status, std::string_view text) {
  Notice notice;
  notice.reply.status = status;
  notice.reply.headers.push_back({"Content-Type", "text/plain; charset=utf-8"});
  notice.reply.body = std::string(text) + "\n";
  return notice;
}

std::string_view counter_of(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::told:
      return "events_told";
    case EventKind::unused:
      return "events_unused";
    case EventKind::foreign:
      return "events_foreign";
    case EventKind::strange:
      return "events_strange";
  }
  return "events_strange";
}

// A cursor: "<until_ms>.<id of the last event of the page before>".
struct PagePlace {
  std::int64_t until_ms = 0;
  std::string last;
};

std::optional<PagePlace> read_place(std::string_view cursor) {
  PagePlace place;
  const char* const end = cursor.data() + cursor.size();
  const auto [rest, problem] = std::from_chars(cursor.data(), end, place.until_ms);
  if (problem != std::errc{} || rest == end || *rest != '.') return std::nullopt;
  place.last = std::string(rest + 1, end);
  if (!is_id(place.last) || place.until_ms < 0) return std::nullopt;
  return place;
}

}  // namespace

// Refused requests are counted but not logged, since anyone can send any number of them.
Result<Notice> BoundStripe::notice(const IntakeRequest& request, Call&) {
  Report& report = host_.report();
  const auto signature = only_signature(request.headers);
  const auto fault = signature
                         ? check_signature(*signature, request.body, settings_.webhook_secrets,
                                           host_.clock().now_ms() / 1'000)
                         : SignatureFault::malformed;
  if (fault != SignatureFault::none) {
    report.count("webhooks_refused", 1);
    return reply_of(400, text_of(fault));
  }
  const auto json = read_json(request.body);
  const ReadEvent event =
      json ? read_event(JsonValue(*json), {place_.deployment_id, settings_.is_live()})
           : ReadEvent{};
  report.count(counter_of(event.kind), 1);
  if (event.kind == EventKind::strange) return reply_of(400, "the body is no event");
  Notice notice = reply_of(200, "noted");
  notice.hints = event.hints;
  return notice;
}

// Stripe lists the newest events first, so pages go back in time. `until_ms` is the time of the
// first page's request: later events belong to the next round.
Result<Changes> BoundStripe::changes(std::int64_t since_ms, std::string_view cursor, Call& call) {
  std::optional<PagePlace> place = PagePlace{host_.clock().now_ms(), {}};
  if (!cursor.empty()) place = read_place(cursor);
  if (!place)
    return Failure{FailureKind::contract, "that is no cursor of this processor", {}, false};
  Ask ask{Method::get, "/v1/events"};
  const auto types = event_types();
  for (std::size_t at = 0; at < types.size(); ++at) {
    ask.form.add("types[" + std::to_string(at) + "]", types[at]);
  }
  if (since_ms > 0) ask.form.add("created[gte]", since_ms / 1'000);
  ask.form.add("limit", events_per_page).add_if_any("starting_after", place->last);
  const auto reply = api_.send(ask, call);
  if (!reply.ok()) return reply.error();
  if (!reply->is_done()) return unexpected(ask, *reply, false);
  // Events carry Stripe's time, so use Stripe's clock if ours is ahead of it.
  if (cursor.empty() && reply->date_ms >= 0) {
    place->until_ms = std::min(place->until_ms, reply->date_ms);
  }
  Changes changes;
  const JsonValue list = reply->root()["data"];
  for (std::size_t at = list.size(); at > 0; --at) {
    ReadEvent event = read_event(list.at(at - 1), {place_.deployment_id, settings_.is_live()});
    for (Hint& hint : event.hints) changes.hints.push_back(std::move(hint));
  }
  changes.until_ms = std::max(since_ms, place->until_ms - overlap_ms);
  if (reply->root()["has_more"].is_true() && list.size() > 0) {
    const std::string last = list.at(list.size() - 1).id();
    if (last.empty()) return unexpected(ask, *reply, false);
    changes.cursor = std::to_string(place->until_ms) + "." + last;
  }
  return changes;
}

}  // namespace turnpike::stripe
