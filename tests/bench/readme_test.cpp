// SPDX-License-Identifier: Apache-2.0
// Generated parts of the documents: output of commands, tables of results/, golden schedules and the registered
// techniques. A test fails where a part is stale, and rewrites it where UNDERLAP_UPDATE_GOLDEN is set.
#include <cstdlib>
#include <sstream>

#include "impl/cp/attention.hpp"
#include "impl/dp/technique.hpp"
#include "impl/pp/technique.hpp"
#include "impl/tp/technique.hpp"
#include "platform/input/input_file.hpp"
#include "platform/table.hpp"
#include "platform/text/list.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/csv.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/run_folders.hpp"
#include "tests/bench/commands/program.hpp"
#include "tests/bench/metric_files.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {
namespace {

const std::filesystem::path kRoot = UNDERLAP_SOURCE_DIR;
constexpr int kTableWidth = 172;
constexpr int kTimelineWidth = 118;
constexpr int kTerminalWidth = 80;

std::string fenced(const std::string& text) { return "```\n" + text + "```\n"; }

// "table RUN": a run's table, with the command and the machine that made it.
std::string run_table(std::istream& words) {
  std::string run;
  words >> run;
  const report::RunResults results = report::read_results(kRoot / run);
  const report::RunInfo& info = results.info;
  return fenced(fmt::format("{}\ncommand: {}\nmachine: {}, {} CPUs, {}; Underlap {}, commit {}\n",
                            report_table(results, {.width = kTableWidth}), info.command, info.cpu_model, info.num_cpus,
                            info.operating_system, info.version, info.commit));
}

// "timeline RUN CELL": the last step of the first block of the cell whose trace is kept under that short name.
std::string timeline(std::istream& words) {
  std::string run;
  std::string cell;
  words >> run >> cell;
  const Trace trace = formats::read_trace(kRoot / run / "traces" / (cell + ".pftrace.zst"));
  const std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
  EXPECT_FALSE(windows.empty());
  return fenced(analysis::text_timeline(
      trace, {.block = windows.back().block, .step = windows.back().step, .width = kTimelineWidth}));
}

// Rank 0 of a golden schedule, whose columns are milliseconds, under a line that sums it up. Ranks of a data-parallel
// group look alike.
std::string schedule(const std::string& label, const std::string& golden) {
  constexpr std::string_view kRow = "rank 0 ";
  constexpr std::string_view kSums = "rank 0:";
  std::ifstream file(kRoot / "tests/data/schedules" / golden / "expected.txt");
  std::string sums;
  std::string rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kRow)) rows += line.substr(kRow.size()) + "\n";
    if (line.starts_with(kSums)) sums = line.substr(kSums.size());
  }
  EXPECT_FALSE(rows.empty()) << golden;
  return fmt::format("{}:{}\n{}", label, sums, rows);
}

// "schedules LABEL=TECHNIQUE/CASE...": golden schedules, one below the other and to one scale.
std::string schedules(std::istream& words) {
  std::string text;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    text += (text.empty() ? "" : "\n") + schedule(word.substr(0, equals), word.substr(equals + 1));
  }
  return fenced(text);
}

// Two cells of a run that do the same work with overlap off and on.
struct Win {
  const char* what;
  const char* run;
  const char* off;
  const char* on;
};
constexpr std::array<Win, 9> kWins{{
    {"llama3-8b, 4 layers, dp 8, H200", "results/h200/overlap", "off", "both"},
    {"tiny GPT, dp 2, link of 1 Gbit/s", "results/quick/paced", "off grad_reduce_in_fp32=true",
     "both grad_reduce_in_fp32=true"},
    {"gpt3-175b, 1 layer, tp 4", "results/tp_modelled", "off", "preset"},
    {"the same, recomputed", "results/tp_modelled", "recompute off", "recompute preset"},
    {"gpt3-20b, 8 layers, pp 4", "results/modes_modelled", "pp off", "pp on"},
    {"the same by ZB-H1", "results/modes_modelled", "pp off", "pp zb_h1"},
    {"gpt3-20b, 8 layers, cp 4", "results/modes_modelled", "cp off", "cp on"},
    {"gpt3-20b, tp 2, pp 2, dp 2", "results/modes_modelled", "tp_pp_dp off", "tp_pp_dp on"},
    {"gpt3-20b, tp 2, cp 2, pp 2, dp 2", "results/modes_modelled", "tp_cp_pp_dp off", "tp_cp_pp_dp on"},
}};

report::CellSummary summary_of(const report::RunResults& results, const std::string& cell) {
  const std::vector<report::CellSummary> summaries = summarize(results);
  const auto found = std::ranges::find(summaries, cell, &report::CellSummary::name);
  if (found == summaries.end()) throw std::runtime_error(fmt::format("no cell {}", cell));
  return *found;
}

std::string off_to_on(const std::optional<report::Estimate>& off, const std::optional<report::Estimate>& on) {
  const int digits = off->value >= 100 ? 0 : 1;
  return fmt::format("{:.{}f} -> {:.{}f}", off->value, digits, on->value, digits);
}

// "wins": a row for each of kWins. A row in which overlap did not win has no place here.
std::string wins(std::istream&) {
  Table table{{{"training step", Align::left}, {"time", Align::left}, {"step ms"}, {"step/off"}, {"exposed ms"}}, {}};
  for (const Win& win : kWins) {
    const report::RunResults results = report::read_results(kRoot / win.run);
    const report::CellSummary off = summary_of(results, win.off);
    const report::CellSummary on = summary_of(results, win.on);
    EXPECT_LT(on.exposed_ms->value, off.exposed_ms->value) << win.what;
    EXPECT_LT(on.step_ratio_to_off->value, 1) << win.what;
    if (const auto& interval = on.step_ratio_to_off->interval) {
      EXPECT_LT(interval->high, 1) << win.what;
    }
    table.rows.push_back({std::string(win.what),
                          std::string(traits_of(results.info.backend).measures_time ? "measured" : "modelled"),
                          off_to_on(off.step_ms, on.step_ms), fmt::format("{:.3f}", on.step_ratio_to_off->value),
                          off_to_on(off.exposed_ms, on.exposed_ms)});
  }
  const std::string text = render(table, {.width = kTerminalWidth});
  EXPECT_THAT(text, Not(HasSubstr("not shown"))) << "too wide";
  return fenced(text);
}

// The file of impl/MODE that registers the technique.
std::string file_of(Mode mode, std::string_view technique) {
  const std::string folder = fmt::format("impl/{}", to_string(mode));
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / folder))
    if (read_text(entry.path()).find(fmt::format(".name = \"{}\"", technique)) != std::string::npos)
      return folder + "/" + entry.path().filename().string();
  ADD_FAILURE() << "no file of " << folder << " registers " << technique;
  return {};
}

// The knob that the technique's overlap hangs on, and whether it overlaps; nothing where nothing is sent.
std::string knob_of(const TechniqueFacts& facts) {
  return facts.purposes.empty() ? "- | -" : fmt::format("`{}` | {}", facts.knob, facts.overlaps ? "yes" : "no");
}

template <class Kind>
void add_techniques(std::string& text, Mode mode) {
  for (const auto& technique : Kind::all()) {
    text += fmt::format("| [{}](../{}) | {} | {} |\n", technique.name, file_of(mode, technique.name),
                        knob_of(technique.facts), technique.exposed);
  }
}

// "techniques": all that are registered.
std::string techniques(std::istream&) {
  std::string text = "| technique | knob | overlaps | stays exposed |\n| :-- | :-- | :-- | :-- |\n";
  add_techniques<dp::GradReduces>(text, Mode::dp);
  add_techniques<dp::ParamGathers>(text, Mode::dp);
  add_techniques<tp::GatherGemms>(text, Mode::tp);
  add_techniques<tp::GemmScatters>(text, Mode::tp);
  add_techniques<tp::CollectivesDuringGemm>(text, Mode::tp);
  add_techniques<tp::WgradDrains>(text, Mode::tp);
  add_techniques<pp::Pipelines>(text, Mode::pp);
  add_techniques<cp::Attentions>(text, Mode::cp);
  return text;
}

// "command FIRST LAST ARGUMENT...": these lines of what the program prints at 80 columns, run in the project's root.
std::string command(std::istream& words) {
  int first = 0;
  int last = 0;
  words >> first >> last;
  Words arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(kRoot);
  std::istringstream output(
      expect_success(arguments, {.environment = {{"COLUMNS", std::to_string(kTerminalWidth)}}}).out);
  std::filesystem::current_path(before);
  std::string text = fmt::format("$ underlap {}\n{}", fmt::join(arguments, " "), first > 1 ? "...\n" : "");
  int number = 0;
  for (std::string each; std::getline(output, each) && number <= last;) {
    if (++number >= first) text += number <= last ? each + "\n" : "...\n";
  }
  return fenced(text);
}

std::string in_code(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", word);
  return text;
}

// The places of objects in a document, by their keys in order; a key with ? may be missing.
using ObjectsByKeys = std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>;

void collect_objects(const Json& schema, const std::string& place, ObjectsByKeys& objects) {
  if (schema.contains("properties")) {
    std::vector<std::string> keys;
    const Json& required = schema["required"];
    for (const auto& [key, value] : schema["properties"].items())
      keys.push_back(std::find(required.begin(), required.end(), Json(key)) == required.end() ? key + "?" : key);
    const auto known = std::ranges::find(objects, keys, &ObjectsByKeys::value_type::first);
    const std::string text = place.empty() ? "the document" : "`" + place + "`";
    known == objects.end() ? void(objects.push_back({keys, {text}})) : known->second.push_back(text);
    for (const auto& [key, value] : schema["properties"].items())
      collect_objects(value, place.empty() ? key : place + "." + key, objects);
  }
  for (const Json& part : schema.value("anyOf", Json::array())) collect_objects(part, place, objects);
  if (schema.contains("items")) collect_objects(schema["items"], place + "[]", objects);
  if (schema.contains("additionalProperties")) collect_objects(schema["additionalProperties"], place + ".*", objects);
}

// "fields SCHEMA": the objects of a document and their keys.
std::string fields_of(std::istream& words) {
  std::string name;
  words >> name;
  ObjectsByKeys objects;
  collect_objects(parse_json(expect_success({"help", "--schema", name}).out), "", objects);
  std::string text = "| object | keys |\n| :-- | :-- |\n";
  for (const auto& [keys, places] : objects) text += fmt::format("| {} | {} |\n", short_list(places, 3), in_code(keys));
  return text;
}

// "metrics SECTION": the entries of bench/metrics.
std::string metrics_section(std::istream& words) {
  std::string section;
  words >> section;
  return metrics_table(metrics_of(section));
}

// "columns RUN": the columns of a run's CSV.
std::string columns(std::istream& words) {
  std::string run;
  words >> run;
  const std::string csv = report::report_csv(report::read_results(kRoot / run));
  std::istringstream header(csv.substr(0, csv.find('\n')));
  std::vector<std::string> names;
  for (std::string name; std::getline(header, name, ',');) names.push_back(name);
  return in_code(names) + "\n";
}

struct Part {
  std::string_view kind;
  std::string (*make)(std::istream& arguments);
};
constexpr std::array<Part, 9> kParts{{{"command", command},
                                      {"table", run_table},
                                      {"fields", fields_of},
                                      {"metrics", metrics_section},
                                      {"columns", columns},
                                      {"timeline", timeline},
                                      {"schedules", schedules},
                                      {"wins", wins},
                                      {"techniques", techniques}}};

// What stands between "<!-- KIND ARGUMENT... -->" and "<!-- end -->"; nothing for other lines.
std::string generated(const std::string& line) {
  std::istringstream words(line);
  std::string opening;
  std::string kind;
  words >> opening >> kind;
  const auto part = std::ranges::find(kParts, kind, &Part::kind);
  if (opening != "<!--" || part == kParts.end()) return {};
  std::istringstream arguments(line.substr(0, line.rfind("-->")));
  arguments >> opening >> kind;
  return part->make(arguments);
}

// The page with every generated part made anew.
std::string renewed(const std::string& page) {
  std::istringstream lines(page);
  std::string result;
  bool skipping = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "<!-- end -->") skipping = false;
    if (skipping) continue;
    const std::string part = generated(line);
    result += line + "\n" + part;
    skipping = !part.empty();
  }
  return result;
}

class Readme : public testing::TestWithParam<const char*> {};

TEST_P(Readme, ShowsWhatResultsSchedulesAndRegistriesSay) {
  const std::string page = read_text(kRoot / GetParam());
  const std::string expected = renewed(page);
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) std::ofstream(kRoot / GetParam()) << expected;
  EXPECT_EQ(page, expected) << "stale: UNDERLAP_UPDATE_GOLDEN=1 renews it";
}

std::string page_name(const testing::TestParamInfo<const char*>& page) {
  constexpr std::array kNames{"Front", "Architecture", "Techniques", "Results", "Metrics"};
  return kNames.at(page.index);
}

INSTANTIATE_TEST_SUITE_P(Pages, Readme,
                         testing::Values("README.md", "docs/ARCHITECTURE.md", "docs/techniques.md", "results/README.md",
                                         "bench/METRICS.md"),
                         page_name);

TEST(RecordedResults, OfEveryRunAreRead) {
  int num_runs = 0;
  for (std::filesystem::recursive_directory_iterator at(kRoot / "results"), end; at != end; ++at) {
    if (at->path() == kRoot / "results/runs") at.disable_recursion_pending();  // not recorded
    if (!report::is_results_file(at->path())) continue;
    if (read_input_file(at->path(), {.bytes = 100}).find("\"underlap.results/") == std::string::npos)
      continue;  // a study's
    EXPECT_FALSE(report::read_results(at->path().parent_path()).cells.empty()) << at->path();
    ++num_runs;
  }
  EXPECT_GE(num_runs, 18);
}

}  // namespace
}  // namespace underlap::bench
