// SPDX-License-Identifier: Apache-2.0
// underlap tune as its user meets it.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kModel =
    "model: {preset: llama3-8b, num_layers: 2, seq_length: 1024, vocab_size: 32000, tensor_model_parallel_size: 1}\n"
    "train: {micro_batch_size: 1}\n";

std::vector<std::string> tune(const RunFolder& folder, const std::vector<std::string>& more = {},
                              const std::string& hardware = "h100-sxm") {
  std::vector<std::string> words{"tune", folder.config(), "--gpus", "4", "--batch", "8"};
  if (!hardware.empty()) words.insert(words.end(), {"--hardware", hardware});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Tune, WritesConfigurationsThatRunAsItSays) {
  const RunFolder folder(kModel);
  const std::string found = folder.folder / "found";
  const Outcome outcome = underlap_program(tune(folder, {"-o", found, "--json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json best = nlohmann::json::parse(outcome.out).at("best").at(0);
  EXPECT_EQ(underlap_program({"plan", found + "/best.yaml"}).exit_code, 0);
  ASSERT_EQ(underlap_program({"run", found + "/best.yaml", "-o", folder.run()}).exit_code, 0);
  EXPECT_EQ(report::read_results(folder.run()).cells.at(0).samples.at(0).step_ns, best.at("step_ns"));
}

TEST(Tune, SearchesAtTheSpeedThatItIsTold) {
  const RunFolder folder(kModel);
  const std::string found = folder.folder / "found";
  const Outcome outcome = underlap_program(tune(folder, {"-o", found, "--speed", "0.5"}));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("4 GPUs, h100-sxm at speed 0.5: every time here is modelled"),
                                 HasSubstr("and not at 0.5.")));
  EXPECT_THAT(testing_support::read_text(found + "/best.yaml"), HasSubstr("speed: 0.5\n"));
  EXPECT_THAT(underlap_program({"run", found + "/best.yaml", "-o", folder.run()}).out, HasSubstr("at speed 0.5"));
}

TEST(Tune, GoesOnWithASearchAndFindsTheSame) {
  const RunFolder folder(kModel);
  const std::string found = folder.folder / "found";
  const Outcome first = underlap_program(tune(folder, {"-o", found}));
  EXPECT_THAT(underlap_program(tune(folder, {"-o", found})), fails_with(2, "--resume goes on with it"));
  EXPECT_EQ(underlap_program(tune(folder, {"-o", found, "--resume"})).out, first.out);
}

TEST(Tune, RefusesToGoOnWhereTheDescriptionOfTheMachineChanged) {
  const RunFolder folder(kModel);
  const std::string machine = folder.folder / "mine.yaml";
  std::string text = testing_support::read_text(UNDERLAP_SOURCE_DIR "/results/hardware/h100-sxm.yaml");
  testing_support::write_text(machine, text);
  const std::vector<std::string> words{"-o", folder.folder / "found", "--hardware", machine};
  ASSERT_EQ(underlap_program(tune(folder, words, "")).exit_code, 0);
  testing_support::write_text(machine, text + "# other\n");
  std::vector<std::string> again = words;
  again.emplace_back("--resume");
  EXPECT_THAT(underlap_program(tune(folder, again, "")), fails_with(2, "is of another search"));
}

TEST(Tune, SaysThatItsTimesAreModelledAndHowFarFromPublishedOnes) {
  const Outcome outcome = underlap_program(tune(RunFolder(kModel)));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("every time here is modelled, none was measured"),
                                 HasSubstr("What each knob is worth"), HasSubstr("faster in")));
}

TEST(Tune, RefusesNonsense) {
  const RunFolder folder(kModel);
  EXPECT_THAT(underlap_program({"tune", "--gpus", "4"}), fails_with(2, "tune what?"));
  EXPECT_THAT(underlap_program(tune(folder, {"--limit", "75"})), fails_with(2, "write 75GB"));
  EXPECT_THAT(underlap_program(tune(folder, {"--flops", "most"})), fails_with(2, "causal+recompute"));
  EXPECT_THAT(underlap_program(tune(folder, {"--around", folder.config()})), fails_with(2, "name one of them"));
  EXPECT_THAT(underlap_program(tune(folder, {"--resume"})), fails_with(2, "-o DIR"));
  const Outcome outcome = underlap_program(tune(folder, {"--limit", "1GB"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("Nothing fits"));
}

}  // namespace
}  // namespace underlap::bench
