// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace underlap {

/// A string interned for the life of the process: operation names, purposes, track names.
///
/// Equal strings have equal ids in one process, so two traces compare by id. Ids depend on the order of
/// interning and are never written to a file.
enum class NameId : std::uint32_t {};

/// The id of the empty name.
inline constexpr NameId kNoName{0};

/// Returns the id of `name`, adding it to the registry at its first use. Thread-safe.
NameId intern(std::string_view name);

/// Returns the text of `id`; it stays valid for the life of the process. Thread-safe.
std::string_view name_of(NameId id);

}  // namespace underlap
