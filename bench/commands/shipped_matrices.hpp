// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace underlap::bench {

/// A matrix that came with the program.
struct ShippedMatrix {
  std::string name;  ///< "quick", "gpu/layer"
  std::filesystem::path file;
  std::string about;  ///< the first sentence of its opening comment
};

/// share/underlap/matrices, relative to the program's folder, so that both can be moved. Exists in a build as well as
/// in an installation.
std::filesystem::path shipped_matrices_folder();

/// The matrices in that folder, sorted by name. Empty if the program has no such folder.
std::vector<ShippedMatrix> shipped_matrices();

/// `named` if that file exists; else the file of the shipped matrix of that name, with or without .yaml; else `named`,
/// so that reading it reports the error.
std::string config_file(const std::string& named);

}  // namespace underlap::bench
