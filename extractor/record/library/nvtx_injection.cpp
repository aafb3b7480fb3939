// What NVTX asks of a library that it loads: a function that puts ours in the places of its own. The types are NVTX's
// (nvtx3/nvtxDetail/nvtxTypes.h), which are part of its binary interface and change no more.
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>

#include "extractor/record/config.h"
#include "extractor/record/nvtx_ranges.h"

namespace kernelift::record {
namespace {

using Function = void (*)();
using FunctionTable = Function**;

constexpr uint32_t kCallbacks = 1;                        // NVTX_ETID_CALLBACKS
constexpr uint32_t kCore = 1, kCore2 = 5;                 // NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2
constexpr int kAscii = 1, kUnicode = 2, kRegistered = 3;  // NVTX_MESSAGE_TYPE_…

struct ExportTableCallbacks {
  size_t struct_size;
  int (*get_module_function_table)(uint32_t module, FunctionTable* table, unsigned* size);
};

struct EventAttributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const void* message;
};

struct RegisteredString {
  std::string text;
};

/// Only what can be a name of a range: other characters are shown as '?'.
std::string narrow(const wchar_t* text) {
  std::string narrowed;
  for (; text && *text; ++text) narrowed += *text > 0 && *text < 0x80 ? static_cast<char>(*text) : '?';
  return narrowed;
}

/// Calls `use` with the name, or null if there is none.
template <class Use>
auto with_name(const EventAttributes* event, const Use& use) {
  const void* message = event ? event->message : nullptr;
  if (message && event->message_type == kAscii) return use(static_cast<const char*>(message));
  if (message && event->message_type == kRegistered)
    return use(static_cast<const RegisteredString*>(message)->text.c_str());
  if (message && event->message_type == kUnicode) return use(narrow(static_cast<const wchar_t*>(message)).c_str());
  return use(nullptr);
}

int push_in(void* domain, const EventAttributes* event) {
  with_name(event, [&](const char* name) { NvtxRanges::push(domain, name); });
  return 0;
}
int pop_in(void* domain) {
  NvtxRanges::pop(domain);
  return 0;
}
uint64_t start_in(void* domain, const EventAttributes* event) {
  return with_name(event, [&](const char* name) { return NvtxRanges::start(domain, name); });
}
void end_in(void*, uint64_t id) { NvtxRanges::end(id); }

int push(const EventAttributes* event) { return push_in(nullptr, event); }
int push_ascii(const char* name) {
  NvtxRanges::push(nullptr, name);
  return 0;
}
int push_unicode(const wchar_t* name) { return push_ascii(narrow(name).c_str()); }
int pop() { return pop_in(nullptr); }
uint64_t start(const EventAttributes* event) { return start_in(nullptr, event); }
uint64_t start_ascii(const char* name) { return NvtxRanges::start(nullptr, name); }
uint64_t start_unicode(const wchar_t* name) { return start_ascii(narrow(name).c_str()); }
void end(uint64_t id) { NvtxRanges::end(id); }

void* create_domain(const char* name) { return NvtxRanges::new_domain(name); }
void* create_domain_unicode(const wchar_t* name) { return create_domain(narrow(name).c_str()); }
void* register_string(void*, const char* text) {
  auto made = new (std::nothrow) RegisteredString;
  if (made && text) made->text = text;
  return made;
}
void* register_string_unicode(void* domain, const wchar_t* text) {
  return register_string(domain, narrow(text).c_str());
}

struct Entry {
  unsigned callback;  ///< NVTX_CBID_CORE_… or NVTX_CBID_CORE2_….
  Function function;
};
template <class F>
Entry entry(unsigned callback, F* function) {
  return {callback, reinterpret_cast<Function>(function)};
}

void fill(const ExportTableCallbacks& callbacks, uint32_t module, std::initializer_list<Entry> entries) {
  FunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks.get_module_function_table(module, &table, &size) || !table) return;
  for (auto& one : entries)
    if (one.callback < size && table[one.callback]) *table[one.callback] = one.function;
}

}  // namespace
}  // namespace kernelift::record

/// NVTX calls it at the process's first call of its own.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
  using namespace kernelift::record;
  if (!export_table) return 0;
  // Ranges may begin before the first call of CUDA, which is what begins a recording.
  try {
    auto config = RecordConfig::from_environment();
    if (!config || config->region.empty()) return 0;
    NvtxRanges::watch(config->region);
  } catch (...) {
    return 0;
  }
  auto callbacks = static_cast<const ExportTableCallbacks*>(export_table(kCallbacks));
  if (!callbacks || callbacks->struct_size < sizeof *callbacks || !callbacks->get_module_function_table) return 0;
  fill(*callbacks, kCore,
       {entry(4, start), entry(5, start_ascii), entry(6, start_unicode), entry(7, end), entry(8, push),
        entry(9, push_ascii), entry(10, push_unicode), entry(11, pop)});
  fill(*callbacks, kCore2,
       {entry(2, start_in), entry(3, end_in), entry(4, push_in), entry(5, pop_in), entry(10, register_string),
        entry(11, register_string_unicode), entry(12, create_domain), entry(13, create_domain_unicode)});
  return 1;
}
