// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace underlap {

/// The candidates that a person who wrote `word` may have meant, spelled as in `candidates`; at most four. Ignores
/// case, and treats "-" and "_" as equal. The first of these rules that finds a name decides:
/// - one wrong letter, which is a typo
/// - names with all parts of the word in its order, and of these those with the fewest other parts ("h100": h100-sxm,
///   "llama3": llama3-70b and llama3-8b)
/// - names that start with the word
/// - the nearest names by edit distance
/// Empty where nothing is near.
std::vector<std::string_view> suggestions(std::string_view word, const std::vector<std::string_view>& candidates);
std::vector<std::string_view> suggestions(std::string_view word, const std::vector<std::string>& candidates);

/// A question to append to an error message: "; did you mean h100-sxm?", or "" where nothing is near. `before` is put
/// before each name.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates,
                         std::string_view before = "");
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view before = "");

}  // namespace underlap
