// SPDX-License-Identifier: Apache-2.0
// `underlap plan`: what it shows, and that it finds what `run` refuses.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "platform/json.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kTwoCells = "matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\ndata_parallel_size: 2\n";

struct Refusal {
  std::string yaml;
  std::string words;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.words; }

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, OfRunAreFoundByPlanWithTheirPlace) {
  const RunFolder folder(tiny_config(GetParam().yaml));
  const std::string place = folder.config() + ":";
  const Outcome planned = underlap_program({"plan", folder.config()});
  EXPECT_THAT(planned, fails_with(2, GetParam().words));
  EXPECT_THAT(planned.err, ::testing::StartsWith(place));
  EXPECT_THAT(planned.out, IsEmpty());
  const Outcome run = underlap_program(folder.arguments());
  EXPECT_EQ(run.err, planned.err);
  EXPECT_FALSE(std::filesystem::exists(folder.run()));
}

INSTANTIATE_TEST_SUITE_P(
    Plan, Refusals,
    ::testing::Values(Refusal{"train: {data: /no/such/text}\n", "cannot read /no/such/text: No such file or directory"},
                      Refusal{"train: {data: /dev/zero}\n", "it is a pipe, a socket or a device; name a text file"},
                      Refusal{"matrix: {run.blocks: [1, 2]}\n", "all cells of a matrix share their blocks"}));

TEST(Plan, FindsHardwareThatNobodyHas) {
  const RunFolder folder("model: {preset: tiny}\nrun: {backend: sim, hardware: h100}\n");
  EXPECT_THAT(underlap_program({"plan", folder.config()}), fails_with(2, ":2:21: hardware \"h100\" is neither"));
  EXPECT_THAT(underlap_program({"plan", folder.config()}), fails_with(2, "did you mean h100-sxm?"));
}

TEST(Plan, OfSequencesLongerThanTheTextSaysThatRunRefusesThem) {
  const std::filesystem::path text = std::filesystem::path(testing::TempDir()) / "short.txt";
  std::ofstream(text) << std::string(100, 'x');
  const std::string model = "model: {preset: tiny, seq_length: 128, tensor_model_parallel_size: 2}\n";
  const RunFolder folder(model + "train: {data: " + text.string() + "}\n");
  EXPECT_THAT(underlap_program({"plan", folder.config()}),
              fails_with(2, "short.txt has 100 bytes; seq_length 128 needs at least 129"));
  EXPECT_THAT(underlap_program(folder.arguments()), fails_with(2, "short.txt has 100 bytes"));
}

TEST(Plan, SaysWhatThisMachineCannotHoldAndIsWellAllTheSame) {
  const RunFolder folder("model: {preset: gpt3-175b}\ndata_parallel_size: 8\n");
  const Outcome outcome = underlap_program({"plan", folder.config()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("run refuses this here"));
  EXPECT_THAT(outcome.out, HasSubstr("): fewer layers or ranks fit"));
}

TEST(Plan, SaysFirstWhatAGpuCannotHoldAndWhatWouldFit) {
  const std::string model = "model: {preset: llama3-8b}\n";
  const RunFolder folder(
      model + "world_size: 8\nenvironment: {gpu_arch: h100}\nmatrix: {model.tensor_model_parallel_size: [1, 8]}\n");
  const Outcome outcome = underlap_program({"plan", folder.config()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::StartsWith("DOES NOT FIT: tensor_model_parallel_size=1: a rank needs "));
  EXPECT_THAT(outcome.out, HasSubstr("a GPU of"));
  const RunFolder unsaid(model + "world_size: 8\n");
  const Outcome assumed = underlap_program({"plan", unsaid.config()});
  EXPECT_THAT(assumed.out, Not(HasSubstr("DOES NOT FIT")));
  EXPECT_THAT(assumed.out, HasSubstr("\ndoes not fit the GPU that is assumed: a rank needs "));
  const RunFolder fitting(model + "world_size: 8\nenvironment: {gpu_arch: b200}\n");
  EXPECT_THAT(underlap_program({"plan", fitting.config()}).out, Not(HasSubstr("DOES NOT FIT")));
}

// A GPU's libraries would take a gigabyte for each of 256 ranks.
TEST(Plan, CountsOfTheHostsMemoryWhatRanksAllocateAlone) {
  const RunFolder folder("model: {preset: tiny}\ndata_parallel_size: 256\n");
  const Outcome outcome = underlap_program({"plan", folder.config()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("MB together")));
}

TEST(Plan, TellsErrorsAsJsonOnceAndOnStandardOutputAlone) {
  const RunFolder folder(tiny_config(kTwoCells + "run_: {}\nmodle: {}\n"));
  const Outcome outcome = underlap_program({"plan", folder.config(), "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, IsEmpty());
  const auto json = parse_json(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.errors/1");
  ASSERT_EQ(json["errors"].size(), 2U);
  EXPECT_THAT(json["errors"][1]["where"].get<std::string>(), HasSubstr("config.yaml:"));
  EXPECT_THAT(json["errors"][1]["message"].get<std::string>(), HasSubstr("unknown key \"modle\""));
  EXPECT_EQ(json["errors"][1]["hint"], "did you mean model?");
}

TEST(Plan, TellsOfAFileThatCannotBeReadAsJsonToo) {
  const testing_support::TemporaryFolder folder;
  for (const std::string command : {"plan", "check"}) {
    const Outcome outcome = underlap_program({command, folder / "none.yaml", "--json"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, IsEmpty());
    const auto json = parse_json(outcome.out);
    EXPECT_EQ(json["errors"][0]["where"].get<std::string>(), std::string(folder / "none.yaml"));
    EXPECT_THAT(json["errors"][0]["message"].get<std::string>(), ::testing::StartsWith("no such file"));
  }
}

TEST(Plan, HoldsTheErrorsOfOneConfiguration) {
  const RunFolder folder("model: {preset: tiny}\nrun: {stepz: 1}\n");
  const Outcome outcome = underlap_program({"plan", folder.config(), "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, IsEmpty());
  const auto json = parse_json(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.plan/1");
  EXPECT_EQ(json["errors"][0]["hint"], "did you mean run.steps?");
}

TEST(Plan, HoldsTheErrorsOfAWrongCellBesideTheOtherCells) {
  const RunFolder folder(
      tiny_config("matrix: {cell: [{name: good}, {name: bad, model.tensor_model_parallel_size: 3}]}\n"));
  const Outcome outcome = underlap_program({"plan", folder.config(), "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, IsEmpty());
  const auto json = parse_json(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.plans/1");
  ASSERT_EQ(json["cells"].size(), 2U);
  EXPECT_THAT(json["cells"][0]["plan"]["errors"], IsEmpty());
  EXPECT_FALSE(json["cells"][0]["plan"]["knobs"].empty());
  EXPECT_EQ(json["cells"][1]["name"], "bad");
  EXPECT_THAT(json["cells"][1]["plan"]["errors"][0]["message"].get<std::string>(),
              HasSubstr("tensor_model_parallel_size (3) does not divide"));
  const std::string holding = std::filesystem::path(folder.config()).parent_path().string();
  const auto of_folder = parse_json(underlap_program({"plan", holding, "--json"}).out);
  EXPECT_EQ(of_folder["files"].at(0)["plans"], json);
}

TEST(Plan, ShowsOneCellByItsName) {
  const RunFolder folder(tiny_config(kTwoCells));
  const Outcome one = underlap_program({"plan", folder.config(), "--cell", "overlap_grad_reduce=true"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, Not(HasSubstr("EXPOSED"))) << "it overlaps";
  EXPECT_THAT(underlap_program({"plan", folder.config(), "--cell", "overlap_grad_reduce=treu"}),
              fails_with(2, "did you mean overlap_grad_reduce=true?"));
  EXPECT_THAT(underlap_program({"plan", folder.config(), "--cell", ""}), fails_with(2, "--cell"));
  EXPECT_EQ(
      parse_json(
          underlap_program({"plan", folder.config(), "--cell", "overlap_grad_reduce=true", "--json"}).out)["schema"],
      "underlap.plan/1");
}

TEST(Plan, ChecksEachConfigurationOfAFolder) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "deeper");
  testing_support::write_text(folder / "a.yaml", "model: {preset: tiny}\n");
  testing_support::write_text(folder / "deeper/b.yml", "model: {preset: tiny}\ntrain: 4\n");
  testing_support::write_text(folder / "notes.txt", "none\n");
  const Outcome all = underlap_program({"plan", folder / ""});
  EXPECT_EQ(all.exit_code, 2);
  EXPECT_THAT(all.out, HasSubstr("a.yaml: well"));
  EXPECT_THAT(all.out, HasSubstr("b.yml: 1 error"));
  EXPECT_THAT(underlap_program({"plan", folder / "", "--github"}).out,
              HasSubstr("b.yml,line=2,col=8,title=underlap error::train must be a mapping"));
  EXPECT_EQ(parse_json(underlap_program({"plan", folder / "", "--sarif"}).out)["runs"][0]["results"].size(), 1U);
  EXPECT_EQ(parse_json(underlap_program({"plan", folder / "", "--json"}).out)["files"].size(), 2U);
}

TEST(Plan, SaysWhatIsInEffectOtherwiseThanInAnother) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "a.yaml", "model: {preset: tiny}\ndata_parallel_size: 2\n");
  testing_support::write_text(
      folder / "b.yaml", "model: {preset: tiny}\ndata_parallel_size: 2\ncomm_overlap: {overlap_grad_reduce: false}\n");
  const Outcome other = underlap_program({"plan", "--diff", folder / "a.yaml", folder / "b.yaml"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("comm_overlap.overlap_grad_reduce"));
  const Outcome same = underlap_program({"plan", "--diff", folder / "a.yaml", folder / "a.yaml"});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_EQ(same.out, "the same is in effect\n");
}

TEST(Plan, TakesArgumentsOfMegatronLmBehindTwoHyphens) {
  const Outcome plan = underlap_program({"plan", "--", "--num-layers", "2", "--hidden-size", "64",
                                         "--num-attention-heads", "4", "--seq-length", "64", "--vocab-size", "256"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("2 layers of 64 on 1 rank"));
}

TEST(Plan, ShowsEveryKnobOnRequest) {
  const RunFolder folder(tiny_config(kTwoCells));
  EXPECT_THAT(underlap_program({"plan", folder.config()}).out, Not(HasSubstr("left at their defaults")));
  EXPECT_THAT(underlap_program({"plan", folder.config(), "--all"}).out, HasSubstr("left at their defaults"));
}

TEST(Plan, RefusesAPipeThatNobodyWritesTo) {
  const testing_support::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string command : {"plan", "check", "run"})
    EXPECT_THAT(underlap_program({command, folder / "pipe"}), fails_with(2, "a named pipe, not a file"));
}

TEST(DryRun, SaysWhatWouldBeRunAndWritesNothing) {
  const RunFolder folder(tiny_config(kTwoCells));
  const Outcome outcome = underlap_program(folder.arguments({"--dry-run"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("cells   2 of 2 ranks, threads of this process (backend host)"));
  EXPECT_THAT(outcome.out, HasSubstr("2 blocks x 2 cells x (2 measured + 1 that settles), and 1 of warm-up"));
  EXPECT_THAT(outcome.out, HasSubstr("14 in all"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("roughly .* s.*: a guess, by operations that were run alone"));
  EXPECT_FALSE(std::filesystem::exists(folder.run()));
  EXPECT_THAT(underlap_program(folder.arguments({"--dry-run", "--backend", "sim"})).out,
              ::testing::ContainsRegex("roughly .* s.*: a guess, by what recording a step of rank 0 took"));
}

TEST(DryRun, OfACheckGuessesTimeAndMemory) {
  const RunFolder folder(tiny_config(kTwoCells));
  const Outcome outcome = underlap_program({"check", folder.config(), "--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("roughly .* s.* for the proofs"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("roughly [0-9.]+ MB for the largest cell; .* can be had"));
  EXPECT_THAT(outcome.out, HasSubstr("Nothing was checked"));
}

TEST(Check, RefusesWhatTakesMoreMemoryThanThereIs) {
  const RunFolder folder(
      "model: {preset: llama3-8b, tensor_model_parallel_size: 8, sequence_parallel: true}\n"
      "data_parallel_size: 16\ntrain: {num_microbatches: 512}\n");
  EXPECT_THAT(underlap_program({"check", folder.config(), "--steps", "1000", "--no-numerics"}),
              fails_with(2, "GB of memory and"));
}

TEST(DryRun, KnowsTheTimeFromTheBlocksOfTheFolder) {
  const RunFolder folder(tiny_config());
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  const std::string results = testing_support::read_text(folder.folder / "run/results.json");
  const Outcome outcome = underlap_program(folder.arguments({"--resume", "--blocks", "5", "--dry-run"}));
  EXPECT_THAT(outcome.out, HasSubstr("steps   3 blocks"));
  EXPECT_THAT(outcome.out, HasSubstr("by the steps of the 2 blocks that the folder holds"));
  EXPECT_EQ(testing_support::read_text(folder.folder / "run/results.json"), results);
}

struct IdleFlag {
  std::vector<std::string> words;
  std::string message;
};

void PrintTo(const IdleFlag& flag, std::ostream* out) { *out << ::testing::PrintToString(flag.words); }

class IdleFlags : public ::testing::TestWithParam<IdleFlag> {};

TEST_P(IdleFlags, AreRefused) {
  const RunFolder folder(tiny_config());
  std::vector<std::string> words = GetParam().words;
  words.insert(words.begin() + 1, folder.config());
  EXPECT_THAT(underlap_program(words), fails_with(2, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Plan, IdleFlags,
    ::testing::Values(IdleFlag{{"run", "--hardware", "h100-sxm"}, "--hardware: run.hardware does nothing"},
                      IdleFlag{{"run", "--rank-processes", "true", "--backend", "sim"}, "run.backend is sim"},
                      IdleFlag{{"run", "--steps", ""}, "--steps"}, IdleFlag{{"run", "-o", ""}, "is empty"},
                      IdleFlag{{"check", "--connections", "1,,8"}, "--connections"},
                      IdleFlag{{"check", "--no-numerics", "--numerics-steps", "3"}, "excludes"},
                      IdleFlag{{"plan", "--json", "--all"}, "excludes"}));

TEST(Run, NotesWhatDoesNothingInAnyCell) {
  const RunFolder folder("model: {preset: tiny}\ndata_parallel_size: 2\nrun: {backend: host, hardware: h100-sxm}\n");
  const Outcome outcome = underlap_program(folder.arguments({"--dry-run"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("run.hardware has no effect: run.backend is host, and it is for sim"));
}

}  // namespace
}  // namespace underlap::bench
