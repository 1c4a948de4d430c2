// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Names and messages come from files that others wrote: kernels and ranges of a trace, cells of results, values of a
// configuration, file names. Each function makes them harmless for one kind of output. Only visible_text() and
// laid_out_text() may be applied to their own results.
namespace underlap {

/// Bytes of the UTF-8 character at the start of `text`; 0 where `text` is empty or does not start with one.
std::size_t utf8_length(std::string_view text);

/// The first characters of `text` that take at most `most` bytes.
std::string_view first_characters(std::string_view text, std::size_t most);

/// `text` on one line, with characters that would act on a terminal or hide text as escapes: control characters (C0,
/// C1, DEL) and bytes that are not UTF-8 as "\x1b", line breaks and tabs as "\n", "\r" and "\t", bidirectional,
/// zero-width and other invisible characters as "\u202e". Backslashes stay as they are.
std::string visible_text(std::string_view text);

/// Which terminal sequences laid_out_text() keeps.
enum class Colors : bool { removed, kept };

/// The same for text that is laid out in lines: line breaks and tabs stay, and with Colors::kept the colors that
/// render() writes. What a CI system would take for a command becomes plain text: "::" at the start of a line, and
/// "##[" or "##name[" anywhere.
std::string laid_out_text(std::string_view text, Colors colors = Colors::removed);

/// `json`, a JSON document, with the same characters as escapes of JSON: the document holds the same values.
std::string json_escaped(std::string json);

/// `text` on one line that Markdown shows as it is: no link, image, mention, heading, list, emphasis, code, formula or
/// HTML. Also for a cell of a table.
std::string markdown_text(std::string_view text);

/// `text` on one line as a code span of Markdown. In a cell of a table each "|" also needs a backslash.
std::string markdown_code(std::string_view text);

/// The lines of `text` as a code block of Markdown, which nothing in them ends early.
std::string markdown_block(std::string_view text);

/// `text` for HTML and XML: in an element or a quoted attribute. Line breaks stay line breaks.
std::string markup_text(std::string_view text);

/// `text` as the message of a GitHub annotation, or with `is_property` as one of its properties.
std::string annotation_text(std::string_view text, bool is_property);

/// `text` as a field of CSV, quoted as in RFC 4180 where needed and on one line. Text that a spreadsheet would take for
/// a formula ("=", "+", "-" or "@" first, and not a number) gets an apostrophe in front.
std::string csv_field(std::string_view text);

}  // namespace underlap
