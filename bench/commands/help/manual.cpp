// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/help/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "platform/exit_code.hpp"
#include "platform/table.hpp"

namespace underlap::bench {
namespace {

// Escapes `text`: hyphens stay ASCII, and no line starts with a request.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

// Text that keeps its lines.
std::string verbatim(const std::string& text) { return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text)); }

// A paragraph with short lines, so that the source is readable.
std::string paragraph_roff(const std::string& text) { return roff(wrap(text, 72)); }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// The text after a dash does not start a sentence.
std::string lower_first(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}", roff(tag), text.empty() ? "\\&\n" : paragraph_roff(text));
}

std::string options_text(const std::vector<CommandOption>& options) {
  std::string text;
  for (const CommandOption& option : options) text += tagged(option_text(option), option.about);
  return text;
}

std::string command_text(const Command& command) {
  std::string text = fmt::format(".SS \"{}\"\n{}", roff(usage_text(command)), paragraph_roff(command.about));
  text += options_text(command.positionals) + options_text(command.options);
  if (!command.footer.empty()) text += verbatim(command.footer);
  for (const Command& child : command.commands) text += command_text(child);
  return text;
}

struct Tagged {
  const char* tag;
  const char* text;
};

constexpr std::array kExamples{
    Tagged{"underlap analyze 'traces/*.json.gz'",
           "Show exposed communication in the traces of a job, one file per rank."},
    Tagged{"underlap init config.yaml && underlap run config.yaml -o out",
           "Write a configuration, and measure it with overlap off and on."},
    Tagged{"underlap compare before/ after/", "Explain why two runs differ."},
    Tagged{"underlap gate baselines/main out", "Exit with 1 if the run regressed against the baseline."},
};

constexpr std::array kFiles{
    Tagged{"DIR/results.json, DIR/report.md", "Results of a run (underlap.results/1), and the same as tables."},
    Tagged{"DIR/traces/", "Its traces, for analyze, view and ui.perfetto.dev."},
    Tagged{"DIR/status.json, DIR/job.json, DIR/logs/", "Progress, batch job and output of the ranks of a run."},
    Tagged{"PREFIX/share/underlap/", "Ready-made matrices and hardware descriptions."},
};

constexpr std::array kEnvironment{
    Tagged{"NO_COLOR", "If set and not empty, output has no color."},
    Tagged{"TERM", "If it is \"dumb\", output has no color, and progress is printed line by line."},
    Tagged{"COLUMNS", "Width of tables if the output is not a terminal."},
};

std::string section(const char* title, const auto& entries) {
  std::string text = fmt::format(".SH \"{}\"\n", title);
  for (const auto& [tag, about] : entries) text += tagged(tag, about);
  return text;
}

}  // namespace

std::string manual_page(const Command& program, const std::string& version, const std::string& date) {
  std::string text =
      fmt::format(".TH {} 1 {} \"{} {}\" \"User Commands\"\n", upper(program.name()), date, program.name(), version);
  text += fmt::format(".SH NAME\n{} \\- {}", program.name(), paragraph_roff(lower_first(program.about)));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", roff(usage_text(program)));
  text += ".SH DESCRIPTION\n" + verbatim(first_page()) + ".SH OPTIONS\n" + options_text(program.options);
  text += ".SH COMMANDS\n";
  for (const Command& command : program.commands) text += command_text(command);
  for (const auto& [topic, page] : help_topics()) text += fmt::format(".SH \"{}\"\n", upper(topic)) + verbatim(page);
  text += section("EXAMPLES", kExamples) + section("FILES", kFiles) + section("ENVIRONMENT", kEnvironment);
  text += ".SH \"EXIT STATUS\"\n";
  for (const ExitStatus& status : kExitStatuses) text += tagged(std::to_string(status.code), status.meaning);
  return text;
}

}  // namespace underlap::bench
