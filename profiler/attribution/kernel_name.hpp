// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace underlap::attribution {

/// The qualified name of a kernel: "void a::(anonymous namespace)::b<int, c<d> >(e*)" gives "a::b". Without return
/// type, template arguments, parameters and unnamed namespaces. Mangled names are demangled first. A truncated name
/// gives the part before the cut.
std::string qualified_name(std::string_view kernel);

/// Whether `pattern` matches all of `text`; a `*` matches any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace underlap::attribution
