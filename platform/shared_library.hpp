// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace underlap {

/// Where a library that is not linked is looked for, in order: the program's own copy (when it is loaded already), the
/// folders of `UNDERLAP_LIBRARY_PATH`, the program's own folder, the system's search path, the CUDA toolkit
/// (`CUDA_HOME`, `CUDA_PATH`, /usr/local/cuda), and the folders nvidia/*/lib of the Python installation on PATH and of
/// an active virtual environment, where pip puts NVIDIA's libraries.
std::vector<std::filesystem::path> library_folders();

/// A library that was opened while the program runs. It stays open until the process ends: what it started (threads,
/// hooks at exit) cannot be unloaded safely.
class SharedLibrary {
 public:
  /// Opens the first of `names` (such as "libnccl.so.2"), newest first, that is found; a folder of
  /// UNDERLAP_LIBRARY_PATH that has any of them comes before all others. A copy that this process has loaded already is
  /// taken before any other, so that there are never two.
  /// Throws MachineError with what was looked for, where, and the loader's own words where a file was found and
  /// refused.
  static SharedLibrary open(const std::vector<std::string>& names);

  /// Opens that file. Throws MachineError with the loader's own words.
  static SharedLibrary open_file(const std::filesystem::path& file);

  const std::filesystem::path& path() const { return path_; }

  /// The address of `symbol`; nullptr where the library has none of that name.
  void* find(const char* symbol) const;

  /// Sets `function` to `symbol`. Throws MachineError naming library and symbol where it is missing: the library is too
  /// old.
  template <class Function>
  void require(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(find_required(symbol));
  }
  /// The same, leaving nullptr where it is missing.
  template <class Function>
  void find(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(find(symbol));
  }

 private:
  SharedLibrary(void* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}
  void* find_required(const char* symbol) const;

  void* handle_;
  std::filesystem::path path_;
};

}  // namespace underlap
