// What the pages of the web host share: their frame, whom they are for, and how they refuse. Pure
// but for what they ask PooledPeople; called on the fibers of requests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/account/account_routes.h"
#include "hosts/page.h"
#include "hosts/pages.h"
#include "hosts/route.h"
#include "hosts/web/sign_in_routes.h"
#include "hosts/web/views.h"
#include "site/frame.h"

namespace turnpike::hosts::web {

inline constexpr std::string_view login_path = "/login";
inline constexpr std::string_view own_path = "/account";
inline constexpr std::string_view consent_path = "/oauth/consent";

using site::Frame;

// The second has the name of the caller, who may sign out on each page.
Frame frame_of(const WebRooms& rooms, std::string_view title);
Frame frame_of(const WebRooms& rooms, std::string_view title, const identity::Person& person,
               const Caller& caller);

// A view (views.h) as a page within the frame.
template <class View>
std::string html_of(const WebRooms& rooms, const Frame& frame, const View& view) {
  return rooms.pages.page(frame, View::layout, [&](site::Slots slots) { view.fill(slots); });
}
template <class View>
void send_page(const WebRooms& rooms, Turn& turn, const Frame& frame, const View& view,
               int status = 200) {
  turn.reply({.status = status, .content_type = page_type, .body = html_of(rooms, frame, view)});
}
// 303 to a URL of another host, which Location would not take.
void send_elsewhere(Turn& turn, std::string_view url, std::string_view cookie = {});
// 303 to a path of this host.
void go_to(Turn& turn, std::string_view path, std::string_view cookie = {});

// The providers that are configured.
std::vector<ProviderChoice> providers_of(const WebRooms& rooms);
// What the person can prove again with who they are; nothing where that cannot be told, or where
// the session stands for it already, or for too little.
StepUpWays ways_of(const WebRooms& rooms, const Caller& caller);

// auth.session_ended.
Result<identity::Person, base::Error> person_of(const WebRooms& rooms, const Caller& caller);

// A refusal on a page that offers what is missing. `back`: the page with the form.
void refuse(const WebRooms& rooms, Turn& turn, const Caller& caller, const base::Error& error,
            const std::string& back);
// A refusal on any page: with the status and header fields of the error.
void send_refusal(Turn& turn, const base::Error& error, const std::string& html);
// A refusal on the page of its form, of which the view says why.
template <class View>
void refuse_with(const WebRooms& rooms, Turn& turn, const base::Error& error, const Frame& frame,
               View view) {
  view.problem = {&error, turn.request_id()};
  send_refusal(turn, error, html_of(rooms, frame, view));
}

// Refusals without a handler of their own.
class SiteRefusals final : public RefusalPages {
 public:
  explicit SiteRefusals(const Pages& pages) noexcept : pages_(pages) {}
  [[nodiscard]] RefusalBody page(const base::Error& error,
                                 const RefusalAsked& asked) const override;

 private:
  const Pages& pages_;
};

// The page on which people sign in. `return_to`: where that leads.
inline constexpr std::string_view login_title = "Sign in";
LoginView login_view(const WebRooms& rooms, const std::string& return_to);

// The paths to which a sign-in leads back: pages of this host alone.
std::string known_path(std::string_view text);

// Passkeys are bound to one name of the host, and cookies to it, too. 307 keeps the fragment.
bool was_sent_home(const WebRooms& rooms, Turn& turn);

// Whose session the cookie of a request is. auth.session_required, auth.session_ended,
// auth.unavailable.
Result<Caller, base::Error> find_caller(const WebRooms& rooms, const Presented& presented);
// The caller of a page; null: they were sent to sign in, or refused.
Caller caller_of_page(const WebRooms& rooms, Turn& turn, std::string_view account_id = {});

// Whether the session stands for so much; otherwise the form is refused on a page that mends it.
bool stands_for(identity::Standing needed, const WebRooms& rooms, Turn& turn, const Asked& asked,
                const std::string& back);

// Who may act is judged once more with the form, on a page that offers what is missing.
inline constexpr Callers any_session = Callers::person(identity::Standing::enrolling);

constexpr RouteFacts page(std::string_view path, std::string_view endpoint) {
  return {.method = "GET",
          .path = path,
          .endpoint = endpoint,
          .answers_head = true,
          .cache_control = account::kept_by_nobody,
          .page_policy = page_policy,
          .refusal_form = as_page};
}

constexpr RouteFacts form(std::string_view path, std::string_view endpoint, Callers callers) {
  return {.method = "POST",
          .path = path,
          .endpoint = endpoint,
          .callers = callers,
          .body = BodyForm::form,
          .body_bytes_max = 4'096,
          .cache_control = account::kept_by_nobody,
          .page_policy = page_policy,
          .refusal_form = as_page};
}

}  // namespace turnpike::hosts::web
