#include "identity/password_strength.h"

#include <gtest/gtest.h>

#include <cctype>
#include <limits>
#include <vector>

#include "identity/password_store.h"
#include "identity/recovery_codes.h"

namespace turnpike::identity {
namespace {

constexpr double taken_bits = 33;

TEST(PasswordStrength, KnowsWhatIsCommonRepeatedOrInOrder) {
  for (const char* const weak :
       {"passwordpassword1", "qwertyuiopasdfgh", "123456789012345", "aaaaaaaaaaaaaaaaaaaa",
        "abcdefghijklmnop", "Liverpool1234567", "P4ssw0rdP4ssw0rd"}) {
    EXPECT_LT(password_bits(weak, {}), taken_bits) << weak;
  }
  for (const char* const strong :
       {"rivers carry seven lamps", "mydogbitesmycat", "grün ist die Hoffnung"}) {
    EXPECT_GT(password_bits(strong, {}), taken_bits) << strong;
  }
}

TEST(PasswordStrength, KnowsWhatIsAboutThePerson) {
  const std::vector<std::string> words{"xylofanta", "", "morgenrot.example"};
  EXPECT_GT(password_bits("xylofantamorgenrot.example", {}), taken_bits);
  EXPECT_LT(password_bits("xylofantamorgenrot.example", words), taken_bits);
}

TEST(PasswordStrength, CountsWhatStandsBeforeANul) {
  const std::string password("rivers\0carry seven lamps", 24);
  EXPECT_EQ(password_bits(password, {}), password_bits("rivers", {}));
  EXPECT_GT(password_bits(std::string(password_bytes_max, 'x'), {}), 0);
}

TEST(PasswordDelay, DoublesAfterFiveFailuresUpToAQuarterOfAnHour) {  // S15
  EXPECT_EQ(password_delay_ms(0), 0);
  EXPECT_EQ(password_delay_ms(4), 0);
  EXPECT_EQ(password_delay_ms(5), 1'000);
  EXPECT_EQ(password_delay_ms(6), 2'000);
  EXPECT_EQ(password_delay_ms(14), 512'000);
  EXPECT_EQ(password_delay_ms(15), 900'000);
  EXPECT_EQ(password_delay_ms(std::numeric_limits<std::int64_t>::max()), 900'000);
}

TEST(RecoveryCode, IsReadAsItIsTyped) {
  std::array<std::uint8_t, 16> bits{};
  EXPECT_EQ(recovery_code_text(bits), "0000-0000-0000-0000-0000-0000-00");
  bits.fill(0xFF);
  EXPECT_EQ(recovery_code_text(bits), "7zzz-zzzz-zzzz-zzzz-zzzz-zzzz-zz");
  for (std::size_t at = 0; at < bits.size(); ++at) bits[at] = static_cast<std::uint8_t>(at * 17);
  const std::string text = recovery_code_text(bits);
  EXPECT_EQ(text, "0024-h36h-2ncs-vrh6-daqf-6dvv-qz");
  const std::string digits = read_recovery_code(text);
  EXPECT_EQ(digits.size(), 26u);
  std::string typed;
  for (const char c : text) {
    typed += c == '-' ? ' ' : c == '0' ? 'O' : c == '1' ? 'l' : static_cast<char>(std::toupper(c));
  }
  EXPECT_EQ(read_recovery_code(typed), digits);
}

TEST(RecoveryCode, IsNothingWhereItIsNone) {
  for (const char* const none :
       {"", "0000-0000-0000-0000-0000-0000-0", "0000-0000-0000-0000-0000-0000-000",
        "u000-0000-0000-0000-0000-0000-00", "0000_0000-0000-0000-0000-0000-00"}) {
    EXPECT_EQ(read_recovery_code(none), "") << none;
  }
}

}  // namespace
}  // namespace turnpike::identity
