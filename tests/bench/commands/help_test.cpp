// SPDX-License-Identifier: Apache-2.0
// What people read before they run anything: help, the manual, completion, lists.
#include <stdio.h>

#include <sstream>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const Words kCommands{"init",    "plan",    "check", "run",  "show",    "analyze",   "scaling",
                      "compare", "convert", "list",  "help", "version", "completion"};

Words lines_of(const std::string& text) {
  std::istringstream stream(text);
  Words lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Standard output and standard error of a shell's command.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 4096> buffer{};
  while (const std::size_t bytes = ::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), bytes);
  ::pclose(pipe);
  return text;
}

bool has_program(const std::string& name) { return output_of("command -v " + name) != ""; }

TEST(Help, OfEveryCommandHasAnExampleAndAllExitCodes) {
  for (const std::string& command : kCommands) {
    const Outcome outcome = expect_success({command, "--help"});
    EXPECT_THAT(outcome.out, HasSubstr("Example: ")) << command;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("\nExit status:\n  0  success"), HasSubstr("  4  inconclusive")))
        << command;
    EXPECT_EQ(underlap_program({"help", command}).out, outcome.out);
  }
}

// Of commands that read what the repository holds, and take no minutes.
TEST(Help, ExamplesOnFilesOfTheRepositoryWork) {
  const TemporaryFolder folder;  // where they may write
  for (const std::string name : {"bench", "results"})
    fs::create_directory_symlink(fs::path(UNDERLAP_SOURCE_DIR) / name, folder / name);
  fs::create_symlink(UNDERLAP_PROGRAM, folder / "underlap");
  int tried = 0;
  for (const std::string command : {"compare", "plan", "show"})
    for (const std::string& line : lines_of(underlap_program({command, "--help"}).out)) {
      const std::size_t begin = line.find("underlap " + command + " ");
      const bool is_of_repository = std::ranges::any_of(std::array{" results/", " bench/", " quick", " modes"},
                                                        [&](const char* name) { return line.find(name) != line.npos; });
      if (begin == line.npos || !is_of_repository) continue;
      ++tried;
      const std::string in_folder = "cd '" + (folder / "").string() + "' && PATH=.:$PATH && set -e && ";
      EXPECT_THAT(output_of("(" + in_folder + line.substr(begin) + ") > /dev/null 2>&1 && echo well"), "well\n")
          << line;
    }
  EXPECT_GE(tried, 6);
}

TEST(Help, FitsATerminalOfEightyColumns) {
  ::setenv("COLUMNS", "80", 1);
  for (const std::string& command : kCommands)
    for (const std::string& line : lines_of(underlap_program({command, "--help"}).out))
      EXPECT_LE(line.size(), 80U) << command << ": " << line;
  ::unsetenv("COLUMNS");
}

TEST(Help, OfATopicIsNoCommand) {
  EXPECT_THAT(underlap_program({"help", "mode-map"}).out, HasSubstr("rules:\n      - {group: "));
  EXPECT_THAT(underlap_program({"help", "mode-mop"}).err, HasSubstr("mode-mop"));
}

TEST(Completion, OfBashOffersMatricesAndFiles) {
  const auto offers = [](const std::string& words, int last) {
    return output_of("bash -c 'source <(" UNDERLAP_PROGRAM " completion bash); COMP_WORDS=(underlap " + words +
                     "); COMP_CWORD=" + std::to_string(last) + "; _underlap; echo ${COMPREPLY[@]}'");
  };
  EXPECT_EQ(offers("run qui", 2), "quick\n");
  EXPECT_EQ(offers("help mode", 2), "mode-map\n");
  EXPECT_EQ(offers("run --backend s", 3), "sim\n");
  EXPECT_THAT(offers("plan /", 2), HasSubstr("/tmp"));
}

TEST(Completion, OfZshOffersCommandsOptionsAndValues) {
  if (!has_program("zsh")) GTEST_SKIP() << "zsh is not installed";
  // The builtins that only work while a line is edited print what they are given.
  const auto offers = [](const std::string& words, const std::string& prefix) {
    return output_of(
        "zsh -fc 'function compdef() { }; function compset() { }; function _files() { print FILES; };"
        "function compadd() { print -r -- ${@:2}; };"
        "function _describe() { local -a shown=(\"${(@P)2}\"); print -r -- ${(M)shown%%:*} ${shown%%:*}; };"
        "source <(" UNDERLAP_PROGRAM " completion zsh); words=(underlap " +
        words + "); CURRENT=${#words}; PREFIX=\"" + prefix + "\"; _underlap'");
  };
  EXPECT_THAT(offers("r", "r"), HasSubstr("init plan check run show"));
  EXPECT_THAT(offers("run --b", "--b"), HasSubstr("--backend --steps --blocks"));
  EXPECT_EQ(offers("run --backend \"\"", ""), "host cuda sim\n");
  EXPECT_EQ(offers("run --backend=s", "--backend=s"), "host cuda sim\n");
  EXPECT_THAT(offers("run \"\"", ""), AllOf(StartsWith("FILES\n"), HasSubstr(" quick ")));
}

TEST(Completion, OfFishOffersCommandsOptionsAndValues) {
  if (!has_program("fish")) GTEST_SKIP() << "fish is not installed";
  const auto offers = [](const std::string& line) {
    return output_of("fish -Nc '" UNDERLAP_PROGRAM " completion fish | source; complete -C \"" + line + "\"'");
  };
  EXPECT_THAT(offers("underlap ru"), HasSubstr("run\tRun a matrix"));
  EXPECT_THAT(offers("underlap run --blo"), HasSubstr("--blocks\t"));
  EXPECT_THAT(offers("underlap run --backend "), AllOf(HasSubstr("host\t"), HasSubstr("cuda\t"), HasSubstr("sim\t")));
  EXPECT_THAT(offers("underlap list knobs comm_overlap.overlap_p2p"), HasSubstr("comm_overlap.overlap_p2p_comm"));
}

TEST(Manual, HasAllCommandsAndIsRenderedWithoutAWarning) {
  const std::string page = underlap_program({"help", "--man"}).out;
  for (const std::string& command : kCommands) EXPECT_THAT(page, HasSubstr(".SS \"underlap " + command));
  for (const std::string section : {"DESCRIPTION", "MODE-MAP", "EXAMPLES", "FILES", "EXIT STATUS"})
    EXPECT_THAT(page, HasSubstr(section)) << section;
  if (!has_program("groff")) GTEST_SKIP() << "groff is not installed";
  EXPECT_EQ(output_of(UNDERLAP_PROGRAM " help --man | groff -z -man -ww -Tutf8"), "");
}

TEST(ShippedMatrices, AreMissedWhereTheProgramStandsAlone) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "bin");
  fs::copy_file(UNDERLAP_PROGRAM, folder / "bin/underlap");
  EXPECT_THAT(
      output_of((folder / "bin/underlap").string() + " list matrices"),
      HasSubstr("no matrices are installed with this program, in " + (folder / "share/underlap/matrices").string()));
}

TEST(Install, PutsFilesWhereTheyAreLookedForAndFindsThemWhereItIsMovedTo) {
  const TemporaryFolder folder;
  const std::string said = output_of("cmake --install " UNDERLAP_BINARY_DIR " --prefix " + (folder / "first").string());
  fs::rename(folder / "first", folder / "moved to");
  const fs::path prefix = folder / "moved to";
  for (const char* file : {"bin/underlap", "share/man/man1/underlap.1", "share/bash-completion/completions/underlap",
                           "share/zsh/site-functions/_underlap", "share/fish/vendor_completions.d/underlap.fish",
                           "share/underlap/matrices/gpu/layer.yaml", "share/underlap/hardware/h100-sxm.yaml",
                           "share/doc/underlap/README.md", "share/doc/underlap/docs/ARCHITECTURE.md"})
    EXPECT_GT(fs::file_size(prefix / file), 0U) << file << said;
  const auto output = [&](const char* words) {
    return output_of("'" + (prefix / "bin/underlap").string() + "' " + words);
  };
  EXPECT_THAT(output("list matrices"), HasSubstr("files: " + (prefix / "share/underlap/matrices").string() + "\n"));
  EXPECT_THAT(output("plan quick"), HasSubstr((prefix / "share/underlap/matrices/quick.yaml").string()));
}

}  // namespace
}  // namespace underlap::bench
