// SPDX-License-Identifier: Apache-2.0
// Commands read the results of a run as zstd makes them, as recorded runs have them.
#include "tests/bench/commands/compressed_results.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

/// A finished run in virtual time, and its results compressed in a folder of their own.
class CompressedResults : public testing::Test {
 protected:
  CompressedResults() : run_(tiny_config(kOffAndOn)) {
    run_.measure({"--backend", "sim"});
    write_text(recorded_ / "results.json", read_text(fs::path(run_.run()) / "results.json"));
    file_ = compress_results(recorded_ / "");
  }

  RunFolder run_;
  testing_support::TemporaryFolder recorded_;
  fs::path file_;
};

TEST_F(CompressedResults, AreReadByEveryCommand) {
  const std::string shown = underlap_program({"show", run_.run()}).out;
  for (const fs::path& named : {recorded_ / "", file_}) {
    EXPECT_EQ(underlap_program({"show", named}).out, shown);
    EXPECT_EQ(underlap_program({"compare", run_.run(), named}).exit_code, 0);
    EXPECT_THAT(underlap_program({"compare", named, "--cells", "none", "none"}), fails_with(2, "it has: "));
    EXPECT_THAT(underlap_program({"scaling", named}), fails_with(2, "no cell was run at two sizes"));
    EXPECT_THAT(underlap_program({"gate", run_.run(), named}), fails_with(2, "are the same run"));
  }
}

TEST_F(CompressedResults, ThatAreCutAreRefused) {
  const std::string bytes = read_text(file_);
  write_text(file_, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(underlap_program({"show", recorded_ / ""}),
              fails_with(2, "results.json.zst: compressed data is truncated"));
}

TEST_F(CompressedResults, AreContinuedAndWrittenPlain) {
  const fs::path compressed = compress_results(run_.run());
  EXPECT_THAT(underlap_program(run_.arguments({"--backend", "sim"})), fails_with(2, "already contains a run"));
  const Outcome resumed = underlap_program(run_.arguments({"--backend", "sim", "--resume", "--blocks", "3"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(fs::exists(fs::path(run_.run()) / "results.json"));
  EXPECT_FALSE(fs::exists(compressed));
  EXPECT_EQ(report::read_results(run_.run()).blocks_done, 3);
}

}  // namespace
}  // namespace underlap::bench
