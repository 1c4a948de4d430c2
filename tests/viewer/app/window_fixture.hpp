// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <QSettings>
#include <QTest>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "platform/temporary_folder.hpp"
#include "profiler/formats/format.hpp"
#include "tests/viewer/small_traces.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/pages/trace_page.hpp"

namespace underlap::viewer {

namespace fs = std::filesystem;

/// A window of its own for each test, with settings that nobody else has.
class Window : public testing::Test {
 protected:
  Window() {
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, text(folder.path() / "settings"));
    window = std::make_unique<MainWindow>();
    window->resize(1280, 860);
    window->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    window->activateWindow();
  }

  static QString text(const fs::path& path) { return QString::fromStdString(path.string()); }

  // Written as a run writes it, early_ns as two_ranks() has it.
  QString trace_file(const std::string& name, std::int64_t early_ns = 0) {
    const fs::path file = folder.path() / name;
    formats::write_trace(file, testing_support::two_ranks(early_ns));
    return text(file);
  }

  bool wait_until(const std::function<bool()>& is_so) { return QTest::qWaitFor(is_so, 20'000); }

  TracePage* opened(const QString& path) {
    window->open(path);
    EXPECT_TRUE(wait_until([&] { return !window->is_loading(); }));
    auto* page = qobject_cast<TracePage*>(window->page());
    if (page != nullptr) page->timeline()->setFocus();
    return page;
  }

  static std::string fact(const TracePage& page, const std::string& label) {
    for (const Fact& one : page.facts().facts())
      if (one.label == label) return one.value;
    return "";
  }

  void press(QWidget* widget, int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(widget, static_cast<Qt::Key>(key), modifiers);
    QTest::qWait(1);
  }

  TemporaryFolder folder;
  std::unique_ptr<MainWindow> window;
};

}  // namespace underlap::viewer
