#include "crypto/password_hash.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "base/sources.h"

namespace turnpike::crypto {
namespace {

constexpr PasswordCost cheap{1, 8'192};

std::optional<std::string> hash_with_salt(const std::string& password, const PasswordCost& cost) {
  base::SystemRandom random;
  return hash_password(password, cost, random);
}

TEST(PasswordHash, TakesThePasswordItWasMadeOfAndNoOther) {
  const std::string password("with a NUL\0 inside", 18);
  const auto hash = hash_with_salt(password, cheap);
  ASSERT_TRUE(hash);
  EXPECT_TRUE(hash->starts_with("$argon2id$v=19$m=8,t=1,p=1$")) << *hash;
  EXPECT_EQ(compare_password(password, *hash), PasswordMatch::right);
  EXPECT_EQ(compare_password(password.substr(0, 10), *hash), PasswordMatch::wrong);
  EXPECT_EQ(compare_password("", *hash), PasswordMatch::wrong);
  EXPECT_NE(hash_with_salt(password, cheap), hash);  // another salt
}

TEST(PasswordHash, TellsOfAnotherCost) {
  const auto hash = hash_with_salt("password", cheap);
  EXPECT_FALSE(needs_rehash(*hash, cheap));
  EXPECT_TRUE(needs_rehash(*hash, {2, 8'192}));
  EXPECT_TRUE(needs_rehash(*hash, {1, 16'384}));
}

// Made by libsodium, another implementation.
TEST(PasswordHash, IsArgon2idOfRfc9106) {
  EXPECT_EQ(compare_password("password",
                             "$argon2id$v=19$m=64,t=2,p=1$zhPZXsyQyRG4PRo25DpSQw$"
                             "BbpI8slKWBQYAT8HNl7aMSI3+ACD9g5GJ9XjWGlxECY"),
            PasswordMatch::right);
}

// Made by the library's own program: echo -n password | argon2 somesalt12345678 -id -t 2 -k 64 -e
TEST(PasswordHash, IsTheTextFormOfTheReference) {
  EXPECT_EQ(compare_password("password",
                             "$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHQxMjM0NTY3OA$"
                             "0d2fS/oVpAjBrlU/TISqg9c6/NuUo7W1l+jrIBSJuWs"),
            PasswordMatch::right);
}

TEST(PasswordHash, WhatIsNoHashIsNobodysPassword) {
  const std::string hash = *hash_with_salt("password", cheap);
  for (const std::string& broken :
       {std::string(), std::string("password"), hash.substr(0, hash.size() - 1), hash + "A",
        "$argon2i$" + hash.substr(10)}) {
    EXPECT_EQ(compare_password("password", broken), PasswordMatch::wrong) << broken;
  }
}

TEST(PasswordHash, OfNobodyIsComparedWithAtTheSameCost) {
  const std::string hash = hash_of_nobody(cheap);
  EXPECT_FALSE(needs_rehash(hash, cheap));
  EXPECT_EQ(compare_password("password", hash), PasswordMatch::wrong);
  EXPECT_FALSE(needs_rehash(hash_of_nobody({}), {}));
  EXPECT_EQ(hash_of_nobody({}).size(), hash_with_salt("password", {})->size());
}

// While it exists, the process can allocate at most 1 GiB more.
class LittleMemory {
 public:
  LittleMemory() {
    getrlimit(RLIMIT_AS, &before_);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    rlimit less = before_;
    less.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 30);
    setrlimit(RLIMIT_AS, &less);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(PasswordHash, TooLittleMemoryIsNoMismatch) {
  constexpr PasswordCost greedy{1, std::size_t{16} << 30};
  const std::string hash = hash_of_nobody(greedy);
  const LittleMemory little;
  EXPECT_FALSE(hash_with_salt("password", greedy));
  EXPECT_EQ(compare_password("password", hash), PasswordMatch::not_compared);
}

}  // namespace
}  // namespace turnpike::crypto
