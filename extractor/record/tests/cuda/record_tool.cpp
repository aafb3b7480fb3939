// `kernelift record` without the rest of Kernelift: records a command and prints what the capture holds, one JSON
// document on stdout. Links no LLVM, so that it can be carried to a machine with a GPU and read by the checks there.
#include <cstdio>
#include <cstring>
#include <string>

#include "core/base/file.h"
#include "core/base/json.h"
#include "extractor/record/archive.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "extractor/record/hot_list.h"
#include "extractor/record/record_run.h"

namespace kernelift::record {
namespace {

/// The first words of an image as floats and as hex, and its hash.
Json image_json(const Capture& capture, const Image& image) {
  constexpr uint64_t kMostRead = 64 << 20;  // Larger ones are there for their size and time.
  if (image.size > kMostRead) return {{"chunks", image.chunks.size()}};
  auto bytes = capture.load(image);
  if (!bytes.ok()) return {{"error", bytes.error().message}};
  Json floats = Json::array();
  for (size_t i = 0; i < 4 && (i + 1) * 4 <= bytes->size(); ++i) {
    float value;
    std::memcpy(&value, bytes->data() + i * 4, 4);
    floats.push_back(value);
  }
  size_t shown = std::min<size_t>(bytes->size(), 16);
  return {{"floats", floats}, {"hex", hex_text(std::span(*bytes).first(shown))}, {"hash", hash_bytes(*bytes).hex()}};
}

Json instance_json(const Capture& capture, const CapturedInstance& instance) {
  Json regions = Json::array(), variables = Json::array(), parameters = to_json(instance.parameters);
  for (auto& region : instance.regions)
    regions.push_back({{"address", region.address},
                       {"size", region.before.size},
                       {"kind", name(region.kind)},
                       {"from", region.reached_from.text()},
                       {"changed", region.before != region.after},
                       {"before", image_json(capture, region.before)},
                       {"after", image_json(capture, region.after)}});
  for (auto& variable : instance.variables)
    variables.push_back({{"name", variable.name},
                         {"key", variable.key},
                         {"constant", variable.constant},
                         {"size", variable.before.size},
                         {"changed", variable.before != variable.after},
                         {"before", image_json(capture, variable.before)},
                         {"after", image_json(capture, variable.after)}});
  auto& s = instance.settings;
  return {
      {"id", instance.id},
      {"kernel", instance.kernel},
      {"mangled", instance.mangled},
      {"source_stem", instance.source_stem},
      {"launch", instance.launch_index},
      {"geometry", to_json(instance.geometry)},
      {"arguments", hex_text(instance.arguments)},
      {"parameters", parameters},
      {"microseconds", instance.microseconds},
      {"like", {{"count", instance.like.count}, {"own", instance.like.own}, {"rewritten", instance.like.rewritten}}},
      {"weight", instance.weight},
      {"held_out", instance.held_out},
      {"bytes", instance_bytes(instance)},
      {"code_bytes", instance.code.size},
      {"entry", s.entry},
      {"stream", s.stream},
      {"cluster", {s.cluster.x, s.cluster.y, s.cluster.z}},
      {"priority", s.priority},
      {"programmatic", s.programmatic},
      {"carveout", s.carveout},
      {"max_dynamic_shared", s.max_dynamic_shared},
      {"registers", s.registers},
      {"stack_limit", s.stack_limit},
      {"heap_limit", s.heap_limit},
      {"cache_config", s.cache_config},
      {"other", s.other},
      {"regions", regions},
      {"variables", variables}};
}

int run(int argc, char** argv) {
  RecordRequest request;
  request.state = ".kernelift";
  request.application_to_stderr = true;
  // Beside this program, or where an installation has them. Words and options that only `kernelift` knows are passed
  // over.
  std::filesystem::path libraries = executable_folder();
  if (!std::filesystem::exists(libraries / "libkernelift_record_cuda.so"))
    libraries = libraries.parent_path() / "lib/kernelift/runtime";
  int i = 1;
  for (; i < argc && std::string(argv[i]) != "--"; ++i) {
    std::string option = argv[i];
    auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (option == "--kernel") request.config.kernel = value();
    else if (option == "--instances") request.config.instances = std::stoull(value());
    else if (option == "--skip") request.config.skip = std::stoull(value());
    else if (option == "--mib") request.config.instance_bytes = std::stoull(value()) << 20;
    else if (option == "--patience") request.config.patience_seconds = std::stoull(value());
    else if (option == "--all-memory") request.config.all_memory = true;
    else if (option == "--profile-only") request.config.profile_only = true;
    else if (option == "--state") request.state = value();
    else if (option == "--libraries") libraries = value();
  }
  request.command.assign(argv + std::min(i + 1, argc), argv + argc);
  request.library = libraries / "libkernelift_record.so";
  request.cuda_library = libraries / "libkernelift_record_cuda.so";
  auto cupti = find_cupti({}, driver_cuda_version());
  if (cupti) request.cupti = *cupti;
  auto outcome = record_application(request);
  if (!outcome.ok()) {
    std::fprintf(stderr, "record_tool: %s\n", outcome.error().message.c_str());
    return 99;
  }
  std::fprintf(stderr, "%s", hot_list(outcome->info.profile).c_str());
  Json instances = Json::array(), omissions = Json::array();
  if (!outcome->folder.empty() && !outcome->instances.empty()) {
    auto capture = Capture::open(outcome->folder);
    if (capture.ok())
      for (auto& instance : capture->instances()) instances.push_back(instance_json(*capture, instance));
  }
  for (auto& omission : outcome->info.omissions) {
    omissions.push_back({{"what", omission.what}, {"why", omission.why}});
    std::fprintf(stderr, "not captured: %s: %s\n", omission.what.c_str(), omission.why.c_str());
  }
  for (auto& note : outcome->notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  Json document = {{"exit", outcome->application.exit_code},
                   {"application", outcome->application.describe()},
                   {"cupti", request.cupti.string()},
                   {"seen", outcome->runtime_seen},
                   {"device", outcome->info.device},
                   {"complete", outcome->info.complete},
                   {"run_seconds", outcome->info.run_seconds},
                   {"recorder_seconds", outcome->info.recorder_seconds},
                   {"stored_bytes", outcome->stored_bytes},
                   {"kernels", hot_list_json(outcome->info.profile)},
                   {"instances", instances},
                   {"omissions", omissions},
                   {"notes", outcome->notes}};
  std::printf("%s\n", document.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
  return outcome->application.exit_code;
}

}  // namespace
}  // namespace kernelift::record

int main(int argc, char** argv) { return kernelift::record::run(argc, argv); }
