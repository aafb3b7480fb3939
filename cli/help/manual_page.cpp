// man(7): a line that begins with a dot or a quote is a request, a backslash begins an escape, and a hyphen that is to
// be copied from the page is spelled \-.
#include "cli/help/manual_page.h"

namespace kernelift::cli {
namespace {

constexpr const char* kCommon = "Options of every verb";

std::string roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if ((out.empty() || out.back() == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string head(const std::string& page, const std::string& version, const std::string& summary) {
  std::string title;
  for (char c : page) title += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return ".TH " + title + " 1 \"\" \"kernelift " + roff(version) + "\" \"Kernelift\"\n.SH NAME\n" + roff(page) +
         " \\- " + roff(summary) + "\n";
}

/// The list of options of one group, as --help groups them.
std::string options(const CLI::App& app, bool common) {
  std::string text;
  for (const CLI::Option* option : app.get_options([&](const CLI::Option* one) {
         return !one->get_group().empty() && (one->get_group() == kCommon) == common;
       })) {
    std::string names;
    for (auto& name : option->get_snames()) names += (names.empty() ? "" : ", ") + ("-" + name);
    for (auto& name : option->get_lnames()) names += (names.empty() ? "" : ", ") + ("--" + name);
    const bool positional = names.empty();
    if (positional) names = option->get_name();
    text += ".TP\n\\fB" + roff(names) + "\\fR";
    if (!positional && option->get_type_size_max() > 0) text += " \\fI" + roff(option->get_type_name()) + "\\fR";
    std::string about = option->get_description();
    if (!option->get_default_str().empty()) about += " (default: " + option->get_default_str() + ")";
    text += "\n" + roff(about) + "\n";
  }
  return text;
}

/// "Example:\n  kernelift …": as the verb's footer has it.
std::string example(const std::string& footer) {
  const size_t line = footer.find('\n');
  if (line == footer.npos) return "";
  std::string text = footer.substr(line + 1);
  return ".SH EXAMPLE\n.nf\n" + roff(text.substr(std::min(text.find_first_not_of(' '), text.size()))) + "\n.fi\n";
}

std::string verb_page(const CLI::App& verb, const std::string& version) {
  const std::string page = "kernelift-" + verb.get_name();
  std::string arguments;
  for (const CLI::Option* option : verb.get_options([](const CLI::Option* one) { return one->get_positional(); }))
    arguments += " \\fI" + roff(option->get_name()) + "\\fR";
  return head(page, version, verb.get_description()) + ".SH SYNOPSIS\n\\fBkernelift " + roff(verb.get_name()) +
         "\\fR [\\fIOPTION\\fR...]" + arguments + "\n.SH OPTIONS\n" + options(verb, false) + ".SS " + kCommon + "\n" +
         options(verb, true) + example(verb.get_footer()) +
         ".SH EXIT STATUS\n0 done; 1 the answer is no; 2 wrong usage; 3 the environment lacks something, which is "
         "named; 4 refused, by name; 130 interrupted, with the state saved.\n.SH SEE ALSO\n\\fBkernelift\\fR(1)\n";
}

}  // namespace

std::map<std::string, std::string> manual_pages(const CLI::App& program, const std::string& version) {
  std::map<std::string, std::string> pages;
  std::string list;
  for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
    pages["kernelift-" + verb->get_name() + ".1"] = verb_page(*verb, version);
    list += ".TP\n\\fBkernelift\\-" + roff(verb->get_name()) + "\\fR(1)\n" + roff(verb->get_description()) + "\n";
  }
  pages["kernelift.1"] = head("kernelift", version, "tune the hot GPU kernels of an application") +
                         ".SH SYNOPSIS\n\\fBkernelift\\fR \\fIVERB\\fR [\\fIOPTION\\fR...]\n.SH DESCRIPTION\n" +
                         roff(program.get_description()) + "\n.SH VERBS\n" + list;
  return pages;
}

}  // namespace kernelift::cli
