// SPDX-License-Identifier: Apache-2.0
#include "bench/studies/study_parser.hpp"

namespace underlap::bench {

bool is_study(const std::string& yaml, std::string_view name) {
  try {
    const YAML::Node root = YAML::Load(yaml);
    const YAML::Node study = root.IsMap() ? root["study"] : YAML::Node();
    return study && study.IsScalar() && study.Scalar() == name;
  } catch (const YAML::Exception&) {
    return false;
  }
}

}  // namespace underlap::bench
