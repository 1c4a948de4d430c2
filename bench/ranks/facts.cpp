// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/facts.hpp"

#include <fmt/format.h>

#include "bench/machine/machine_info.hpp"
#include "bench/ranks/rank_messages.hpp"
#include "bench/ranks/session.hpp"

namespace underlap::bench {

Facts facts_of(const plan::Matrix& matrix) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  report::RunInfo info = machine_info();
  BackendInfo backend = backend_info(run.backend);
  info.library_versions.merge(backend.library_versions);
  Facts facts{{"version", info.version},
              {"commit", info.commit},
              {"run.seed", fmt::format("{}", run.seed)},
              {"configuration plan hash", plans_hash(matrix.cells)}};
  for (const auto& [library, version] : info.library_versions) facts["library " + library] = version;
  return facts;
}

}  // namespace underlap::bench
