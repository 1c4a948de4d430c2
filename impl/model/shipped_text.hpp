// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace underlap {

/// The text that Underlap ships as training data, data/overlap.txt: ASCII, bytes as in the file, without a terminator.
/// What `train.data` falls back to where a configuration names no file.
std::string_view shipped_text();

}  // namespace underlap
