// Lets the recorder load on clusters whose C library is older than the one it was linked against. Functions that
// libstdc++ and libgcc's static archives want from glibc 2.29 and later are defined here, hidden, on top of what
// glibc 2.2.5 already had; a test checks that no newer version is asked for. Where a newer glibc has a better one (no
// lock in the unwinder, no atomics in a single thread) we do without: exceptions and shared pointers are rare in a
// recorder.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#if defined(__x86_64__) && defined(__GLIBC__)

extern "C" {

int __xstat(int version, const char* path, struct stat* into);
int __fxstat(int version, int fd, struct stat* into);
constexpr int kStatVersion = 1;  // _STAT_VER of x86-64, unchanged since 2.2.5.

int old_pthread_once(pthread_once_t*, void (*)());
int old_pthread_key_create(pthread_key_t*, void (*)(void*));
__asm__(".symver old_pthread_once, pthread_once@GLIBC_2.2.5");
__asm__(".symver old_pthread_key_create, __pthread_key_create@GLIBC_2.2.5");

int old_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int old_pthread_detach(pthread_t);
int old_pthread_mutex_trylock(pthread_mutex_t*);
void* old_dlopen(const char*, int);
void* old_dlsym(void*, const char*);
void* old_dlvsym(void*, const char*, const char*);
char* old_dlerror();
int old_dladdr(const void*, Dl_info*);
__asm__(".symver old_pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver old_pthread_detach, pthread_detach@GLIBC_2.2.5");
__asm__(".symver old_pthread_mutex_trylock, pthread_mutex_trylock@GLIBC_2.2.5");
__asm__(".symver old_dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver old_dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver old_dlvsym, dlvsym@GLIBC_2.2.5");
__asm__(".symver old_dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver old_dladdr, dladdr@GLIBC_2.2.5");
int __lxstat(int version, const char* path, struct stat* into);

int stat(const char* path, struct stat* into) noexcept { return __xstat(kStatVersion, path, into); }
int lstat(const char* path, struct stat* into) noexcept { return __lxstat(kStatVersion, path, into); }
int fstat(int fd, struct stat* into) noexcept { return __fxstat(kStatVersion, fd, into); }
int stat64(const char* path, struct stat64* into) noexcept {
  return __xstat(kStatVersion, path, reinterpret_cast<struct stat*>(into));
}
int fstat64(int fd, struct stat64* into) noexcept {
  return __fxstat(kStatVersion, fd, reinterpret_cast<struct stat*>(into));
}

int pthread_once(pthread_once_t* control, void (*routine)()) { return old_pthread_once(control, routine); }
int __pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept {
  return old_pthread_key_create(key, destructor);
}

// glibc 2.34 moved these into libc itself, under a new version; the old one is there too.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) noexcept {
  return old_pthread_create(thread, attributes, routine, argument);
}
int pthread_detach(pthread_t thread) noexcept { return old_pthread_detach(thread); }
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return old_pthread_mutex_trylock(mutex); }
void* dlopen(const char* file, int mode) noexcept { return old_dlopen(file, mode); }
// Weak: the library that stands before NVRTC has one of its own.
__attribute__((weak, visibility("default"))) void* dlsym(void* library, const char* name) noexcept {
  return old_dlsym(library, name);
}
void* dlvsym(void* library, const char* name, const char* version) noexcept {
  return old_dlvsym(library, name, version);
}
char* dlerror() noexcept { return old_dlerror(); }
int dladdr(const void* address, Dl_info* into) noexcept { return old_dladdr(address, into); }

char __libc_single_threaded = 0;  ///< "Several threads may run": always true enough.

/// The unwinder's search for the object that holds `address`, by walking the loaded objects.
int _dl_find_object(void* address, struct dl_find_object* result) noexcept {
  struct Search {
    uintptr_t address;
    struct dl_find_object* result;
  } search{reinterpret_cast<uintptr_t>(address), result};
  auto look = [](struct dl_phdr_info* object, size_t, void* data) -> int {
    auto& search = *static_cast<Search*>(data);
    const ElfW(Phdr)* frames = nullptr;
    bool inside = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      auto& segment = object->dlpi_phdr[i];
      uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_GNU_EH_FRAME) frames = &segment;
      if (segment.p_type != PT_LOAD || search.address < begin || search.address >= begin + segment.p_memsz) continue;
      inside = true;
      search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
      search.result->dlfo_map_end = reinterpret_cast<void*>(begin + segment.p_memsz);
    }
    if (!inside || !frames) return 0;
    search.result->dlfo_flags = 0;
    search.result->dlfo_link_map = nullptr;
    search.result->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

}  // extern "C"

#endif
