// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace underlap::report {

/// A results document in two parts: the ranks' windows, which are nearly all of it, and the rest.
struct CutResults {
  std::string rest;                       ///< every /cells/C/samples/S/ranks is an empty array in it
  std::vector<std::string_view> windows;  ///< those arrays, in the order of the text, which outlives this
};

/// Cuts a document. Malformed text stays in one of the parts, and is reported when that part is parsed.
CutResults cut_windows(std::string_view text);

}  // namespace underlap::report
