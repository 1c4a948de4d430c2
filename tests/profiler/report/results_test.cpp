// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/results.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include "platform/atomic_file.hpp"
#include "platform/errors.hpp"
#include "platform/json.hpp"
#include "profiler/report/cut_windows.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/file_size_limit.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::report {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;  // NOLINT

using Json = nlohmann::ordered_json;
using namespace ::testing;  // NOLINT

class ResultsFile : public ::testing::Test {
 protected:
  void write(const RunResults& results) const { write_results(folder_, results); }
  std::string text() const { return read_text(folder_ / "results.json"); }
  void set_text(const std::string& text) const { write_text(folder_ / "results.json", text); }

  // What reading says after `change` was made to a whole file, without the mend that each ends in.
  template <class Change>
  std::string complaint(Change change) const;
  // The same where `place` holds `value`.
  std::string complaint(const std::string& place, const Json& value) const {
    return complaint([&](Json& d) { d[Json::json_pointer(place)] = value; });
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_ / "";
};

RunResults full_results() {
  RunResults results;
  results.info = {.command = "underlap run \"a b.yaml\" --steps 8",
                  .commit = "abc",
                  .version = "0.1.0",
                  .started_utc = "2025-01-02T03:04:05Z",
                  .host_name_hash = "0123",
                  .cpu_model = "A \"CPU\" \\ µ",
                  .num_cpus = 2,
                  .operating_system = "Linux",
                  .compiler = "GCC 12",
                  .library_versions = {{"Gloo", "0.5"}, {"oneDNN", "2.6"}},
                  .backend = Backend::cuda,
                  .link = "paced to 4 Gbit/s",
                  .clock = "steady",
                  .seed = std::numeric_limits<std::uint64_t>::max(),
                  .config_hash = "ff",
                  .commit_utc = "2025-01-01T00:00:00Z",
                  .series = "s",
                  .series_run = 2,
                  .series_side = "candidate",
                  .launcher = "Slurm",
                  .launched_ranks = {{"node1", 0, "0-3", "0"}, {"node2", 0, "0-3", ""}}};
  results.blocks_planned = 3;
  results.blocks_done = 2;
  results.resumed_at_blocks = {1};
  auto split = split_of(10, 20, 30, 40);
  split.exposed_ns_by_modes["dp+tp"] = 7;
  split.window_ns += 7;
  CellResult cell = cell_of("grad_reduce=on", {{"z", "1"}, {"a", "2"}}, {step_of(0, 2, {split, split_of(1, 2, 3, 4)})});
  cell.samples.push_back({1, 3, 9007199254740991, 0.1 + 0.2, 0, {split_of(5, 6, 7, 8), split}});
  cell.warmup_losses = {1.0 / 3.0, 5e-324, 1.7976931348623157e308, -0.0};
  cell.label = NumericsLabel::reordered;
  cell.max_loss_difference = 1e-17;
  cell.bound_ns = std::numeric_limits<std::int64_t>::max();
  cell.bound_ideal_ns = 1;
  cell.bound_source = "no_comm";
  cell.bound_kernel_ns = {{"fc1", 7}};
  cell.kernel_ns = {{"fc1", 9007199254740993}, {"unattributed", 1}};
  cell.compute_since_off = ComputeSinceOff{
      .off_cell = "off", .windows = 4, .change = {.from = {1, 2, 3}, .to = {4, 5, 6}, .purposes = {{"fc1", {3, -3}}}}};
  cell.samples[0].ranks[0].modes["dp"].pipeline_dependency_ns = 5;
  cell.trace_file = "traces/cell.pftrace";
  cell.trace_bytes = 9007199254740993;  // 2^53 + 1: a double would lose it
  cell.no_comm = true;
  cell.paced = true;
  results.cells = {cell, cell_of("empty", {}, {})};
  results.cells[1].plan_json.clear();
  return results;
}

template <class Change>
std::string ResultsFile::complaint(Change change) const {
  write(full_results());
  Json document = parse_json(text());
  change(document);
  set_text(json_text(document));
  const std::string what = error_of([&] { read_results(folder_); }),
                    mend = "; fix the file, or measure into another folder";
  EXPECT_TRUE(what.empty() || what.ends_with(mend)) << what;
  return what.substr(0, what.size() - std::min(what.size(), mend.size()));
}

auto fields_of(const LaunchedRank& r) { return std::tie(r.node, r.local_rank, r.cpus, r.visible_devices); }

auto fields_of(const RunInfo& i) {
  return std::tie(i.command, i.commit, i.version, i.started_utc, i.host_name_hash, i.cpu_model, i.num_cpus,
                  i.operating_system, i.compiler, i.library_versions, i.backend, i.link, i.clock, i.seed, i.config_hash,
                  i.commit_utc, i.series, i.series_run, i.series_side, i.launcher);
}

auto fields_of(const StepSample& s) { return std::tie(s.block, s.step, s.step_ns, s.loss, s.transfer_cpu_ns, s.ranks); }

auto fields_of(const ComputeSinceOff& c) { return std::tie(c.off_cell, c.windows, c.change); }

auto fields_of(const CellResult& c) {
  return std::tie(c.name, c.values, c.plan_json, c.no_comm, c.paced, c.warmup_losses, c.label, c.max_loss_difference,
                  c.bound_ns, c.bound_ideal_ns, c.bound_source, c.bound_kernel_ns, c.kernel_ns, c.trace_file,
                  c.trace_bytes);
}

// Of lists and of what there may be none of.
template <class Values>
void expect_equal(const Values& a, const Values& b) {
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end(),
                         [](const auto& one, const auto& other) { return fields_of(one) == fields_of(other); }));
}

TEST_F(ResultsFile, ReadsBackExactlyWhatWasWritten) {
  const RunResults written = full_results();
  write(written);
  const RunResults read = read_results(folder_);
  EXPECT_EQ(fields_of(read.info), fields_of(written.info));
  expect_equal(read.info.launched_ranks, written.info.launched_ranks);
  EXPECT_EQ(read.blocks_planned, 3);
  EXPECT_EQ(read.blocks_done, 2);
  EXPECT_EQ(read.resumed_at_blocks, written.resumed_at_blocks);
  ASSERT_EQ(read.cells.size(), 2U);
  for (const std::size_t cell : {0U, 1U}) {
    EXPECT_EQ(fields_of(read.cells[cell]), fields_of(written.cells[cell]));
    expect_equal(read.cells[cell].samples, written.cells[cell].samples);
  }
  ASSERT_TRUE(read.cells[0].compute_since_off);
  EXPECT_EQ(fields_of(*read.cells[0].compute_since_off), fields_of(*written.cells[0].compute_since_off));
  EXPECT_FALSE(read.cells[1].compute_since_off);
  EXPECT_TRUE(std::signbit(read.cells[0].warmup_losses[3]));
}

TEST_F(ResultsFile, KeepsLossesThatAreNoNumbers) {
  RunResults results = full_results();
  const double infinity = std::numeric_limits<double>::infinity();
  results.cells[0].warmup_losses = {std::nan(""), infinity, -infinity};
  write(results);
  const auto losses = read_results(folder_).cells[0].warmup_losses;
  EXPECT_TRUE(std::isnan(losses[0]));
  EXPECT_EQ(losses[1], infinity);
  EXPECT_EQ(losses[2], -infinity);
}

TEST_F(ResultsFile, StandsAsReadableJsonWithPlanAndSchema) {
  write(full_results());
  const Json document = parse_json(text());
  EXPECT_EQ(document["schema"], "underlap.results/1");
  EXPECT_EQ(document["/cells/0/plan/schema"_json_pointer], "underlap.plan/1");
  EXPECT_TRUE(document["/cells/1/plan"_json_pointer].is_null());
  EXPECT_EQ(document["/cells/0/label"_json_pointer], "reordered");
  EXPECT_EQ(document["/cells/0/values"_json_pointer].dump(), R"({"z":"1","a":"2"})");
  EXPECT_EQ(document["/cells/0/statistics/steps"_json_pointer], 2);
  EXPECT_TRUE(document["/cells/1/statistics/step_ms"_json_pointer].is_null());
  EXPECT_EQ(document["/cells/0/samples/0/ranks/0/exposed_ns_by_modes/dp+tp"_json_pointer], 7);
}

TEST_F(ResultsFile, ReadsFilesOfBeforeTheIdealBoundAndKernelsWereKept) {
  write(full_results());
  Json document = parse_json(text());
  document.erase("resumed_at_blocks");
  for (Json& cell : document["cells"])
    for (const char* key : {"bound_ideal_ns", "bound_kernel_ns", "kernel_ns", "compute_since_off"})
      EXPECT_EQ(cell.erase(key), 1U) << key;
  document["cells"][0]["samples"][0]["ranks"][0]["modes"]["dp"].erase("pipeline_dependency_ns");
  set_text(json_text(document));
  const RunResults results = read_results(folder_);
  EXPECT_TRUE(results.resumed_at_blocks.empty());
  const CellResult& cell = results.cells[0];
  EXPECT_FALSE(cell.bound_ideal_ns);
  EXPECT_EQ(cell.bound_ns, full_results().cells[0].bound_ns);
  EXPECT_FALSE(cell.compute_since_off);
  EXPECT_TRUE(cell.kernel_ns.empty());
  EXPECT_EQ(cell.samples[0].ranks[0].modes.at("dp").pipeline_dependency_ns, 0);
}

TEST_F(ResultsFile, ReplacesTheFormerFileAndLeavesNoOther) {
  RunResults results = full_results();
  write(results);
  results.blocks_done = 3;
  write(results);
  EXPECT_EQ(read_results(folder_).blocks_done, 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(ResultsFile, RefusesToWriteAPlanThatIsNotJsonOrAnAxisTwice) {
  RunResults results = full_results();
  results.cells[0].plan_json = "{";
  EXPECT_THROW(write_results(folder_, results), std::invalid_argument);
  results = full_results();
  results.cells[0].values = {{"a", "1"}, {"a", "2"}};
  EXPECT_THROW(write_results(folder_, results), std::invalid_argument);
}

TEST_F(ResultsFile, NamesFilePlaceAndCellOfEveryFlaw) {
  const std::string file = (folder_ / "results.json").string();
  const std::string whose = " (of " + json_text(Json(full_results().cells[0].name)) + ")";
  EXPECT_EQ(complaint([](Json& d) { d["cells"][0]["samples"][1].erase("step_ns"); }),
            file + ": /cells/0/samples/1 has no \"step_ns\"" + whose);
  struct Flaw {
    const char* place;
    Json value;
    std::string said;
  };
  const std::vector<Flaw> flaws{
      {"/run/seed", -1, " is -1, must be a whole number from 0"},
      {"/run/num_cpus", 1LL << 40, " is 1099511627776, outside the range of 32-bit integers"},
      {"/cells/0/samples/0/step_ns", 1.5, " is 1.5, must be a whole number" + whose},
      {"/cells/0/trace_bytes", 18446744073709551615U,
       " is 18446744073709551615, exceeds the largest 64-bit integer" + whose},
      {"/cells/0/label", "fine", " has an unknown value: \"fine\"" + whose},
      {"/run/backend", "gpu", " has an unknown value: \"gpu\""},
      {"/cells/0/bound_ideal_ns", "1", " is \"1\", must be a whole number" + whose},
      {"/cells", 3, " is number, must be array"},
      {"/cells/0/name", nullptr, " is null, must be string"},
      {"/cells/0/paced", 0, " is number, must be boolean" + whose},
      {"/cells/0/samples/0/loss", "nan", " is string, must be number" + whose},
      {"/run/library_versions/a~1b~0c", 1, " is number, must be string"},
  };
  for (const Flaw& flaw : flaws) EXPECT_EQ(complaint(flaw.place, flaw.value), file + ": " + flaw.place + flaw.said);
}

TEST_F(ResultsFile, NamesSplitsAndBlocksThatCannotBe) {
  EXPECT_THAT(
      complaint("/cells/0/samples/0/ranks/1/idle_ns", 5000),
      HasSubstr("/cells/0/samples/0/ranks/1 is a split whose parts sum to 11000 ns, but its window is 10000 ns"));
  EXPECT_THAT(complaint("/blocks_done", 4), HasSubstr("/blocks_done is 4"));
  EXPECT_THAT(complaint("/cells/0/samples/1/block", 2),
              HasSubstr("/cells/0/samples/1/block is 2, but 2 blocks were done"));
}

TEST_F(ResultsFile, NamesWhatStandsTwiceAndWhatIsMissing) {
  EXPECT_THAT(complaint([](Json& d) { d["cells"].push_back(d["cells"][0]); }),
              HasSubstr("/name is a duplicate: two cells are named"));
  EXPECT_THAT(complaint([](Json& d) { d["cells"][0]["samples"][1] = d["cells"][0]["samples"][0]; }),
              HasSubstr("/cells/0/samples/1 is step"));
  EXPECT_THAT(complaint("/cells/0/samples/1/ranks", Json::array()),
              HasSubstr("/cells/0/samples/1/ranks has 0 ranks, but the cell's first step has 2"));
  EXPECT_THAT(complaint([](Json& d) {
                for (auto& [mode, split] : d["cells"][0]["samples"][0]["ranks"][0]["modes"].items())
                  split["exposed_wait_ns"] = std::numeric_limits<std::int64_t>::max();
              }),
              HasSubstr("exposed_wait_ns is 9223372036854775807, must be at most 2^53"));
}

TEST_F(ResultsFile, RefusesNumbersOfRanksThatContradictEachOther) {
  const auto refusal = [&](int ranks, int played) {
    return complaint([=](Json& d) {
      d["cells"][0]["num_ranks"] = ranks;
      d["cells"][0]["num_ranks_played"] = played;
    });
  };
  EXPECT_THAT(refusal(1, 2), HasSubstr("/cells/0/num_ranks_played is 2, but the cell has 1 ranks, and its steps 2"));
  EXPECT_THAT(refusal(8, 3), HasSubstr("/cells/0/num_ranks_played is 3, but the cell has 8 ranks, and its steps 2"));
}

TEST_F(ResultsFile, TakesTheLastOfTwoKeysOfOneName) {
  write(full_results());
  const std::string window = json_text(parse_json(text())["/cells/0/samples/0/ranks/0"_json_pointer]);
  std::string twice = text();
  twice.insert(twice.find("\"ranks\": ["), "\"ranks\": [" + window + "," + window + "," + window + "], ");
  set_text(twice);
  EXPECT_EQ(read_results(folder_).cells[0].samples[0].ranks, full_results().cells[0].samples[0].ranks);
}

TEST_F(ResultsFile, NamesWindowsThatStandWhereNoneCan) {
  const auto window = [](Json& d) -> Json& { return d["/cells/0/samples/0/ranks/0"_json_pointer]; };
  EXPECT_THAT(complaint([&](Json& d) {
                d["cells"][0]["samples"][0]["ranks"] = Json{{"0", window(d)}};
              }),
              HasSubstr("/cells/0/samples/0/ranks is object, must be array"));
  EXPECT_THAT(complaint([&](Json& d) {
                Json& ranks = d["cells"][0]["samples"][0]["ranks"];
                ranks.insert(ranks.begin(), 3);
              }),
              HasSubstr("/cells/0/samples/0/ranks/0 is number, must be object"));
  EXPECT_THAT(complaint([&](Json& d) { d["cells"][0]["samples"].push_back(window(d)); }),
              HasSubstr("/cells/0/samples/2 has no \"block\""));
}

TEST_F(ResultsFile, RefusesAnotherSchema) {
  EXPECT_THAT(complaint("/schema", "underlap.results/2"), HasSubstr("another version of Underlap"));
  EXPECT_THAT(complaint("/schema", "underlap.analysis/1"), HasSubstr("must be \"underlap.results/1\""));
  EXPECT_THAT(complaint("", Json::array()), HasSubstr("the document is array, must be object"));
}

TEST_F(ResultsFile, IsReadCompressedUntilItIsWrittenAgain) {
  write(full_results());
  const std::string whole = text();
  const fs::path compressed = folder_ / "results.json.gz";
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(compressed.c_str(), "wb"), ::gzclose);
  ASSERT_EQ(::gzwrite(file.get(), whole.data(), static_cast<unsigned>(whole.size())), static_cast<int>(whole.size()));
  ASSERT_EQ(::gzflush(file.get(), Z_FINISH), Z_OK);
  fs::remove(folder_ / "results.json");
  const RunResults read = read_results(folder_);
  EXPECT_EQ(results_text(read), whole);
  write_results(folder_, read);
  EXPECT_EQ(text(), whole);
  EXPECT_FALSE(fs::exists(compressed));
}

TEST_F(ResultsFile, RefusesAFileThatIsMissingOrCutShort) {
  EXPECT_THROW(read_results(folder_ / "absent"), std::invalid_argument);
  write(full_results());
  set_text(text().substr(0, text().size() / 2));
  EXPECT_THAT(error_of([&] { read_results(folder_); }),
              AllOf(HasSubstr("results.json: not valid JSON"), HasSubstr("line")));
}

TEST_F(ResultsFile, RefusesNestingThatNoResultHas) {
  write(full_results());
  const std::string whole = text();
  const std::size_t plan = whole.find("\"plan\": ") + 8;
  // Brackets in a string are no levels.
  for (const std::string& nested : {std::string(200'000, '[') + std::string(200'000, ']'), std::string(200'000, '{')}) {
    set_text(whole.substr(0, plan) + "{\"x [[\\\"\": " + nested + "}" + whole.substr(whole.find('}', plan) + 1));
    EXPECT_THAT(error_of([&] { read_results(folder_); }), HasSubstr("nested deeper than 100 levels"));
  }
  set_text(whole.substr(0, plan) + "{\"x" + std::string(200, '[') + "\": " + std::string(90, '[') +
           std::string(90, ']') + "}" + whole.substr(whole.find('}', plan) + 1));
  EXPECT_EQ(read_results(folder_).cells.size(), full_results().cells.size());
}

std::string machine_complaint(const fs::path& folder, const RunResults& results) {
  return error_of<MachineError>([&] { write_results(folder, results); });
}

TEST_F(ResultsFile, FullDiskLeavesTheFormerFileWhole) {
  write(full_results());
  const std::string former = text();
  RunResults longer = full_results();
  longer.cells.resize(1000, longer.cells[0]);
  {
    const FileSizeLimit limit(static_cast<rlim_t>(former.size()) + 100);
    EXPECT_THAT(machine_complaint(folder_, longer), AllOf(HasSubstr("results.json"), HasSubstr("File too large")));
  }
  EXPECT_EQ(text(), former);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(ResultsFile, NamesAFolderThatCannotBeWritten) {
  EXPECT_THAT(machine_complaint(folder_ / "absent", full_results()),
              AllOf(HasSubstr("absent/results.json"), HasSubstr("No such file or directory")));
  // Not a folder of mode 0555: root would write there all the same.
  EXPECT_THAT(machine_complaint("/proc", full_results()), HasSubstr("/proc/results.json"));
}

TEST(NumericsText, ShowsTheDifferenceWhereThereMayBeOne) {
  EXPECT_EQ(numerics_text(NumericsLabel::bit_identical, 0), "bit_identical");
  EXPECT_EQ(numerics_text(NumericsLabel::reordered, 1.5e-5), "reordered 1.5e-05");
  EXPECT_EQ(numerics_text(NumericsLabel::mismatch, 0.5), "mismatch 5.0e-01");
}

TEST(CutWindows, TakesTheRanksOfSamplesAlone) {
  const CutResults cut = cut_windows(
      R"({"ranks": [0], "cells": [{"own": {"ranks": [1]}, "samples": [{"ranks": [{"a": [2]}]}, {"x": 3, "ranks" : []}]},)"
      R"( {"ranks": [4], "samples": [{"ranks": [5], "more": [6]}]}]})");
  EXPECT_THAT(cut.windows, ElementsAre(R"([{"a": [2]}])", "[]", "[5]"));
  EXPECT_EQ(cut.rest,
            R"({"ranks": [0], "cells": [{"own": {"ranks": [1]}, "samples": [{"ranks": []}, {"x": 3, "ranks" : []}]},)"
            R"( {"ranks": [4], "samples": [{"ranks": [], "more": [6]}]}]})");
}

TEST(CutWindows, ReadsStringsAsStrings) {
  const CutResults cut = cut_windows(
      R"({"cells": [{"name": "\"samples\": [{", "samples": [{"ranks": [{"]}\\": "["}], "note": "ranks"}]}]})");
  EXPECT_THAT(cut.windows, ElementsAre(R"([{"]}\\": "["}])"));
  EXPECT_EQ(cut.rest, R"({"cells": [{"name": "\"samples\": [{", "samples": [{"ranks": [], "note": "ranks"}]}]})");
}

TEST(CutWindows, EndsWithATextThatIsCutShort) {
  const std::string text = R"({"cells": [{"samples": [{"ranks": [{"a": "b\"c"}]}]}]})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const CutResults cut = cut_windows(std::string_view(text).substr(0, length));
    EXPECT_LE(cut.rest.size(), length + 2);
  }
  EXPECT_THAT(cut_windows("]]}}\"\\").windows, IsEmpty());
}

}  // namespace
}  // namespace underlap::report
