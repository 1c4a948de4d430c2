// SPDX-License-Identifier: Apache-2.0
// underlap tune as its user meets it.
#include <fmt/format.h>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kModel =
    "model: {preset: llama3-8b, num_layers: 2, seq_length: 1024, vocab_size: 32000, tensor_model_parallel_size: 1}\n"
    "train: {micro_batch_size: 1}\n";

Words tune(const RunFolder& folder, const Words& more = {}, const std::string& hardware = "h100-sxm") {
  return joined({"tune", folder.config(), "--gpus", "4", "--batch", "8", "--hardware", hardware}, more);
}

TEST(Tune, WritesConfigurationsThatRunAsItSays) {
  const RunFolder folder(kModel);
  const std::string found = folder.folder / "found";
  const Json best = json_of(tune(folder, {"-o", found})).at("best").at(0);
  expect_success({"plan", found + "/best.yaml"});
  expect_success({"run", found + "/best.yaml", "-o", folder.run()});
  EXPECT_EQ(folder.results().cells.at(0).samples.at(0).step_ns, best.at("step_ns"));
}

TEST(Tune, SearchesAtTheSpeedThatItIsTold) {
  const RunFolder folder(kModel);
  const std::string found = folder.folder / "found";
  const Outcome outcome = underlap_program(tune(folder, {"-o", found, "--speed", "0.5"}));
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("4 GPUs, h100-sxm at speed 0.5: all times are simulated"), HasSubstr("not for 0.5.")));
  EXPECT_THAT(read_text(found + "/best.yaml"), HasSubstr("speed: 0.5\n"));
  EXPECT_THAT(underlap_program({"run", found + "/best.yaml", "-o", folder.run()}).out, HasSubstr("at speed 0.5"));
}

TEST(Tune, GoesOnWithASearchAndFindsTheSame) {
  const RunFolder folder(kModel);
  const std::string found = folder.folder / "found";
  const Outcome first = underlap_program(tune(folder, {"-o", found}));
  EXPECT_THAT(underlap_program(tune(folder, {"-o", found})), fails_with(2, "continue it with --resume"));
  EXPECT_EQ(underlap_program(tune(folder, {"-o", found, "--resume"})).out, first.out);
}

TEST(Tune, RefusesToGoOnWhereTheDescriptionOfTheMachineChanged) {
  const RunFolder folder(kModel);
  const std::string machine = folder.folder / "mine.yaml";
  std::string text = read_text(UNDERLAP_SOURCE_DIR "/results/hardware/h100-sxm.yaml");
  write_text(machine, text);
  const Words words = tune(folder, {"-o", folder.folder / "found"}, machine);
  expect_success(words);
  write_text(machine, text + "# other\n");
  EXPECT_THAT(underlap_program(joined(words, {"--resume"})), fails_with(2, "is from another search"));
}

TEST(Tune, SaysThatItsTimesAreModelledAndHowFarFromPublishedOnes) {
  EXPECT_THAT(underlap_program(tune(RunFolder(kModel))).out,
              AllOf(HasSubstr("all times are simulated, none measured"), HasSubstr("Effect of each knob"),
                    HasSubstr("faster in")));
}

TEST(Tune, SaysWhatNothingFitsNeeds) {
  const RunFolder folder(kModel);
  const Outcome outcome = underlap_program(tune(folder, {"--limit", "4GB"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, AllOf(ContainsRegex("Nothing fits: a GPU needs at least [0-9.]+ GB, and may take 4.0 GB"),
                                 HasSubstr("A layout fits on "), HasSubstr("On the same GPUs: ")));
  const Outcome json = underlap_program(tune(folder, {"--limit", "4GB", "--json"}));
  const Json need = parse_json(json.out).at("smallest_need");
  EXPECT_GT(need.at("peak_memory_bytes"), 4e9);
  const std::string bytes = fmt::format("{:.3f}GB", need.at("peak_memory_bytes").get<double>() / 1e9 + 0.001);
  EXPECT_EQ(underlap_program(tune(folder, {"--limit", bytes})).exit_code, 0) << "a layout with that need fits";
  Words more_gpus = tune(folder, {"--limit", "4GB"});
  *std::ranges::find(more_gpus, "4") = std::to_string(need.at("enough_gpus").get<int>());
  EXPECT_EQ(underlap_program(more_gpus).exit_code, 0);
}

TEST(Tune, EndedByASignalNamesTheBestLayoutAndHowToGoOn) {
  const RunFolder folder(
      "model: {preset: llama3-70b}\nenvironment: {gpu_arch: h100}\ntrain: {global_batch_size: 128}\n");
  const std::string found = folder.folder / "found";
  Program search({"tune", folder.config(), "--gpus", "64", "-o", found});
  EXPECT_TRUE(search.wait_until([&] {
    const std::string plays = read_text(found + "/plays.jsonl");
    return std::ranges::count(plays, '\n') > 40;
  }));
  search.send(SIGTERM);
  const Outcome outcome = search.wait();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_THAT(outcome.err, AllOf(ContainsRegex("best layout so far, about [0-9.]+ ms:\n  [a-z_]+\\."),
                                 HasSubstr("continue with: underlap tune "), HasSubstr(" --resume\n")));
}

}  // namespace
}  // namespace underlap::bench
