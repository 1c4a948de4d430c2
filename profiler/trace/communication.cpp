// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/communication.hpp"

#include <array>

#include "profiler/trace/enum_names.hpp"

namespace underlap {
namespace {

constexpr EnumNames<DataType, 7> kDataTypes{{"f32", "bf16", "i32", "u8", "f64", "f8e4m3", "f8e5m2"}};
constexpr std::array<std::int64_t, 7> kSizes{4, 2, 4, 1, 8, 1, 1};
constexpr EnumNames<Collective, 7> kCollectives{
    {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "send", "receive"}};

}  // namespace

std::int64_t size_of(DataType dtype) { return kSizes.at(static_cast<std::size_t>(dtype)); }
std::string_view to_string(DataType dtype) { return kDataTypes[dtype]; }
std::string_view to_string(Collective collective) { return kCollectives[collective]; }
std::optional<DataType> data_type_from(std::string_view name) { return kDataTypes.find(name); }
std::optional<Collective> collective_from(std::string_view name) { return kCollectives.find(name); }

}  // namespace underlap
