// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace underlap::cupti {

/// What else uses CUPTI in a process, as far as it can be told: a word for a message, such as "Nsight Systems", or the
/// path that CUDA_INJECTION64_PATH names; empty where nothing was recognized.
///
/// maps       the text of /proc/<pid>/maps
/// injection  the value of CUDA_INJECTION64_PATH; empty where it is not set
std::string name_other_client(std::string_view maps, std::string_view injection);

/// The same for this process.
std::string name_other_client();

}  // namespace underlap::cupti
