#include "bpf/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace wf::bpf {
namespace {

// Everything it has to say reaches us as errors; by itself it would write to the user's stderr.
void SilenceLibbpf() {
  static std::once_flag once;
  std::call_once(once, [] { libbpf_set_print(nullptr); });
}

bpf_map_type KernelType(BpfMapType type) {
  switch (type) {
    case BpfMapType::kArray:
    case BpfMapType::kMappedArray:
      return BPF_MAP_TYPE_ARRAY;
    case BpfMapType::kHashOfMaps:
      return BPF_MAP_TYPE_HASH_OF_MAPS;
    case BpfMapType::kRing:
      return BPF_MAP_TYPE_RINGBUF;
    case BpfMapType::kCpuHash:
      return BPF_MAP_TYPE_PERCPU_HASH;
    case BpfMapType::kCpuArray:
      return BPF_MAP_TYPE_PERCPU_ARRAY;
    case BpfMapType::kRecentHash:
      return BPF_MAP_TYPE_LRU_HASH;
    case BpfMapType::kHash:
      break;
  }
  return BPF_MAP_TYPE_HASH;
}

bpf_prog_load_opts LoadOptions(BpfProgramType type) {
  bpf_prog_load_opts options{};
  options.sz = sizeof options;
  if ((type == BpfProgramType::kProbe || type == BpfProgramType::kReadingProbe) && HasUprobeMulti())
    options.expected_attach_type = static_cast<bpf_attach_type>(kUprobeMultiAttachType);
  return options;
}

// What a reader's callback answers when it has taken enough: libbpf stops behind that record and passes the value on.
constexpr int kEnough = -ECANCELED;

// The kernel lets only some helpers be called by programs whose licence is not the GPL's. Those under Apache-2.0 call
// none of those.
const char* Licence(BpfProgramType type) {
  switch (type) {
    case BpfProgramType::kTracepoint:
      return "Dual BSD/GPL";
    case BpfProgramType::kReadingProbe:
    case BpfProgramType::kReadingProbeOneByOne:
      return "Dual MIT/GPL";
    case BpfProgramType::kProbe:
    case BpfProgramType::kPacket:
      break;
  }
  return "Apache-2.0";
}

bpf_prog_type KernelType(BpfProgramType type) {
  switch (type) {
    case BpfProgramType::kPacket:
      return BPF_PROG_TYPE_SCHED_CLS;
    case BpfProgramType::kTracepoint:
      return BPF_PROG_TYPE_RAW_TRACEPOINT;
    case BpfProgramType::kProbe:
    case BpfProgramType::kReadingProbe:
    case BpfProgramType::kReadingProbeOneByOne:
      break;
  }
  return BPF_PROG_TYPE_KPROBE;
}

}  // namespace

Error BpfError(std::string_view what, int code) {
  std::string hint;
  switch (code) {
    case EPERM:
    case EACCES:
      hint = "run it as root, or with CAP_BPF, CAP_PERFMON and, for packets, CAP_NET_ADMIN";
      break;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENODEV:
      hint =
          "this kernel was built without what it needs: CONFIG_BPF_SYSCALL, CONFIG_UPROBE_EVENTS, "
          "CONFIG_NET_CLS_BPF";
      break;
    case EINVAL:
      hint = "kernels before 5.8 lack ring buffers; uname -r tells which this is";
      break;
    case ENOMEM:
      hint = "raise the limit on locked memory (ulimit -l) or the memory of this cgroup";
      break;
    default:
      hint = "dmesg may tell more";
  }
  return {code == EPERM || code == EACCES ? ErrorCode::kDenied : ErrorCode::kEnvironment,
          fmt::format("{}: {}", what, std::strerror(code)), hint};
}

bool HasUprobeMulti() {
  static const bool has = [] {
    SilenceLibbpf();
    // Since 6.6, but until 6.10 it reported only a process's first thread.
    utsname kernel{};
    unsigned major = 0, minor = 0;
    if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%u.%u", &major, &minor) != 2)
      return false;
    if (major < 6 || (major == 6 && minor < 10)) return false;
    bpf_insn text[2] = {};
    text[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
    text[1].code = BPF_JMP | BPF_EXIT;
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.expected_attach_type = static_cast<bpf_attach_type>(kUprobeMultiAttachType);
    const FileDescriptor program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "wf_try",
                                               Licence(BpfProgramType::kProbe), text, 2, &options));
    return program.valid();
  }();
  return has;
}

Result<BpfMap> BpfMap::Create(const char* name, const Shape& shape) {
  return Create(name, shape, -1);
}

Result<BpfMap> BpfMap::CreateOfMaps(const char* name, uint32_t key_bytes, uint32_t entries,
                                    const BpfMap& like) {
  return Create(name, {BpfMapType::kHashOfMaps, key_bytes, sizeof(uint32_t), entries}, like.fd());
}

Result<BpfMap> BpfMap::Create(const char* name, const Shape& shape, int inner) {
  SilenceLibbpf();
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  if (shape.type == BpfMapType::kMappedArray) options.map_flags = BPF_F_MMAPABLE;
  if (inner >= 0) options.inner_map_fd = static_cast<uint32_t>(inner);
  const int fd = bpf_map_create(KernelType(shape.type), name, shape.key_bytes, shape.value_bytes,
                                shape.entries, &options);
  if (fd < 0) return BpfError(fmt::format("BPF map {}", name), -fd);
  BpfMap map;
  map.fd_ = FileDescriptor(fd);
  map.shape_ = shape;
  return map;
}

size_t BpfMap::value_size() const {
  const bool per_cpu = shape_.type == BpfMapType::kCpuHash || shape_.type == BpfMapType::kCpuArray;
  return per_cpu ? BpfCpus() * ((size_t{shape_.value_bytes} + 7) / 8 * 8) : shape_.value_bytes;
}

size_t BpfCpus() {
  static const size_t cpus = [] {
    const int told = libbpf_num_possible_cpus();
    return told > 0 ? static_cast<size_t>(told) : size_t{1};
  }();
  return cpus;
}

Status WaitForRunningPrograms() {
  // The kernel waits so after a map in a map of maps was replaced (maybe_wait_bpf_programs); membarrier() would do too,
  // but not on machines with one processor nor with nohz_full.
  static const auto maps = [] {
    SilenceLibbpf();
    const int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "wf_inner", 4, 8, 1, nullptr);
    bpf_map_create_opts options{};
    options.sz = sizeof options;
    options.inner_map_fd = static_cast<uint32_t>(inner);
    const int outer =
        inner < 0 ? inner
                  : bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "wf_outer", 4, 4, 1, &options);
    return std::pair(inner, outer);
  }();
  if (maps.second < 0) return BpfError("BPF map wf_outer", -maps.second);
  const uint32_t first = 0;
  const int code = bpf_map_update_elem(maps.second, &first, &maps.first, BPF_ANY);
  if (code != 0) return BpfError("BPF map wf_outer", -code);
  return {};
}

bool BpfMap::Lookup(const void* key, void* value) const {
  return bpf_map_lookup_elem(fd(), key, value) == 0;
}
bool BpfMap::NextKey(const void* after, void* key) const {
  return bpf_map_get_next_key(fd(), after, key) == 0;
}

bool BpfMap::Put(const void* key, const void* value) const {
  return bpf_map_update_elem(fd(), key, value, BPF_ANY) == 0;
}
bool BpfMap::Erase(const void* key) const { return bpf_map_delete_elem(fd(), key) == 0; }

Result<BpfProgram> BpfProgram::Load(const char* name, BpfProgramType type,
                                    const std::vector<bpf_insn>& text) {
  SilenceLibbpf();
  const bpf_prog_type kernel_type = KernelType(type);
  const char* licence = Licence(type);
  bpf_prog_load_opts options = LoadOptions(type);
  int fd = bpf_prog_load(kernel_type, name, licence, text.data(), text.size(), &options);
  if (fd < 0) {
    const int code = -fd;
    // Again, to hear why: the log costs the kernel more than the check itself.
    std::string log(64 << 10, '\0');
    options.log_buf = log.data();
    options.log_size = static_cast<uint32_t>(log.size());
    options.log_level = 1;
    fd = bpf_prog_load(kernel_type, name, licence, text.data(), text.size(), &options);
    if (fd < 0) {
      log.resize(std::strlen(log.c_str()));
      Error error = BpfError(fmt::format("BPF program {}", name), code);
      if (!log.empty()) error.message += "\n" + log;
      return error;
    }
  }
  BpfProgram program;
  program.fd_ = FileDescriptor(fd);
  return program;
}

Result<BpfRingReader> BpfRingReader::Open(const BpfMap& ring, Take take) {
  SilenceLibbpf();
  BpfRingReader reader;
  reader.reading_ = std::make_unique<Reading>();
  reader.reading_->take = std::move(take);
  reader.reading_->ring_bytes = ring.shape().entries;
  const auto on_record = [](void* context, void* data, size_t size) {
    auto& reading = *static_cast<Reading*>(context);
    reading.take({static_cast<const char*>(data), size});
    ++reading.records;
    // As it lies in the ring: behind a header, in multiples of eight.
    reading.bytes += (size + 2 * BPF_RINGBUF_HDR_SZ - 1) / BPF_RINGBUF_HDR_SZ * BPF_RINGBUF_HDR_SZ;
    return reading.bytes < reading.ring_bytes ? 0 : kEnough;
  };
  errno = 0;
  reader.ring_ = ring_buffer__new(ring.fd(), on_record, reader.reading_.get(), nullptr);
  if (reader.ring_ == nullptr) return BpfError("BPF ring buffer", errno != 0 ? errno : ENOMEM);
  return reader;
}

BpfRingReader::~BpfRingReader() {
  if (ring_ != nullptr) ring_buffer__free(ring_);
}
BpfRingReader::BpfRingReader(BpfRingReader&& other) noexcept
    : reading_(std::move(other.reading_)), ring_(std::exchange(other.ring_, nullptr)) {}

Result<int> BpfRingReader::Poll(int milliseconds) {
  reading_->bytes = 0;
  reading_->records = 0;
  int taken = ring_buffer__consume(ring_);
  if (taken == 0 && milliseconds > 0) {
    taken = ring_buffer__poll(ring_, milliseconds);
    if (taken == 0) taken = ring_buffer__consume(ring_);  // what came without waking us
  }
  if (taken < 0 && taken != kEnough && taken != -EINTR) return BpfError("BPF ring buffer", -taken);
  return reading_->records;
}

}  // namespace wf::bpf
