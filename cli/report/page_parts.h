// What the HTML pages have in common: one self-contained file, its style, and texts from outside made safe.
#pragma once
#include <string>

namespace kernelift::cli {

/// A whole page around `body`, which is HTML.
std::string html_page(const std::string& title, const std::string& body);
/// Text from outside as HTML.
std::string escape(const std::string& text);
/// With this many digits behind the point.
std::string number(double value, int digits);
/// A figure with what it is, in a box.
std::string card(const std::string& value, const std::string& label);

}  // namespace kernelift::cli
