// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace underlap::viewer {

/// "12.3" with as many digits behind the point as leave about three that count; "-" for what is not known.
QString number_text(double value);

/// The same with its sign; a change of nothing has none.
QString signed_text(double value);

}  // namespace underlap::viewer
