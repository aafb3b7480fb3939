// See cupti.h.
#include "extractor/record/cuda/cupti/cupti.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "extractor/record/cuda/cupti/detour.h"

namespace kernelift::record {
namespace {

/// Path of a CUPTI that the process has loaded already, or empty.
std::string loaded_cupti() {
  std::string path;
  dl_iterate_phdr(
      [](struct dl_phdr_info* object, size_t, void* into) -> int {
        const char* name = object->dlpi_name ? std::strrchr(object->dlpi_name, '/') : nullptr;
        if (!name || std::strncmp(name, "/libcupti.so", 12) != 0) return 0;
        *static_cast<std::string*>(into) = object->dlpi_name;
        return 1;
      },
      &path);
  return path;
}

/// The variables of the library that a function is of, as words.
std::vector<std::span<const uintptr_t>> variables_around(const void* function) {
  struct Search {
    uintptr_t address;
    std::vector<std::span<const uintptr_t>> found;
  } search{reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(
      [](struct dl_phdr_info* object, size_t, void* into) -> int {
        auto& search = *static_cast<Search*>(into);
        std::span headers(object->dlpi_phdr, object->dlpi_phnum);
        auto begin = [&](auto& header) { return object->dlpi_addr + header.p_vaddr; };
        bool it = std::any_of(headers.begin(), headers.end(), [&](auto& header) {
          return header.p_type == PT_LOAD && search.address - begin(header) < header.p_memsz;
        });
        for (auto& header : headers)
          if (it && header.p_type == PT_LOAD && (header.p_flags & PF_W)) {
            uintptr_t aligned = (begin(header) + sizeof(uintptr_t) - 1) & -sizeof(uintptr_t);
            search.found.emplace_back(reinterpret_cast<const uintptr_t*>(aligned),
                                      (begin(header) + header.p_memsz - aligned) / sizeof(uintptr_t));
          }
        return it;
      },
      &search);
  return search.found;
}

}  // namespace

Result<Cupti> Cupti::open(const std::string& path) {
  std::string own = loaded_cupti();
  const std::string& used = own.empty() ? path : own;
  if (used.empty()) return environment_error("no CUPTI library was named");
  void* library = dlopen(used.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return environment_error("CUPTI cannot be opened: " + std::string(dlerror()));
  Cupti cupti;
#define KL_CUPTI_LOOK_UP(name)                                                \
  cupti.name = reinterpret_cast<decltype(cupti.name)>(dlsym(library, #name)); \
  if (!cupti.name) return environment_error(used + " has no " #name "; CUPTI 11.4 or newer is needed");
  KL_CUPTI_FUNCTIONS(KL_CUPTI_LOOK_UP)
#undef KL_CUPTI_LOOK_UP
  cupti.cuptiSubscribe_v2 = dlsym(library, "cuptiSubscribe_v2");
  return cupti;
}

std::string Cupti::text(CUptiResult result) const {
  const char* name = nullptr;
  cuptiGetResultString(result, &name);
  return name ? name : "CUPTI error " + std::to_string(int(result));
}

Status Cupti::take_records(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) const {
  auto variables = variables_around(reinterpret_cast<const void*>(cuptiActivityRegisterCallbacks));
  std::vector<std::vector<uintptr_t>> before;
  for (auto words : variables) before.emplace_back(words.begin(), words.end());
  auto stood_for = [&](auto function) {
    uintptr_t there = 0;
    for (size_t i = 0; i < variables.size() && !there; ++i)
      for (size_t k = 0; k < before[i].size() && !there; ++k)
        if (variables[i][k] == reinterpret_cast<uintptr_t>(function) && before[i][k] != variables[i][k])
          there = before[i][k];
    return reinterpret_cast<decltype(function)>(there);
  };
  CUptiResult result = cuptiActivityRegisterCallbacks(request, complete);
  if (result != CUPTI_SUCCESS) return environment_error("CUPTI does not hand over activity records: " + text(result));
  auto his_request = stood_for(request);
  auto his_complete = stood_for(complete);
  if (!his_request || !his_complete) return done();
  cuptiActivityRegisterCallbacks(his_request, his_complete);
  return refused(kCuptiIsTaken);
}

bool Cupti::before_others_use_it(void (*tell)()) const {
  bool good = detour_once(reinterpret_cast<void*>(cuptiSubscribe), tell);
  if (cuptiSubscribe_v2) good &= detour_once(cuptiSubscribe_v2, tell);
  return detour_once(reinterpret_cast<void*>(cuptiActivityRegisterCallbacks), tell) && good;
}

}  // namespace kernelift::record
