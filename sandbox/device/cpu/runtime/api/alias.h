// The per-thread-default-stream spellings (nvcc's --default-stream per-thread) of an API function. Work runs at the
// call that submits it, so both spellings do the same; each alias must stand in the file that defines the function.
#pragma once
#define KL_ALIAS(alias_name, target) extern "C" __attribute__((visibility("default"), alias(#target))) void alias_name()
#define KL_PTSZ(name) KL_ALIAS(name##_ptsz, name)
#define KL_PTDS(name) KL_ALIAS(name##_ptds, name)
