// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "impl/device/sim/hardware.hpp"

namespace underlap::bench {

/// A figure from repeated runs.
struct Sampled {
  double median = 0;
  double spread = 0;  ///< half of the interquartile range of the samples, divided by their median
  int samples = 0;
};

/// Throws std::invalid_argument without samples and for a NaN.
Sampled summarize(std::span<const double> samples);

struct CurvePoint {
  double x = 0;
  Sampled efficiency;
};

/// The rate of an operation, for people.
struct Rate {
  std::string of;
  std::string shape;
  Sampled us;
  double tflops = 0;    ///< 0: negligible floating-point operations
  double gb_per_s = 0;  ///< read and written
};

/// A figure with its 95 % limits over rounds.
struct WithLimits {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// How much the emulated link slows a concurrent GEMM, compared with NCCL's own kernels at the same blocks, clusters
/// and rate.
struct LinkValidation {
  int sms = 0;                   ///< of each of two ranks
  int cga_size = 0;              ///< blocks of a cluster
  double gb_per_s = 0;           ///< of NCCL's transfers, in each direction; the emulated links are paced to it
  double unpaced_gb_per_s = 0;   ///< of the emulated links without pacing
  bool by_memory = false;        ///< NCCL's transfers used the GPU's memory, not sockets
  WithLimits nccl_slowdown;      ///< of the GEMM: concurrent time over time alone
  WithLimits emulated_slowdown;  ///< likewise
  WithLimits difference;         ///< time with the emulated link over time with NCCL, minus 1
  WithLimits polling;            ///< likewise, where the link's blocks poll instead of sleeping
  int rounds = 0;
};

/// What one run of underlap-calibrate found. Written as impl/device/sim/measured.hpp describes.
struct Measurements {
  std::string name;
  std::string base;
  std::vector<std::pair<std::string, std::string>> machine = {};            ///< gpu, driver, ...: texts
  std::map<std::string, Sampled> figures = {};                              ///< by path
  std::map<std::string, std::vector<CurvePoint>> curves = {};               ///< by path
  std::vector<std::pair<sim::QueueObservation, int>> hardware_queues = {};  ///< with the number of samples
  std::vector<std::pair<sim::Interference, int>> interference = {};         ///< likewise
  std::vector<LinkValidation> link_validation = {};
  std::vector<Rate> rates = {};
  std::int64_t shrink = 1;  ///< above 1 sizes were divided by it: nothing here is a measurement
  std::vector<std::pair<std::string, std::string>> skipped = {};  ///< experiment, why
};

/// The file, as YAML text. Skipped experiments are listed in comments.
std::string to_yaml(const Measurements& measurements);

/// One observation as a line that from_line() reads, for the pipe between two processes.
std::string to_line(const sim::QueueObservation& seen, int samples);

/// Returns false if the line is not an observation.
bool from_line(const std::string& line, sim::QueueObservation& seen, int& samples);

}  // namespace underlap::bench
