// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/help/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "bench/commands/help/help_text.hpp"
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
  if (!command.footer.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  for (const Command& child : command.commands) text += command_text(child);
  return text;
}

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
Where it is set and not empty, nothing is in colour.
.TP
\fBTERM\fR
Where it is "dumb", nothing is in colour, and progress is printed line by line.
.TP
\fBCOLUMNS\fR
How wide tables are where the output is no terminal.
)";

}  // namespace

std::string manual_page(const Command& program, const std::string& version, const std::string& date) {
  std::string text =
      fmt::format(".TH {} 1 {} \"{} {}\" \"User Commands\"\n", upper(program.name()), date, program.name(), version);
  text += fmt::format(".SH NAME\n{} \\- {}", program.name(), paragraph_roff(lower_first(program.about)));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", roff(usage_text(program)));
  text += ".SH OPTIONS\n" + options_text(program.options) + ".SH COMMANDS\n";
  for (const Command& command : program.commands) text += command_text(command);
  return text + fmt::format(".SH \"EXIT STATUS\"\n{}", paragraph_roff(kExitCodesText)) + kEnvironment;
}

}  // namespace underlap::bench
