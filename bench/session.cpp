// SPDX-License-Identifier: Apache-2.0
#include "bench/session.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/host_session.hpp"
#include "bench/sim_session.hpp"
#include "impl/plan/link.hpp"

namespace underlap::bench {
namespace {

std::string host_link_text(const plan::RunConfig& run) {
  if (run.link_gbps <= 0 && run.link_latency_us <= 0) return "real: TCP over the loopback";
  std::string text =
      run.link_gbps > 0 ? fmt::format("paced to {} Gbit/s a direction", run.link_gbps) : "not paced in rate";
  if (run.link_latency_us > 0) text += fmt::format(", {} us latency", run.link_latency_us);
  return text + ", TCP over the loopback";
}

}  // namespace

BackendInfo backend_info(const std::string& backend) {
  if (backend == "sim") return {.library_versions = {}, .clock = "virtual, from 0"};
  return {.library_versions = HostSession::library_versions(), .clock = "CLOCK_MONOTONIC, one for all ranks"};
}

std::string link_text(const plan::RunConfig& run) {
  if (run.emulated_link) return plan::to_words(*run.emulated_link);
  return run.backend == "sim" ? "modelled: " + run.hardware : host_link_text(run);
}

std::unique_ptr<Session> make_session(std::span<const plan::Cell> cells, std::int32_t first_step) {
  const std::string& backend = cells.front().plan.config.run.backend;
  if (backend == "host") return std::make_unique<HostSession>(cells, first_step);
  if (backend == "sim") return std::make_unique<SimSession>(cells, first_step);
  throw std::invalid_argument("run.backend " + backend + " is not run by this version");
}

}  // namespace underlap::bench
