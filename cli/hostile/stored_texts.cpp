// See stored_texts.h.
#include "cli/hostile/stored_texts.h"

#include <algorithm>

#include "cli/report/run_report.h"
#include "core/base/file.h"
#include "tuner/store/export.h"
#include "tuner/store/run.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

bool control(unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }

}  // namespace

Result<std::vector<std::string>> look_at_stored_texts(const fs::path& folder,
                                                      const std::vector<JudgedCandidate>& judged,
                                                      const Canaries& canaries) {
  std::vector<std::string> found;
  const fs::path file = folder / "suite.klrun";
  std::error_code code;
  fs::create_directories(folder, code);
  {
    tuner::RunMeta meta;
    meta.mep = folder.string(), meta.kernel = "suite", meta.device = "cpu";
    KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::create(file, meta));
    for (auto& one : judged) {
      auto id = run.record(one.candidate, one.verdict, {}, 0);
      if (!id.ok()) found.push_back("'" + one.candidate.proposer + "' cannot be stored: " + id.error().message);
    }
  }
  KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::open(file));
  auto history = run.history();
  if (!history.ok()) {
    found.push_back("the run cannot be read any more: " + history.error().message);
    return found;
  }
  if (history->size() != judged.size())
    found.push_back("of " + std::to_string(judged.size()) + " candidates " + std::to_string(history->size()) +
                    " are in the run");
  std::map<std::string, std::string> texts;
  auto page = gather_report(file);
  if (page.ok()) texts["the page"] = report_page(*page);
  else found.push_back("there is no page: " + page.error().message);
  for (std::string format : {"t4", "cachefile", "json"}) {
    auto exported = export_run(run, format);
    if (exported.ok()) texts["the export as " + format] = compact(*exported);
    else found.push_back("there is no export as " + format + ": " + exported.error().message);
  }
  for (auto& [what, text] : texts) {
    if (canaries.holds_key(text)) found.push_back("the user's key is in " + what);
    if (std::ranges::any_of(text, control)) found.push_back("control characters are in " + what);
  }
  for (const char* markup : {"<script>alert(1)", "<img src=x"})
    if (texts["the page"].find(markup) != std::string::npos)
      found.push_back("a candidate's markup is in the page: " + std::string(markup));
  return found;
}

}  // namespace kernelift::cli
