#include "server/int_receiver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "import/packets/int_report_decoder.h"
#include "import/pcap/packet_encoder.h"
#include "log/log.h"

namespace wf::server {
namespace {

namespace fs = std::filesystem;

// A file of this size is closed: a sixteenth of what is kept unless told, so that deleting one loses little.
constexpr int64_t kFileBytes = 16 << 20;
// Bursts wait in the kernel while a file is rolled; more than it allows is silently cut to what it does.
constexpr int kSocketBuffer = 8 << 20;
constexpr int kRetentionPeriodMs = 30'000;
constexpr int kDatagramsAtOnce = 1'000;
// Sequence numbers are followed for so many senders; more are forged, or a network larger than any we know.
constexpr size_t kMostSenders = 100'000;

struct Endpoint {
  pcap::IpAddress address;
  uint16_t port = 0;
};

Endpoint EndpointOf(const sockaddr_storage& from) {
  Endpoint out;
  if (from.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    out.address.version = 4;
    std::memcpy(out.address.bytes.data(), &v4.sin_addr, 4);
    out.port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    out.address.version = 6;
    std::memcpy(out.address.bytes.data(), &v6.sin6_addr, 16);
    out.port = ntohs(v6.sin6_port);
  }
  return out;
}

struct CaptureFile {
  std::string path;
  uint64_t number = 0;
  int64_t size = 0;
};

// In the order of their numbers.
std::vector<CaptureFile> CaptureFiles(const std::string& folder) {
  std::vector<CaptureFile> files;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const std::string stem = it->path().stem().string();
    if (it->path().extension() != ".pcap" || stem.empty() || stem.size() > 18 ||
        !std::all_of(stem.begin(), stem.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    std::error_code gone;
    const auto size = static_cast<int64_t>(fs::file_size(it->path(), gone));
    if (!gone) files.push_back({it->path().string(), std::stoull(stem), size});
  }
  std::sort(files.begin(), files.end(),
            [](const CaptureFile& a, const CaptureFile& b) { return a.number < b.number; });
  return files;
}

}  // namespace

IntReceiver::IntReceiver(const IntReceiverOptions& options, pipeline::Counters& counters)
    : options_(options), counters_(counters) {}

Result<std::unique_ptr<IntReceiver>> IntReceiver::Start(const IntReceiverOptions& options,
                                                        pipeline::Counters& counters) {
  std::unique_ptr<IntReceiver> receiver(new IntReceiver(options, counters));
  std::error_code code;
  fs::create_directories(options.folder, code);
  if (code)
    return EnvironmentError(options.folder + ": " + code.message(), "is the store writable?");
  WF_TRY(receiver->Bind());
  if (const auto files = CaptureFiles(options.folder); !files.empty())
    receiver->file_number_ = files.back().number;
  for (const char* name : {"int_datagrams", "int_reports", "int_malformed", "int_not_reports",
                           "int_sequence_missing", "int_kernel_dropped", "int_files_deleted"}) {
    counters.Named(name);  // zeros are told too
  }
  receiver->thread_ = std::thread([raw = receiver.get()] { raw->Receive(); });
  return receiver;
}

Status IntReceiver::Bind() {
  const auto failed = [&](const std::string& what) {
    return EnvironmentError(net::ToString(options_.address) + ": " + what,
                            "another program may hold the port");
  };
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const int code = ::getaddrinfo(options_.address.host.c_str(),
                                 std::to_string(options_.address.port).c_str(), &hints, &found);
  if (code != 0) return failed(::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  socket_ = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return failed(std::strerror(errno));
  const int on = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
  if (::bind(socket_, found->ai_addr, found->ai_addrlen) != 0) return failed(std::strerror(errno));
  sockaddr_storage name = {};
  socklen_t size = sizeof name;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return failed(std::strerror(errno));
  const Endpoint local = EndpointOf(name);
  local_.destination = local.address;
  local_.destination_port = local.port;
  local_.protocol = pcap::kProtocolUdp;
  bound_ = options_.address;
  bound_.port = local.port;
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) return failed(std::strerror(errno));
  return {};
}

void IntReceiver::Receive() {
  std::vector<char> buffer(65536);
  Retain();
  Nanos retain_at = MonotonicNow() + kRetentionPeriodMs * kMilli;
  while (true) {
    pollfd waited[] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
    const int ready = ::poll(waited, 2, kRetentionPeriodMs);
    if (ready < 0 && errno != EINTR) {
      log::Error("--int: {}", std::strerror(errno));
      return;
    }
    if ((waited[1].revents & POLLIN) != 0) break;
    if (const Nanos now = MonotonicNow(); now >= retain_at) {
      Retain();
      retain_at = now + kRetentionPeriodMs * kMilli;
    }
    // What is there, then one flush; never without a look at whether to stop.
    for (int taken = 0; ready > 0 && taken < kDatagramsAtOnce; ++taken) {
      sockaddr_storage from = {};
      alignas(cmsghdr) char control[64];
      iovec part = {buffer.data(), buffer.size()};
      msghdr message = {};
      message.msg_name = &from;
      message.msg_namelen = sizeof from;
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t size = ::recvmsg(socket_, &message, 0);
      if (size < 0) break;
      for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL) continue;
        uint32_t dropped = 0;
        std::memcpy(&dropped, CMSG_DATA(c), sizeof dropped);
        counters_.Add("int_kernel_dropped", dropped - kernel_dropped_);
        kernel_dropped_ = dropped;
      }
      const Endpoint sender = EndpointOf(from);
      pcap::FiveTuple flow = local_;
      flow.source = sender.address;
      flow.source_port = sender.port;
      Take({buffer.data(), static_cast<size_t>(size)}, flow);
    }
    if (file_ == nullptr) continue;
    const Status flushed = file_->Flush();
    if (flushed.ok()) {
      unflushed_ = 0;
      continue;
    }
    // The file may end in half a packet: the next datagram begins another.
    Fail(flushed);
    counters_.Add("int_lost", std::exchange(unflushed_, 0));
    file_.reset();
  }
}

void IntReceiver::Take(std::string_view datagram, const pcap::FiveTuple& flow) {
  counters_.Add("int_datagrams", 1);
  if (!packets::LooksLikeIntReports(datagram)) {
    counters_.Add("int_not_reports", 1);
    return;
  }
  Count(datagram, pcap::ToString(flow.source));
  // A datagram of the largest size has no room for the headers of a capture's packet.
  if (datagram.size() > 65535 - 48) {
    counters_.Add("int_too_large", 1);
    return;
  }
  if (file_ == nullptr || file_->size() >= kFileBytes) {
    const Status rolled = Roll();
    Fail(rolled);
    if (!rolled.ok()) {
      counters_.Add("int_lost", 1);
      return;
    }
  }
  file_->Write(Now(), pcap::EncodeUdpPacket(flow, 0, datagram));
  ++unflushed_;
}

void IntReceiver::Count(std::string_view datagram, const std::string& sender) {
  packets::IntGroup group;
  if (!packets::DecodeIntReports(datagram, group).ok()) counters_.Add("int_malformed", 1);
  counters_.Add("int_reports", static_cast<int64_t>(group.reports.size()));
  const std::tuple key(sender, group.node_id, group.hardware_id);
  if (sequences_.size() >= kMostSenders && sequences_.find(key) == sequences_.end()) {
    counters_.Add("int_senders_not_followed", 1);
    return;
  }
  int64_t missed = 0;
  switch (sequences_[key].Take(group.sequence, missed)) {
    case packets::IntSequence::Step::kGap:
      counters_.Add("int_sequence_missing", missed);
      break;
    case packets::IntSequence::Step::kLate:
      counters_.Add("int_sequence_late", 1);
      break;
    case packets::IntSequence::Step::kRepeated:
      counters_.Add("int_sequence_repeated", 1);
      break;
    default:
      break;
  }
}

Status IntReceiver::Roll() {
  if (file_ != nullptr) {
    const Status closed = file_->Close();
    file_.reset();
    WF_TRY(closed);
  }
  const std::string path = fmt::format("{}/{:08}.pcap", options_.folder, ++file_number_);
  WF_ASSIGN(file_, pcap::CaptureWriter::Create(path, pcap::LinkType::kRawIp));
  // With its header at once: a capture without one could not be read.
  if (const Status flushed = file_->Flush(); !flushed.ok()) {
    file_.reset();
    ::unlink(path.c_str());
    return flushed;
  }
  Retain();
  return {};
}

// The file that is being written stays.
void IntReceiver::Retain() {
  std::vector<CaptureFile> files = CaptureFiles(options_.folder);
  int64_t total = 0;
  for (const CaptureFile& file : files) total += file.size;
  for (const CaptureFile& file : files) {
    if (file_ != nullptr && file.number == file_number_) break;
    std::error_code code;
    bool old = false;
    if (options_.keep_age_ns) {
      const auto written = fs::last_write_time(file.path, code);
      old = !code && fs::file_time_type::clock::now() - written >
                         std::chrono::nanoseconds(*options_.keep_age_ns);
    }
    if (total <= options_.keep_bytes && !old) continue;
    if (fs::remove(file.path, code)) counters_.Add("int_files_deleted", 1);
    total -= file.size;
  }
}

void IntReceiver::Fail(const Status& status) {
  if (status.ok()) return;
  counters_.Add("int_write_failed", 1);
  log::Error("--int: {}", status.error().message);
}

void IntReceiver::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    static_cast<void>(!::write(wake_, &one, sizeof one));
    thread_.join();
  }
  if (file_ != nullptr) {
    Fail(file_->Close());
    file_.reset();
  }
}

IntReceiver::~IntReceiver() {
  Stop();
  if (socket_ >= 0) ::close(socket_);
  if (wake_ >= 0) ::close(wake_);
}

}  // namespace wf::server
