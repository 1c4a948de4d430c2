// SPDX-License-Identifier: Apache-2.0
// What people read before they run anything: help, the manual, completion, lists.
#include <stdio.h>

#include <array>
#include <sstream>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kCommands{"init",    "plan",    "check", "run",  "show",    "analyze",   "scaling",
                                         "compare", "convert", "list",  "help", "version", "completion"};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
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
    const Outcome outcome = underlap_program({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Example: ")) << command;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("Exit codes: 0 well, 1 "), HasSubstr("4 inconclusive"))) << command;
    EXPECT_EQ(underlap_program({"help", command}).out, outcome.out);
  }
}

// Of commands that read what the repository holds, and take no minutes.
TEST(Help, ExamplesOnFilesOfTheRepositoryWork) {
  const testing_support::TemporaryFolder folder;  // where they may write
  for (const std::string name : {"bench", "results"})
    std::filesystem::create_directory_symlink(std::filesystem::path(UNDERLAP_SOURCE_DIR) / name, folder / name);
  std::filesystem::create_symlink(UNDERLAP_PROGRAM, folder / "underlap");
  int tried = 0;
  for (const std::string command : {"compare", "plan", "show"})
    for (const std::string& line : lines_of(underlap_program({command, "--help"}).out)) {
      const std::size_t begin = line.find("underlap " + command + " ");
      const bool is_of_repository = line.find(" results/") != line.npos || line.find(" bench/") != line.npos;
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
    for (const std::string& line : lines_of(underlap_program({command, "--help"}).out)) {
      const bool is_example = line.starts_with("Example: ") || line.starts_with("         underlap");
      EXPECT_TRUE(is_example || line.size() <= 80) << command << ": " << line;
    }
  ::unsetenv("COLUMNS");
}

TEST(Help, ExplainsAListAndNamesAnUnknownCommand) {
  EXPECT_THAT(underlap_program({"help", "list", "knobs"}).out,
              HasSubstr("Usage: underlap list knobs [OPTIONS] [PATTERN]"));
  EXPECT_THAT(underlap_program({"help", "runn"}), fails_with(2, "underlap has no command \"runn\"; did you mean run?"));
  EXPECT_THAT(underlap_program({"completion"}), fails_with(2, "SHELL is required: bash, zsh or fish"));
}

TEST(Help, NothingAskedIsAnsweredByWhereToBegin) {
  const Outcome outcome = underlap_program({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  for (const char* words : {"communication is hidden", "underlap init", "underlap run", "underlap --help"})
    EXPECT_THAT(outcome.err, HasSubstr(words));
  EXPECT_THAT(underlap_program({"list"}), fails_with(2, "Usage: underlap list [OPTIONS] COMMAND"));
}

TEST(Help, VersionSaysWhatWasBuiltAndWithWhat) {
  const Outcome outcome = underlap_program({"version"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* words : {"underlap 0.", "\ncommit ", "\ncompiler ", "\nbackends  host, ", "yaml-cpp ", "Gloo "})
    EXPECT_THAT(outcome.out, HasSubstr(words));
  EXPECT_EQ(underlap_program({"--version"}).out, outcome.out);
}

TEST(Help, WordsThatNoCommandExpectsAreNamedWithWhatWasMeant) {
  EXPECT_THAT(underlap_program({"runn"}), fails_with(2, "underlap has no command \"runn\"; did you mean run?"));
  EXPECT_THAT(underlap_program({"zzzzzz"}),
              fails_with(2, "use one of init, plan, check, tune, run, submit, status, merge"));
  EXPECT_THAT(underlap_program({"list", "knob"}), fails_with(2, "list has no command \"knob\"; did you mean knobs?"));
  EXPECT_THAT(underlap_program({"run", "--bloks", "3"}),
              fails_with(2, "underlap run has no option --bloks; did you mean --blocks?"));
  EXPECT_THAT(underlap_program({"plan", "a.yaml", "b.yaml"}),
              fails_with(2, "underlap plan does not expect \"b.yaml\""));
  EXPECT_THAT(underlap_program({"plan"}), fails_with(2,
                                                     "CONFIG is required: configuration, YAML, or a name of `underlap "
                                                     "list matrices`\n  underlap plan --help says more"));
}

TEST(ListKnobs, AreThoseWhoseNamesHoldTheWordInAnyCase) {
  const std::string listed = underlap_program({"list", "knobs", "Grad_Reduce_In"}).out;
  EXPECT_THAT(listed, ::testing::StartsWith("mixed_precision.grad_reduce_in_fp32\n"));
  EXPECT_THAT(listed, HasSubstr("; default: "));
  EXPECT_THAT(listed, Not(HasSubstr("\nmodel.")));
}

TEST(ListKnobs, AreThoseThatMatchAPatternAsAWhole) {
  const auto names = [](const std::string& pattern) {
    std::vector<std::string> lines = lines_of(underlap_program({"list", "knobs", pattern}).out);
    std::erase_if(lines, [](const std::string& line) { return line.starts_with(" "); });
    return lines;
  };
  EXPECT_THAT(names("model.*_size_size"), ::testing::IsEmpty());
  EXPECT_THAT(names("model.hidden_siz?"), ElementsAre("model.hidden_size"));
  EXPECT_THAT(names("ddp.nccl*"), ElementsAre("ddp.nccl_ub"));
}

TEST(ListKnobs, NoneIsAnErrorThatNamesTheNearest) {
  EXPECT_THAT(underlap_program({"list", "knobs", "overlap_grad_reduse"}),
              fails_with(2, "no knob's name holds \"overlap_grad_reduse\"; did you mean overlap_grad_reduce?"));
  EXPECT_THAT(underlap_program({"list", "knobs", "qqqqqqqqqqqqqqqqqqqqqqqqqqqqq"}), fails_with(2, "no knob's name"));
}

TEST(ListPresets, HaveTheirShapes) {
  EXPECT_THAT(underlap_program({"list", "presets"}).out,
              ::testing::ContainsRegex("llama3-8b +32 +4096 +14336 +32 +8 +128256 +8192 +8.0 B"));
}

/// What bash offers behind `words`, the last of which is being written.
std::string bash_offers(const std::string& words) {
  return output_of("bash -c 'source <(" UNDERLAP_PROGRAM " completion bash); COMP_WORDS=(underlap " + words +
                   "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _underlap; echo \"${COMPREPLY[*]}\"'");
}

TEST(Completion, OfBashOffersCommandsOptionsAndValues) {
  EXPECT_EQ(bash_offers("r"), "run\n");
  EXPECT_EQ(bash_offers("list \"\""), "techniques kernels formats presets matrices hardware gpus libraries knobs\n");
  EXPECT_EQ(bash_offers("run --bl"), "--blocks\n");
  EXPECT_EQ(bash_offers("run --backend \"\""), "host cuda sim\n");
  EXPECT_EQ(bash_offers("run --backend = s"), "sim\n");
  EXPECT_EQ(bash_offers("init --like llama3-"), "llama3-70b llama3-8b\n");
  EXPECT_EQ(bash_offers("list knobs comm_overlap.overlap_p2p"), "comm_overlap.overlap_p2p_comm\n");
  EXPECT_EQ(bash_offers("run --steps \"\""), "\n");
  EXPECT_EQ(bash_offers("help ch"), "check\n");
}

TEST(Completion, OfBashOffersFilesWhereTheyStand) {
  const testing_support::TemporaryFolder folder;
  const std::string file = folder / "alpha.yaml";
  testing_support::write_text(file, "");
  const std::string begin = file.substr(0, file.size() - 6);
  EXPECT_EQ(bash_offers("run " + begin), file + "\n");
  EXPECT_EQ(bash_offers("run x.yaml -o " + begin), file + "\n");
  EXPECT_EQ(bash_offers("version " + begin), "\n");
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
  EXPECT_EQ(offers("run \"\"", ""), "FILES\n");
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

TEST(Completion, OfAnotherShellIsRefused) {
  EXPECT_THAT(underlap_program({"completion", "tcsh"}), fails_with(2, "tcsh not in {bash,zsh,fish}"));
}

TEST(Manual, HasAllCommandsAndIsRenderedWithoutAWarning) {
  const std::string page = underlap_program({"help", "--man"}).out;
  for (const std::string& command : kCommands) EXPECT_THAT(page, HasSubstr(".SS \"underlap " + command));
  EXPECT_THAT(page, HasSubstr(".SH \"EXIT STATUS\""));
  if (!has_program("groff")) GTEST_SKIP() << "groff is not installed";
  EXPECT_EQ(output_of(UNDERLAP_PROGRAM " help --man | groff -z -man -ww -Tutf8"), "");
}

TEST(ShippedMatrices, AreFoundByNameUnlessThereIsSuchAFile) {
  EXPECT_THAT(underlap_program({"list", "matrices"}).out,
              testing::ContainsRegex("quick +Data-parallel overlap in a minute"));
  // A notice of the plan names its file.
  const auto is_of_the_shipped = HasSubstr("\n  " UNDERLAP_BINARY_DIR "/share/underlap/matrices/quick.yaml:5:16: ");
  EXPECT_THAT(underlap_program({"plan", "quick"}).out, is_of_the_shipped);
  EXPECT_THAT(underlap_program({"plan", "quick.yaml"}).out, is_of_the_shipped);
  EXPECT_THAT(underlap_program({"plan", "claims"}), fails_with(2, "claims: no such file"));  // a study

  const testing_support::TemporaryFolder folder;
  const auto plan_there = [&] {
    return output_of("cd " + (folder / "").string() + " && " UNDERLAP_PROGRAM " plan quick");
  };
  std::filesystem::create_directory(folder / "quick");  // as a run of it leaves one
  EXPECT_THAT(plan_there(), is_of_the_shipped);
  std::filesystem::remove(folder / "quick");
  testing_support::write_text(folder / "quick", "model: {preset: none}\n");
  EXPECT_THAT(plan_there(), HasSubstr("quick:1:"));
}

TEST(ShippedMatrices, AreMissedWhereTheProgramStandsAlone) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "bin");
  std::filesystem::copy_file(UNDERLAP_PROGRAM, folder / "bin/underlap");
  EXPECT_THAT(output_of((folder / "bin/underlap").string() + " list matrices"),
              HasSubstr("no matrices in " + (folder / "share/underlap/matrices").string()));
}

TEST(Install, PutsFilesWhereTheyAreLookedForAndFindsThemWhereItIsMovedTo) {
  const testing_support::TemporaryFolder folder;
  const std::string said = output_of("cmake --install " UNDERLAP_BINARY_DIR " --prefix " + (folder / "first").string());
  std::filesystem::rename(folder / "first", folder / "moved to");
  const std::filesystem::path prefix = folder / "moved to";
  for (const char* file : {"bin/underlap", "share/man/man1/underlap.1", "share/bash-completion/completions/underlap",
                           "share/zsh/site-functions/_underlap", "share/fish/vendor_completions.d/underlap.fish",
                           "share/underlap/matrices/gpu/layer.yaml", "share/underlap/hardware/h100-sxm.yaml",
                           "share/doc/underlap/README.md", "share/doc/underlap/docs/ARCHITECTURE.md"})
    EXPECT_GT(std::filesystem::file_size(prefix / file), 0U) << file << said;
  const auto output = [&](const char* words) {
    return output_of("'" + (prefix / "bin/underlap").string() + "' " + words);
  };
  EXPECT_THAT(output("list matrices"), HasSubstr("files: " + (prefix / "share/underlap/matrices").string() + "\n"));
  EXPECT_THAT(output("plan quick"), HasSubstr((prefix / "share/underlap/matrices/quick.yaml").string()));
}

}  // namespace
}  // namespace underlap::bench
