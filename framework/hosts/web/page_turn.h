// The common code of the web host's pages: frame, access control and refusals. Pure, except for
// queries to PooledPeople; called on the fibers of requests.
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

// The second frame has the name of the caller and the sign-out button.
Frame frame_of(const WebRooms& rooms, std::string_view title);
Frame frame_of(const WebRooms& rooms, std::string_view title, const identity::Person& person,
               const Caller& caller);

// Renders a view (views.h) as a page within the frame.
template <class View>
std::string html_of(const WebRooms& rooms, const Frame& frame, const View& view) {
  return rooms.pages.page(frame, View::layout, [&](site::Slots slots) { view.fill(slots); });
}
template <class View>
void send_page(const WebRooms& rooms, Turn& turn, const Frame& frame, const View& view,
               int status = 200) {
  turn.reply({.status = status, .content_type = page_type, .body = html_of(rooms, frame, view)});
}
// Redirects with 303 to a URL of another host, which Location would refuse.
void send_elsewhere(Turn& turn, std::string_view url, std::string_view cookie = {});
// Redirects with 303 to a path of this host.
void go_to(Turn& turn, std::string_view path, std::string_view cookie = {});

// Returns the configured identity providers.
std::vector<ProviderChoice> providers_of(const WebRooms& rooms);
// Returns the methods by which the person can re-authenticate; nothing if they cannot be read, or
// if the session is already stepped up or is only enrolling.
StepUpWays ways_of(const WebRooms& rooms, const Caller& caller);

// Error: auth.session_ended.
Result<identity::Person, base::Error> person_of(const WebRooms& rooms, const Caller& caller);

// Refuses on a page that offers the missing step. `back`: the page with the form.
void refuse(const WebRooms& rooms, Turn& turn, const Caller& caller, const base::Error& error,
            const std::string& back);
// Refuses with a rendered page; adds the status and header fields of the error.
void send_refusal(Turn& turn, const base::Error& error, const std::string& html);
// Refuses on the page of the form; the view shows the problem.
template <class View>
void refuse_with(const WebRooms& rooms, Turn& turn, const base::Error& error, const Frame& frame,
               View view) {
  view.problem = {&error, turn.request_id()};
  send_refusal(turn, error, html_of(rooms, frame, view));
}

// Renders refusals that no handler renders itself.
class SiteRefusals final : public RefusalPages {
 public:
  explicit SiteRefusals(const Pages& pages) noexcept : pages_(pages) {}
  [[nodiscard]] RefusalBody page(const base::Error& error,
                                 const RefusalAsked& asked) const override;

 private:
  const Pages& pages_;
};

// The sign-in page. `return_to`: the page that a sign-in leads to.
inline constexpr std::string_view login_title = "Sign in";
LoginView login_view(const WebRooms& rooms, const std::string& return_to);

// Returns the path if a sign-in may lead to it: only pages of this host.
std::string known_path(std::string_view text);

// Redirects to the host's configured name, since passkeys and cookies are bound to it; true: it
// did. 307 keeps the fragment.
bool was_sent_home(const WebRooms& rooms, Turn& turn);

// Returns the owner of the session in a request's cookie. Errors: auth.session_required,
// auth.session_ended, auth.unavailable.
Result<Caller, base::Error> find_caller(const WebRooms& rooms, const Presented& presented);
// Returns the caller of a page; null: they were redirected to sign in, or refused.
Caller caller_of_page(const WebRooms& rooms, Turn& turn, std::string_view account_id = {});

// Whether the session has the needed standing; otherwise refuses the form on a page that offers the
// missing step.
bool stands_for(identity::Standing needed, const WebRooms& rooms, Turn& turn, const Asked& asked,
                const std::string& back);

// Handlers of forms check the standing again, to refuse on a page that offers the missing step.
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
