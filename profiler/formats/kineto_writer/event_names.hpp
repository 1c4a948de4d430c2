// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/formats/json_object.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// What PyTorch's profiler calls a collective in `Collective name`, as "_allgather_base".
std::string_view kineto_word(Collective);
/// What it calls an element type in `dtype`, as "BFloat16".
std::string_view kineto_word(DataType);

/// The category (`cat`) of an event for that slice.
std::string_view kineto_category(const Trace&, std::size_t slice);

/// The name of an event for that slice.
///
/// Other tools recognize the kind of a kernel by the start of its name: communication by "nccl" ("ncclDevKernel" before
/// 2.19 was "ncclKernel"), copies by "Memcpy". Slices with other names get such a prefix:
/// "ncclDevKernel_AllGather(param_all_gather)", "Memcpy (offload)". All others keep their names.
std::string kineto_name(const Trace&, std::size_t slice);

/// Adds PyTorch's profiler description of a collective to the `args` of its kernel or call, as seen by `rank`.
void add_collective(JsonObject& args, const Trace&, const CommunicationRecord&, std::int32_t rank);

/// Appends the list `pg_config`: the process groups that `rank` is a member of.
void append_process_groups(std::string& out, const Trace&, std::int32_t rank);

}  // namespace underlap::formats
