// See certificate_check.h.
#include "cli/judging/certificate_check.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/model/verdict/certificate.h"

namespace kernelift::cli {
namespace {

const char* name(CertifiedItem::Kind kind) {
  switch (kind) {
    case CertifiedItem::Kind::Agrees: return "agrees";
    case CertifiedItem::Kind::Differs: return "differs";
    default: return "elsewhere";
  }
}

}  // namespace

Result<Exit> check_certificate(const Mep& mep, const std::filesystem::path& folder, const std::filesystem::path& file,
                               sandbox::EvaluatorOptions options, const Context& context) {
  KERNELIFT_ASSIGN(Certificate certified, Certificate::read(file));
  if (certified.kernel != mep.kernel_key)
    return usage_error(file.string() + " is about the kernel " + certified.kernel + ", and " + folder.string() +
                       " holds " + mep.kernel_key);
  KERNELIFT_ASSIGN(std::string original, read_text(folder / mep.kernel_file()));
  if (certified.verdict.sizes_run) options.size_seed = certified.verdict.sizes_run->seed;
  if (!options.tolerance && certified.verdict.tolerance > 0)
    options.tolerance = Tolerance{certified.verdict.tolerance, 0};
  options.few_candidates = true;
  KERNELIFT_ASSIGN(auto evaluator, make_evaluator(mep, folder, options));
  Evaluation evaluation = evaluator->confirm(certified.candidate);
  if (auto* none = std::get_if<NotJudged>(&evaluation)) return environment_error(none->why);
  const Certificate here =
      Certificate::of(mep, original, certified.candidate, std::get<Verdict>(std::move(evaluation)));
  const auto items = compare(certified, here);
  const auto differing =
      std::ranges::count_if(items, [](auto& item) { return item.kind == CertifiedItem::Kind::Differs; });
  if (context.json) {
    Json listed = Json::array();
    for (auto& item : items)
      listed.push_back(
          {{"what", item.what}, {"result", name(item.kind)}, {"certified", item.certified}, {"here", item.here}});
    context.emit({{"certificate", file.string()},
                  {"holds", differing == 0},
                  {"items", listed},
                  {"verdict", to_json(here.verdict)}});
  } else {
    for (auto& item : items) context.say(item.text());
    context.say(differing == 0 ? "The certificate holds here." : "The certificate does not hold here.");
  }
  return differing == 0 ? Exit::Done : Exit::No;
}

}  // namespace kernelift::cli
