// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "profiler/formats/json_object.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Adds PyTorch's profiler description of a collective to the `args` of its kernel or call, as seen by `rank`.
void add_collective(JsonObject& args, const Trace&, const CommunicationRecord&, std::int32_t rank);

/// Appends the list `pg_config`: the process groups that `rank` is a member of.
void append_process_groups(std::string& out, const Trace&, std::int32_t rank);

}  // namespace underlap::formats
