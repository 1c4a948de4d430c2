// SPDX-License-Identifier: Apache-2.0
#include "platform/text/titled_table.hpp"

namespace underlap {

std::string render(const TitledTable& titled, const TableFormat& format) {
  std::string text = titled.title.empty() ? "" : wrap(titled.title, format.width) + "\n";
  if (!titled.table.rows.empty()) text += render(titled.table, format);
  for (const std::string& note : titled.notes) text += wrap(note, format.width);
  return text;
}

}  // namespace underlap
