#include "storage/people/shared_secrets.h"

#include "storage/stores.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

constexpr Query insert_secret{
    "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING"};
constexpr Query select_secret{"SELECT value FROM secret WHERE name = $1", "t"};

class SqlSharedSecrets final : public SharedSecrets {
 public:
  explicit SqlSharedSecrets(const Context& context) : context_(context) {}

  Result<std::string, base::Error> get_or_create(std::string_view name,
                                                 std::size_t bytes) override {
    using Answer = Result<std::string, base::Error>;
    return answered<std::string>(context_, base::ErrorCode::gateway_internal, "read secret", [&] {
      std::string made(bytes, '\0');
      context_.random.fill({reinterpret_cast<std::uint8_t*>(made.data()), made.size()});
      const std::string text = text::base64url(made);
      const std::string stored = context_.database.write([&](Transaction& transaction) {
        transaction.run(insert_secret, {name, text});
        return transaction.run(select_secret, {name}).text(0, 0);
      });
      const std::optional<std::string> secret = text::from_base64url(stored);
      if (!secret) {
        return Answer(
            base::Error{base::ErrorCode::gateway_internal, "A stored secret is damaged."});
      }
      return Answer(*secret);
    });
  }

 private:
  const Context& context_;
};

}  // namespace

std::unique_ptr<SharedSecrets> make_shared_secrets(const Context& context) {
  return std::make_unique<SqlSharedSecrets>(context);
}

}  // namespace turnpike::storage
