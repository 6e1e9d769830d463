#include "crypto/password_hash.h"

#include <argon2.h>
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

constexpr std::size_t huge_page_bytes = 2u << 20;
constexpr std::size_t salt_bytes = 16;
constexpr std::size_t digest_bytes = 32;

struct HashParts {
  PasswordCost cost;
  std::string salt;
  std::string digest;
};

std::string text_of(const HashParts& parts) {
  const auto digits = [](const std::string& bytes) {
    std::string text = text::base64(bytes);
    text.resize(text.find('='));  // neither of the two lengths is a multiple of three
    return text;
  };
  return "$argon2id$v=19$m=" + std::to_string(parts.cost.memory_bytes / 1'024) +
         ",t=" + std::to_string(parts.cost.passes) + ",p=1$" + digits(parts.salt) + "$" +
         digits(parts.digest);
}

// nullopt: malformed.
std::optional<HashParts> read_hash(const std::string& hash) {
  unsigned memory_kib = 0;
  unsigned passes = 0;
  char salt_digits[23];
  char digest_digits[44];
  int length = 0;
  std::sscanf(hash.c_str(),
              "$argon2id$v=19$m=%9u,t=%9u,p=1$%22[A-Za-z0-9+/]$%43[A-Za-z0-9+/]%n", &memory_kib,
              &passes, salt_digits, digest_digits, &length);
  if (length == 0 || static_cast<std::size_t>(length) != hash.size()) return std::nullopt;
  auto salt = text::from_base64(std::string(salt_digits) + "==");
  auto digest = text::from_base64(std::string(digest_digits) + "=");
  if (!salt || !digest) return std::nullopt;
  if (salt->size() != salt_bytes || digest->size() != digest_bytes) return std::nullopt;
  return HashParts{
      {passes, std::size_t{memory_kib} << 10}, *std::move(salt), *std::move(digest)};
}

// Small pages would be slow: a virtual machine takes longer to provide 16,384 of them than the hash
// takes. Without huge pages the system provides small ones.
int provide_memory(std::uint8_t** memory, std::size_t bytes) {
  void* provided = nullptr;
  if (::posix_memalign(&provided, huge_page_bytes, bytes) != 0) {
    return ARGON2_MEMORY_ALLOCATION_ERROR;
  }
  if (bytes >= huge_page_bytes) ::madvise(provided, bytes, MADV_HUGEPAGE);
  *memory = static_cast<std::uint8_t*>(provided);
  return ARGON2_OK;
}

void free_memory(std::uint8_t* memory, std::size_t) { std::free(memory); }

// nullopt: not enough memory, or a cost that is not one of Argon2id.
std::optional<std::string> digest_of(const std::string& password, const std::string& salt,
                                     const PasswordCost& cost) {
  std::string digest(digest_bytes, '\0');
  // The library changes neither password nor salt unless a flag asks for it.
  const auto bytes_of = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  argon2_context context{};
  context.out = bytes_of(digest);
  context.outlen = digest_bytes;
  context.pwd = bytes_of(password);
  context.pwdlen = static_cast<std::uint32_t>(password.size());
  context.salt = bytes_of(salt);
  context.saltlen = salt_bytes;
  context.t_cost = cost.passes;
  context.m_cost = static_cast<std::uint32_t>(cost.memory_bytes / 1'024);
  context.lanes = 1;
  context.threads = 1;
  context.version = ARGON2_VERSION_13;
  context.allocate_cbk = &provide_memory;
  context.free_cbk = &free_memory;
  context.flags = ARGON2_DEFAULT_FLAGS;
  if (argon2id_ctx(&context) != ARGON2_OK) return std::nullopt;
  return digest;
}

}  // namespace

std::optional<std::string> hash_password(const std::string& password, const PasswordCost& cost,
                                         Random& random) {
  std::array<std::uint8_t, salt_bytes> salt{};
  random.fill(salt);
  HashParts parts{cost, std::string(salt.begin(), salt.end()), {}};
  auto digest = digest_of(password, parts.salt, cost);
  if (!digest) return std::nullopt;
  parts.digest = *std::move(digest);
  return text_of(parts);
}

PasswordMatch compare_password(const std::string& password, const std::string& hash) {
  const auto parts = read_hash(hash);
  if (!parts) return PasswordMatch::wrong;
  const auto digest = digest_of(password, parts->salt, parts->cost);
  if (!digest) return PasswordMatch::not_compared;
  return equal_in_constant_time(*digest, parts->digest) ? PasswordMatch::right
                                                        : PasswordMatch::wrong;
}

bool needs_rehash(const std::string& hash, const PasswordCost& cost) {
  const auto parts = read_hash(hash);
  return !parts || parts->cost != cost;
}

std::string hash_of_nobody(const PasswordCost& cost) {
  return text_of({cost, std::string(salt_bytes, '\0'), std::string(digest_bytes, '\0')});
}

}  // namespace turnpike::crypto
