// existing() looks for both names, with the kernel's id and without: which one an earlier patch used depended on the
// kernels that were scanned then.
#include "reintegrate/embed/launcher_file.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"
#include "reintegrate/embed/launcher.h"
#include "reintegrate/patch/constants/shared_knobs.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

bool mentions(const fs::path& file, const std::string& launcher) {
  auto text = read_text(file);
  return text.ok() && text->find(launcher + "::") != text->npos;
}

}  // namespace

std::string LauncherFile::name() const {
  std::string name = launcher_name(mep_.kernel_name);
  if (!mine_ || !scan_) return name;
  for (auto& other : scan_->kernels)
    if (launcher_name(other.name) == name &&
        (other.key != mine_->key || other.definition.file != mine_->definition.file))
      return name + "_" + mine_->id;
  return name;
}

bool LauncherFile::is_own(const std::string& text) const {
  return text.starts_with("// Tuned code for the kernel '" + comment_text(mep_.kernel_name) + "'");
}

fs::path LauncherFile::existing() const {
  std::error_code code;
  std::vector<fs::path> beside;
  auto add = [&](const fs::path& file) {
    beside.push_back(fs::weakly_canonical(file.is_absolute() ? file : root_ / file, code));
  };
  add(mep_.unit);
  if (mine_) add(mine_->definition.file);
  for (auto& site : mep_.launches) add(site.range.file);
  const std::string own = name(), plain = launcher_name(mep_.kernel_name);
  const bool only_one = scan_ && own == plain;
  for (auto& file : beside)
    for (auto& candidate : {own, plain}) {
      fs::path header = file.parent_path() / (candidate + ".cuh");
      auto text = read_text(header);
      if (!text.ok() || !is_own(*text)) continue;
      bool mentioned = only_one;
      for (auto& other : beside) mentioned |= mentions(other, candidate);
      if (mentioned) return header;
    }
  return {};
}

std::string LauncherFile::occupied(const fs::path& header, const std::vector<std::string>& launched_in) const {
  auto text = read_text(header);
  if (!text.ok() || !is_own(*text))
    return header.string() + " already exists and is not the launcher of '" + mep_.kernel_name +
           "': rename or remove it first";
  for (auto& file : launched_in)
    if (mentions(root_ / file, header.stem().string()))
      return header.string() + " already exists, and other launches of '" + mep_.kernel_name + "' in " + file +
             " go through it: change this launch to use it too, as its first lines show, or undo the others and "
             "remove it";
  return header.string() + " already exists, but no launch of '" + mep_.kernel_name +
         "' goes through it: remove it first";
}

Status check_embedded_users(const Knob& knob, const ScannedKernel* mine, const ScanIndex& scan, const fs::path& root) {
  for (auto& kernel : scan.kernels) {
    if (&kernel == mine || !is_used_by(knob, kernel)) continue;
    Mep other;  // As much of it as tells where its launcher may lie.
    other.kernel_name = kernel.name, other.unit = kernel.tu;
    for (auto& site : scan.launches)
      if (std::ranges::find(site.kernels, kernel.id) != site.kernels.end()) other.launches.push_back(site);
    const fs::path header = LauncherFile(other, &kernel, &scan, root).existing();
    std::error_code code;
    if (!header.empty())
      return refused("'" + knob.name + "' is also used by '" + kernel.name + "', which runs embedded code (" +
                     header.lexically_relative(fs::weakly_canonical(root, code)).string() +
                     ") that was compiled with " + std::to_string(knob.value) +
                     " and would keep that value: remove that file first, as its first lines describe");
  }
  return done();
}

}  // namespace kernelift::reintegrate
