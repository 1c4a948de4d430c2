// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/shared_values.hpp"

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using testing::Optional;
using testing::Pair;

class MeetingPlaceTest : public ::testing::Test {
 protected:
  using Answered = std::pair<std::int32_t, SharedValues::Values>;

  static Deadline at(int second) { return Deadline(std::chrono::seconds(second)); }

  std::vector<Answered> answered_;
  SharedValues place_{
      [this](std::int32_t rank, const SharedValues::Values& values) { answered_.emplace_back(rank, values); }};
};

TEST_F(MeetingPlaceTest, AnswersAtOnceWhatIsThere) {
  place_.put("a", "1");
  place_.wait(3, {"a"}, at(9));
  EXPECT_THAT(answered_, ElementsAre(Pair(3, ElementsAre(Optional<std::string>("1")))));
}

TEST_F(MeetingPlaceTest, AnswersEachRankWithItsLastKey) {
  place_.wait(0, {"a", "b"}, at(9));
  place_.wait(1, {"b"}, at(9));
  place_.put("b", "2");
  ASSERT_THAT(answered_, ElementsAre(Pair(1, ElementsAre(Optional<std::string>("2")))));
  place_.put("a", std::string("\0\xff", 2));
  EXPECT_THAT(answered_[1], Pair(0, ElementsAre(Optional(std::string("\0\xff", 2)), Optional<std::string>("2"))));
  EXPECT_EQ(place_.next_due(), std::nullopt);
}

TEST_F(MeetingPlaceTest, KeepsTheFirstOfTwoValues) {
  place_.put("a", "1");
  place_.put("a", "2");
  place_.wait(0, {"a"}, at(9));
  EXPECT_THAT(answered_, ElementsAre(Pair(0, ElementsAre(Optional<std::string>("1")))));
}

TEST_F(MeetingPlaceTest, AnswersTheLateWithWhatThereIs) {
  place_.put("a", "1");
  place_.wait(0, {"a", "b"}, at(5));
  place_.wait(1, {"b"}, at(7));
  EXPECT_EQ(place_.next_due(), at(5));
  place_.answer_the_late(at(4));
  EXPECT_THAT(answered_, IsEmpty());
  place_.answer_the_late(at(5));
  EXPECT_THAT(answered_, ElementsAre(Pair(0, ElementsAre(Optional<std::string>("1"), std::nullopt))));
  place_.put("b", "2");
  EXPECT_EQ(answered_.size(), 2U) << "who was answered is answered once";
}

}  // namespace
}  // namespace underlap::bench
