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

/// share/underlap/matrices beside the program's folder, wherever both were moved to. A build has it as well as an
/// installation.
std::filesystem::path shipped_matrices_folder();

/// The matrices in there, in the order of their names. Empty where the program stands alone.
std::vector<ShippedMatrix> shipped_matrices();

/// `named` where there is such a file; else the file of the shipped matrix of that name, with or without .yaml; else
/// `named`, for whoever reads it to complain.
std::string config_file(const std::string& named);

}  // namespace underlap::bench
