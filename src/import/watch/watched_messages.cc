#include "import/watch/watched_messages.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>

namespace wf::watch {
namespace {

// This long after a message both ends have reported it: records of two processors are only roughly in order.
constexpr Nanos kGrace = 500 * kMilli;
// A return that has not grown for so long is whole. Less than the reordering that readers of message text allow.
constexpr Nanos kQuiet = 5 * kSecond;
// How often messages are emitted, many at a time.
constexpr Nanos kTurn = 250 * kMilli;

// What is known about a process since its first record.
struct Watched {
  std::string name;
  bool wanted = false;
};

struct Connection {
  uint64_t number = 0;
  std::string client, server;  // names; empty as long as that end was not seen here
  std::string client_address, server_address;
  struct Sent {
    Nanos time;
    uint64_t exchange;
  };
  std::deque<Sent> sent;  // the client's exchanges, as far as the server's may still refer to them
  uint64_t exchanges = 0;
  bool looked = false;  // at its first bytes
};

// One end's exchange that is going on.
struct Exchange {
  uint64_t number = 0;  // of the client's end
  Nanos asked = 0, last = 0;
  uint32_t thread = 0;
  int64_t bytes = 0;
  bool replied = false;
};

struct End {
  std::shared_ptr<Connection> connection;
  bool client = false;
  bool known = false;  // to the probe
  SightedBy sent_by = SightedBy::kSender, received_by = SightedBy::kReceiver;
  std::optional<Exchange> exchange;
};

struct Pending {
  Nanos time = 0;
  std::shared_ptr<Connection> connection;
  MessageKind kind = MessageKind::kCall;
  SightedBy by = SightedBy::kCommon;
  bool at_client = false;
  uint64_t exchange = 0;  // of the client; at the server the time of the request tells it
  Nanos asked = 0;        // at the server: when its request was received
  uint32_t thread = 0;
  int64_t bytes = 0;
};

std::string WithoutBlanks(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 0x7F; }, '_');
  return name.empty() ? "?" : name;
}

bool BeginsLikeTls(const IoRecord& r) {
  return r.prefix[0] == 0x16 && r.prefix[1] == 3 && r.prefix[2] <= 4;
}
bool BeginsLikeHttp2(const IoRecord& r) {
  constexpr char kPreface[] = "PRI * HTTP/2.0";
  return std::memcmp(r.prefix, kPreface, sizeof kPreface - 1) == 0;
}

const char* OpName(MessageKind kind, SightedBy by) {
  const bool call = kind == MessageKind::kCall;
  switch (by) {
    case SightedBy::kSender:
      return call ? "CALL_SENT" : "RET_SENT";
    case SightedBy::kReceiver:
      return call ? "CALL_RCVD" : "RET_RCVD";
    case SightedBy::kCommon:
      break;
  }
  return call ? "CALL" : "RET";
}

}  // namespace

struct WatchedMessages::Impl {
  Impl(WatchedHost& h, WatchFilter f, Verdicts v)
      : host(h), filter(std::move(f)), verdicts(std::move(v)) {}

  Watched& ProcessOf(const IoRecord& record) {
    const auto [it, fresh] = processes.try_emplace(record.process);
    if (!fresh) return it->second;
    std::string name = host.ProcessName(record.process);
    if (name.empty()) name.assign(record.name, ::strnlen(record.name, sizeof record.name));
    it->second = Decide(record.process, std::move(name));
    if (!it->second.wanted) verdicts.ignore_process(record.process);
    return it->second;
  }
  Watched Decide(uint32_t process, std::string name) {
    Watched watched;
    watched.wanted = filter.programs.empty();
    if (!watched.wanted) {
      const std::string file = host.ProgramFile(process);
      const std::string base = file.substr(file.rfind('/') + 1);
      for (const std::string& glob : filter.programs) {
        for (const std::string& text : {name, base, file})
          watched.wanted = watched.wanted || ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
      }
    }
    watched.name = WithoutBlanks(std::move(name));
    if (filter.nodes == WatchFilter::Nodes::kByProcess)
      watched.name += "/" + std::to_string(process);
    return watched;
  }

  static uint64_t KeyOfEnd(const IoRecord& r) {
    return static_cast<uint64_t>(r.process) << 32 | static_cast<uint32_t>(r.fd);
  }

  void Add(const IoRecord& record) {
    ++counts.records;
    const Watched& process = ProcessOf(record);
    if (!process.wanted) return;
    const uint64_t key = KeyOfEnd(record);
    switch (record.call) {
      case IoCall::kUring:
        counts.uring.insert(process.name);
        return;
      case IoCall::kConnect:
      case IoCall::kAccept:
        Close(key);
        roles[key] = record.call == IoCall::kConnect;
        // At once, because the process may end soon; a connection still being made is looked up when it is
        // first used.
        if (std::optional<SocketFacts> facts = host.Socket(record.process, record.fd))
          Begin(record, process, key, *facts);
        return;
      case IoCall::kClose:
        Close(key);
        return;
      case IoCall::kSend:
      case IoCall::kReceive:
        break;
    }
    const auto known = ends.find(key);
    End* const found = known != ends.end() ? &known->second : Open(record, process, key);
    if (found == nullptr) return;
    End& end = *found;
    if (!end.known) {  // its first bytes have been seen
      end.known = true;
      verdicts.know_descriptor(record.process, record.fd);
    }
    if (!end.connection->looked) {
      end.connection->looked = true;
      counts.tls += BeginsLikeTls(record);
      counts.http2 += BeginsLikeHttp2(record);
    }
    const bool asks = (record.call == IoCall::kSend) == end.client;
    asks ? Ask(end, record) : Reply(end, record);
  }

  // A descriptor that is used for the first time. Null: nothing for us.
  End* Open(const IoRecord& record, const Watched& process, uint64_t key) {
    const std::optional<SocketFacts> facts = host.Socket(record.process, record.fd);
    if (facts) return Begin(record, process, key, *facts);
    counts.unresolved += roles.count(key);
    verdicts.ignore_descriptor(record.process, record.fd);
    return nullptr;
  }
  End* Begin(const IoRecord& record, const Watched& process, uint64_t key,
             const SocketFacts& facts) {
    const auto role = roles.find(key);
    if (facts.kind == SocketFacts::Kind::kTcp && !filter.ports.empty() &&
        filter.ports.count(facts.local_port) + filter.ports.count(facts.peer_port) == 0) {
      verdicts.ignore_descriptor(record.process, record.fd);
      return nullptr;
    }
    End end;
    end.client = role != roles.end() ? role->second : !facts.listens;
    if (facts.kind == SocketFacts::Kind::kTcp) {
      end.connection = ConnectionOf(facts, end.client);
    } else {
      if (!filter.ports.empty() || (!end.client && IsWanted(facts.peer_process))) {
        // The other end reports it.
        verdicts.ignore_descriptor(record.process, record.fd);
        return nullptr;
      }
      end.connection = NewConnection();
      end.sent_by = end.received_by = SightedBy::kCommon;
      const std::string other =
          WithoutBlanks(facts.peer_process == 0 ? "unix" : host.ProcessName(facts.peer_process));
      (end.client ? end.connection->server : end.connection->client) = other;
    }
    (end.client ? end.connection->client : end.connection->server) = process.name;
    return &ends.insert_or_assign(key, std::move(end)).first->second;
  }
  bool IsWanted(uint32_t process) {
    if (process == 0) return false;
    const auto it = processes.find(process);
    if (it != processes.end()) return it->second.wanted;
    return Decide(process, host.ProcessName(process)).wanted;
  }
  std::shared_ptr<Connection> NewConnection() {
    auto connection = std::make_shared<Connection>();
    connection->number = ++counts.connections;
    return connection;
  }
  // The same for both ends, as long as one of them is open.
  std::shared_ptr<Connection> ConnectionOf(const SocketFacts& facts, bool client) {
    const std::string& from = client ? facts.local : facts.peer;
    const std::string& to = client ? facts.peer : facts.local;
    std::weak_ptr<Connection>& known = connections[from + ">" + to];
    std::shared_ptr<Connection> connection = known.lock();
    if (connection == nullptr ||
        !(client ? connection->client : connection->server).empty()) {  // the ports came again
      connection = NewConnection();
      connection->client_address = AddressOf(from);
      connection->server_address = AddressOf(to);
      known = connection;
    }
    return connection;
  }

  // The client sends, the server receives.
  void Ask(End& end, const IoRecord& record) {
    const auto time = static_cast<Nanos>(record.time);
    if (end.exchange && !end.exchange->replied) {
      end.exchange->bytes += record.bytes;
      return;
    }
    Complete(end);
    end.exchange = Exchange{};
    end.exchange->thread = record.thread;
    Pending& call = pending.emplace_back();
    call.time = time;
    call.connection = end.connection;
    call.kind = MessageKind::kCall;
    call.by = end.client ? end.sent_by : end.received_by;
    call.at_client = end.client;
    call.asked = time;
    call.thread = record.thread;
    call.bytes = record.bytes;
    if (end.client) {
      call.exchange = end.exchange->number = ++end.connection->exchanges;
      end.connection->sent.push_back({time, call.exchange});
    }
    end.exchange->asked = end.exchange->last = time;
  }
  // The server sends, the client receives.
  void Reply(End& end, const IoRecord& record) {
    if (!end.exchange) {
      ++counts.mid_stream;
      return;
    }
    if (!end.exchange->replied) end.exchange->bytes = 0;
    end.exchange->replied = true;
    end.exchange->last = std::max(end.exchange->last, static_cast<Nanos>(record.time));
    end.exchange->thread = record.thread;
    end.exchange->bytes += record.bytes;
  }
  void Complete(End& end) {
    if (!end.exchange) return;
    if (end.exchange->replied) {
      Pending& reply = pending.emplace_back();
      reply.time = end.exchange->last;
      reply.connection = end.connection;
      reply.kind = MessageKind::kReturn;
      reply.by = end.client ? end.received_by : end.sent_by;
      reply.at_client = end.client;
      reply.exchange = end.exchange->number;
      reply.asked = end.exchange->asked;
      reply.thread = end.exchange->thread;
      reply.bytes = end.exchange->bytes;
    }
    end.exchange.reset();
  }
  void Close(uint64_t key) {
    roles.erase(key);
    const auto it = ends.find(key);
    if (it == ends.end()) return;
    Complete(it->second);
    ends.erase(it);
  }

  void Take(Nanos now, Nanos clock, const Sink& sink) {
    const bool last = now == kForever;
    if (!last && now < next_turn) return;
    next_turn = last ? 0 : now + kTurn;
    for (auto& [key, end] : ends) {
      if (end.exchange && end.exchange->replied && (last || end.exchange->last < now - kQuiet))
        Complete(end);
    }
    // They come about in order of time: what is certain stands in front, and is not much out of order.
    std::stable_sort(pending.begin(), pending.end(),
                     [](const Pending& a, const Pending& b) { return a.time < b.time; });
    size_t told = 0;
    for (; told < pending.size() && (last || pending[told].time < now - kGrace); ++told)
      Tell(pending[told], clock, sink);
    pending.erase(pending.begin(), pending.begin() + static_cast<ptrdiff_t>(told));
    if (!last && ++turns % 16 == 0) Forget(now);
  }
  void Tell(const Pending& message, Nanos clock, const Sink& sink) {
    const Connection& c = *message.connection;
    const std::string& client = c.client.empty() ? c.client_address : c.client;
    const std::string& server = c.server.empty() ? c.server_address : c.server;
    const bool call = message.kind == MessageKind::kCall;
    uint64_t exchange = message.exchange;
    if (!message.at_client) exchange = ClientsExchange(c, message.asked);
    const Nanos unix_time = message.time + clock;
    ++counts.messages;
    line.clear();
    const auto out = fmt::appender(line);
    fmt::format_to(out, FMT_COMPILE("{}.{:09} {} {} {} {}."), unix_time / kSecond,
                   unix_time % kSecond, OpName(message.kind, message.by), call ? client : server,
                   call ? server : client, c.number);
    if (exchange != 0) {
      fmt::format_to(out, FMT_COMPILE("{}"), exchange);
    } else {  // the server's own, where the client's was not seen
      fmt::format_to(out, FMT_COMPILE("s{}"), message.asked);
    }
    fmt::format_to(out, FMT_COMPILE(" thread={} conn={} bytes={}\n"), message.thread, c.number,
                   message.bytes);
    sink(std::string_view(line.data(), line.size()));
  }
  // The client's latest that was sent by then; 0: none was seen.
  static uint64_t ClientsExchange(const Connection& c, Nanos received) {
    const auto after =
        std::upper_bound(c.sent.begin(), c.sent.end(), received,
                         [](Nanos time, const Connection::Sent& sent) { return time < sent.time; });
    return after == c.sent.begin() ? 0 : std::prev(after)->exchange;
  }
  // What nothing can refer to any more. Of a connection the latest exchange stays.
  void Forget(Nanos now) {
    for (auto it = connections.begin(); it != connections.end();) {
      const std::shared_ptr<Connection> connection = it->second.lock();
      if (connection == nullptr) {
        it = connections.erase(it);
        continue;
      }
      auto& sent = connection->sent;
      while (sent.size() > 64 && sent[1].time < now - 60 * kSecond) sent.pop_front();
      ++it;
    }
  }

  WatchedHost& host;
  const WatchFilter filter;
  const Verdicts verdicts;
  WatchCounts counts;
  std::unordered_map<uint32_t, Watched> processes;
  std::unordered_map<uint64_t, bool> roles;  // of descriptors connected (true) or accepted here
  std::unordered_map<uint64_t, End> ends;
  std::unordered_map<std::string, std::weak_ptr<Connection>> connections;
  std::vector<Pending> pending;
  fmt::memory_buffer line;
  Nanos next_turn = 0;
  uint64_t turns = 0;
};

WatchedMessages::WatchedMessages(WatchedHost& host, WatchFilter filter, Verdicts verdicts)
    : impl_(std::make_unique<Impl>(host, std::move(filter), std::move(verdicts))) {}
WatchedMessages::~WatchedMessages() = default;
void WatchedMessages::Add(const IoRecord& record) { impl_->Add(record); }
void WatchedMessages::Take(Nanos now, Nanos clock, const Sink& sink) {
  impl_->Take(now, clock, sink);
}
const WatchCounts& WatchedMessages::counts() const { return impl_->counts; }

}  // namespace wf::watch
