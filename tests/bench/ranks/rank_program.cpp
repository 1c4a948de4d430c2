// SPDX-License-Identifier: Apache-2.0
// A rank that does as UNDERLAP_TEST_RANK says: "NUMBER DEED", where the deed is done in the first step of block 0; or
// "NUMBER DEED BLOCK CELL [FILE]": in that block of that cell alone, and where a file is named only until it is there.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/ranks/rank_service.hpp"
#include "platform/child_process.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

void sleep_long() { std::this_thread::sleep_for(std::chrono::seconds(1000)); }

void do_deed(const std::string& deed) {
  if (deed == "throw") throw MachineError("its disk is full");
  if (deed == "refuse") throw std::invalid_argument("text.txt: no such file");
  if (deed == "lose_peer") throw PeerError("rank 0: grad_reduce with rank 1: connection lost");
  if (deed == "exit") std::fprintf(stderr, "first\nlibrary: cannot go on\n"), std::_Exit(7);
  if (deed == "segv") ::raise(SIGSEGV);
  if (deed == "stop") ::raise(SIGSTOP);
  if (deed == "hang") sleep_long();
  if (deed == "print") std::fprintf(stderr, "one\n"), std::printf("two\n"), std::fflush(stdout);
}

class ObedientRank final : public RankRunner {
 public:
  explicit ObedientRank(const RankContext& context)
      : rank_(context.rank),
        own_cells_(fmt::format("own cells: {}", fmt::join(context.own_cells, ", "))),
        next_step_(context.cells.size(), context.first_step) {
    std::istringstream(std::getenv("UNDERLAP_TEST_RANK") ? std::getenv("UNDERLAP_TEST_RANK") : "") >> culprit_ >>
        deed_ >> block_ >> cell_ >> file_;
  }

  void build(std::size_t) override {
    if (deed_ == "build_late" && rank_ == culprit_) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  }
  void reserve(std::size_t, std::int64_t) override {}

  void run(std::size_t cell, std::int32_t block, std::int64_t steps) override {
    last_ = {.trace = {}, .first_step = next_step_[cell], .losses = {}, .transfer_cpu_ns = 10, .notes = {own_cells_}};
    if (const char* gpu = std::getenv("UNDERLAP_TEST_GPU")) last_.gpu = gpu;
    if (block == 0 && deed_ == "throw_late" && rank_ != culprit_) do_deed("lose_peer");
    if (block == 0 && deed_ == "throw_late") {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      do_deed("throw");
    }
    if (block == 0 && deed_ == "all_hang") sleep_long();
    if (block == block_ && (cell_ < 0 || cell_ == static_cast<int>(cell)) && rank_ == culprit_ && is_first_time())
      do_deed(deed_);
    for (std::int64_t i = 0; i < steps; ++i) {
      last_.trace.marks.push_back({rank_, block, next_step_[cell], 1000 * next_step_[cell]});
      last_.losses.push_back(1.0 / 3 + rank_);
      ++next_step_[cell];
    }
    last_.trace.clocks.push_back({rank_, ::getpid(), 0});
    if (deed_ == "reduce") reduce_in_each_step();
  }

  RankRun take(std::size_t) override { return last_; }

 private:
  // In each of the steps of 1000 ns, from 500 ns on by rank 0 and from 800 ns on by rank 1.
  void reduce_in_each_step() {
    Trace& trace = last_.trace;
    trace.clocks = {{rank_, 0, 0}};
    const std::uint32_t track = trace.add_track({rank_, 1, "dp"});
    const std::uint32_t group = trace.add_group({.ranks = {0, 1}});
    for (const Mark& mark : trace.marks) {
      const std::int64_t start_ns = mark.time_ns - 500 + 300 * rank_;
      trace.add({.track = track,
                 .start_ns = start_ns,
                 .duration_ns = mark.time_ns - 100 - start_ns,
                 .name = intern("all_reduce"),
                 .tag = {.kind = Kind::communication, .mode = Mode::dp, .step = mark.step}},
                {.group = group,
                 .sequence = static_cast<std::uint64_t>(mark.step),
                 .last_arrival_ns = -1,
                 .transfers = {{.collective = Collective::all_reduce, .bytes_on_wire = 100}}});
    }
  }

  bool is_first_time() const {
    if (file_.empty()) return true;
    if (std::ifstream(file_).good()) return false;
    std::ofstream(file_).put('x');
    return true;
  }

  std::int32_t rank_;
  std::string own_cells_;
  std::vector<std::int32_t> next_step_;
  std::int32_t culprit_ = -1;
  std::string deed_;
  std::int32_t block_ = 0;
  int cell_ = -1;
  std::string file_;
  RankRun last_;
};

}  // namespace
}  // namespace underlap::bench

int main() {
  using namespace underlap;
  using namespace underlap::bench;
  return serve_rank(MessageChannel(FileDescriptor(ChildProcess::kChannel), "the run"),
                    [](const RankContext& context) { return std::make_unique<ObedientRank>(context); });
}
