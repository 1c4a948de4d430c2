// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/tag.hpp"

#include "profiler/trace/enum_names.hpp"

namespace underlap {
namespace {

constexpr EnumNames<Mode, 8> kModes{{"none", "dp", "tp", "pp", "cp", "ep", "fsdp", "other"}};
constexpr EnumNames<Kind, 4> kKinds{{"compute", "communication", "copy", "none"}};
constexpr EnumNames<Direction, 4> kDirections{{"none", "forward", "backward", "optimizer"}};

}  // namespace

std::string_view to_string(Mode mode) { return kModes[mode]; }
std::string_view to_string(Kind kind) { return kKinds[kind]; }
std::string_view to_string(Direction direction) { return kDirections[direction]; }

std::optional<Mode> mode_from(std::string_view name) { return kModes.find(name); }
std::optional<Kind> kind_from(std::string_view name) { return kKinds.find(name); }
std::optional<Direction> direction_from(std::string_view name) { return kDirections.find(name); }

}  // namespace underlap
