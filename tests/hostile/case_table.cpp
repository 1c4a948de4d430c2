// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/case_table.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace underlap::hostile {
namespace {

constexpr std::string_view kCase = "<>";  // stands for the text of a case

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ';');) parts.push_back(replaced(trimmed(part), "\\n", "\n"));
  return parts;
}

void add_line(std::string& text, const std::string& line) { text += line + "\n"; }

void read_field(Section& section, const std::string& field, const std::string& value) {
  if (field == "config") return add_line(section.config, value);
  if (field == "once") return add_line(section.once, value);
  if (field == "run") return add_line(section.run, value);
  if (field == "says") {
    for (std::string& words : split(value)) section.says.push_back(std::move(words));
  } else if (field == "exit") {
    section.exit_codes.clear();
    std::istringstream codes(value);
    for (int code = 0; codes >> code;) section.exit_codes.insert(code);
  } else {
    throw std::invalid_argument(fmt::format("a section has no {}", field));
  }
}

Case read_case(const std::shared_ptr<const Section>& section, const std::string& line, std::string where) {
  Case read{.section = section, .text = line, .says = section->says, .where = std::move(where)};
  if (const std::size_t arrow = line.find(" => "); arrow != std::string::npos) {
    read.text = line.substr(0, arrow);
    for (std::string& words : split(line.substr(arrow + 4))) read.says.push_back(std::move(words));
  }
  read.text = trimmed(read.text) == "<empty>" ? "" : trimmed(read.text);
  return read;
}

}  // namespace

std::string Case::config() const { return replaced(section->config, kCase, replaced(text, "\\n", "\n")); }

std::string Case::command() const { return replaced(section->run, kCase, text); }

std::vector<Case> read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(fmt::format("cannot read {}", path.string()));
  std::vector<Case> cases;
  auto section = std::make_shared<Section>();
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != '@') {
      cases.push_back(read_case(section, line, fmt::format("{}:{}", path.filename().string(), number)));
      continue;
    }
    std::istringstream words(line.substr(1));
    std::string field, value;
    words >> field;
    std::getline(words >> std::ws, value);
    if (field == "name")
      (section = std::make_shared<Section>())->name = value;
    else
      read_field(*section, field, value);
  }
  return cases;
}

}  // namespace underlap::hostile
