// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/labels.hpp"

namespace underlap::viewer {

QString tooltip_text(const QString& text) {
  if (text.isEmpty()) return text;
  constexpr qsizetype kWidest = 90;  // characters
  QStringList lines;
  for (QString rest : text.split('\n')) {
    while (rest.size() > kWidest) {
      const qsizetype space = rest.lastIndexOf(' ', kWidest);
      const qsizetype end = space > 0 ? space : kWidest;
      lines << rest.first(end).toHtmlEscaped();
      rest = rest.mid(space > 0 ? end + 1 : end);
    }
    lines << rest.toHtmlEscaped();
  }
  return "<p style='white-space:pre'>" + lines.join("<br>") + "</p>";
}

}  // namespace underlap::viewer
