// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/shipped_matrices.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".yaml";

// The comment at the top in one line, up to its first full stop or colon. Of
// "# Data-parallel overlap in a minute: what each overlap hides, ..." the first five words.
std::string first_sentence(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line) && line.starts_with("# ");)
    text += (text.empty() ? "" : " ") + line.substr(2);
  return text.substr(0, std::min({text.find(". "), text.find(": "), text.find_last_not_of('.') + 1}));
}

std::string name_of(const fs::path& file, const fs::path& folder) {
  const std::string path = file.lexically_relative(folder).string();
  return path.substr(0, path.size() - kExtension.size());
}

}  // namespace

fs::path shipped_matrices_folder() {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  return self.parent_path().parent_path() / "share" / "underlap" / "matrices";
}

std::vector<ShippedMatrix> shipped_matrices() {
  const fs::path folder = shipped_matrices_folder();
  std::vector<ShippedMatrix> matrices;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, ignored))
    if (entry.path().extension() == kExtension)
      matrices.push_back({name_of(entry.path(), folder), entry.path(), first_sentence(entry.path())});
  std::ranges::sort(matrices, {}, &ShippedMatrix::name);
  return matrices;
}

std::string config_file(const std::string& named) {
  std::error_code ignored;
  // A folder of the name is where an earlier run of the matrix went.
  if (fs::exists(named, ignored) && !fs::is_directory(named, ignored)) return named;
  for (const ShippedMatrix& matrix : shipped_matrices())
    if (named == matrix.name || named == matrix.name + std::string(kExtension)) return matrix.file.string();
  return named;
}

}  // namespace underlap::bench
