#include "notices/office.h"

#include "notices/signature.h"

namespace turnpike::notices {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::uint32_t asks_max = 8;
constexpr std::uint32_t asks_waiting_max = 256;

Error no_endpoint() {
  return {ErrorCode::notification_endpoint_not_found,
          "The billing account has no notification endpoint with this id."};
}

Error no_delivery() {
  return {ErrorCode::notification_endpoint_not_found,
          "The billing account has no notification delivery with this id."};
}

// Returns the value that the store found, or the error `absent`.
template <class T>
Result<T, Error> found_or(Result<std::optional<T>, Error> answer, Error absent) {
  if (!answer.ok()) return std::move(answer).error();
  if (!*answer) return absent;
  return *std::move(*answer);
}

}  // namespace

Office::Office(Parts parts)
    : parts_(std::move(parts)),
      user_(parts_.pool.add_user("notices", asks_max, asks_waiting_max)) {}

Office::Answer<std::vector<Endpoint>> Office::endpoints(std::string_view account_id) const {
  return ask([&] { return parts_.store.endpoints(account_id); });
}

Office::Answer<WithSecret> Office::create(std::string_view account_id, const EndpointWish& wish,
                                          const identity::Actor& actor) const {
  if (auto problem = problem_of(wish, parts_.rules)) return *std::move(problem);
  NewEndpoint wanted;
  wanted.account_id = account_id;
  wanted.url = wish.url.value_or("");
  wanted.description = wish.description.value_or("");
  wanted.types = wish.types.value_or(std::vector<EventType>());
  wanted.is_enabled = wish.is_enabled.value_or(true);
  wanted.secret = new_secret(parts_.random);
  auto created = ask([&] { return parts_.store.create(wanted, actor); });
  if (!created.ok()) return std::move(created).error();
  return WithSecret{*std::move(created), secret_text(wanted.secret)};
}

Office::Answer<Endpoint> Office::change(std::string_view account_id, std::string_view id,
                                        const EndpointWish& wish,
                                        const identity::Actor& actor) const {
  if (auto problem = problem_of(wish, parts_.rules)) return *std::move(problem);
  return found_or(ask([&] { return parts_.store.change(account_id, id, wish, actor); }),
                  no_endpoint());
}

Office::Answer<Unit> Office::remove(std::string_view account_id, std::string_view id,
                                    const identity::Actor& actor) const {
  const auto removed = ask([&] { return parts_.store.remove(account_id, id, actor); });
  if (!removed.ok()) return removed.error();
  if (!*removed) return no_endpoint();
  return Unit{};
}

Office::Answer<WithSecret> Office::rotate(std::string_view account_id, std::string_view id,
                                          const identity::Actor& actor) const {
  const std::string secret = new_secret(parts_.random);
  auto rotated = found_or(ask([&] { return parts_.store.rotate(account_id, id, secret, actor); }),
                          no_endpoint());
  if (!rotated.ok()) return std::move(rotated).error();
  return WithSecret{*std::move(rotated), secret_text(secret)};
}

Office::Answer<Delivery> Office::test(std::string_view account_id, std::string_view id,
                                      const identity::Actor& actor) const {
  return found_or(ask([&] { return parts_.store.test(account_id, id, actor); }), no_endpoint());
}

Office::Answer<DeliveryPage> Office::deliveries(DeliveryQuery query) const {
  const std::size_t wanted = query.limit;
  ++query.limit;  // one more tells whether a next page exists
  auto list = ask([&] { return parts_.store.deliveries(query); });
  if (!list.ok()) return std::move(list).error();
  DeliveryPage page{*std::move(list), false};
  page.has_more = page.deliveries.size() > wanted;
  if (page.has_more) page.deliveries.resize(wanted);
  return page;
}

Office::Answer<Delivery> Office::retry(std::string_view account_id, std::string_view id,
                                       const identity::Actor& actor) const {
  return found_or(ask([&] { return parts_.store.retry(account_id, id, actor); }), no_delivery());
}

Office::Answer<NoticeSettings> Office::settings(std::string_view account_id) const {
  return ask([&] { return parts_.store.settings(account_id); });
}

Office::Answer<NoticeSettings> Office::set(std::string_view account_id,
                                           const NoticeSettings& settings,
                                           const identity::Actor& actor) const {
  return ask([&] { return parts_.store.set(account_id, settings, actor); });
}

}  // namespace turnpike::notices
