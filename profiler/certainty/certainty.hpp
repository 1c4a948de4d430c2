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

/// The errors for one machine. `results` is the text of results/published/results.json, `link` the link of a run:
/// "modelled: NAME", perhaps with details. Empty if no published steps of that machine are known, as for a user's own
/// file. Fails when the model or scale of a run is unlike that of the tables: its error may then be larger.
std::vector<PublishedError> published_errors(std::string_view results, std::string_view link);

/// The file's text, as it was when the program was built.
std::string_view published_results();

/// "17.2 to 34.8 % faster in 9 rows: TITLE", and with which --speed.
std::string line_of(const PublishedError& error);

/// One sentence over all tables, for under a table of modelled steps; empty where there are none.
std::string sentence_of(const std::vector<PublishedError>& errors);

}  // namespace underlap::certainty
