// SPDX-License-Identifier: Apache-2.0
// All three scripts go the same way: they find the command that the words so far name, its path, and then offer what
// may follow: the values of the option just before, the command's options, or its commands, words and files.
#include "bench/commands/help/help_text.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace underlap::bench {
namespace {

// `text` in single quotes, which hold anything but themselves.
std::string shell_word(std::string_view text, std::string_view single_quote) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += single_quote : out += c;
  return out + "'";
}

std::string shell_word(std::string_view text) { return shell_word(text, R"('\'')"); }

void visit(const Command& command, const auto& see) {
  see(command);
  for (const Command& child : command.commands) visit(child, see);
}

// Every command below the program, as a pattern of `case`.
std::vector<std::string> path_words(const Command& program) {
  std::vector<std::string> paths;
  visit(program, [&](const Command& command) {
    if (&command != &program) paths.push_back(shell_word(command.path));
  });
  return paths;
}

// What may follow a command that is no option.
struct Followers {
  std::vector<std::pair<std::string, std::string>> words;  // with what they mean
  bool takes_file = false;
};

Followers followers_of(const Command& command) {
  Followers followers;
  for (const Command& child : command.commands) followers.words.emplace_back(child.name(), child.about);
  for (const CommandOption& positional : command.positionals) {
    for (const std::string& word : positional.words) followers.words.emplace_back(word, "");
    followers.takes_file |= positional.takes_file;
  }
  return followers;
}

std::string words_text(const auto& words) {
  std::string text;
  for (const auto& [word, about] : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// "'underlap run -o'|'underlap run --output'": the option as the word before.
std::string option_pattern(const Command& command, const CommandOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(shell_word(command.path + " " + name));
  return fmt::format("{}", fmt::join(patterns, "|"));
}

// Cases that put the values of the option before into place: `words_call` and `files_call` with {} for the words.
std::string value_cases(const Command& program, const std::string& words_call, const std::string& files_call) {
  std::string text;
  visit(program, [&](const Command& command) {
    for (const CommandOption& option : command.options) {
      if (option.value.empty()) continue;
      std::string offer = option.takes_file ? files_call : "";
      if (!option.words.empty()) offer = fmt::format(fmt::runtime(words_call), fmt::join(option.words, " "));
      text += fmt::format("    {}) {}{}return ;;\n", option_pattern(command, option), offer, offer.empty() ? "" : "; ");
    }
  });
  return text;
}

std::string bash_script(const Command& program) {
  std::string flags, words;
  visit(program, [&](const Command& command) {
    std::vector<std::string> names;
    for (const CommandOption& option : command.options)
      names.insert(names.end(), option.names.begin(), option.names.end());
    flags += fmt::format("    {}) words={} ;;\n", shell_word(command.path),
                         shell_word(fmt::format("{}", fmt::join(names, " "))));
    const Followers followers = followers_of(command);
    words += fmt::format("    {}) words={} files={} ;;\n", shell_word(command.path),
                         shell_word(words_text(followers.words)), followers.takes_file ? "-f" : "");
  });
  return fmt::format(
      R"(# Completion of {0} for bash: source <({0} completion bash)
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path={0} words= files= i
  COMPREPLY=()
  # bash makes --option=word three words.
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
    {1}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path $before" in
{2}  esac
  if [[ $word == -* ]]; then
    case $path in
{3}    esac
  else
    case $path in
{4}    esac
  fi
  COMPREPLY=($(compgen $files -W "$words" -- "$word"))
}}
complete -o filenames -F _{0} {0}
)",
      program.name(), fmt::join(path_words(program), "|"),
      value_cases(program, R"(COMPREPLY=($(compgen -W "{}" -- "$word")))", R"(COMPREPLY=($(compgen -f -- "$word")))"),
      flags, words);
}

// "'word:what it means'": a colon within the word is escaped.
std::string described(std::string word, const std::string& about) {
  for (std::size_t colon = word.find(':'); colon != std::string::npos; colon = word.find(':', colon + 2))
    word.insert(colon, "\\");
  return shell_word(about.empty() ? word : word + ":" + about);
}

std::string zsh_script(const Command& program) {
  std::string flags, words;
  visit(program, [&](const Command& command) {
    std::string options, list;
    for (const CommandOption& option : command.options)
      for (const std::string& name : option.names) options += " " + described(name, option.about);
    const Followers followers = followers_of(command);
    for (const auto& [word, about] : followers.words) list += " " + described(word, about);
    flags += fmt::format("    {}) list=({} ) ;;\n", shell_word(command.path), options);
    words += fmt::format("    {}) list=({} ){} ;;\n", shell_word(command.path), list,
                         followers.takes_file ? "; _files" : "");
  });
  return fmt::format(
      R"(#compdef {0}
# Completion of {0} for zsh: source <({0} completion zsh), or as a file _{0} in a folder of $fpath
_{0}() {{
  local before=$words[CURRENT-1] command={0} i
  local -a list
  if [[ $PREFIX == --*=* ]]; then before=${{PREFIX%%=*}}; compset -P '*='; fi
  for ((i = 2; i < CURRENT; ++i)); do
    case "$command $words[i]" in
    {1}) command="$command $words[i]" ;;
    esac
  done
  case "$command $before" in
{2}  esac
  if [[ $PREFIX == -* ]]; then
    case $command in
{3}    esac
    _describe option list
  else
    case $command in
{4}    esac
    (( $#list )) && _describe word list
  fi
}}
if [[ $funcstack[1] == _{0} ]]; then _{0} "$@"; else compdef _{0} {0}; fi
)",
      program.name(), fmt::join(path_words(program), "|"), value_cases(program, "compadd -- {}", "_files"), flags,
      words);
}

// One `complete` of fish: an option, or a word where an option's name is empty.
std::string fish_option(const std::string& at, const CommandOption& option) {
  std::string text = at;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) text += option.takes_file ? " -r -F" : " -x";
  if (!option.words.empty()) text += fmt::format(" -a {}", shell_word(fmt::format("{}", fmt::join(option.words, " "))));
  return text + " -d " + shell_word(option.about, R"(\')") + "\n";
}

std::string fish_script(const Command& program) {
  std::string text = fmt::format(
      R"(# Completion of {0} for fish: {0} completion fish | source
function __{0}_at
    set -l path {0}
    set -l words (commandline -opc)
    for word in $words[2..-1]
        switch "$path $word"
            case {1}
                set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end
complete -c {0} -f
)",
      program.name(), fmt::join(path_words(program), " "));
  visit(program, [&](const Command& command) {
    const std::string at = fmt::format("complete -c {0} -n \"__{0}_at '{1}'\"", program.name(), command.path);
    const Followers followers = followers_of(command);
    for (const auto& [word, about] : followers.words)
      text += fmt::format("{} -a {} -d {}\n", at, shell_word(word), shell_word(about, R"(\')"));
    if (followers.takes_file) text += at + " -F\n";
    for (const CommandOption& option : command.options) text += fish_option(at, option);
  });
  return text;
}

using Script = std::string (*)(const Command&);
constexpr std::array<std::pair<const char*, Script>, 3> kScripts{
    {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};

}  // namespace

std::string completion_script(const Command& program, const std::string& shell) {
  for (const auto& [name, script] : kScripts)
    if (shell == name) return script(program);
  throw std::invalid_argument(
      fmt::format("no completion for the shell \"{}\"; use one of {}", shell, fmt::join(completion_shells(), ", ")));
}

std::vector<std::string> completion_shells() {
  std::vector<std::string> shells;
  for (const auto& [name, script] : kScripts) shells.emplace_back(name);
  return shells;
}

}  // namespace underlap::bench
