// Manual pages, made from the verbs and options as they are parsed: what --help says, as man(1) shows it.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace kernelift::cli {

/// Pages of section 1 by file name: kernelift.1 lists the verbs, kernelift-VERB.1 has a verb's options and its example.
/// `program` as for completion_script().
std::map<std::string, std::string> manual_pages(const CLI::App& program, const std::string& version);

}  // namespace kernelift::cli
