// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/authentication.hpp"

#include <gtest/gtest.h>

namespace underlap::bench {
namespace {

Handshake handshake() {
  return {.run_nonce = std::string(kProofBytes, 'r'), .peer_nonce = std::string(kProofBytes, 'p')};
}

TEST(Authentication, TakesTheMessageOfAPeerThatKnowsTheToken) {
  const std::string answer = peer_answer("token", handshake(), "rank 1");
  Handshake taken{.run_nonce = handshake().run_nonce};
  EXPECT_EQ(checked_message("token", taken, answer), "rank 1");
  EXPECT_EQ(taken.peer_nonce, handshake().peer_nonce);
  EXPECT_TRUE(is_proof_of_run("token", handshake(), run_proof("token", taken)));
}

TEST(Authentication, NeverSendsTheToken) {
  const std::string sent = peer_answer("token", handshake(), "rank 1") + run_proof("token", handshake());
  EXPECT_EQ(sent.find("token"), std::string::npos);
}

TEST(Authentication, RefusesWhatWasChanged) {
  const std::string answer = peer_answer("token", handshake(), "rank 1");
  const auto is_taken = [](const std::string& token, const std::string& run_nonce, const std::string& text) {
    Handshake taken{.run_nonce = run_nonce};
    return checked_message(token, taken, text).data() != nullptr;
  };
  EXPECT_TRUE(is_taken("token", handshake().run_nonce, answer));
  EXPECT_FALSE(is_taken("other", handshake().run_nonce, answer));
  EXPECT_FALSE(is_taken("token", random_nonce(), answer)) << "an answer to another challenge";
  for (std::size_t i = 0; i < answer.size(); ++i) {
    std::string changed = answer;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(is_taken("token", handshake().run_nonce, changed)) << i;
    EXPECT_FALSE(is_taken("token", handshake().run_nonce, answer.substr(0, i))) << i;
  }
}

TEST(Authentication, ProofsOfOneSideAreNoneOfTheOther) {
  const std::string answer = peer_answer("token", handshake(), "");
  EXPECT_FALSE(is_proof_of_run("token", handshake(), answer.substr(kProofBytes)));
  EXPECT_FALSE(is_proof_of_run("token", handshake(), ""));
}

TEST(Authentication, NoncesDiffer) {
  EXPECT_EQ(random_nonce().size(), kProofBytes);
  EXPECT_NE(random_nonce(), random_nonce());
}

}  // namespace
}  // namespace underlap::bench
