// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace underlap::page {

/// The files timeline.css, page.css and page.js of this folder, which the build embeds.
std::string_view timeline_css();
std::string_view page_css();
std::string_view page_js();

}  // namespace underlap::page
