// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::attribution {

/// What a kernel with a known name does.
enum class KernelClass : std::uint8_t {
  communication,
  compute,
  fused,  ///< computes and communicates at once
  copy    ///< copies or fills memory of its device
};

/// A rule of kernel_names.yaml. `underlap help mode-map` describes its keys.
struct KnownKernel {
  std::string_view library = {};
  std::string_view kernel = {};  ///< patterns, see matches_kernel()
  KernelClass what = KernelClass::communication;
  std::string_view purpose = {};  ///< empty: unknown
  Mode mode = Mode::none;         ///< none: the library serves several
  std::string_view why = {};      ///< why a kernel that looks like communication is not
};

/// The rules for the kernels of communication libraries, in the order of the file.
std::span<const KnownKernel> known_kernels();
/// The text of kernel_names.yaml.
std::string_view kernel_names_text();

/// The meaning of the name of a kernel or a copy. The texts live as long as the program.
struct NameMeaning {
  enum class Says {
    known,            ///< a rule names it
    looks_like_comm,  ///< no rule matches, but its name has a communication word
    device_copy,      ///< a copy within a device or between devices that share memory
    nothing
  };
  Says says = Says::nothing;
  KernelClass what = KernelClass::compute;  ///< of a known name
  std::string_view library = {};            ///< "NCCL", "DeepEP"
  std::string_view purpose = {};            ///< the collective, if the name shows it
  Mode mode = Mode::none;                   ///< the mode of the library, if it serves only one
  std::string_view why_not = {};            ///< why a kernel that looks like communication counts as compute

  bool is(KernelClass wanted) const { return says == Says::known && what == wanted; }
};

/// Reads the name of a kernel as a tool prints it, by the rules of kernel_names.yaml: the first that matches decides.
NameMeaning meaning_of_kernel(std::string_view name);

/// Reads the name of a copy. A copy to another device is communication.
NameMeaning meaning_of_copy(std::string_view name);

/// The collective that a launching annotation such as "nccl:all_reduce" or "ncclAllReduce" names. Empty if it only
/// shows that something is sent; nullopt if it launches no communication.
std::optional<std::string_view> collective_of_annotation(std::string_view annotation);

}  // namespace underlap::attribution
