// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/technique.hpp"

#include <fmt/format.h>

namespace underlap::tp {

NameId Context::purpose(std::string_view what) const { return intern(fmt::format("{}_{}", slot, what)); }

View Context::allocate_whole() const {
  if (is_in_place()) return {};
  return allocate_matrix(communicators->device(), slot, dtype, tokens, features);
}

Transfer Context::transfer(const View& part, const View& whole) const {
  if (is_in_place()) return {.collective = collective, .input = part, .output = part};
  return {.collective = collective, .input = gathers() ? part : whole, .output = gathers() ? whole : part};
}

}  // namespace underlap::tp
