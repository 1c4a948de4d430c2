// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace underlap::bench {

/// Bytes of a nonce and of a proof.
inline constexpr std::size_t kProofBytes = 32;

/// How two processes prove to each other that both know the token of a run, which neither sends.
///
///     run  -> peer   challenge: the run's nonce
///     peer -> run    the peer's nonce, its proof over both nonces and its message, the message
///     run  -> peer   the run's proof over both nonces
///
/// A proof is HMAC-SHA256 with the token as key. Nonces are random and used once, so nothing that was recorded is of
/// use again; each side's proof starts with its role, so that none can be sent back. Nothing after these messages is
/// signed or encrypted: who can change packets on the way can take over the connection.
struct Handshake {
  std::string run_nonce = {};
  std::string peer_nonce = {};
};

/// kProofBytes random bytes. Throws MachineError.
std::string random_nonce();

/// The payload of the peer's answer to `handshake.run_nonce`.
std::string peer_answer(std::string_view token, const Handshake& handshake, std::string_view message);

/// The message in `answer`, where its sender knows the token and answers the nonce in `handshake`, whose `peer_nonce`
/// is then set; else nothing (data() is null). It takes the same time for each wrong proof.
std::string_view checked_message(std::string_view token, Handshake& handshake, std::string_view answer);

/// The run's proof of itself.
std::string run_proof(std::string_view token, const Handshake& handshake);

/// Whether `proof` is run_proof().
bool is_proof_of_run(std::string_view token, const Handshake& handshake, std::string_view proof);

/// Whether `text` starts with `secret`, in the same time for each text that does not.
bool starts_with_secret(std::string_view text, std::string_view secret);

}  // namespace underlap::bench
