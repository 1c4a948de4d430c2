// SPDX-License-Identifier: Apache-2.0
// What a terminal shows while a command is at work.
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include "platform/file_descriptor.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

/// A terminal that standard error of a program may be.
class Terminal {
 public:
  Terminal() {
    std::array<int, 2> ends{};
    std::array<char, 128> name{};
    const winsize size{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&ends[0], &ends[1], name.data(), nullptr, &size) != 0) throw std::runtime_error("no terminal");
    here_ = FileDescriptor(ends[0]);
    kept_open_ = FileDescriptor(ends[1]);
    name_ = name.data();
    ::fcntl(here_.get(), F_SETFL, O_NONBLOCK);
  }

  Surroundings surroundings(const std::string& kind) const {
    return {.err_path = name_, .environment = {{"TERM", kind}}};
  }

  const std::string& text() {
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(here_.get(), bytes.data(), bytes.size())) > 0;)
      text_.append(bytes.data(), static_cast<std::size_t>(got));
    return text_;
  }
  bool shows(const std::string& words) { return text().find(words) != std::string::npos; }

 private:
  FileDescriptor here_, kept_open_;
  std::string name_, text_;
};

const std::string kConfig = tiny_config("data_parallel_size: 2\n");

TEST(Silence, IsBrokenByALineThatSaysWhatTheRunIsAt) {
  const RunFolder folder(kConfig);
  Terminal terminal;
  Program program(folder.arguments({"--blocks", "100000"}), terminal.surroundings("xterm"));
  EXPECT_TRUE(program.wait_until([&] { return terminal.shows(" of 100000, cell 1 of 1"); })) << terminal.text();
  EXPECT_THAT(terminal.text(), ContainsRegex("\r[^\r\n]{1,39}\033"));
}

TEST(Silence, IsBrokenWhileACommandThatPrintsAtItsEndWorks) {
  const RunFolder large(
      "model: {preset: gpt3-175b, tensor_model_parallel_size: 8, pipeline_model_parallel_size: 16}\n"
      "train: {micro_batch_size: 1, global_batch_size: 64}\n");
  Terminal terminal;
  Program program({"check", large.config(), "--no-numerics"}, terminal.surroundings("xterm"));
  EXPECT_TRUE(program.wait_until([&] { return terminal.shows("\rchecking cell 1 of 1"); })) << terminal.text();
}

TEST(Silence, IsBrokenByWholeLinesWhereNoLineCanBeRewritten) {
  const RunFolder folder(kConfig);
  Terminal terminal;
  Program program(folder.arguments(), terminal.surroundings("dumb"));
  EXPECT_EQ(program.wait().exit_code, 0);
  EXPECT_TRUE(terminal.shows("block 2 of 2 done\r\n")) << terminal.text();
  EXPECT_FALSE(terminal.shows("\033"));
}

}  // namespace
}  // namespace underlap::bench
