// See argument_edit.h. An explicit instantiation is recognised by its tokens: of all that begins with `template`, it
// alone has no `<` behind that.
#include "reintegrate/patch/launch/argument_edit.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/compiler/written/source_tokens.h"
#include "core/model/knob/template_arguments.h"
#include "reintegrate/patch/kernel_beside.h"
#include "reintegrate/patch/launch/site_terms.h"

namespace kernelift::reintegrate {
namespace {

bool is_value(std::string_view text, int64_t value) {
  auto parsed = Expression::parse(text);
  auto number = parsed.ok() ? parsed->evaluate({}) : Result<int64_t>(std::move(parsed).error());
  return number.ok() && *number == value;
}

std::string_view part(std::string_view text, const TextPart& where) {
  return text.substr(where.begin, where.end - where.begin);
}

/// The kernel as the launch spells it; empty: not in the file as the scan found it.
std::string_view spelled(const LaunchSite& site, const OpenFile& file) {
  auto& range = site.kernel_range;
  if (range.begin >= range.end || range.end > file.text.size()) return {};
  return std::string_view(file.text).substr(range.begin, range.end - range.begin);
}

/// Edits the instantiations of the file that have this argument, and in front of it the arguments that `like` has.
void edit_instantiations(OpenFile& file, const std::string& kernel, size_t index, std::string_view like,
                         const std::string& text, PatchDraft& draft) {
  const auto tokens = source_tokens(file.text);
  const auto wanted = template_arguments(like);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].is("template") || tokens[i + 1].is("<")) continue;
    for (++i; i + 1 < tokens.size() && !tokens[i].is(";") && !tokens[i].is("("); ++i) {
      if (!tokens[i].is(kernel) || !tokens[i + 1].is("<")) continue;
      const size_t begin = tokens[i].offset, open = file.text.find('(', begin);
      const std::string_view name = trimmed(std::string_view(file.text).substr(begin, open - begin));
      const auto arguments = template_arguments(name);
      bool same = arguments.size() > index && arguments.size() >= wanted.size();
      for (size_t a = 0; same && a < wanted.size(); ++a) same = part(name, arguments[a]) == part(like, wanted[a]);
      if (same) draft.add_argument(file, begin + arguments[index].begin, begin + arguments[index].end, text);
      break;
    }
  }
}

}  // namespace

bool is_own_instance(const Mep& mep, const Candidate& candidate, const std::string& kernel) {
  const std::string_view before(mep.kernel_name), after(kernel);
  const auto own = template_arguments(before), wanted = template_arguments(after);
  if (own.empty() || own.size() != wanted.size() || before.substr(0, own[0].begin) != after.substr(0, wanted[0].begin))
    return false;
  const auto spelled = instantiated_arguments(candidate.source);
  for (size_t i = 0; i < own.size(); ++i) {
    if (part(before, own[i]) == part(after, wanted[i])) continue;
    auto sets = [&](auto& knob) {
      auto value = candidate.values.find(knob.name);
      const bool named = i < spelled.size() && spelled[i] == knob.name;
      return value != candidate.values.end() && (named || is_template_argument(mep, knob)) &&
             is_value(part(before, own[i]), knob.value) && is_value(part(after, wanted[i]), value->second);
    };
    if (std::ranges::none_of(mep.knobs, sets)) return false;
  }
  return true;
}

std::string with_recorded_arguments(std::string source, const Mep& mep, const Candidate& candidate) {
  for (auto& knob : mep.knobs) {
    auto value = candidate.values.find(knob.name);
    if (value == candidate.values.end() || value->second == knob.value || !is_template_argument(mep, knob)) continue;
    const std::string now = argument_definition(knob.name, value->second) + "\n";
    if (const size_t at = source.rfind(now); at != source.npos)
      source.replace(at, now.size(), argument_definition(knob.name, knob.value) + "\n");
  }
  return source;
}

Status edit_argument(const PatchQuestion& question, const Knob& knob, int64_t value, PatchDraft& draft) {
  const Mep& mep = question.mep;
  const std::string what = "the template's argument " + std::to_string(knob.value) + " ('" + knob.name + "') of '" +
                           mep.kernel_name + "' would become " + std::to_string(value);
  if (!question.guard.empty())
    return refused("it is known to be right only where " + question.guard.text() + ", and " + what +
                   " for all launches");
  if (!mep.unseen_launches.empty()) return refused(what + ", and " + mep.unseen_launches);
  if (question.scan)
    for (auto& setting : question.scan->settings)
      if (std::ranges::find(setting.kernels, mep.kernel_id) != setting.kernels.end())
        return refused(what + ", and " + place_of(setting.range) +
                       " sets an attribute of this instance that another one would not have");
  size_t index = 0;
  std::string like;
  for (auto& site : mep.launches) {
    if (site.kernel_range.file != knob.value_range.file || knob.value_range.begin < site.kernel_range.begin ||
        knob.value_range.end > site.kernel_range.end)
      continue;
    KERNELIFT_ASSIGN(OpenFile * file, draft.open(site.range.file));
    like = spelled(site, *file);
    const auto arguments = template_arguments(like);
    while (index < arguments.size() && arguments[index].begin + site.kernel_range.begin != knob.value_range.begin)
      ++index;
    if (index == arguments.size()) like.clear();
    break;
  }
  const std::string text = std::to_string(value);
  std::set<OpenFile*> files;
  for (auto& site : mep.launches) {
    KERNELIFT_ASSIGN(OpenFile * file, draft.open(site.range.file));
    const std::string_view name = spelled(site, *file);
    const auto arguments = template_arguments(name);
    if (like.empty() || index >= arguments.size() || !is_value(part(name, arguments[index]), knob.value))
      return refused(what + ", and the launch at " + place_of(site.range) + " does not spell it");
    if (site.kernels.size() > 1)
      return refused(what + ", and the launch at " + place_of(site.range) + " serves " +
                     std::to_string(site.kernels.size()) + " kernels");
    draft.add_argument(*file, site.kernel_range.begin + arguments[index].begin,
                       site.kernel_range.begin + arguments[index].end, text);
    files.insert(file);
  }
  if (question.scan)
    for (auto& kernel : question.scan->kernels)
      if (kernel.id == mep.kernel_id && !draft.is_outside(kernel.definition.file)) {
        KERNELIFT_ASSIGN(OpenFile * file, draft.open(kernel.definition.file));
        files.insert(file);
      }
  for (OpenFile* file : files) edit_instantiations(*file, own_name(mep.kernel_name), index, like, text, draft);
  return done();
}

}  // namespace kernelift::reintegrate
