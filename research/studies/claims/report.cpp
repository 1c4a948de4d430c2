// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "platform/json.hpp"
#include "research/studies/claims/study.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> names_of(const std::vector<Case>& cases, bool holding) {
  std::vector<std::string> names;
  for (const Case& c : cases)
    if (c.holds == holding) names.push_back(c.name);
  return names;
}

// "Holds where": where it does and where not.
std::string cases_text(const ClaimResult& result) {
  if (result.verdict != Verdict::holds_where) return "";
  return fmt::format("- holds: {}\n- does not hold: {}\n", fmt::join(names_of(result.finding.cases, true), "; "),
                     fmt::join(names_of(result.finding.cases, false), "; "));
}

std::string found_text(const ClaimResult& result) {
  const std::string whose = result.link.empty() ? "planned, not run" : result.link;
  std::string text = fmt::format("Found ({}):\n\n{}\n", whose, markdown(result.finding.found));
  if (!result.finding.note.empty()) text += result.finding.note + "\n\n";
  for (const std::string& message : result.not_run) text += fmt::format("The plan: \"{}\".\n\n", message);
  return text;
}

std::string sentence(std::string_view text) {
  std::string result(text);
  if (!result.empty() && result[0] >= 'a' && result[0] <= 'z') result[0] = static_cast<char>(result[0] - 'a' + 'A');
  return result;
}

std::string section(std::size_t number, const ClaimResult& result) {
  const DocumentInfo& document = info_of(result.claim.document);
  const std::string cases = cases_text(result);
  return fmt::format("## {}. {}\n\nSource: [{}]({}). Command: `{}`\n\n{}**{}**{}{}\n\nRule: {}.\n\n", number,
                     result.claim.text, document.title, document.address, result.command, found_text(result),
                     sentence(to_string(result.verdict)), cases.empty() ? ". " : ":\n\n" + cases + "\n",
                     explanation_of(result.claim.why, result.verdict), result.claim.rule);
}

// Each link once, though a claim's own may be several.
std::string links_of(const std::vector<ClaimResult>& results) {
  constexpr std::string_view kBetween = "; ";
  std::set<std::string_view> links;
  for (const ClaimResult& result : results)
    for (std::string_view rest = result.link; !rest.empty();) {
      const std::size_t end = rest.find(kBetween);
      links.insert(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kBetween.size());
    }
  return fmt::format("{}", fmt::join(links, "; "));
}

Json cases_json(const std::vector<Case>& cases) {
  Json json = Json::array();
  for (const Case& c : cases) json.push_back({{"name", c.name}, {"holds", c.holds}});
  return json;
}

Json table_json(const Table& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const TableColumn& column : table.columns) columns.push_back(column.title);
  for (const auto& row : table.rows) {
    Json& cells = rows.emplace_back(Json::array());
    for (const TableCell& cell : row) cells.push_back(cell.text);
  }
  return {{"columns", columns}, {"rows", rows}};
}

}  // namespace

Table claims_table(const std::vector<ClaimResult>& results) {
  Table table{{{"#"}, {"claim", Align::left}, {"verdict", Align::left}}, {}};
  for (std::size_t i = 0; i < results.size(); ++i)
    table.rows.push_back(
        {std::to_string(i + 1), std::string(results[i].claim.text), std::string(to_string(results[i].verdict))});
  return table;
}

std::string claims_json(const ClaimsStudy& study, const std::vector<ClaimResult>& results) {
  Json document{{"schema", "underlap.claims/1"}, {"noticeable", study.noticeable}, {"claims", Json::array()}};
  for (const ClaimResult& result : results)
    document["claims"].push_back({{"id", result.claim.id},
                                  {"claim", result.claim.text},
                                  {"source", info_of(result.claim.document).address},
                                  {"command", result.command},
                                  {"link", result.link},
                                  {"verdict", to_string(result.verdict)},
                                  {"rule", result.claim.rule},
                                  {"cases", cases_json(result.finding.cases)},
                                  {"found", table_json(result.finding.found)},
                                  {"note", result.finding.note},
                                  {"not_run", result.not_run}});
  return json_text(document, 1) + "\n";
}

std::string claims_markdown(const ClaimsStudy& study, const std::vector<ClaimResult>& results) {
  std::string text = fmt::format(
      "# Claims about overlap, compared with runs\n\nTwo documents make claims about overlap in data, tensor, pipeline "
      "and context parallelism. This page gives each claim in our words, the command that checks it, its result and a "
      "verdict. All times are simulated for a described machine; none was measured ({}). The verdict follows from the "
      "numbers by the rule of the claim. Holds: every case obeys the rule. Does not hold: no case does. Holds where: "
      "some cases do. A difference of less than {:g} % of a step counts as none. To regenerate this page: "
      "`underlap-study overlap_claims bench/matrices/claims.yaml -o results`.\n\n{}\n",
      links_of(results), 100 * study.noticeable, markdown(claims_table(results)));
  for (std::size_t i = 0; i < results.size(); ++i) text += section(i + 1, results[i]);
  text.pop_back();
  return text;
}

}  // namespace underlap::bench
