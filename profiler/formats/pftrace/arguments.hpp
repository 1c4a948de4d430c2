// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "profiler/formats/pftrace/events.hpp"

namespace underlap::formats::pftrace {

/// Takes one argument of an event, as text: a debug annotation or the extra data of a render stage.
void take_argument(Arguments&, std::string_view key, std::string_view text);

/// Whether take_argument() uses an argument of this name.
bool is_used_argument(std::string_view key);

/// Completes the arguments after the last one.
void finish_arguments(Arguments&);

/// What PyTorch calls the collective of a function of NCCL, "ncclAllReduce" or "AllReduce"; "" for another one.
std::string_view collective_of_function(std::string_view function);

}  // namespace underlap::formats::pftrace
