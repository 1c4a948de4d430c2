// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/technique.hpp"

#include <fmt/format.h>

namespace underlap::tp {

NameId Context::purpose(std::string_view what) const { return intern(fmt::format("{}_{}", slot, what)); }

View Context::allocate_whole() const {
  if (is_in_place()) return {};
  return matrix(communicators->device().allocate(slot, dtype, tokens * features), tokens, features);
}

Transfer Context::transfer(const View& part, const View& whole) const {
  if (is_in_place()) return {.collective = collective, .input = part, .output = part};
  return {.collective = collective, .input = gathers() ? part : whole, .output = gathers() ? whole : part};
}

View rows_of(const View& view, std::int64_t first, std::int64_t num) {
  View part = view;
  part.offset += first * view.leading_dimension;
  part.rows = num;
  return part;
}

Transfer send_to(std::int32_t peer, const View& view) {
  return {.collective = Collective::send, .input = view, .output = {}, .peer = peer};
}

Transfer receive_from(std::int32_t peer, const View& view) {
  return {.collective = Collective::receive, .input = {}, .output = view, .peer = peer};
}

}  // namespace underlap::tp
