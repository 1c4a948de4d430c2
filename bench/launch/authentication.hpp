// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace underlap::bench {

/// Bytes of a nonce and of a proof.
inline constexpr std::size_t kProofBytes = 32;

/// Handshake in which two processes prove to each other that both know the token of a run, without sending it.
///
///     run  -> peer   challenge: the run's nonce
///     peer -> run    the peer's nonce, its proof over both nonces and its message, the message
///     run  -> peer   the run's proof over both nonces
///
/// A proof is HMAC-SHA256 with the token as key. Nonces are random and used once, so recorded messages cannot be
/// replayed. Each side's proof starts with its role, so that it cannot be reflected. Nothing after these messages is
/// signed or encrypted: anyone who can change packets in transit can take over the connection.
struct Handshake {
  std::string run_nonce = {};
  std::string peer_nonce = {};
};

/// kProofBytes random bytes. Throws MachineError.
std::string random_nonce();

/// The payload of the peer's answer to `handshake.run_nonce`.
std::string peer_answer(std::string_view token, const Handshake& handshake, std::string_view message);

/// The message in `answer`, if its sender knows the token and answers the nonce in `handshake`, whose `peer_nonce` is
/// then set. Otherwise nothing (data() is null), in the same time for each wrong proof.
std::string_view checked_message(std::string_view token, Handshake& handshake, std::string_view answer);

/// The run's proof.
std::string run_proof(std::string_view token, const Handshake& handshake);

/// Whether `proof` is run_proof().
bool is_proof_of_run(std::string_view token, const Handshake& handshake, std::string_view proof);

/// Whether `text` starts with `secret`, in the same time for each text that does not.
bool starts_with_secret(std::string_view text, std::string_view secret);

}  // namespace underlap::bench
