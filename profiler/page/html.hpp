// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/text/titled_table.hpp"

namespace underlap::page {

/// A paragraph of plain text, with a class of page.css.
std::string paragraph(std::string_view text, std::string_view kind = "");

/// A clause as a sentence: with a capital letter and a full stop.
std::string sentence(std::string clause);

/// A heading of `level` 1 to 4.
std::string heading(int level, std::string_view text);

/// A list of sentences; empty without any.
std::string list(std::span<const std::string> sentences);

/// The lines of a text as they are.
std::string preformatted(std::string_view text);

/// How a page shows a table.
struct TableOptions {
  std::string name = "table";  ///< of the CSV file, without its ending
  std::size_t most_rows = std::numeric_limits<std::size_t>::max();
  std::string all_rows = {};  ///< where the others are: "--csv writes all"
};

/// A table with its columns' titles. page.js adds a button that copies it, and one that saves it as CSV.
std::string html_table(const Table& table, const TableOptions& options = {});

/// Heading, table and notes; without rows the notes alone.
std::string html_section(int level, const TitledTable& titled, const TableOptions& options = {});

/// A word that a page explains.
struct Term {
  std::string_view word;
  std::string_view meaning;
};

/// The words for parts of a step, as bench/METRICS.md defines them.
std::span<const Term> step_terms();

/// A list of words and their meanings, under a heading.
std::string glossary(std::span<const Term> terms);

/// Facts by name, under a heading, such as command and version.
struct Fact {
  std::string name;
  std::string value;
};
std::string facts_section(std::string_view title, const std::vector<Fact>& facts);

/// A whole page: head, style, patterns of bars, body, script. It needs no other file and no network. `body` is markup.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace underlap::page
