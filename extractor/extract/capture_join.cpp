// See capture_join.h. Namesakes that no sign tells apart all join: one header's kernel in several units is one kernel,
// and where the texts differ the caller asks the user.
#include "extractor/extract/capture_join.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/model/kernel_key.h"
#include "sandbox/compile/nvcc_image.h"
#include "sandbox/judge/element.h"

namespace kernelift {

std::string file_mark(std::string_view mangled) {
  for (std::string_view before : {"_GLOBAL__N__", "_INTERNAL_", "__nv_static_"}) {
    size_t at = mangled.find(before);
    if (at == std::string_view::npos) continue;
    at += before.size();
    // __nv_static_ is followed by the length of all that follows, and by two underscores.
    if (before == "__nv_static_") at = mangled.find_first_not_of("0123456789", at), at = at == mangled.npos ? at : at + 2;
    constexpr size_t kHash = 8;
    if (at == mangled.npos || at + kHash >= mangled.size() || mangled[at + kHash] != '_') continue;
    size_t length = 0, digit = at + kHash + 1;
    for (; digit < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[digit])) && length < 1000; ++digit)
      length = length * 10 + static_cast<size_t>(mangled[digit] - '0');
    if (length > 0 && digit + 1 + length <= mangled.size() && mangled[digit] == '_')
      return std::string(mangled.substr(digit + 1, length));
  }
  return {};
}

bool is_mark_of(std::string_view mark, const std::string& file) {
  std::string name = std::filesystem::path(file).filename();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name == mark;
}

bool same_layout(const std::vector<Parameter>& captured, const std::vector<ScannedParameter>& scanned) {
  if (captured.empty()) return true;  // Not every recorder knows.
  if (captured.size() != scanned.size()) return false;
  for (size_t i = 0; i < captured.size(); ++i) {
    uint32_t size = !scanned[i].pointee.empty()  ? sizeof(uint64_t)
                    : !scanned[i].scalar.empty() ? ElementType::parse(scanned[i].scalar).width
                                                 : 0;
    bool known = size > 1 || (size == 1 && scanned[i].scalar.find("char") != std::string::npos);
    if (known && captured[i].size != size) return false;
  }
  return true;
}

int CaptureJoin::signs(const CapturedInstance& instance, const ScannedKernel& kernel) const {
  constexpr int kNever = -1, kFile = 1000;
  if (instance.kernel != kernel.key || !same_layout(instance.parameters, kernel.parameters)) return kNever;
  if (instance.unit == kernel.tu) return kFile;
  // A name without a slash is a module's that was linked from several files.
  if (instance.unit.find('/') != std::string::npos) return kNever;
  if (std::string mark = file_mark(instance.mangled); !mark.empty()) return is_mark_of(mark, kernel.tu) ? kFile : kNever;
  if (instance.code.size == 0) return 0;
  auto [company, fresh] =
      company_.try_emplace(instance.code.chunks.empty() ? "" : instance.code.chunks.front().hex());
  if (fresh)
    if (auto code = capture_.load(instance.code); code.ok())
      for (auto& name : cubin_kernels({reinterpret_cast<const char*>(code->data()), code->size()}))
        company->second.push_back(canonical_key(name));
  int known = 0;
  for (auto& other : index_.kernels)
    known += other.tu == kernel.tu && std::count(company->second.begin(), company->second.end(), other.key) > 0;
  return known;
}

bool CaptureJoin::joins(const CapturedInstance& instance, const ScannedKernel& kernel) const {
  int own = signs(instance, kernel);
  if (own < 0) return false;
  for (auto& other : index_.kernels)
    if (other.key == kernel.key && signs(instance, other) > own) return false;
  return true;
}

}  // namespace kernelift
