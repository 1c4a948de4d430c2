// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/authentication.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

constexpr std::string_view kPeer = "underlap.launch/2 peer";
constexpr std::string_view kRun = "underlap.launch/2 run ";  // as long as the other: what follows starts at one place

std::string proof_of(std::string_view token, std::string_view role, const Handshake& handshake,
                     std::string_view message) {
  const std::string text = std::string(role) + handshake.run_nonce + handshake.peer_nonce + std::string(message);
  std::string proof(kProofBytes, '\0');
  unsigned length = 0;
  const unsigned char* const made = ::HMAC(::EVP_sha256(), token.data(), static_cast<int>(token.size()),
                                           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                           reinterpret_cast<unsigned char*>(proof.data()), &length);
  if (made == nullptr || length != kProofBytes) throw MachineError("OpenSSL's HMAC-SHA256 failed");
  return proof;
}

bool is_equal(std::string_view one, std::string_view other) {
  return one.size() == other.size() && ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace

std::string random_nonce() {
  std::string nonce(kProofBytes, '\0');
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    throw MachineError("cannot get random numbers from the system");
  return nonce;
}

std::string peer_answer(std::string_view token, const Handshake& handshake, std::string_view message) {
  return handshake.peer_nonce + proof_of(token, kPeer, handshake, message) + std::string(message);
}

std::string_view checked_message(std::string_view token, Handshake& handshake, std::string_view answer) {
  if (answer.size() < 2 * kProofBytes) return {};
  const std::string_view message = answer.substr(2 * kProofBytes);
  handshake.peer_nonce = answer.substr(0, kProofBytes);
  const std::string expected = proof_of(token, kPeer, handshake, message);
  return is_equal(answer.substr(kProofBytes, kProofBytes), expected) ? message : std::string_view{};
}

std::string run_proof(std::string_view token, const Handshake& handshake) {
  return proof_of(token, kRun, handshake, {});
}

bool is_proof_of_run(std::string_view token, const Handshake& handshake, std::string_view proof) {
  return is_equal(proof, run_proof(token, handshake));
}

bool starts_with_secret(std::string_view text, std::string_view secret) {
  return is_equal(text.substr(0, secret.size()), secret);
}

}  // namespace underlap::bench
