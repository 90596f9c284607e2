#include "scenario/mailbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "json/json_writer.h"
#include "scenario/draws.h"

namespace wf::scenario {
namespace {

enum MailDraw : uint64_t {
  kRoute,
  kHost,
  kArrival,
  kHourOfDay,
  kForward,
  kHeld,
  kCopy,
  kCopyRoute,
  kSpare
};

// A message goes down these rows of hosts, in some routes through an archive between the third and the fourth.
struct Row {
  const char* name;
  int hosts;
};
constexpr std::array<Row, 7> kRows = {{{"sender", 5},
                                       {"gateway", 4},
                                       {"scanner", 4},
                                       {"hub", 5},
                                       {"exchange", 5},
                                       {"store", 4},
                                       {"mailbox", 3}}};
constexpr size_t kBeforeArchive = 3;
constexpr int kArchives = 3;
constexpr int64_t kHops = kRows.size() - 1;
constexpr int64_t kRoutes = 28;

// Requests per hour of the day, as parts: mail comes by day, spam all the time.
constexpr std::array<int64_t, 24> kByHour = {5,  4,  4,  4,  4,  5,  7,  10, 14, 17, 18, 17,
                                             14, 16, 18, 18, 17, 14, 11, 9,  8,  7,  6,  6};
// Seconds that a host takes that does not hold the message.
constexpr Deciles kAtOnce = {{0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 4}};
// Hosts that hold some messages, by row and number: for how long, and how many of a thousand.
struct Holder {
  size_t row;
  int host;
  Nanos held;
  int64_t permille;
};
constexpr std::array<Holder, 4> kHolders = {{{2, 0, 10 * kSecond, 90},
                                             {2, 1, 15 * kSecond, 80},
                                             {4, 0, 10 * kSecond, 70},
                                             {4, 2, 15 * kSecond, 100}}};
// The share of messages that are spam to a second address: these come again within seconds, by another route.
constexpr int64_t kCopyPermille = 15;

class Generator {
 public:
  explicit Generator(const MailboxOptions& options) : options_(options), draws_(options.seed) {}

  Result<Mailbox> Generate() {
    const int64_t extra = options_.headers - kHops * options_.messages;
    if (options_.messages < 1 || extra < 0 || extra > options_.messages) {
      return BadInput(fmt::format("mailbox: {} messages cannot have {} headers", options_.messages,
                                  options_.headers),
                      "each has 6 or 7");
    }
    MakeHosts();
    MakeRoutes();
    const std::vector<Nanos> arrivals = Arrivals();
    int64_t given = 0;
    for (int64_t i = 0; i < options_.messages; ++i) {
      const Draws draws = draws_.For(2, static_cast<uint64_t>(i));
      // Archived messages are spread evenly, so that exactly as many headers come out as were asked for.
      const bool archived = (i + 1) * extra / options_.messages > given;
      given += archived ? 1 : 0;
      Send(arrivals[static_cast<size_t>(i)], Route(draws), archived, draws);
    }
    std::stable_sort(out_.messages.begin(), out_.messages.end(),
                     [](const MailMessage& a, const MailMessage& b) {
                       return a.received.front() < b.received.front();
                     });
    for (const MailMessage& message : out_.messages) ++out_.paths[message.hosts];
    return std::move(out_);
  }

 private:
  void MakeHosts() {
    for (const Row& row : kRows) {
      first_.push_back(static_cast<int>(out_.hosts.size()));
      for (int i = 0; i < row.hosts; ++i)
        out_.hosts.push_back(fmt::format("{}{}.example.com", row.name, i + 1));
    }
    archives_ = static_cast<int>(out_.hosts.size());
    for (int i = 0; i < kArchives; ++i)
      out_.hosts.push_back(fmt::format("archive{}.example.com", i + 1));
  }

  void MakeRoutes() {
    int64_t weight = 0;
    for (int64_t r = 0; r < kRoutes; ++r) {
      std::vector<uint16_t> route;
      for (size_t row = 0; row < kRows.size(); ++row) {
        const auto host = draws_.For(1).Below(kRows[row].hosts, kHost,
                                              static_cast<uint64_t>(r) * kRows.size() + row);
        route.push_back(static_cast<uint16_t>(first_[row] + host));
      }
      routes_.push_back(route);
      weights_.push_back(weight += 100'000 / (r + 3));  // few frequent routes, many seldom ones
    }
  }
  size_t Route(const Draws& draws) const {
    const int64_t place = draws.Below(weights_.back(), kRoute);
    return static_cast<size_t>(std::upper_bound(weights_.begin(), weights_.end(), place) -
                               weights_.begin());
  }

  std::vector<Nanos> Arrivals() const {
    int64_t all_day = 0;
    for (const int64_t part : kByHour) all_day += part;
    const int64_t days = std::max<int64_t>(1, options_.duration / kDay);
    std::vector<Nanos> out;
    for (int64_t i = 0; i < options_.messages; ++i) {
      const auto index = static_cast<uint64_t>(i);
      if (i > 0 && draws_.Chance(kCopyPermille, kCopy, index)) {
        out.push_back(out.back() + draws_.Between(0, 4, kSpare, index) * kSecond);
        continue;
      }
      int64_t place = draws_.Below(all_day, kHourOfDay, index), hour = 0;
      while (place >= kByHour[static_cast<size_t>(hour)])
        place -= kByHour[static_cast<size_t>(hour++)];
      const int64_t second = draws_.Below(3600, kArrival, 2 * index);
      out.push_back(options_.start / kSecond * kSecond +
                    draws_.Below(days, kArrival, 2 * index + 1) * kDay + hour * kHour +
                    second * kSecond);
    }
    return out;
  }

  void Send(Nanos arrival, size_t route, bool archived, const Draws& draws) {
    MailMessage message;
    message.hosts = routes_[route];
    if (archived) {
      const int archive = archives_ + static_cast<int>(route) % kArchives;
      message.hosts.insert(message.hosts.begin() + kBeforeArchive, static_cast<uint16_t>(archive));
    }
    Nanos now = arrival;
    for (size_t hop = 1; hop < message.hosts.size(); ++hop) {
      if (hop > 1) now += Delay(message.hosts[hop - 1], draws, hop);
      message.received.push_back(now);
    }
    out_.messages.push_back(std::move(message));
  }

  // What a host takes before it passes a message on.
  Nanos Delay(int host, const Draws& draws, size_t hop) const {
    for (const Holder& holder : kHolders) {
      if (host != first_[holder.row] + holder.host) continue;
      // What it does not hold back, such a host passes on within the second.
      return draws.Chance(holder.permille, kHeld, hop)
                 ? holder.held + draws.Below(2, kForward, hop) * kSecond
                 : 0;
    }
    return draws.From(kAtOnce, kForward, hop) * kSecond;
  }

  const MailboxOptions options_;
  const Draws draws_;
  Mailbox out_;
  std::vector<int> first_;  // host of each row
  int archives_ = 0;
  std::vector<std::vector<uint16_t>> routes_;
  std::vector<int64_t> weights_;  // cumulative
};

std::string MailTime(Nanos time, const char* format) {
  const time_t seconds = time / kSecond;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  // Names of days and months are the C locale's in every process that has set no other.
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

Status WriteWhole(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  const auto failed = [&] {
    return EnvironmentError(path + ": " + std::strerror(errno),
                            "is the folder writable, and is there room?");
  };
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return failed();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(part.c_str(), path.c_str()) != 0) return failed();
  return {};
}

std::string TruthJson(const Mailbox& mailbox, const MailboxOptions& options) {
  JsonWriter json;
  json.BeginObject().Field("question", "which ways does mail take, and where is it held?");
  json.Key("truth").BeginObject().Field("messages", options.messages);
  json.Field("headers", options.headers).Key("paths").BeginArray();
  for (const auto& [hosts, count] : mailbox.paths) {
    json.BeginObject().Key("nodes").BeginArray();
    for (const uint16_t host : hosts) json.String(mailbox.hosts[host]);
    json.EndArray().Field("count", count).EndObject();
  }
  json.EndArray().EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace

Result<Mailbox> GenerateMailbox(const MailboxOptions& options) {
  return Generator(options).Generate();
}

std::string MailboxText(const Mailbox& mailbox) {
  std::string out;
  for (size_t i = 0; i < mailbox.messages.size(); ++i) {
    const MailMessage& message = mailbox.messages[i];
    out += fmt::format("From sender@example.com {}\n",
                       MailTime(message.received.back(), "%a %b %e %H:%M:%S %Y"));
    // The last host to receive it wrote the first header.
    for (size_t hop = message.hosts.size() - 1; hop > 0; --hop) {
      out += fmt::format(
          "Received: from {} ({} [10.0.0.{}])\n\tby {} (Postfix) with ESMTP id {:08X}\n\tfor "
          "<me@example.com>; {} +0000\n",
          mailbox.hosts[message.hosts[hop - 1]], mailbox.hosts[message.hosts[hop - 1]],
          message.hosts[hop - 1] + 1, mailbox.hosts[message.hosts[hop]], i * 16 + hop,
          MailTime(message.received[hop - 1], "%a, %d %b %Y %H:%M:%S"));
    }
    out += fmt::format(
        "Message-ID: <{}@example.com>\nDate: {} +0000\nFrom: sender@example.com\nTo: "
        "me@example.com\nSubject: message {}\n\nHello.\n\n",
        i + 1, MailTime(message.received.front(), "%a, %d %b %Y %H:%M:%S"), i + 1);
  }
  return out;
}

Result<ScenarioFiles> WriteMailbox(const MailboxOptions& options, const std::string& folder) {
  WF_ASSIGN(const Mailbox mailbox, GenerateMailbox(options));
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return EnvironmentError(folder + ": " + code.message(), "name another folder: --out");
  ScenarioFiles files;
  files.events = folder + "/mailbox.mbox";
  files.query = folder + "/query.json";
  files.event_lines = options.headers;
  WF_TRY(WriteWhole(files.events, MailboxText(mailbox)));
  WF_TRY(WriteWhole(files.query, TruthJson(mailbox, options)));
  return files;
}

}  // namespace wf::scenario
