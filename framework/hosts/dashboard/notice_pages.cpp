#include "hosts/dashboard/notice_pages.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "hosts/account/notice_routes.h"
#include "hosts/account_query.h"
#include "hosts/dashboard/account_form.h"
#include "hosts/dashboard/words.h"
#include "hosts/notice_json.h"
#include "hosts/web/views.h"
#include "notices/office.h"

namespace turnpike::hosts::dashboard {

namespace {

using base::Error;
using base::ErrorCode;
using identity::Role;
using notices::Delivery;
using notices::DeliveryState;
using notices::DisabledReason;
using notices::Endpoint;
using notices::EventType;
using notices::Office;
using site::Slots;

constexpr std::string_view notices_page = "/notifications";
constexpr std::size_t threshold_digits_max = 12;

// ---- words

std::string_view meaning_of(EventType type) {
  switch (type) {
    case EventType::purchase_credited: return "Credits that were bought are there";
    case EventType::auto_top_up_paused: return "Auto Top-Up has paused";
    case EventType::credits_low: return "the balance fell below the threshold";
    case EventType::key_cap_reached: return "a key has reached its cap";
    case EventType::price_changed: return "a call that you make costs something else";
    case EventType::endpoint_test: return "a test";
  }
  return "";
}

struct StateWords {
  std::string_view state;  // the CSS class of the state
  std::string_view word;
};

StateWords words_of_endpoint(const Endpoint& endpoint) {
  switch (endpoint.disabled) {
    case DisabledReason::none: break;
    case DisabledReason::by_member: return {"unknown", "disabled by a member"};
    case DisabledReason::gone: return {"bad", "disabled: it answered 410, gone"};
    case DisabledReason::failing: return {"bad", "disabled: nothing went well for 5 days"};
  }
  if (endpoint.failing_since_ms >= 0) return {"warn", "its last delivery failed"};
  return {"ok", "enabled"};
}

StateWords words_of_delivery(DeliveryState state) {
  switch (state) {
    case DeliveryState::pending: return {"warn", "pending"};
    case DeliveryState::delivered: return {"ok", "delivered"};
    case DeliveryState::failed: return {"bad", "given up"};
    case DeliveryState::cancelled: return {"unknown", "cancelled"};
  }
  return {"unknown", ""};
}

std::string last_try_of(const Delivery& delivery) {
  if (delivery.last_at_ms < 0) return "not tried yet";
  if (delivery.last_status != 0) return "answered " + std::to_string(delivery.last_status);
  return delivery.last_problem.empty() ? "no answer" : delivery.last_problem;
}

// ---- the page

struct EndpointForm {
  std::string url = {};
  std::string description = {};
  std::vector<EventType> types = {};
};

struct NoticesView {
  EndpointForm form = {};
  std::string threshold = {};  // as typed; empty: the stored one
  web::Problem problem = {};
};

struct ReadNotices {
  std::vector<Endpoint> endpoints;
  notices::DeliveryPage page;
  notices::NoticeSettings settings;
};

Result<ReadNotices, Error> read_notices(const WebRooms& rooms, const AccountPage& page,
                                        const DeliveriesQuery& query) {
  const auto office = account::notice_office(rooms.account);
  if (!office.ok()) return office.error();
  ReadNotices read;
  auto endpoints = (*office)->endpoints(page.account_id());
  if (!endpoints.ok()) return std::move(endpoints).error();
  read.endpoints = *std::move(endpoints);
  auto deliveries = (*office)->deliveries({.account_id = page.account_id(),
                                           .before_ms = query.before.number,
                                           .before_id = query.before.id,
                                           .limit = query.limit});
  if (!deliveries.ok()) return std::move(deliveries).error();
  read.page = *std::move(deliveries);
  const auto settings = (*office)->settings(page.account_id());
  if (!settings.ok()) return settings.error();
  read.settings = *settings;
  return read;
}

void fill_endpoint(Slots row, const Endpoint& endpoint, bool is_admin, std::int64_t now_ms) {
  const StateWords words = words_of_endpoint(endpoint);
  row.set("ID", endpoint.id);
  row.set("URL", endpoint.url);
  row.set("HOST", notices::host_of(endpoint.url));
  row.set_if("DESCRIPTION", endpoint.description);
  row.set("CLASS", words.state);
  row.set("WORD", words.word);
  row.set_if("DISABLED_AT", endpoint.disabled_at_ms < 0 ? "" : when(endpoint.disabled_at_ms));
  row.set("DELIVERED",
          endpoint.delivered_at_ms < 0 ? "never" : when(endpoint.delivered_at_ms));
  const bool has_old_secret = endpoint.old_secret_until_ms > now_ms;
  row.set_if("OLD_SECRET_UNTIL", has_old_secret ? when(endpoint.old_secret_until_ms) : "");
  row.show_if(endpoint.types.empty(), "TAKES_ALL");
  for (const EventType type : endpoint.types) row.add("TYPE").set("NAME", notices::name_of(type));
  if (!is_admin) return;
  Slots forms = row.add("FORMS");
  forms.show(endpoint.is_enabled() ? "IS_ENABLED" : "IS_DISABLED");
}

void fill_new_endpoint(Slots slots, const EndpointForm& form) {
  slots.set("NEW_URL", form.url);
  slots.set("NEW_DESCRIPTION", form.description);
  for (const EventType type : notices::all_event_types()) {
    if (!notices::is_subscribable(type)) continue;
    Slots choice = slots.add("CHOICE");
    choice.set("NAME", notices::name_of(type));
    choice.set("MEANING", meaning_of(type));
    choice.show_if(std::find(form.types.begin(), form.types.end(), type) != form.types.end(),
                   "IS_CHOSEN");
  }
}

void fill_deliveries(Slots slots, const WebRooms& rooms, const AccountPage& page,
                     const ReadNotices& read) {
  slots.show(read.page.deliveries.empty() ? "HAS_NO_DELIVERIES" : "HAS_DELIVERIES");
  const bool is_admin = page.membership.role >= Role::admin;
  for (const Delivery& delivery : read.page.deliveries) {
    Slots row = slots.add("DELIVERY");
    const StateWords words = words_of_delivery(delivery.state);
    const auto endpoint =
        std::find_if(read.endpoints.begin(), read.endpoints.end(),
                     [&](const Endpoint& each) { return each.id == delivery.endpoint_id; });
    const bool is_known = endpoint != read.endpoints.end();
    row.set("ID", delivery.id);
    row.set("CREATED", when(delivery.created_at_ms));
    row.set("TYPE", notices::name_of(delivery.type));
    row.set("HOST", is_known ? notices::host_of(endpoint->url) : delivery.endpoint_id);
    row.set("CLASS", words.state);
    row.set("WORD", words.word);
    row.set("ATTEMPTS", static_cast<std::int64_t>(delivery.attempts));
    row.set("LAST", last_try_of(delivery));
    const bool is_pending = delivery.state == DeliveryState::pending;
    row.set_if("NEXT_TRY", is_pending ? when(delivery.due_at_ms) : "");
    row.show_if(is_admin && is_known && endpoint->is_enabled(), "MAY_RETRY");
  }
  if (!read.page.has_more) return;
  const Delivery& last = read.page.deliveries.back();
  slots.set_if("NEXT", Href(path_of(page.account_id(), notices_page))
                           .add("after", make_delivery_cursor(page.account_id(),
                                                              {last.created_at_ms, last.id},
                                                              rooms.account.cursor_key()))
                           .text());
}

Result<std::string, Error> notices_html(const WebRooms& rooms, const AccountPage& page,
                                        const NoticesView& view, const DeliveriesQuery& query) {
  const auto read = read_notices(rooms, page, query);
  if (!read.ok()) return read.error();
  const bool is_admin = page.membership.role >= Role::admin;
  const std::int64_t now_ms = rooms.pages.clock().now_ms();
  const site::Frame frame = frame_of_account(rooms, page, "Notifications", notices_page);
  return rooms.pages.page(frame, "dashboard/notifications.html", [&](Slots slots) {
    slots.set("PATH", path_of(page.account_id(), notices_page));
    web::fill_problem(slots, view.problem);
    slots.show(read->endpoints.empty() ? "HAS_NO_ENDPOINTS" : "HAS_ENDPOINTS");
    for (const Endpoint& endpoint : read->endpoints) {
      fill_endpoint(slots.add("ENDPOINT"), endpoint, is_admin, now_ms);
    }
    slots.show_if(!is_admin, "IS_MEMBER");
    if (is_admin) {
      Slots forms = slots.add("FOR_ADMINS");
      forms.show(read->endpoints.size() < notices::endpoints_max ? "MAY_ADD" : "IS_FULL");
      fill_new_endpoint(forms, view.form);
      const std::int64_t threshold = read->settings.credits_low;
      const std::string as_it_is = threshold < 0 ? "" : std::to_string(threshold);
      forms.set("THRESHOLD", view.threshold.empty() ? as_it_is : view.threshold);
    }
    fill_deliveries(slots, rooms, page, *read);
  });
}

void show_notices(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto query = read_deliveries_query(clean_query(asked.query), page->account_id(),
                                           rooms.account.cursor_key());
  if (!query.ok()) return refuse_on(rooms, turn, *page, query.error(), notices_page);
  const auto html = notices_html(rooms, *page, {}, *query);
  if (!html.ok()) return refuse_on(rooms, turn, *page, html.error(), "");
  turn.reply({.content_type = page_type, .body = *html});
}

// ---- the forms

// Opens the page of a form; if `work(office, page, actor)` fails, shows the error on that page.
template <class Work, class Done>
void use_form(const WebRooms& rooms, Turn& turn, const Asked& asked, NoticesView view, Work&& work,
              Done&& done) {
  const std::string back = path_of(asked.parameters[0], notices_page);
  if (!web::stands_for(identity::Standing::signed_in, rooms, turn, asked, back)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto run = [&]() -> decltype(work(std::declval<Office&>(), *page, identity::Actor())) {
    const auto office = account::notice_office(rooms.account);
    if (!office.ok()) return office.error();
    return work(**office, *page, rooms.people.actor_of(turn, asked.caller));
  };
  const auto ran = run();
  if (ran.ok()) return done(*page, *ran);
  view.problem = {&ran.error(), turn.request_id()};
  const auto html = notices_html(rooms, *page, view, {});
  if (!html.ok()) return refuse_on(rooms, turn, *page, ran.error(), notices_page);
  web::send_refusal(turn, ran.error(), *html);
}

// Handles a form that redirects back to its page.
template <class Work>
void use_plain_form(const WebRooms& rooms, Turn& turn, const Asked& asked, Work&& work) {
  use_form(rooms, turn, asked, {}, std::forward<Work>(work),
           [&](const AccountPage& page, const auto&) {
             web::go_to(turn, path_of(page.account_id(), notices_page));
           });
}

void show_secret(const WebRooms& rooms, Turn& turn, const AccountPage& page,
                 const notices::WithSecret& made, bool is_new) {
  const std::string_view title = is_new ? "Your new endpoint" : "The endpoint's new secret";
  const site::Frame frame = frame_of_account(rooms, page, title, notices_page);
  turn.reply({.status = is_new ? 201 : 200,
              .content_type = page_type,
              .body = rooms.pages.page(
                  frame, "dashboard/notification_secret.html", [&](Slots slots) {
                    slots.set("PATH", path_of(page.account_id(), notices_page));
                    slots.set("URL", made.endpoint.url);
                    slots.set("SECRET", made.secret);
                    slots.set_if("OLD_SECRET_UNTIL",
                                 is_new ? "" : when(made.endpoint.old_secret_until_ms));
                  })});
}

EndpointForm endpoint_form_of(const Asked& asked) {
  EndpointForm form{field_of(asked, "url"), field_of(asked, "description")};
  for (const EventType type : notices::all_event_types()) {
    if (asked.form.find(notices::name_of(type))) form.types.push_back(type);
  }
  return form;
}

void use_add_endpoint(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const EndpointForm form = endpoint_form_of(asked);
  use_form(
      rooms, turn, asked, {.form = form},
      [&](Office& office, const AccountPage& page, const identity::Actor& actor) {
        return office.create(
            page.account_id(),
            {.url = form.url, .description = form.description, .types = form.types}, actor);
      },
      [&](const AccountPage& page, const notices::WithSecret& made) {
        show_secret(rooms, turn, page, made, true);
      });
}

void use_rotate_secret(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  use_form(
      rooms, turn, asked, {},
      [&](Office& office, const AccountPage& page, const identity::Actor& actor) {
        return office.rotate(page.account_id(), asked.parameters[1], actor);
      },
      [&](const AccountPage& page, const notices::WithSecret& made) {
        show_secret(rooms, turn, page, made, false);
      });
}

void use_test_endpoint(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  use_plain_form(rooms, turn, asked,
                 [&](Office& office, const AccountPage& page, const identity::Actor& actor) {
                   return office.test(page.account_id(), asked.parameters[1], actor);
                 });
}

void use_enable_endpoint(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  use_plain_form(rooms, turn, asked,
                 [&](Office& office, const AccountPage& page, const identity::Actor& actor) {
                   return office.change(page.account_id(), asked.parameters[1],
                                        {.is_enabled = field_of(asked, "enabled") == "yes"},
                                        actor);
                 });
}

void use_remove_endpoint(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  use_plain_form(rooms, turn, asked,
                 [&](Office& office, const AccountPage& page, const identity::Actor& actor) {
                   return office.remove(page.account_id(), asked.parameters[1], actor);
                 });
}

void use_retry_delivery(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  use_plain_form(rooms, turn, asked,
                 [&](Office& office, const AccountPage& page, const identity::Actor& actor) {
                   return office.retry(page.account_id(), asked.parameters[1], actor);
                 });
}

// Reads whole Credits; empty: no threshold.
Result<notices::NoticeSettings, Error> typed_threshold(const std::string& text) {
  if (text.empty()) return notices::NoticeSettings{};
  std::int64_t credits = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, credits);
  if (problem == std::errc{} && rest == end && credits > 0 &&
      text.size() <= threshold_digits_max) {
    return notices::NoticeSettings{credits};
  }
  return Error{ErrorCode::request_malformed,
               "This is no number of Credits: write such as 500, or leave it empty."};
}

void use_threshold(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string typed = field_of(asked, "threshold");
  use_form(
      rooms, turn, asked, {.threshold = typed},
      [&](Office& office, const AccountPage& page,
          const identity::Actor& actor) -> Result<notices::NoticeSettings, Error> {
        const auto settings = typed_threshold(typed);
        if (!settings.ok()) return settings.error();
        return office.set(page.account_id(), *settings, actor);
      },
      [&](const AccountPage& page, const notices::NoticeSettings&) {
        web::go_to(turn, path_of(page.account_id(), notices_page));
      });
}

// ---- the table

constexpr Parameter notices_query[] = {
    {.name = "after", .description = "The cursor of the page before.",
     .schema = R"({"type": "string"})"},
};

#define NOTICES "/dashboard/{billing_account_id}/notifications"
#define ENDPOINT NOTICES "/endpoints/{endpoint_id}"

constexpr Route<WebRooms> notice_page_rows[] = {
    {.facts = page_with(NOTICES, "dashboard_notifications", notices_query),
     .answer = show_notices},
    {.facts = web::form(NOTICES "/endpoints", "notification_endpoints", form_of_admins),
     .answer = use_add_endpoint},
    {.facts = web::form(ENDPOINT "/test", "notification_endpoint_test", form_of_admins),
     .answer = use_test_endpoint},
    {.facts = web::form(ENDPOINT "/enabled", "notification_endpoint", form_of_admins),
     .answer = use_enable_endpoint},
    {.facts = web::form(ENDPOINT "/rotate-secret", "notification_endpoint_secret", form_of_admins),
     .answer = use_rotate_secret},
    {.facts = web::form(ENDPOINT "/remove", "notification_endpoint", form_of_admins),
     .answer = use_remove_endpoint},
    {.facts = web::form(NOTICES "/deliveries/{delivery_id}/retry", "notification_delivery_retry",
                        form_of_admins),
     .answer = use_retry_delivery},
    {.facts = web::form(NOTICES "/threshold", "notification_settings", form_of_admins),
     .answer = use_threshold},
};
#undef ENDPOINT
#undef NOTICES

}  // namespace

std::span<const Route<WebRooms>> notice_routes() noexcept { return notice_page_rows; }

}  // namespace turnpike::hosts::dashboard
