// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <vector>

namespace underlap::viewer {

/// A mark of an axis with a logarithmic scale.
struct Tick {
  double value = 0;
  QString text;
};

/// Sizes of messages from low to high: "1 kB", "1 MB"; 1 kB = 1e3 B, as bandwidths have it.
std::vector<Tick> size_ticks(double low, double high);

/// Powers of ten from low to high, with 2 and 5 between them where there are few.
std::vector<Tick> number_ticks(double low, double high);

/// "12.3" with as many digits behind the point as leave about three that count; "-" for what is not known.
QString number_text(double value);

/// The same with its sign; a change of nothing has none.
QString signed_text(double value);

}  // namespace underlap::viewer
