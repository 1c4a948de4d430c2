// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/hostile_inputs.hpp"

#include <cstdlib>
#include <set>

#include "platform/json.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::hostile {

// A title and a cleared screen, marks that reverse and hide, C1, commands of CI systems, a mention, a link, an image.
const std::string kName =
    "N\033]0;owned\007\033[2J\u202e\u2066\u009b31m\u200b\n::error::x\r\n##[error]y\t@user|[l](http://e.com)<img "
    "src=x>`~~";

const std::string kFileName = "f\033[2J\u202e ##[error]";

namespace {

namespace fs = std::filesystem;
using testing_support::write_text, testing_support::read_text;
using Json = nlohmann::ordered_json;

Json kernel(int step, int k, int rank) {
  const bool is_transfer = k == 2;
  Json arguments{{"stream", is_transfer ? 20 : 7}, {"device", 0}, {"correlation", 10 * step + k}};
  if (is_transfer)
    arguments.update(Json{{"Collective name", "allreduce" + kName},
                          {"In msg nelems", 1000},
                          {"dtype", "Float" + kName},
                          {"Group size", 2},
                          {"Process Group Name", "pg" + kName},
                          {"Process Group Description", "group" + kName},
                          {"Process Group Ranks", "[0, 1]"}});
  return {{"ph", "X"},
          {"cat", "kernel"},
          {"name", (is_transfer ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : "gemm") + kName},
          {"pid", 0},
          {"tid", arguments["stream"]},
          {"ts", 100 * step + 10 + 25 * k},
          {"dur", 20 + rank + k},
          {"args", arguments}};
}

Json annotation(const std::string& category, const std::string& name, int step) {
  return {{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", 1}, {"tid", 1}, {"ts", 100 * step}, {"dur", 95}};
}

Json trace(int rank) {
  Json events = Json::array();
  for (const char* field : {"process_name", "process_labels", "thread_name"})
    events.push_back(
        {{"ph", "M"}, {"name", field}, {"pid", 0}, {"tid", 7}, {"args", {{"name", kName}, {"labels", kName}}}});
  for (int step = 0; step < 4; ++step) {
    events.push_back(annotation("user_annotation", "ProfilerStep#" + std::to_string(step), step));
    events.push_back(annotation("user_annotation", "range" + kName, step));
    for (int k = 0; k < 3; ++k) {
      events.push_back({{"ph", "X"},
                        {"cat", "cuda_runtime"},
                        {"name", "cudaLaunchKernel" + kName},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", 100 * step + k},
                        {"dur", 1},
                        {"args", {{"correlation", 10 * step + k}}}});
      events.push_back(kernel(step, k, rank));
    }
  }
  return {{"schemaVersion", 1},
          {"deviceProperties", {{{"id", 0}, {"name", kName}}}},
          {"distributedInfo", {{"backend", "nccl" + kName}, {"rank", rank}, {"world_size", 2}}},
          {"traceEvents", events}};
}

// Every text of a result that is not one of a few known words.
void spoil(Json& json, const std::string& key = "") {
  static const std::set<std::string> kWords{"schema", "backend", "label"};
  if (!json.is_structured()) return;
  for (auto& [name, member] : json.items()) {
    const std::string of = json.is_object() ? name : key;
    if (member.is_string() && !kWords.contains(of))
      member = member.get<std::string>() + kName;
    else
      spoil(member, of);
  }
}

constexpr const char* kMatrix =
    "model: {preset: gpt3-20b, num_layers: 2, seq_length: 2048}\n"
    "train: {micro_batch_size: 2, global_batch_size: 8}\n"
    "run: {backend: sim, hardware: h100-sxm}\n"
    "data_parallel_size: 2\n"
    "matrix:\n"
    "  - overlap: [{name: off, comm_overlap.overlap_grad_reduce: false}, {name: on}]\n";

}  // namespace

Inputs::Inputs() {
  for (int rank = 0; rank < 2; ++rank) {
    write_text(at("t" + std::to_string(rank) + ".json"), json_text(trace(rank)));
    write_text(at("u" + std::to_string(rank) + ".json"), json_text(trace(1 - rank)));
  }
  write_text(at(kFileName + ".json"), json_text(trace(0)));
  write_text(at(kFileName + ".txt"), "nothing");
  write_text(at("right.yaml"), kMatrix);
  write_text(at("preset.yaml"), "model: {preset: " + json_text(Json(kName)) + "}\n");
  write_text(at("key.yaml"), "model: {preset: tiny, " + json_text(Json(kName)) + ": 1}\n");
  write_text(at("raw.yaml"), "model: {preset: [\n" + kName);
  write_text(at(kFileName + ".yaml"), "model: {preset: x}\n");
  made_ = run_in(folder_.path(), "underlap run right.yaml -o right");
  if (made_.exit_code != 0) return;
  Json results = parse_json(read_text(at("right/results.json")));
  for (Json& cell : results["cells"]) cell["notes"].push_back("note");
  fs::create_directory(at("spoiled"));
  spoil(results);
  write_text(at("spoiled/results.json"), json_text(results));
}

void set_names_for_commands() {
  ::setenv("PATH", (UNDERLAP_PROGRAM_FOLDER ":" + std::string(std::getenv("PATH"))).c_str(), 1);
  ::setenv("NAME", kName.c_str(), 1);
  ::setenv("FILE", kFileName.c_str(), 1);
}

}  // namespace underlap::hostile
