// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace underlap::formats {

/// Finds the brackets of JSON text that are outside strings, in any text: with control characters, wrong escapes,
/// gigabytes of data, or no end. Text comes in pieces of any length.
class JsonBrackets {
 public:
  /// Calls `opens(at)` and `closes(at)` for each bracket, `at` its place in `text`, until `closes` returns false.
  /// Returns how much of the text was read: up to and with that bracket, or all.
  template <class Opens, class Closes>
  std::size_t scan(std::string_view text, Opens opens, Closes closes);

 private:
  static constexpr std::size_t kBlock = 64;
  struct Masks {
    std::uint64_t quotes = 0, backslashes = 0, opens = 0, closes = 0;
  };

  static Masks masks_of(const char* block);
  std::uint64_t escaped(std::uint64_t backslashes, std::size_t length);
  std::uint64_t strings(std::uint64_t quotes);

  bool in_string_ = false;
  bool escape_ = false;  ///< the next character is escaped
};

inline JsonBrackets::Masks JsonBrackets::masks_of(const char* block) {
  Masks masks;
#if defined(__SSE2__)
  const auto bits = [](__m128i equal) {
    return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(equal)));
  };
  for (int i = 0; i < 4; ++i) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
    const __m128i lower = _mm_or_si128(text, _mm_set1_epi8(0x20));  // [ and { become one, as do ] and }
    masks.quotes |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8('"'))) << (16 * i);
    masks.backslashes |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8('\\'))) << (16 * i);
    masks.opens |= bits(_mm_cmpeq_epi8(lower, _mm_set1_epi8('{'))) << (16 * i);
    masks.closes |= bits(_mm_cmpeq_epi8(lower, _mm_set1_epi8('}'))) << (16 * i);
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (block[i] == '"') masks.quotes |= bit;
    if (block[i] == '\\') masks.backslashes |= bit;
    if ((block[i] | 0x20) == '{') masks.opens |= bit;
    if ((block[i] | 0x20) == '}') masks.closes |= bit;
  }
#endif
  return masks;
}

// Which characters follow a backslash that is itself not escaped.
inline std::uint64_t JsonBrackets::escaped(std::uint64_t backslashes, std::size_t length) {
  if (backslashes == 0 && !escape_) return 0;
  std::uint64_t result = escape_ ? 1 : 0;
  escape_ = false;
  for (std::uint64_t left = backslashes & ~result; left != 0;) {
    const int at = std::countr_zero(left);
    if (at == 63) {
      escape_ = true;
      break;
    }
    result |= std::uint64_t{2} << at;
    left &= ~(std::uint64_t{3} << at);
  }
  if (length < kBlock) escape_ = (result >> length & 1) != 0;
  return result;
}

// A character is in a string if it follows an odd number of quotes.
inline std::uint64_t JsonBrackets::strings(std::uint64_t quotes) {
  std::uint64_t odd = quotes;
  for (int shift = 1; shift < 64; shift *= 2) odd ^= odd << shift;
  if (in_string_) odd = ~odd;
  in_string_ = odd >> 63 != 0;
  return odd;
}

template <class Opens, class Closes>
std::size_t JsonBrackets::scan(std::string_view text, Opens opens, Closes closes) {
  std::array<char, kBlock> last{};
  for (std::size_t begin = 0; begin < text.size(); begin += kBlock) {
    const std::size_t length = text.size() - begin < kBlock ? text.size() - begin : kBlock;
    const char* block = text.data() + begin;
    if (length < kBlock) {
      std::memset(last.data(), ' ', kBlock);
      std::memcpy(last.data(), block, length);
      block = last.data();
    }
    const Masks masks = masks_of(block);
    const std::uint64_t in_strings = strings(masks.quotes & ~escaped(masks.backslashes, length));
    for (std::uint64_t left = (masks.opens | masks.closes) & ~in_strings; left != 0; left &= left - 1) {
      const int at = std::countr_zero(left);
      if ((masks.opens >> at & 1) != 0) {
        opens(begin + at);
        continue;
      }
      if (closes(begin + at)) continue;
      in_string_ = false;  // after a bracket outside strings, no string is open
      escape_ = false;
      return begin + at + 1;
    }
  }
  return text.size();
}

}  // namespace underlap::formats
