// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/nccl_names.hpp"

#include "profiler/trace/enum_names.hpp"

namespace underlap::sim::nccl {
namespace {

constexpr EnumNames<Algorithm, 6> kAlgorithms{{"tree", "ring", "nvls", "nvls_tree", "pat", "p2p"}};
constexpr EnumNames<Protocol, 3> kProtocols{{"ll", "ll128", "simple"}};
constexpr EnumNames<Generation, 3> kGenerations{{"ampere", "hopper", "blackwell"}};

}  // namespace

std::string_view to_string(Algorithm algorithm) { return kAlgorithms[algorithm]; }
std::string_view to_string(Protocol protocol) { return kProtocols[protocol]; }
std::string_view to_string(Generation generation) { return kGenerations[generation]; }
std::optional<Algorithm> algorithm_from(std::string_view name) { return kAlgorithms.find(name); }
std::optional<Protocol> protocol_from(std::string_view name) { return kProtocols.find(name); }
std::optional<Generation> generation_from(std::string_view name) { return kGenerations.find(name); }

}  // namespace underlap::sim::nccl
