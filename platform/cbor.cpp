// SPDX-License-Identifier: Apache-2.0
#include "platform/cbor.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace underlap {
namespace {

constexpr std::size_t kDeepestCbor = 100;
constexpr std::uint64_t kUntilBreak = ~std::uint64_t{0};
constexpr std::uint8_t kBreak = 0xFF;

/// Walks over items without calling itself. Source: RFC 8949, section 3.
class CborDepth {
 public:
  explicit CborDepth(std::string_view bytes) : bytes_(bytes) {}

  /// The place where the bytes go deeper; nullopt also for bytes that are no CBOR, which the library refuses.
  std::optional<std::size_t> too_deep() {
    do {
      if (!item()) return std::nullopt;
      if (open_.size() > kDeepestCbor) return at_;
    } while (!open_.empty());
    return std::nullopt;
  }

 private:
  /// One head, and the bytes of a string. False at the end, and for a head that does not exist.
  bool item() {
    if (at_ >= bytes_.size()) return false;
    const auto head = static_cast<std::uint8_t>(bytes_[at_++]);
    if (head == kBreak) {
      if (open_.empty()) return false;
      open_.pop_back();
      return close();
    }
    const std::uint8_t major = head >> 5, low = head & 0x1F;
    std::uint64_t count = low;
    const bool is_indefinite = low == 31;
    if (low >= 24 && low <= 27 && !number(std::size_t{1} << (low - 24), count)) return false;
    if (low >= 28 && low <= 30) return false;
    switch (major) {
      case 2:
      case 3:
        if (is_indefinite) return open(kUntilBreak);
        if (count > bytes_.size() - at_) return false;
        at_ += static_cast<std::size_t>(count);
        return close();
      case 4: return open(is_indefinite ? kUntilBreak : count);
      case 5: return open(is_indefinite ? kUntilBreak : count * 2);
      case 6: return false;  // a tag, which the library refuses
      default: return close();
    }
  }

  bool number(std::size_t size, std::uint64_t& value) {
    if (size > bytes_.size() - at_) return false;
    value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes_[at_++]);
    return true;
  }

  bool open(std::uint64_t items) {
    if (items == 0) return close();
    open_.push_back(items);
    return true;
  }

  /// An item is over, and with it each container that it was the last of.
  bool close() {
    while (!open_.empty() && open_.back() != kUntilBreak && --open_.back() == 0) open_.pop_back();
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<std::uint64_t> open_;  // items that each open container still lacks
};

}  // namespace

std::string to_cbor(const nlohmann::json& value) {
  std::string bytes;
  nlohmann::json::to_cbor(value, bytes);
  return bytes;
}

nlohmann::json parse_cbor(std::string_view bytes) {
  constexpr int kSyntax = 112;  // the library's number of such an error
  if (const auto at = CborDepth(bytes).too_deep())
    throw nlohmann::json::parse_error::create(kSyntax, *at, fmt::format("nested deeper than {} levels", kDeepestCbor),
                                              nullptr);
  return nlohmann::json::from_cbor(bytes.begin(), bytes.end());
}

}  // namespace underlap
