// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace underlap::bench {

/// How far virtual time was from one published table, as results/published/results.json has it.
struct PublishedError {
  std::string table;
  std::string hardware;
  std::size_t rows = 0;        ///< that nothing was fitted to
  double least = 0, most = 0;  ///< how much faster than published the modelled steps are, relative
  bool is_fitted = false;      ///< one speed was fitted to one other row
};

/// Those of `hardware`, by its name; of a file of one's own none. `results` is the text of
/// results/published/results.json.
std::vector<PublishedError> published_errors(std::string_view results, std::string_view hardware);

/// The file's text, as it was when the program was built.
std::string_view published_results();

}  // namespace underlap::bench
