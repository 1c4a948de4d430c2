// SPDX-License-Identifier: Apache-2.0
#include "platform/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "platform/errors.hpp"

namespace underlap {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> paths_in(const char* variable) {
  const char* value = std::getenv(variable);
  std::vector<fs::path> paths;
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) paths.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return paths;
}

// Folders of `parent` in the order of their names: the same on every machine.
std::vector<fs::path> folders_of(const fs::path& parent) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored))
    if (entry.is_directory(ignored)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

// The roots of Python installations: `bin`'s parent for each python3 on PATH, as named and as its links lead.
std::vector<fs::path> python_roots() {
  std::vector<fs::path> roots = paths_in("VIRTUAL_ENV");
  std::error_code ignored;
  for (const fs::path& folder : paths_in("PATH")) {
    const fs::path python = folder / "python3";
    if (!fs::exists(python, ignored)) continue;
    roots.push_back(folder.parent_path());
    roots.push_back(fs::canonical(python, ignored).parent_path().parent_path());
  }
  return roots;
}

void add_python_folders(std::vector<fs::path>& folders) {
  for (const fs::path& root : python_roots())
    for (const fs::path& version : folders_of(root / "lib")) {
      if (version.filename().string().rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& package : folders_of(version / packages / "nvidia")) folders.push_back(package / "lib");
    }
}

void* open_at(const std::string& where, int flags, std::vector<std::string>& refusals) {
  if (void* handle = dlopen(where.c_str(), flags)) return handle;
  const char* why = dlerror();
  // A bare name that is not found is the usual case and reported once for all; a rejected file is reported by itself.
  if (where.find('/') != std::string::npos) refusals.emplace_back(why == nullptr ? where : why);
  return nullptr;
}

fs::path path_of(void* handle, const std::string& name) {
  // dlinfo gives the folder; dladdr would need a symbol.
  char origin[4096] = {};
  if (dlinfo(handle, RTLD_DI_ORIGIN, origin) == 0 && origin[0] != '\0') return fs::path(origin) / name;
  return name;
}

}  // namespace

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders = paths_in("UNDERLAP_LIBRARY_PATH");
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) folders.push_back(program.parent_path());
  folders.emplace_back();  // the loader's own search
  std::vector<fs::path> toolkits = paths_in("CUDA_HOME");
  for (const fs::path& more : paths_in("CUDA_PATH")) toolkits.push_back(more);
  toolkits.emplace_back("/usr/local/cuda");
  for (const fs::path& toolkit : toolkits) {
    folders.push_back(toolkit / "lib64");
    folders.push_back(toolkit / "extras" / "CUPTI" / "lib64");
  }
  add_python_folders(folders);
  std::vector<fs::path> once;
  for (fs::path& folder : folders)
    if (std::ranges::find(once, folder) == once.end()) once.push_back(std::move(folder));
  return once;
}

SharedLibrary SharedLibrary::open(const std::vector<std::string>& names) {
  std::vector<std::string> refusals;
  for (const std::string& name : names)
    if (void* loaded = open_at(name, RTLD_NOW | RTLD_NOLOAD, refusals)) return {loaded, path_of(loaded, name)};
  const std::vector<fs::path> folders = library_folders();
  const auto open_in = [&](const fs::path& folder, const std::string& name) -> void* {
    const fs::path file = folder / name;
    std::error_code ignored;
    if (!folder.empty() && !fs::exists(file, ignored)) return nullptr;
    return open_at(file.string(), RTLD_NOW | RTLD_LOCAL, refusals);
  };
  // A folder that the user names wins, with any version in it. Elsewhere the first name wins, which is the newest, over
  // an older library in a folder that is searched earlier.
  const std::vector<fs::path> named = paths_in("UNDERLAP_LIBRARY_PATH");
  for (const fs::path& folder : named)
    for (const std::string& name : names)
      if (void* handle = open_in(folder, name)) return {handle, path_of(handle, name)};
  for (const std::string& name : names)
    for (const fs::path& folder : folders) {
      if (std::ranges::find(named, folder) != named.end()) continue;
      if (void* handle = open_in(folder, name)) return {handle, path_of(handle, name)};
    }
  std::vector<std::string> searched;
  for (const fs::path& folder : folders)
    searched.push_back(folder.empty() ? "the system's search path" : folder.string());
  throw MachineError(
      fmt::format("{} was not found{}. Searched: {}. Add folders with UNDERLAP_LIBRARY_PATH", fmt::join(names, " or "),
                  refusals.empty() ? "" : fmt::format(" ({})", fmt::join(refusals, "; ")), fmt::join(searched, ", ")));
}

SharedLibrary SharedLibrary::open_file(const fs::path& file) {
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, file};
  const char* why = dlerror();
  throw MachineError(why == nullptr ? file.string() : why);
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

void* SharedLibrary::find_required(const char* symbol) const {
  if (void* address = find(symbol)) return address;
  throw MachineError(fmt::format("{} has no {}: another version is needed", path_.string(), symbol));
}

}  // namespace underlap
