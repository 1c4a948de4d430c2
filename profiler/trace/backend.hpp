// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace underlap {

/// What ran the ranks of a cell.
enum class Backend : std::uint8_t { host, cuda, sim };

/// The properties of a backend. Code checks this table instead of the backend's name.
struct BackendTraits {
  std::string_view name;
  bool measures_time;        ///< false: every time is modelled
  bool runs_on_cores;        ///< compute and transfers share this machine's, and its memory; it can pace its link
  bool runs_on_gpus;         ///< streams are CUDA's and transfers NCCL's, and each rank is a process
  bool has_hardware_queues;  ///< streams share CUDA_DEVICE_MAX_CONNECTIONS of them, and hold each other up
  std::string_view clock;    ///< that its times are on
  std::string_view link;     ///< that its transfers take, where nothing else is asked for
};

inline constexpr std::array<BackendTraits, 3> kBackends{{
    {.name = "host",
     .measures_time = true,
     .runs_on_cores = true,
     .runs_on_gpus = false,
     .has_hardware_queues = false,
     .clock = "CLOCK_MONOTONIC, one for all ranks",
     .link = "real: TCP over the loopback"},
    {.name = "cuda",
     .measures_time = true,
     .runs_on_cores = false,
     .runs_on_gpus = true,
     .has_hardware_queues = true,
     .clock = "CLOCK_MONOTONIC, on which the GPU's times are put",
     .link = "real: NCCL"},
    {.name = "sim",
     .measures_time = false,
     .runs_on_cores = false,
     .runs_on_gpus = false,
     .has_hardware_queues = true,
     .clock = "virtual, from 0",
     .link = "modelled"},
}};

constexpr const BackendTraits& traits_of(Backend backend) { return kBackends.at(static_cast<std::size_t>(backend)); }

constexpr std::string_view to_string(Backend backend) { return traits_of(backend).name; }
constexpr Backend last_value(Backend) { return Backend::sim; }

/// The reverse of to_string; nullopt for a word that is none of them.
constexpr std::optional<Backend> backend_from(std::string_view name) {
  for (std::size_t i = 0; i < kBackends.size(); ++i)
    if (kBackends[i].name == name) return static_cast<Backend>(i);
  return std::nullopt;
}

}  // namespace underlap
