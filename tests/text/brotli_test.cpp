#include "text/brotli.h"

#include <brotli/decode.h>
#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

std::string decoded(const std::string& brotli, std::size_t bytes) {
  std::string text(bytes, '\0');
  const BrotliDecoderResult result = BrotliDecoderDecompress(
      brotli.size(), reinterpret_cast<const std::uint8_t*>(brotli.data()), &bytes,
      reinterpret_cast<std::uint8_t*>(text.data()));
  EXPECT_EQ(result, BROTLI_DECODER_RESULT_SUCCESS);
  text.resize(bytes);
  return text;
}

TEST(BrotliTest, DecodersReadWhatWasCompressed) {
  std::string text;
  for (int line = 0; line < 1'000; ++line) text += "{\"line\":" + std::to_string(line) + "}\n";
  const std::string brotli = brotli_of(text);
  EXPECT_LT(brotli.size(), text.size() / 4);
  EXPECT_EQ(decoded(brotli, text.size()), text);
}

TEST(BrotliTest, TextThatDoesNotShrinkIsLeftAsItIs) {
  EXPECT_EQ(brotli_of(""), "");
  EXPECT_EQ(brotli_of("\x8f\x01\xfe"), "");
}

}  // namespace
}  // namespace turnpike::text
