#include "weaver/linked_processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <variant>

#include "advice/handed_events.h"
#include "base/ids.h"
#include "json/json_writer.h"

namespace wf::weaver {
namespace {

// Each has a map of four megabytes; more connections would be an attempt to use up our memory.
constexpr uint32_t kMostProcesses = 256;
constexpr int kMostTakenInAtOnce = 16;
constexpr size_t kManyBytes = 16 << 10;  // of a packet

const char* FormName(SlotForm form) {
  switch (form) {
    case SlotForm::kInteger:
      return "integer";
    case SlotForm::kBool:
      return "bool";
    case SlotForm::kDouble:
      return "double";
    case SlotForm::kFloat:
      return "float";
    case SlotForm::kString:
      return "string";
    case SlotForm::kText:
      return "text";
    case SlotForm::kNull:
      break;
  }
  return "null";
}

bpf::BpfMap::Shape MapShape() {
  return {bpf::BpfMapType::kMappedArray, 4, advice::kHandedBytes, advice::kHandedThreads};
}

// How many variables the advice that observes most of them does.
size_t MostVariables(const advice::Program& program) {
  std::vector<std::pair<std::string, size_t>> by_tracepoint;
  size_t most = 0;
  for (const advice::Advice& advice : program.advice) {
    size_t observed = 0;
    for (const advice::Step& step : advice.steps) {
      if (const auto* observe = std::get_if<advice::Observe>(&step))
        observed += observe->variables.size();
    }
    for (const std::string& name : advice.tracepoints) {
      auto known = std::find_if(by_tracepoint.begin(), by_tracepoint.end(),
                                [&](const auto& each) { return each.first == name; });
      if (known == by_tracepoint.end()) known = by_tracepoint.insert(known, {name, 0});
      known->second += observed;
      most = std::max(most, known->second);
    }
  }
  return most;
}

bool Send(int connection, const std::string& text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(connection, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

}  // namespace

Result<LinkedMaps> MakeLinkedMaps(const advice::Program& program, uint32_t string_bytes,
                                  uint64_t pid_namespace_device, uint64_t pid_namespace_inode) {
  LinkedMaps maps;
  WF_ASSIGN(maps.offsets, FindTaskOffsets());
  // All of them strings, and the key of a hand-off.
  const size_t needed =
      sizeof(RecordHeader) + (MostVariables(program) + 1) * (8 + (string_bytes + 7) / 8 * 8 + 8);
  maps.record_bytes = 128;
  while (maps.record_bytes < needed && maps.record_bytes < advice::kHandedRingBytes)
    maps.record_bytes *= 2;
  WF_ASSIGN(const bpf::BpfMap like, bpf::BpfMap::Create("wf_handed", MapShape()));
  WF_ASSIGN(maps.processes, bpf::BpfMap::CreateOfMaps("wf_linked", 8, kMostProcesses, like));
  maps.pid_namespace_device = pid_namespace_device;
  maps.pid_namespace_inode = pid_namespace_inode;
  return maps;
}

Result<std::unique_ptr<LinkedProcesses>> LinkedProcesses::Open(uint64_t query, LinkedMaps maps,
                                                               Belongs belongs) {
  std::unique_ptr<LinkedProcesses> linked(
      new LinkedProcesses(query, std::move(maps), std::move(belongs)));
  WF_TRY(linked->Listen());
  return linked;
}

Status LinkedProcesses::Listen() {
  const std::string name = advice::HandedSocketName(query_);
  const auto error = [&](const char* what) {
    return EnvironmentError(
        fmt::format("socket @{}: {}: {}", name, what, std::strerror(errno)),
        "tuples that are packed by weaving do not reach tracepoints that are compiled in; is there "
        "another agent on this host?");
  };
  listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener_.valid()) return error("not made");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return error("not bound");
  if (::listen(listener_.get(), 64) != 0) return error("does not listen");
  return {};
}

bool LinkedProcesses::Describe(uint32_t place, std::string_view tracepoint,
                               const RecordLayout& layout) {
  if (layout.bytes > maps_.record_bytes) return false;
  JsonWriter json;
  json.BeginObject().Field("place", uint64_t{place}).Field("tracepoint", tracepoint);
  json.Field("string_bytes", uint64_t{layout.string_bytes}).Key("variables").BeginArray();
  for (const VariableSlot& slot : layout.variables) {
    json.BeginObject().Field("name", slot.name).Field("form", FormName(slot.form));
    json.Field("offset", int64_t{slot.offset});
    if (slot.form == SlotForm::kText) json.Field("text", slot.text);
    json.EndObject();
  }
  json.EndArray().EndObject();
  places_.push_back(json.Take());
  std::vector<pid_t> deaf;
  for (const auto& [pid, process] : processes_) {
    // One that lets its messages lie does not read its tuples either.
    if (!Send(process.connection.get(), "[" + places_.back() + "]", -1)) deaf.push_back(pid);
  }
  for (const pid_t pid : deaf) LetGo(pid);
  return true;
}

void LinkedProcesses::LetGo(pid_t pid) {
  const auto key = static_cast<uint64_t>(pid);
  maps_.processes.Erase(&key);
  processes_.erase(pid);
}

void LinkedProcesses::Serve() {
  std::vector<pid_t> gone;
  for (const auto& [pid, process] : processes_) {
    pollfd end{process.connection.get(), POLLIN, 0};
    // Nothing is ever said by the other side: what can be read is its end. A child that it left behind may have it, too.
    if (::poll(&end, 1, 0) > 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) gone.push_back(pid);
  }
  for (const pid_t pid : gone) LetGo(pid);
  for (int i = 0; i < kMostTakenInAtOnce; ++i) {
    FileDescriptor connection(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection.valid()) return;
    TakeIn(std::move(connection));
  }
}

void LinkedProcesses::TakeIn(FileDescriptor connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  const bool known =
      ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 0;
  // The map would only have its own events, so whose it is does not matter; but it has to be one that is woven.
  if (!known || processes_.size() >= kMostProcesses || !belongs_(peer.pid)) {
    ++strangers_;
    return;
  }
  auto map = bpf::BpfMap::Create("wf_handed", MapShape());
  if (!map.ok()) return;
  Process process{std::move(connection), std::move(*map)};
  if (!Greet(process)) return;
  const auto key = static_cast<uint64_t>(peer.pid);
  const int descriptor = process.map.fd();
  // A second connection of the same process: it has forgotten the first.
  if (maps_.processes.Put(&key, &descriptor))
    processes_.insert_or_assign(peer.pid, std::move(process));
}

bool LinkedProcesses::Greet(const Process& process) const {
  JsonWriter json;
  json.BeginObject().Field("version", uint64_t{advice::kHandedVersion});
  json.Field("query", ToHex64(query_)).Field("record_bytes", uint64_t{maps_.record_bytes});
  json.Field("records", uint64_t{maps_.records()});
  json.Field("threads", uint64_t{advice::kHandedThreads});
  json.EndObject();
  if (!Send(process.connection.get(), json.Take(), process.map.fd())) return false;
  // Few packets: each takes room of the socket beside its bytes.
  std::string places;
  for (const std::string& place : places_) {
    places += (places.empty() ? "[" : ",") + place;
    if (places.size() < kManyBytes && &place != &places_.back()) continue;
    if (!Send(process.connection.get(), places + "]", -1)) return false;
    places.clear();
  }
  return true;
}

}  // namespace wf::weaver
