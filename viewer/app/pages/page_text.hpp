// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstddef>
#include <string>

namespace underlap::viewer {

inline constexpr std::size_t kNamesOfSelection = 200;  ///< rows of a table of names

inline QString text(const std::string& string) { return QString::fromStdString(string); }

}  // namespace underlap::viewer
