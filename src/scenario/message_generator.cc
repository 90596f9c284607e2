#include "scenario/message_generator.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf::scenario {
namespace {

constexpr double kNanosPerSecond = 1e9;

// SplitMix64: one addition and one finalizer a draw, and any two starting points give unrelated streams.
class Stream {
 public:
  explicit Stream(uint64_t state) : state_(state) {}

  // Uniform in [0, 1), 53 bits.
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }

  // Marsaglia's polar method. It yields two at a time.
  double Gaussian() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * Unit() - 1;
      y = 2 * Unit() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = y * factor;
    has_spare_ = true;
    return x * factor;
  }

 private:
  uint64_t Bits() { return MixBits(state_ += 0x9E3779B97F4A7C15ull); }

  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace

struct MessageGenerator::Client {
  const TraceletGroup* group = nullptr;
  Stream stream{0};
  TraceletRun* run = nullptr;
};

MessageGenerator::MessageGenerator(const GeneratorConfig& config, uint64_t seed) : config_(config) {
  uint64_t number = 0;
  for (const TraceletGroup& group : config.groups) {
    for (uint32_t i = 0; i < group.parallel; ++i) {
      Client client;
      client.group = &group;
      client.stream = Stream(MixBits(MixBits(seed) + 0xD1B54A32D192ED03ull * ++number));
      // Clients do not begin in step: each has thought a share of its think time.
      const auto thought =
          static_cast<Nanos>(static_cast<double>(group.think_most) * client.stream.Unit());
      if (!Begin(client, thought)) continue;
      clients_.push_back(client);
      due_.push_back(
          {client.run->times[client.run->order[0]], static_cast<uint32_t>(clients_.size() - 1)});
    }
  }
  std::sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) { return a.Before(b); });
}

MessageGenerator::~MessageGenerator() = default;

TraceletRun& MessageGenerator::NewRun() {
  if (free_runs_.empty()) {
    runs_.push_back(std::make_unique<TraceletRun>());
    free_runs_.push_back(runs_.back().get());
  }
  TraceletRun& run = *free_runs_.back();
  free_runs_.pop_back();
  return run;
}

void MessageGenerator::Release(TraceletRun& run) {
  if (--run.holds == 0) free_runs_.push_back(&run);
}

bool MessageGenerator::Begin(Client& client, Nanos start) {
  if (start >= config_.duration) return false;
  const std::vector<Tracelet>& tracelets = client.group->tracelets;
  double total = 0;
  for (const Tracelet& tracelet : tracelets) total += tracelet.weight;
  double drawn = client.stream.Unit() * total;
  const Tracelet* chosen = nullptr;
  for (const Tracelet& tracelet : tracelets) {
    if (tracelet.weight <= 0) continue;
    chosen = &tracelet;  // the last one also takes what rounding left over
    if (drawn < tracelet.weight) break;
    drawn -= tracelet.weight;
  }

  TraceletRun& run = NewRun();
  const size_t count = chosen->messages.size();
  run.tracelet = chosen;
  run.first_path = counts_.paths + 1;
  counts_.paths += chosen->paths;
  run.times.resize(count);
  run.order.resize(count);
  run.ids.assign(count, 0);
  run.lines.assign(count, 0);
  run.lost.assign(count, 0);
  run.cut.assign(chosen->paths, 0);
  run.next = 0;
  run.holds = 1;  // its client's
  bool in_order = true;
  for (size_t i = 0; i < count; ++i) {
    const TraceletMessage& message = chosen->messages[i];
    Nanos time = start;
    for (const uint32_t before : message.after) time = std::max(time, run.times[before]);
    // Drawn whether or not it is needed: a delay that is made constant leaves the others as they were.
    const double delay = message.delay_mean_ns + message.delay_sd_ns * client.stream.Gaussian();
    run.times[i] = time + std::max<Nanos>(0, std::llround(delay));
    run.order[i] = static_cast<uint32_t>(i);
    in_order = in_order && (i == 0 || run.times[i] >= run.times[i - 1]);
  }
  if (!in_order) {
    std::stable_sort(run.order.begin(), run.order.end(),
                     [&](uint32_t a, uint32_t b) { return run.times[a] < run.times[b]; });
  }
  client.run = &run;
  return true;
}

// The queue is emptied at a constant rate, so its length follows from when it will be empty.
bool MessageGenerator::Sniffed(Nanos time) {
  if (!config_.drop) return true;
  const double now = static_cast<double>(time);
  const double per_message = kNanosPerSecond / config_.drop->rate;
  const double held = (sniffer_free_ - now) / per_message;
  if (held > config_.drop->queue - 1) return false;
  sniffer_free_ = std::max(sniffer_free_, now) + per_message;
  return true;
}

void MessageGenerator::SiftDown(size_t at) {
  const Due moved = due_[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= due_.size()) break;
    if (child + 1 < due_.size() && due_[child + 1].Before(due_[child])) ++child;
    if (!due_[child].Before(moved)) break;
    due_[at] = due_[child];
    at = child;
  }
  due_[at] = moved;
}

bool MessageGenerator::Next(GeneratedMessage& message) {
  if (last_ != nullptr) Release(*last_);
  last_ = nullptr;
  if (due_.empty()) return false;
  Client& client = clients_[due_[0].client];
  TraceletRun& run = *client.run;
  const uint32_t index = run.order[run.next++];
  const TraceletMessage& shape = run.tracelet->messages[index];
  message.time = run.times[index];
  message.run = &run;
  message.index = index;
  // A return that was made to overtake its call (`after` allows it) takes the id first.
  uint64_t& id = run.ids[shape.kind == MessageKind::kReturn ? shape.call : index];
  if (id == 0) id = ++last_id_;
  message.id = id;
  ++counts_.messages;
  counts_.calls += shape.kind == MessageKind::kCall ? 1 : 0;
  if (!Sniffed(message.time)) {
    run.lost[index] = 1;
    ++counts_.lost;
    counts_.paths_cut += run.cut[shape.path] == 0 ? 1 : 0;
    run.cut[shape.path] = 1;
  }

  if (run.next < run.order.size()) {
    due_[0].time = run.times[run.order[run.next]];
  } else {
    last_ = &run;
    const TraceletGroup& group = *client.group;
    const auto think =
        group.think_least +
        static_cast<Nanos>(static_cast<double>(group.think_most - group.think_least) *
                           client.stream.Unit());
    // At least 1 ns, so that the end is reached.
    if (Begin(client, message.time + std::max<Nanos>(think, 1))) {
      due_[0].time = client.run->times[client.run->order[0]];
    } else {
      due_[0] = due_.back();
      due_.pop_back();
      if (due_.empty()) return true;
    }
  }
  SiftDown(0);
  return true;
}

}  // namespace wf::scenario
