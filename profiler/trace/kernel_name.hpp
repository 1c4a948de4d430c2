// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace underlap {

/// The qualified name of a kernel: "void a::(anonymous namespace)::b<int, c<d> >(e*)" gives "a::b". Without return
/// type, template arguments, parameters and unnamed namespaces. Mangled names are demangled first. A truncated name
/// gives the part before the cut.
std::string qualified_name(std::string_view kernel);

/// The name of work for a sentence: of a kernel or a call its qualified name, of a copy, memset or CUDA graph the text
/// before the brackets.
std::string short_work_name(std::string_view name);

}  // namespace underlap
