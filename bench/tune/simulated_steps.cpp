// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/simulated_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>

#include "bench/machine/machine_info.hpp"
#include "platform/errors.hpp"
#include "platform/json.hpp"
#include "platform/threads/on_all_cores.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kSchema = "underlap.plays/1";

StepTime simulated(const SimulatedStep& step) {
  try {
    return {step.nanoseconds(), ""};
  } catch (const std::invalid_argument& error) {
    return {0, error.what()};
  } catch (const MachineError& error) {
    return {0, error.what()};
  } catch (const std::bad_alloc&) {
    return {0, "out of memory"};
  }
}

}  // namespace

SimulatedSteps::SimulatedSteps(const std::filesystem::path& folder, bool resume, const std::string& fingerprint,
                               unsigned threads)
    : threads_(threads) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path file = folder / "plays.jsonl";
  const bool exists = std::filesystem::exists(file);
  if (exists && !resume)
    throw std::invalid_argument(
        fmt::format("{} already contains a search: continue it with --resume, or choose another folder with -o DIR",
                    folder.string()));
  if (exists) take_up(file, fingerprint);
  file_.open(file, std::ios::app);
  if (exists) file_ << '\n';  // ends a truncated line; otherwise adds an empty line, which is ignored
  if (!exists)
    file_ << json_text(nlohmann::ordered_json{{"schema", kSchema}, {"fingerprint", name_hash(fingerprint)}}) << '\n'
          << std::flush;
  if (!file_) throw MachineError(fmt::format("cannot write {}", file.string()));
}

// {"schema":"underlap.plays/1","fingerprint":"c38de537c14833b6"} and after it lines as
// {"name":"model.tensor_model_parallel_size=4 train.micro_batch_size=1","ns":110211977}.
// Ignores a truncated last line.
void SimulatedSteps::take_up(const std::filesystem::path& file, const std::string& fingerprint) {
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  const auto head = parse_json_or_discard(line);
  if (!head.is_object() || head.value("schema", "") != kSchema)
    throw std::invalid_argument(fmt::format("{} is not a list of simulations", file.string()));
  if (head.value("fingerprint", "") != name_hash(fingerprint))
    throw std::invalid_argument(
        fmt::format("{} is from another search: model, GPUs, batch, limit, hardware or program differ; choose another "
                    "folder with -o DIR",
                    file.string()));
  while (std::getline(lines, line)) {
    const auto entry = parse_json_or_discard(line);
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    known_[entry["name"]] = {entry.value("ns", std::int64_t{0}), entry.value("failure", "")};
  }
  num_taken_up_ = known_.size();
}

void SimulatedSteps::keep(const std::string& name, const StepTime& simulated) {
  known_[name] = simulated;
  if (!file_.is_open()) return;
  nlohmann::ordered_json entry{{"name", name}};
  simulated.failure.empty() ? entry["ns"] = simulated.ns : entry["failure"] = simulated.failure;
  file_ << json_text(entry) << '\n' << std::flush;
  if (!file_) throw MachineError("cannot write plays.jsonl");
}

std::vector<StepTime> SimulatedSteps::simulate(const std::vector<SimulatedStep>& steps, const Progress& progress) {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto same_name = [&](std::size_t other) { return steps[other].name == steps[i].name; };
    if (!known_.contains(steps[i].name) && std::ranges::none_of(missing, same_name)) missing.push_back(i);
  }
  std::mutex mutex;
  std::size_t done = steps.size() - missing.size();
  on_all_cores(
      missing.size(),
      [&](std::size_t i) {
        const StepTime time = simulated(steps[missing[i]]);
        const std::lock_guard lock(mutex);
        keep(steps[missing[i]].name, time);
        if (progress) progress(++done, steps.size());
      },
      threads_);
  std::vector<StepTime> times;
  for (const SimulatedStep& step : steps) times.push_back(known_.at(step.name));
  return times;
}

}  // namespace underlap::bench
