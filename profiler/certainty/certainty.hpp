// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::certainty {

/// How far virtual time was from one published table, as results/published/results.json has it.
struct PublishedError {
  std::string table;           ///< its title
  std::size_t rows = 0;        ///< that nothing was fitted to
  double least = 0, most = 0;  ///< how much faster than published the modelled steps are, relative
  bool is_fitted = false;      ///< one figure was fitted to another row, or to a published layer
  double speed = 1;            ///< run.speed of the table's steps
};

/// Those of one machine. `results` is the text of results/published/results.json, `link` what a run says of its link:
/// "modelled: NAME", and perhaps more. None where nobody published steps of that machine, as of a file of one's own.
std::vector<PublishedError> published_errors(std::string_view results, std::string_view link);

/// The file's text, as it was when the program was built.
std::string_view published_results();

/// "17.2 to 34.8 % faster in 9 rows: TITLE", and with which --speed.
std::string line_of(const PublishedError& error);

/// One sentence over all tables, for under a table of modelled steps; empty where there are none.
std::string sentence_of(const std::vector<PublishedError>& errors);

}  // namespace underlap::certainty
