#include "text/brotli.h"

#include <brotli/encode.h>

namespace turnpike::text {

std::string brotli_of(std::string_view text, Effort effort) {
  constexpr int fast_quality = 5;
  const int quality = effort == Effort::fast ? fast_quality : BROTLI_MAX_QUALITY;
  std::string out(BrotliEncoderMaxCompressedSize(text.size()), '\0');
  std::size_t bytes = out.size();
  const bool done = BrotliEncoderCompress(
                        quality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, text.size(),
                        reinterpret_cast<const std::uint8_t*>(text.data()), &bytes,
                        reinterpret_cast<std::uint8_t*>(out.data())) == BROTLI_TRUE;
  if (!done || bytes >= text.size()) return {};
  out.resize(bytes);
  return out;
}

}  // namespace turnpike::text
