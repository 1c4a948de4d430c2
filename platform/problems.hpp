// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace underlap::yaml {

/// Where something was written: line and column (from 1) of the file, or the command-line override of that index.
/// Sorts as a reader meets it: the file from its top, then the command line.
struct Place {
  int override_index = -1;
  int line = 1;
  int column = 1;

  auto operator<=>(const Place&) const = default;
};

/// An error or a notice with the place it comes from: "config.yaml:3:5", or the name of a command-line flag.
struct Message {
  std::string where;
  std::string message;

  std::string text() const { return where + ": " + message; }
};

/// The texts of all messages, a line each.
std::string joined_lines(const std::vector<Message>& messages);

/// How to fix the problem that `message` describes: the text after its first "; ". Every message that knows a fix puts
/// it there. Otherwise the requirement on the value, from "must be " on; empty where there is none.
std::string_view hint_of(std::string_view message);

/// Collects every error of one reading, each once. Of those that are more than anybody reads it keeps the count.
class Problems {
 public:
  static constexpr std::size_t kMost = 100;

  /// `flags` names the override of each index.
  Problems(std::string file, std::vector<std::string> flags) : file_(std::move(file)), flags_(std::move(flags)) {}

  void add(Place place, std::string message);
  void merge(const Problems& other);

  /// Whether further errors are only counted, so that callers need not prepare costly messages.
  bool is_full() const { return found_.size() >= kMost; }

  bool empty() const { return found_.empty(); }

  /// "config.yaml:3:5", or the flag's name.
  std::string text(Place place) const;

  /// A collector without errors for the same file and flags.
  Problems fresh() const { return {file_, flags_}; }

  /// All errors, sorted by place; at last how many more there are.
  std::vector<Message> messages() const;

  /// Throws std::invalid_argument with all messages, a line each, where there is any.
  void throw_any() const;

 private:
  std::string file_;
  std::vector<std::string> flags_;
  std::set<std::pair<Place, std::string>> found_;
  std::size_t num_more_ = 0;
};

/// `text` in double quotes for an error message: as visible_text() with quotes and backslashes escaped, cut after 60
/// bytes.
std::string in_quotes(std::string_view text);

/// The parts of `words` between blanks.
std::vector<std::string_view> split_words(std::string_view words);

}  // namespace underlap::yaml
