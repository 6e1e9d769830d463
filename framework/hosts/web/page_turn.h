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
#include "hosts/web/markup.h"
#include "hosts/web/sign_in_routes.h"

namespace turnpike::hosts::web {

inline constexpr std::string_view login_path = "/login";
inline constexpr std::string_view own_path = "/account";
inline constexpr std::string_view consent_path = "/oauth/consent";

// The second has the name of the caller, who may sign out on each page.
Frame frame_of(const WebRooms& rooms, std::string_view title);
Frame frame_of(const WebRooms& rooms, std::string_view title, const identity::Person& person,
               const Caller& caller);

// The page within its frame.
std::string html_of(const WebRooms& rooms, const SitePage& page);
void send_page(const WebRooms& rooms, Turn& turn, const SitePage& page, int status = 200);
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

// Refusals without a handler of their own.
class SiteRefusals final : public RefusalPages {
 public:
  explicit SiteRefusals(const Pages& pages) noexcept : pages_(pages) {}
  [[nodiscard]] RefusalBody page(const base::Error& error,
                                 const RefusalAsked& asked) const override;

 private:
  const Pages& pages_;
};

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
