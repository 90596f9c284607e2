#include "import/pcap/capture_stream.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "import/pcap/block_reader.h"
#include "import/pcap/capture_reader.h"
#include "import/pcap/classic_capture.h"
#include "import/pcap/pcapng_capture.h"

namespace wf::pcap {
namespace {

// Whatever else libpcap reads.
class LibpcapCapture : public CaptureStream {
 public:
  explicit LibpcapCapture(std::unique_ptr<CaptureReader> reader) : reader_(std::move(reader)) {}
  bool Next(CapturedPacket& packet) override {
    const auto next = reader_->Next();
    if (!next) {
      counts_.truncated = reader_->truncated();
      return false;
    }
    ++counts_.packets;
    packet = *next;
    return true;
  }

 private:
  std::unique_ptr<CaptureReader> reader_;
};

Result<std::unique_ptr<CaptureStream>> ByLibpcap(Result<std::unique_ptr<CaptureReader>> reader) {
  if (!reader.ok()) return reader.error();
  return std::unique_ptr<CaptureStream>(new LibpcapCapture(std::move(reader).value()));
}

// Nothing: a format for libpcap.
Result<std::unique_ptr<CaptureStream>> ByMagic(std::unique_ptr<BlockReader> bytes,
                                               const std::string& name) {
  const char* head = bytes->Look(4);
  if (head == nullptr) return std::unique_ptr<CaptureStream>();
  const std::string_view magic(head, 4);
  if (IsPcapng(magic)) return OpenPcapng(std::move(bytes));
  if (IsClassicCapture(magic)) return OpenClassicCapture(std::move(bytes), name);
  return std::unique_ptr<CaptureStream>();
}

}  // namespace

bool LooksLikeCapture(std::string_view head) {
  if (head.size() < 4) return false;
  const std::string_view magic = head.substr(0, 4);
  // Kuznetzov's and Navtel's variants of pcap, in either byte order, are libpcap's to read.
  const std::string_view variants[] = {"\xa1\xb2\xcd\x34", "\x34\xcd\xb2\xa1"};
  return IsPcapng(magic) || IsClassicCapture(magic) || magic == variants[0] || magic == variants[1];
}

Result<std::unique_ptr<CaptureStream>> CaptureStream::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int code = errno;
    const std::string why = path + ": " + std::strerror(code);
    if (code == ENOENT) return BadInput(why, "check the path");
    return EnvironmentError(why, "check its permissions");
  }
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  WF_ASSIGN(auto stream, ByMagic(std::make_unique<BlockReader>(descriptor), path));
  if (stream != nullptr) return stream;
  return ByLibpcap(CaptureReader::Open(path));
}

Result<std::unique_ptr<CaptureStream>> CaptureStream::OpenBytes(std::string_view bytes,
                                                                const std::string& name) {
  WF_ASSIGN(auto stream, ByMagic(std::make_unique<BlockReader>(bytes), name));
  if (stream != nullptr) return stream;
  return ByLibpcap(CaptureReader::OpenBytes(bytes, name));
}

}  // namespace wf::pcap
