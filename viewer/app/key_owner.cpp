// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/key_owner.hpp"

#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTabBar>

namespace underlap::viewer {
namespace {

template <class... Kinds>
bool is_any_of(const QWidget& widget) {
  return ((qobject_cast<const Kinds*>(&widget) != nullptr) || ...);
}

bool goes_somewhere(int key) {
  return (key >= Qt::Key_Home && key <= Qt::Key_PageDown) || key == Qt::Key_Return || key == Qt::Key_Enter;
}

}  // namespace

bool takes_key(const QWidget& widget, const QKeyEvent& event) {
  const Qt::KeyboardModifiers held = event.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
  const int key = event.key();
  if (held != Qt::NoModifier || key == Qt::Key_Escape || (key >= Qt::Key_F1 && key <= Qt::Key_F35)) return false;
  if (is_any_of<QLineEdit, QAbstractSpinBox, QComboBox>(widget)) return true;
  return goes_somewhere(key) && is_any_of<QAbstractItemView, QPlainTextEdit, QTabBar>(widget);
}

}  // namespace underlap::viewer
