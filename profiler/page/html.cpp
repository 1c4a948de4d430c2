// SPDX-License-Identifier: Apache-2.0
#include "profiler/page/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "platform/text/escape.hpp"
#include "profiler/page/embedded_text.hpp"

namespace underlap::page {
namespace {

constexpr std::size_t kWrapped = 60;  ///< characters from which a text may be broken

// The bars of one page share them.
constexpr const char* kPatterns =
    "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
    "<pattern id=\"stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><line class=\"stripe\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern>"
    "<pattern id=\"dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
    "<circle class=\"dot\" cx=\"2.5\" cy=\"2.5\" r=\"1\"/></pattern>"
    "</defs></svg>\n";

const char* class_of(Style style) {
  switch (style) {
    case Style::good: return " good";
    case Style::bad: return " bad";
    case Style::dim: return " dim";
    case Style::plain:
    case Style::strong:
    case Style::code: return "";
  }
  return "";
}

const char* side_of(const TableColumn& column) { return column.align == Align::left ? "left" : ""; }

std::string cell_html(const TableColumn& column, const TableCell& cell) {
  const std::string text = markup_text(cell.text);
  const bool is_name = cell.style == Style::code && cell.text.size() > kWrapped;
  return fmt::format("<td class=\"{}{}{}\">{}</td>", side_of(column), class_of(cell.style),
                     cell.text.size() > kWrapped ? " long" : "",
                     is_name ? fmt::format("<span class=\"name\" title=\"{0}\">{0}</span>", text) : text);
}

// Words between backquotes are code, such as commands.
std::string prose_markup(std::string_view text) {
  std::string markup = markup_text(text), out;
  for (std::size_t end = 0; !markup.empty(); markup.erase(0, end)) {
    const std::size_t open = markup.find('`'), close = markup.find('`', open + 1);
    if (open == std::string::npos || close == std::string::npos) return out + markup;
    out += fmt::format("{}<code>{}</code>", markup.substr(0, open), markup.substr(open + 1, close - open - 1));
    end = close + 1;
  }
  return out;
}

}  // namespace

std::string paragraph(std::string_view text, std::string_view kind) {
  return kind.empty() ? fmt::format("<p>{}</p>\n", prose_markup(text))
                      : fmt::format("<p class=\"{}\">{}</p>\n", kind, prose_markup(text));
}

std::string sentence(std::string clause) {
  if (clause.empty()) return clause;
  clause[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(clause[0])));
  return clause.back() == '.' ? clause : clause + ".";
}

std::string heading(int level, std::string_view text) {
  return fmt::format("<h{0}>{1}</h{0}>\n", level, markup_text(text));
}

std::string list(std::span<const std::string> sentences) {
  if (sentences.empty()) return "";
  std::string text = "<ul>\n";
  for (const std::string& sentence : sentences) text += fmt::format("<li>{}</li>\n", prose_markup(sentence));
  return text + "</ul>\n";
}

std::string preformatted(std::string_view text) {
  return fmt::format("<pre class=\"wrap\">{}</pre>\n", markup_text(text));
}

std::string html_table(const Table& table, const TableOptions& options) {
  const std::size_t shown = std::min(table.rows.size(), options.most_rows);
  std::string text =
      fmt::format("<div class=\"table\" data-name=\"{}\"><div class=\"scroll\"><table class=\"figures\">\n<thead><tr>",
                  markup_text(options.name));
  for (const TableColumn& column : table.columns)
    text += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", side_of(column), markup_text(column.title));
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < shown; ++r) {
    text += "<tr>";
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) text += cell_html(table.columns[c], table.rows[r][c]);
    text += "</tr>\n";
  }
  text += "</tbody></table></div></div>\n";
  if (shown == table.rows.size()) return text;
  return text + paragraph(fmt::format("First {} of {} rows{}{}.", shown, table.rows.size(),
                                      options.all_rows.empty() ? "" : "; ", options.all_rows),
                          "soft");
}

std::string html_section(int level, const TitledTable& titled, const TableOptions& options) {
  std::string text = titled.title.empty() ? "" : heading(level, titled.title);
  if (!titled.table.rows.empty()) text += html_table(titled.table, options);
  for (const std::string& note : titled.notes) text += paragraph(note, "soft");
  return text;
}

std::span<const Term> step_terms() {
  static constexpr Term kTerms[]{
      {"step",
       "One training step of one rank: from the end of the step before it to its own end. Figures are of the "
       "typical step, the median over blocks of each block's median."},
      {"rank", "One process of the job, usually with one GPU."},
      {"stream", "A queue of GPU work that runs in order. Work of different streams can run at the same time."},
      {"mode",
       "The kind of parallelism that a communication serves: dp, tp, pp, cp, ep or fsdp. Unattributed: the trace "
       "does not show it."},
      {"purpose", "What a communication is for, such as grad_reduce_scatter."},
      {"compute only", "Time with compute and no communication on the rank."},
      {"hidden", "Communication while the same rank computes. It costs nothing, unless it slows the compute."},
      {"exposed", "Communication while the rank computes nothing. It makes the step longer."},
      {"wait", "The part of a communication before its last member arrives. A faster link does not shorten it."},
      {"transfer", "The part after the last member arrived. A faster link shortens it."},
      {"copy only", "Copies between host and device or within it, during neither compute nor communication."},
      {"idle", "Time in which the device of a rank runs nothing."},
      {"overlap", "Hidden communication as a share of all communication."},
      {"late rank", "A rank that others wait for in a communication."}};
  return kTerms;
}

std::string glossary(std::span<const Term> terms) {
  std::string text = heading(2, "Terms") + "<dl>\n";
  for (const Term& term : terms)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", markup_text(term.word), markup_text(term.meaning));
  return text + "</dl>\n" +
         paragraph("Underlap's bench/METRICS.md defines every term with formula and source.", "soft");
}

std::string facts_section(std::string_view title, const std::vector<Fact>& facts) {
  Table table{{{"what", Align::left}, {"value", Align::left}}, {}};
  for (const auto& [name, value] : facts) table.rows.push_back({name, value});
  return heading(2, title) + html_table(table, {.name = "about"});
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n{2}<main>\n"
      "<h1>{0}</h1>\n{3}</main>\n<script>\n{4}</script>\n</body>\n</html>\n",
      markup_text(title), page_css(), kPatterns, body, page_js());
}

}  // namespace underlap::page
