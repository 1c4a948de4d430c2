// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {

/// A pipeline that plays what `write` writes for this rank's stage, the same every step.
std::unique_ptr<Pipeline> make_scripted_pipeline(const Context& context, void (*write)(Script&));

}  // namespace underlap::pp
