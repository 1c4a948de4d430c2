// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_service.hpp"

#include <sys/socket.h>

#include <future>

#include "bench/ranks/rank_messages.hpp"
#include "platform/exit_code.hpp"

namespace underlap::bench {
namespace {

/// How a runner came to its end.
struct End {
  bool unwinds = false;
  bool was_told = false;
};

class RunnerThatTells final : public RankRunner {
 public:
  explicit RunnerThatTells(std::optional<End>& end) : end_(end) {}
  ~RunnerThatTells() override { end_ = End{std::uncaught_exceptions() > 0, was_told_}; }

  void build(std::size_t) override {}
  void run(std::size_t, std::int32_t, std::int64_t) override { throw MachineError("its disk is full"); }
  RankRun take(std::size_t) override { return {}; }
  void reserve(std::size_t, std::int64_t) override {}
  void give_up() noexcept override { was_told_ = true; }

 private:
  std::optional<End>& end_;
  bool was_told_ = false;
};

/// A rank that has been started, on a thread of its own.
class ServedRank {
 public:
  ServedRank() {
    std::array<int, 2> sockets{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    run_.emplace(FileDescriptor(sockets[0]), "rank 0");
    status_ = std::async(std::launch::async, [this, socket = sockets[1]] {
      return serve_rank(MessageChannel(FileDescriptor(socket), "the run"),
                        [this](const RankContext&) { return std::make_unique<RunnerThatTells>(end_); });
    });
    const plan::Matrix matrix = plan::parse("model: {preset: tiny}\n", "config.yaml");
    order(RankMessage::start, to_message(StartOrder{.rank = 0,
                                                    .world_size = 1,
                                                    .first_step = 0,
                                                    .source = matrix.source,
                                                    .plans_hash = plans_hash(matrix.cells)}));
  }

  RankMessage order(RankMessage order, const std::string& payload) {
    run_->send(static_cast<std::uint32_t>(order), payload);
    return static_cast<RankMessage>(run_->receive().kind);
  }
  void close() { run_.reset(); }
  int status() { return status_.get(); }
  const std::optional<End>& end() const { return end_; }

 private:
  std::optional<MessageChannel> run_;
  std::optional<End> end_;
  std::future<int> status_;
};

TEST(RankService, AtTheEndOfARunARankEndsInOrder) {
  ServedRank rank;
  EXPECT_EQ(rank.order(RankMessage::build, to_message(CellOrder{})), RankMessage::done);
  rank.close();
  EXPECT_EQ(rank.status(), kOk);
  ASSERT_TRUE(rank.end().has_value());
  EXPECT_FALSE(rank.end()->unwinds) << "a transport would abort its communicators";
  EXPECT_FALSE(rank.end()->was_told);
}

TEST(RankService, ARankThatFailedIsToldToWaitForNobody) {
  ServedRank rank;
  EXPECT_EQ(rank.order(RankMessage::run, to_message(CellOrder{})), RankMessage::failed);
  EXPECT_EQ(rank.status(), kRunFailed);
  ASSERT_TRUE(rank.end().has_value());
  EXPECT_TRUE(rank.end()->was_told);
}

}  // namespace
}  // namespace underlap::bench
