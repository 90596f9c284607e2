#include "import/watch/lock_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "bpf/elf_functions.h"
#include "bpf/uprobe.h"
#include "import/watch/lock_programs.h"

namespace wf {
namespace {

enum class Does : uint8_t { kLocks, kReadLocks, kWriteLocks, kUnlocks, kWaits };

struct LockFunction {
  std::string_view name;
  Does does;
};
// What waits on a condition gets no return probe: a thread may be cancelled there (bpf/uprobe.h).
constexpr LockFunction kFunctions[] = {
    {"pthread_mutex_lock", Does::kLocks},
    {"pthread_mutex_trylock", Does::kLocks},
    {"pthread_mutex_timedlock", Does::kLocks},
    {"pthread_mutex_clocklock", Does::kLocks},
    {"pthread_mutex_unlock", Does::kUnlocks},
    {"pthread_rwlock_rdlock", Does::kReadLocks},
    {"pthread_rwlock_tryrdlock", Does::kReadLocks},
    {"pthread_rwlock_timedrdlock", Does::kReadLocks},
    {"pthread_rwlock_clockrdlock", Does::kReadLocks},
    {"pthread_rwlock_wrlock", Does::kWriteLocks},
    {"pthread_rwlock_trywrlock", Does::kWriteLocks},
    {"pthread_rwlock_timedwrlock", Does::kWriteLocks},
    {"pthread_rwlock_clockwrlock", Does::kWriteLocks},
    {"pthread_rwlock_unlock", Does::kUnlocks},
    {"pthread_cond_wait", Does::kWaits},
    {"pthread_cond_timedwait", Does::kWaits},
    {"pthread_cond_clockwait", Does::kWaits},
};

// A file's bytes without a copy of them.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (!file.valid() || ::fstat(file.get(), &about) != 0 || about.st_size <= 0) return;
    size_ = static_cast<size_t>(about.st_size);
    void* at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED) data_ = static_cast<const char*>(at);
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return data_ == nullptr ? "" : std::string_view(data_, size_); }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// The places of one file that do the same.
struct Places {
  Does does;
  UprobePlaces at;
};

// The C library's, and those of a program that has it linked in.
std::vector<Places> FindLockFunctions(const WatchedProcess& process) {
  std::vector<std::string_view> names;
  for (const LockFunction& function : kFunctions) names.push_back(function.name);
  std::vector<Places> places;
  for (const std::string& file : process.CodeFiles()) {
    const MappedFile mapped(file);
    const auto found = FindElfFunctions(mapped.bytes(), names);
    if (!found.ok()) continue;
    for (const Does does :
         {Does::kUnlocks, Does::kWaits, Does::kLocks, Does::kReadLocks, Does::kWriteLocks}) {
      Places same{does, {file, {}, process.pid}};
      for (const ElfFunction& function : *found) {
        if (kFunctions[function.name].does == does) same.at.offsets.push_back(function.offset);
      }
      if (!same.at.offsets.empty()) places.push_back(std::move(same));
    }
  }
  return places;
}

class AttachedLockProbe : public LockProbe {
 public:
  AttachedLockProbe(LockMaps maps, BpfRingReader reader)
      : maps_(std::move(maps)), reader_(std::move(reader)) {}

  Status Attach(const WatchedProcess& process, const LockProbeOptions& options) {
    const LockProgramSettings settings{options.at_least, process.pid_namespace_device,
                                       process.pid_namespace_inode};
    const auto load = [](const char* name, const std::vector<bpf_insn>& text) {
      return BpfProgram::Load(name, BpfProgramType::kProbe, text);
    };
    WF_ASSIGN(const BpfProgram ask, load("wf_ask", AskProgram(maps_, settings, LockMode::kMutex)));
    WF_ASSIGN(const BpfProgram ask_read,
              load("wf_ask_read", AskProgram(maps_, settings, LockMode::kRead)));
    WF_ASSIGN(const BpfProgram ask_write,
              load("wf_ask_write", AskProgram(maps_, settings, LockMode::kWrite)));
    WF_ASSIGN(const BpfProgram got, load("wf_got", GotProgram(maps_, settings)));
    WF_ASSIGN(const BpfProgram release, load("wf_release", ReleaseProgram(maps_, settings)));
    WF_ASSIGN(const BpfProgram condition, load("wf_condition", ConditionProgram(maps_, settings)));

    const std::vector<Places> places = FindLockFunctions(process);
    if (places.empty()) {
      return BadInput(
          fmt::format("process {}: none of its files has pthread_mutex_lock or its like",
                      process.pid),
          "it may take its locks some other way (Go does), or its symbols were "
          "stripped from a static binary");
    }
    for (const Places& place : places) {
      const auto attach = [&](const BpfProgram& program, ProbeSite site) -> Status {
        WF_ASSIGN(Uprobe probe, Uprobe::Attach(program, place.at, site));
        probes_.push_back(std::move(probe));
        places_ += place.at.offsets.size();
        return {};
      };
      switch (place.does) {
        case Does::kUnlocks:
          WF_TRY(attach(release, ProbeSite::kEntry));
          break;
        case Does::kWaits:
          WF_TRY(attach(condition, ProbeSite::kEntry));
          break;
        case Does::kLocks:
          WF_TRY(attach(got, ProbeSite::kReturn));
          WF_TRY(attach(ask, ProbeSite::kEntry));
          break;
        case Does::kReadLocks:
          WF_TRY(attach(got, ProbeSite::kReturn));
          WF_TRY(attach(ask_read, ProbeSite::kEntry));
          break;
        case Does::kWriteLocks:
          WF_TRY(attach(got, ProbeSite::kReturn));
          WF_TRY(attach(ask_write, ProbeSite::kEntry));
          break;
      }
    }
    return {};
  }

  Status Poll(int milliseconds) override {
    WF_TRY(reader_.Poll(milliseconds));
    return {};
  }
  std::vector<LockHolding> Unfinished() const override { return maps_.Unfinished(); }
  LockProbeCounters Counters() const override { return maps_.Counters(); }
  size_t probes() const override { return places_; }

 private:
  LockMaps maps_;
  BpfRingReader reader_;
  size_t places_ = 0;
  std::vector<Uprobe>
      probes_;  // detached first; programs live as long as what they are attached to
};

}  // namespace

Result<std::unique_ptr<LockProbe>> LockProbe::Attach(const WatchedProcess& process,
                                                     const LockProbeOptions& options, Take take) {
  WF_ASSIGN(LockMaps maps, LockMaps::Create());
  WF_ASSIGN(BpfRingReader reader,
            BpfRingReader::Open(maps.ring, [take = std::move(take)](std::string_view bytes) {
              LockRecord record;
              if (bytes.size() < sizeof record) return;
              std::memcpy(&record, bytes.data(), sizeof record);
              take(HoldingOf(record));
            }));
  auto probe = std::make_unique<AttachedLockProbe>(std::move(maps), std::move(reader));
  WF_TRY(probe->Attach(process, options));
  return std::unique_ptr<LockProbe>(std::move(probe));
}

}  // namespace wf
