// See capture_region.h.
#include "core/model/capture_region.h"

#include "core/base/artefact.h"
#include "core/base/file.h"
#include "core/base/json.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr const char* kFile = "region.json";
constexpr const char* kRegionFormat = "kernelift-capture-region";
constexpr int kRegionVersion = 1;

}  // namespace

Status write_capture_region(const fs::path& folder, const std::string& region) {
  if (region.empty()) return done();
  Json document = artefact(kRegionFormat, kRegionVersion, 1);
  document["region"] = region;
  return write_json(folder / kFile, document);
}

std::string capture_region(const fs::path& folder) {
  auto document = read_json(folder / kFile);
  if (!document.ok() || !check_artefact(*document, kRegionFormat, kRegionVersion, folder.string()).ok()) return {};
  auto region = document->find("region");
  return region != document->end() && region->is_string() ? region->get<std::string>() : "";
}

std::string capture_region_text(const std::string& region) {
  return region.empty() ? "" : "Only launches in the NVTX range '" + region + "'.";
}

}  // namespace kernelift
