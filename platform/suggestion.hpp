// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace underlap {

/// Those of `candidates` that a person who wrote `word` may have meant, as they stand there, at most four. Capitals
/// make no difference, nor do "-" and "_". One wrong letter is a slip of the pen; then come names that hold all parts
/// of the word in its order, those with the fewest more alone ("h100": h100-sxm, "llama3": llama3-70b and llama3-8b);
/// then names that begin with it; then the nearest by edit distance. Empty where nothing is near.
std::vector<std::string_view> suggestions(std::string_view word, const std::vector<std::string_view>& candidates);
std::vector<std::string_view> suggestions(std::string_view word, const std::vector<std::string>& candidates);

/// What to put behind an error message: "; did you mean h100-sxm?", or "" where nothing is near. `before` is what each
/// name is written behind.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates,
                         std::string_view before = "");
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view before = "");

}  // namespace underlap
