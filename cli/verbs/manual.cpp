// kernelift manual: prints a manual page, or writes all of them into a folder.
#include "cli/help/manual_page.h"
#include "cli/verbs.h"
#include "core/base/file.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string verb, out;
};

Result<Exit> manual(const Context& context, const CLI::App& program, const Options& options) {
  const auto pages = manual_pages(program, KERNELIFT_VERSION);
  if (!options.out.empty()) {
    for (auto& [name, text] : pages)
      KERNELIFT_TRY(write_atomically(std::filesystem::path(options.out) / name, std::string_view(text)));
    context.emit({{"folder", options.out}, {"pages", pages.size()}});
    return Exit::Done;
  }
  const auto page = pages.find("kernelift" + (options.verb.empty() ? "" : "-" + options.verb) + ".1");
  if (page == pages.end()) return usage_error("there is no verb '" + options.verb + "'; kernelift --help lists all");
  if (!context.json) print_own(page->second);
  context.emit({{"page", page->first}, {"text", page->second}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("VERB", options->verb, "The verb whose page is printed; without it, the page that lists them");
  app.add_option("--out", options->out, "Write the pages of all verbs into this folder instead");
  const CLI::App* program = app.get_parent();
  return [options, program](const Context& context) { return manual(context, *program, *options); };
}

}  // namespace

const Verb kManual = {
    "manual", "Print a manual page, made from the same tables as --help",
    "kernelift manual tune | man -l -        # all pages: kernelift manual --out ~/.local/share/man/man1", setup};

}  // namespace kernelift::cli
