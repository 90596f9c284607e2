#include "recorder/control/module_code.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace wf::recorder {

class ModuleCode::File {
 public:
  explicit File(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat facts {};
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
      const auto size = static_cast<size_t>(facts.st_size);
      void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), size};
    }
    close(file);
  }
  ~File() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

ModuleCode::ModuleCode(const Recording& recording, int64_t time_ns) : recording_(recording) {
  // Those that came later win: where a module was found only after it ran, it is still the likeliest.
  for (const ModuleFacts& module : recording.modules)
    if (module.until_ns > time_ns) by_begin_.insert_or_assign(module.begin, &module);
}

ModuleCode::~ModuleCode() = default;

const ModuleCode::File& ModuleCode::Open(uint32_t path) {
  auto& file = files_[path];
  if (file == nullptr) file = std::make_unique<File>(recording_.names[path]);
  return *file;
}

std::string_view ModuleCode::At(uint64_t address) {
  auto place = by_begin_.upper_bound(address);
  if (place == by_begin_.begin()) return {};
  const ModuleFacts& module = *(--place)->second;
  if (address >= module.end) return {};
  const std::string_view bytes = Open(module.path).bytes();
  const uint64_t offset = module.offset + (address - module.begin);
  if (offset >= bytes.size() || offset < module.offset) return {};
  return bytes.substr(offset, module.end - address);
}

}  // namespace wf::recorder
