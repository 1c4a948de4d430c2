// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/kernel_rules.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "profiler/attribution/name_patterns.hpp"

namespace underlap::attribution {
namespace {

bool is_ascii_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_ascii_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Lower-case letters and digits only, so that AllReduce, all_reduce and allReduce are one word.
std::string joined_words(std::string_view name) {
  std::string words;
  for (const char c : name) {
    if (is_ascii_upper(c)) words += static_cast<char>(c - 'A' + 'a');
    if (is_ascii_lower(c) || ('0' <= c && c <= '9')) words += c;
  }
  return words;
}

// Fails when a compute kernel has such a word: its stream and annotations then decide, or it stays unclassified.
bool looks_like_communication(std::string_view qualified) {
  constexpr std::array<std::string_view, 34> kWords{
      "nccl",        "rccl",      "msccl",     "shmem",         "symmem",         "symmmem",      "multimem",
      "userbuffers", "allreduce", "allgather", "reducescatter", "alltoall",       "all2all",      "crossdevice",
      "sendrecv",    "deepep",    "megamoe",   "lamport",       "notifydispatch", "cachednotify", "barrierall",
      "pushsend",    "internode", "intranode", "rdma",          "mnnvl",          "nvls",         "ctran",
      "dispatch",    "combine",   "p2p",       "peertopeer",    "expertparallel", "interrank"};
  // Namespaces mislead: casts of Transformer Engine are in one called dispatch.
  const std::size_t scope = qualified.rfind("::");
  const std::string words = joined_words(scope == std::string_view::npos ? qualified : qualified.substr(scope + 2));
  return std::ranges::any_of(kWords, [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

}  // namespace

NameMeaning meaning_of_kernel(std::string_view name) {
  using Says = NameMeaning::Says;
  const std::string qualified = qualified_name(name);
  const bool looks = looks_like_communication(qualified);
  for (const KnownKernel& rule : known_kernels()) {
    if (!matches_kernel(rule.kernel, name, qualified)) continue;
    return {.says = Says::known,
            .what = rule.what,
            .library = rule.library,
            .purpose = rule.purpose,
            .mode = rule.mode,
            .why_not = looks ? rule.why : std::string_view()};
  }
  if (looks) return {.says = Says::looks_like_comm, .why_not = "no rule matches"};
  return {};
}

NameMeaning meaning_of_copy(std::string_view name) {
  constexpr std::string_view kPeer =
      "Memcpy PtoP*|[CUDA memcpy Peer-to-Peer]*|[CUDA memcpy PtoP]*|CopyPeerToPeer*|MemcpyP2P*";
  constexpr std::string_view kDevice =
      "Memcpy DtoD*|[CUDA memcpy Device-to-Device]*|[CUDA memcpy DtoD]*|CopyDeviceToDevice*|MemcpyD2D*";
  if (matches_any(kPeer, name))
    return {.says = NameMeaning::Says::known, .what = KernelClass::communication, .library = "copy engine"};
  if (matches_any(kDevice, name)) return {.says = NameMeaning::Says::device_copy};
  return {};
}

std::optional<std::string_view> collective_of_annotation(std::string_view annotation) {
  struct Word {
    std::string_view patterns;
    std::string_view collective;
  };
  // PyTorch's process group writes "nccl:all_reduce", "nccl:_all_gather_base", "nccl:send 0->1"; NCCL's own ranges are
  // "ncclAllReduce".
  constexpr std::array kWords{
      Word{"nccl:*all_reduce*|nccl:*allreduce*|ncclAllReduce*", "all_reduce"},
      Word{"nccl:*all_gather*|nccl:*allgather*|ncclAllGather*", "all_gather"},
      Word{"nccl:*reduce_scatter*|ncclReduceScatter*", "reduce_scatter"},
      Word{"nccl:*all_to_all*|nccl:*alltoall*|ncclAllToAll*", "all_to_all"},
      Word{"nccl:*broadcast*|ncclBroadcast*", "broadcast"},
      Word{"nccl:send*|ncclSend*", "send"},
      Word{"nccl:recv*|ncclRecv*", "receive"},
      Word{"nccl:coalesced*", ""},
      Word{"nccl:reduce*|ncclReduce*", "reduce"},
      Word{"nccl:gather*", "gather"},
      Word{"nccl:scatter*", "scatter"},
  };
  for (const Word& word : kWords)
    if (matches_any(word.patterns, annotation)) return word.collective;
  return std::nullopt;
}

}  // namespace underlap::attribution
