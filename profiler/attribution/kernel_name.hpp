// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace underlap::attribution {

/// What a kernel is called, and nothing else: "void a::(anonymous namespace)::b<int, c<d> >(e*)" is "a::b". Without
/// return type, template arguments, parameters and unnamed namespaces. Mangled names are demangled first; a name that
/// is cut off gives what stands in front of the cut.
std::string qualified_name(std::string_view kernel);

/// Whether `text` is what `pattern` says, from its first character to its last; a `*` stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace underlap::attribution
