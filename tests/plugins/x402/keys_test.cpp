#include "x402/offers/keys.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "plugins/x402/offers_fixture.h"

namespace turnpike::x402 {
namespace {

namespace fs = std::filesystem;

class KeyRingTest : public testing::Test {
 protected:
  std::unique_ptr<KeyRing> open(Algorithm first = Algorithm::es256k) {
    auto ring = KeyRing::open(folder(), random_, clock_, first);
    EXPECT_TRUE(ring.ok()) << ring.error();
    return ring.ok() ? std::move(*ring) : nullptr;
  }
  std::string refusal() {
    auto ring = KeyRing::open(folder(), random_, clock_);
    return ring.ok() ? "opened" : ring.error();
  }
  [[nodiscard]] std::string folder() const { return root_.file("x402/keys"); }
  [[nodiscard]] std::string file(const std::string& fragment) const {
    return folder() + "/" + fragment + ".key";
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  static mode_t mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

  TemporaryDirectory root_;
  SeededRandom random_;
  support::ManualClock clock_{start_ms};
};

TEST_F(KeyRingTest, MakesTheFirstKeyWhereThereIsNone) {
  for (const Algorithm algorithm : {Algorithm::es256k, Algorithm::eddsa}) {
    fs::remove_all(folder());
    const auto ring = open(algorithm);
    EXPECT_EQ(ring->active()->key.public_key().algorithm, algorithm);
    EXPECT_EQ(ring->active()->created_ms, clock_.now_ms());
    EXPECT_EQ(ring->active()->fragment.substr(0, 17), "offer-2026-11-21-");
    EXPECT_EQ(ring->active()->fragment.size(), 25u);
    EXPECT_EQ(files(), std::vector<std::string>{ring->active()->fragment + ".key"});
  }
}

TEST_F(KeyRingTest, RefusesAMachineThatDrawsNoKey) {
  struct Zeros final : Random {
    void fill(std::span<std::uint8_t> out) noexcept override {
      std::fill(out.begin(), out.end(), std::uint8_t{0});
    }
  } zeros;
  const auto ring = KeyRing::open(folder(), zeros, clock_);
  ASSERT_FALSE(ring.ok());
  EXPECT_NE(ring.error().find("randomness is broken"), std::string::npos);
  EXPECT_EQ(files(), std::vector<std::string>());
}

TEST_F(KeyRingTest, KeepsTheKeyOverARestart) {
  const auto first = open();
  const auto again = open(Algorithm::eddsa);  // the algorithm is for a first key only
  EXPECT_EQ(again->active()->fragment, first->active()->fragment);
  EXPECT_EQ(again->active()->key.secret(), first->active()->key.secret());
  EXPECT_EQ(again->published(), first->published());
}

TEST_F(KeyRingTest, LetsNobodyElseRead) {
  const mode_t before = ::umask(0);
  const auto ring = open();
  ::umask(before);
  EXPECT_EQ(mode(folder()), 0700u);
  EXPECT_EQ(mode(file(ring->active()->fragment)), 0600u);
}

TEST_F(KeyRingTest, RefusesWhatOthersCouldReadOrWriteAndSaysWhatToDo) {
  const std::string key = file(open()->active()->fragment);
  for (const mode_t wide : {0604u, 0640u, 0602u, 0700u}) {
    ASSERT_EQ(::chmod(key.c_str(), wide), 0);
    EXPECT_EQ(refusal().find(key + ": others can use it"), 0u) << refusal();
    EXPECT_NE(refusal().find("chmod 0600"), std::string::npos);
  }
  ASSERT_EQ(::chmod(key.c_str(), 0400), 0);
  EXPECT_EQ(refusal(), "opened");
  for (const mode_t wide : {0750u, 0705u, 0777u}) {
    ASSERT_EQ(::chmod(folder().c_str(), wide), 0);
    EXPECT_EQ(refusal().find(folder() + ": others can use it"), 0u) << refusal();
    EXPECT_NE(refusal().find("chmod 0700"), std::string::npos);
  }
}

TEST_F(KeyRingTest, RefusesTheFilesOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string key = file(open()->active()->fragment);
  ASSERT_EQ(::chown(key.c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal().find(key + ": belongs to user id 12345"), 0u) << refusal();
  ASSERT_EQ(::chown(key.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal().find(folder() + ": belongs to user id 12345"), 0u) << refusal();
}

TEST_F(KeyRingTest, RefusesWhatIsNoKeyAndNamesTheFile) {
  const std::string fragment = open()->active()->fragment;
  const std::string good = read_file(file(fragment));
  const std::string secret = good.substr(good.find("private: ") + 9, 64);
  const std::vector<std::string> bad = {
      "",
      good.substr(0, good.size() - 1),
      good + "more\n",
      good + good,
      "alg: ES256\n" + good.substr(good.find('\n') + 1),
      "alg: ES256K\ncreated: soon\nprivate: " + secret + "\n",
      "alg: ES256K\ncreated: -1\nprivate: " + secret + "\n",
      "alg: ES256K\ncreated: 1\nprivate: " + std::string(64, '0') + "\n",
      "alg: ES256K\ncreated: 1\nprivate: " + std::string(64, 'F') + "\n",
      "alg: ES256K\ncreated: 1\nprivate: " + secret + "00\n",
      "alg: ES256K\ncreated: 1\nretired: 2\npublic: " + secret + "\n",
      "alg: ES256K\ncreated: 1\npublic: " + secret + secret + "\n",
      std::string(4096, 'a'),
  };
  for (const std::string& text : bad) {
    std::ofstream(file(fragment), std::ios::trunc) << text;
    const std::string error = refusal();
    EXPECT_EQ(error.find(file(fragment) + ": "), 0u) << text << ": " << error;
    EXPECT_EQ(error.find(secret), std::string::npos) << "no error shows a private key";
  }
  fs::remove(file(fragment));
  fs::create_symlink("/dev/zero", file(fragment));
  EXPECT_EQ(refusal().find(file(fragment) + ": cannot open the key"), 0u) << refusal();
  fs::remove(file(fragment));
  ASSERT_EQ(::mkfifo(file(fragment).c_str(), 0600), 0);
  EXPECT_EQ(refusal().find(file(fragment) + ": is no file"), 0u) << refusal();
}

TEST_F(KeyRingTest, SaysWhyTheFolderCannotBeMade) {
  std::ofstream(root_.file("x402")) << "a file";
  EXPECT_EQ(refusal().find(folder() + ": cannot make the folder: "), 0u) << refusal();
  EXPECT_NE(refusal().find("; let the user"), std::string::npos) << refusal();
}

TEST_F(KeyRingTest, LeavesFilesOfOthersAlone) {
  open();
  std::ofstream(folder() + "/README") << "mine";
  EXPECT_EQ(refusal(), "opened");
  EXPECT_EQ(read_file(folder() + "/README"), "mine");
}

TEST_F(KeyRingTest, RotationRetiresTheOldKeyAndDeletesItsPrivateHalf) {
  const auto ring = open();
  const auto old = ring->active();
  clock_.step_ms(5'000);
  ASSERT_TRUE(ring->rotate(Algorithm::eddsa).ok());
  EXPECT_EQ(ring->active()->key.public_key().algorithm, Algorithm::eddsa);
  const auto published = ring->published();
  ASSERT_EQ(published.size(), 2u);
  EXPECT_EQ(published[0].fragment, ring->active()->fragment);
  EXPECT_EQ(published[0].retired_ms, std::nullopt);
  EXPECT_EQ(published[1].fragment, old->fragment);
  EXPECT_EQ(published[1].key, old->key.public_key());
  EXPECT_EQ(published[1].retired_ms, clock_.now_ms());
  const std::string text = read_file(file(old->fragment));
  EXPECT_EQ(text.find("private"), std::string::npos);
  EXPECT_EQ(text.find(hex_encode(bytes_of(old->key.secret())).substr(2)), std::string::npos);
  EXPECT_EQ(open()->published(), published);
}

TEST_F(KeyRingTest, RotationsWithinAMillisecondKeepTheirOrder) {
  const auto ring = open();
  for (int turn = 0; turn < 5; ++turn) ASSERT_TRUE(ring->rotate(Algorithm::es256k).ok());
  const auto published = ring->published();
  ASSERT_EQ(published.size(), 6u);
  for (std::size_t at = 1; at < published.size(); ++at) {
    EXPECT_EQ(published[at].retired_ms, published[at - 1].created_ms);
    EXPECT_LT(published[at].created_ms, published[at - 1].created_ms);
  }
  EXPECT_EQ(open()->published(), published);
}

// A clock that was set back must not make an old key the signing key again.
TEST_F(KeyRingTest, TheNewestKeySignsWhateverTheClockSays) {
  const auto ring = open();
  clock_.step_ms(-86'400'000);
  ASSERT_TRUE(ring->rotate(Algorithm::eddsa).ok());
  EXPECT_EQ(open()->active()->key.public_key().algorithm, Algorithm::eddsa);
}

TEST_F(KeyRingTest, ACrashWithinARotationIsMended) {
  const auto ring = open();
  const auto old = ring->active();
  const std::string before = read_file(file(old->fragment));
  clock_.step_ms(1);
  ASSERT_TRUE(ring->rotate(Algorithm::es256k).ok());
  // As if one process had died before it retired the old key, and one while it wrote another key.
  std::ofstream(file(old->fragment), std::ios::trunc) << before;
  const std::string aside = folder() + "/.offer-2026-11-21-00000000.key.tmp";
  std::ofstream(aside) << "alg: ES256K\ncreated: 1\npriv";
  const auto again = open();
  EXPECT_EQ(again->active()->fragment, ring->active()->fragment);
  EXPECT_EQ(again->published(), ring->published());
  EXPECT_EQ(read_file(file(old->fragment)).find("private"), std::string::npos);
  EXPECT_FALSE(fs::exists(aside)) << "it may hold a private key";
}

TEST_F(KeyRingTest, ANewKeyIsMadeWhenTheOneThatSignedIsLost) {
  const auto ring = open();
  clock_.step_ms(1);
  ASSERT_TRUE(ring->rotate(Algorithm::es256k).ok());
  fs::remove(file(ring->active()->fragment));
  EXPECT_FALSE(ring->refresh().ok());
  EXPECT_NE(ring->active(), nullptr);
  const auto again = open();
  ASSERT_EQ(again->published().size(), 2u);
  EXPECT_NE(again->active()->fragment, ring->active()->fragment);
}

TEST_F(KeyRingTest, RefreshTakesInWhatAnotherProcessRotated) {
  const auto gateway = open();
  const auto tool = open();
  clock_.step_ms(1);
  ASSERT_TRUE(tool->rotate(Algorithm::eddsa).ok());
  EXPECT_NE(gateway->active()->fragment, tool->active()->fragment);
  ASSERT_TRUE(gateway->refresh().ok());
  EXPECT_EQ(gateway->active()->fragment, tool->active()->fragment);
  EXPECT_EQ(gateway->published(), tool->published());
  std::ofstream(file("offer-2026-11-21-00000000")) << "no key";
  EXPECT_FALSE(gateway->refresh().ok());
  EXPECT_EQ(gateway->published(), tool->published()) << "an error changes nothing";
}

// Eight processes open and rotate at once. No key may be lost, and exactly one signs in the end.
TEST_F(KeyRingTest, ProcessesTakeTurns) {
  constexpr int processes = 8, rotations = 4;
  std::vector<pid_t> children;
  for (int at = 0; at < processes; ++at) {
    const pid_t child = ::fork();
    if (child == 0) {
      SeededRandom random(100 + static_cast<std::uint64_t>(at));
      auto ring = KeyRing::open(folder(), random, clock_);
      bool is_good = ring.ok();
      for (int turn = 0; is_good && turn < rotations; ++turn) {
        is_good = (*ring)->rotate(Algorithm::es256k).ok();
      }
      ::_exit(is_good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto ring = open();
  const auto published = ring->published();
  ASSERT_EQ(published.size(), 1u + processes * rotations);
  EXPECT_EQ(published[0].fragment, ring->active()->fragment);
  for (std::size_t at = 1; at < published.size(); ++at) EXPECT_TRUE(published[at].retired_ms);
  EXPECT_EQ(files().size(), published.size());
}

TEST_F(KeyRingTest, CallersSignWhileAnotherThreadRotates) {
  const auto ring = open();
  std::thread rotation([&] {
    for (int turn = 0; turn < 10; ++turn) EXPECT_TRUE(ring->rotate(Algorithm::es256k).ok());
  });
  for (int turn = 0; turn < 200; ++turn) {
    const auto active = ring->active();
    EXPECT_TRUE(active->key.public_key().verifies("text", active->key.sign("text")));
  }
  rotation.join();
  EXPECT_EQ(ring->published().size(), 11u);
}

}  // namespace
}  // namespace turnpike::x402
