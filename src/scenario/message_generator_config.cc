#include "scenario/message_generator_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/utf8.h"
#include "lang/common/suggestion.h"
#include "lang/common/yaml_reader.h"

namespace wf::scenario {
namespace {

// A tracelet for every way through a system is written out, so that files are longer than settings are.
constexpr lang::YamlLimits kLimits = {size_t{16} << 20, 32, 2'000'000};
// Keeps sums of times within 64 bits, whatever the tracelet's length.
constexpr double kMostMillis = 86'400'000;
constexpr double kMostSeconds = 1e9;
constexpr double kMostParallel = 1'000'000;

std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : ", ") + words[i];
  return text;
}

// Places and errors; shared by the readers below.
class ConfigText {
 public:
  explicit ConfigText(const std::string& file) : file_(file) {}

  Error Bad(int line, const std::string& why, const std::string& hint = {}) const {
    return BadInput(fmt::format("{}: line {}: {}", file_, line, why),
                    hint.empty() ? "docs/use/generate.md describes the file" : hint);
  }
  Error Bad(const lang::YamlNode& node, const std::string& why,
            const std::string& hint = {}) const {
    return Bad(node.line, why, hint);
  }

  Status CheckKeys(const lang::YamlNode& map, const std::string& what,
                   const std::vector<std::string>& known) const {
    if (!map.IsMap()) return Bad(map, what + " is not a map of " + Listed(known));
    for (const lang::YamlMember& member : map.members) {
      if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
      const std::string meant = lang::DidYouMean(member.name, known);
      return Bad(member.value, fmt::format("{} has no \"{}\"", what, member.name),
                 meant.empty() ? "its keys are " + Listed(known) : meant);
    }
    return {};
  }

  Result<double> Number(const lang::YamlNode& node, const std::string& what, double least,
                        double most) const {
    double value = 0;
    if (node.IsScalar() && node.plain) {
      const char* end = node.text.data() + node.text.size();
      const auto [stopped, error] = std::from_chars(node.text.data(), end, value);
      if (error == std::errc() && stopped == end && value >= least && value <= most) return value;
    }
    return Bad(node, fmt::format("{}{} is not a number from {} to {}", what,
                                 node.IsScalar() ? ": \"" + node.text + "\"" : "", least, most));
  }

  Result<uint32_t> Count(const lang::YamlNode& node, const std::string& what, double most) const {
    WF_ASSIGN(const double value, Number(node, what, 1, most));
    if (value != std::floor(value)) return Bad(node, what + " is not a whole number");
    return static_cast<uint32_t>(value);
  }

  struct Two {
    double first = 0, second = 0;
  };
  Result<Two> Pair(const lang::YamlNode& node, const std::string& what,
                   const std::string& form) const {
    if (!node.IsList() || node.items.size() != 2) return Bad(node, what + " is not " + form);
    WF_ASSIGN(const double first, Number(node.items[0], what, 0, kMostMillis));
    WF_ASSIGN(const double second, Number(node.items[1], what, 0, kMostMillis));
    return Two{first, second};
  }

  Result<std::string> Name(const lang::YamlNode& node, const std::string& what) const {
    if (!node.IsScalar() || node.text.empty()) return Bad(node, what + " is not a name");
    for (const char c : node.text) {
      if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
        return Bad(node, fmt::format("{}: \"{}\" has a blank in it", what, node.text));
    }
    if (!IsUtf8(node.text)) return Bad(node, what + " is not UTF-8");
    return node.text;
  }

 private:
  const std::string& file_;
};

// Indices of node names, in the order in which they are first met.
class NodeNames {
 public:
  explicit NodeNames(std::vector<std::string>& names) : names_(names) {}
  uint32_t Index(const std::string& name) {
    const auto [at, added] = index_.emplace(name, static_cast<uint32_t>(names_.size()));
    if (added) names_.push_back(name);
    return at->second;
  }
  const uint32_t* Find(const std::string& name) const {
    const auto at = index_.find(name);
    return at == index_.end() ? nullptr : &at->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, uint32_t> index_;
};

// Reads the messages of one tracelet from top to bottom; each may refer to those above it.
class TraceletReader {
 public:
  TraceletReader(const ConfigText& place, NodeNames& nodes) : text_(place), nodes_(nodes) {}

  Result<Tracelet> Read(const lang::YamlNode& item) {
    WF_TRY(text_.CheckKeys(item, "a tracelet", {"weight", "messages"}));
    if (const lang::YamlNode* weight = item.Get("weight")) {
      WF_ASSIGN(tracelet_.weight, text_.Number(*weight, "weight", 0, 1e12));
    }
    const lang::YamlNode* messages = item.Get("messages");
    if (messages == nullptr || !messages->IsList() || messages->items.empty())
      return text_.Bad(messages ? *messages : item, "a tracelet needs a list of messages");
    for (const lang::YamlNode& message : messages->items) WF_TRY(ReadMessage(message));
    return std::move(tracelet_);
  }

 private:
  struct Labelled {
    uint32_t last = kNoMessage;  // the last message with this label
    uint32_t call = kNoMessage;  // the last call with it
  };

  Status ReadMessage(const lang::YamlNode& item) {
    WF_TRY(text_.CheckKeys(item, "a message",
                           {"op", "from", "to", "label", "after", "parent", "delay_ms"}));
    TraceletMessage message;
    WF_ASSIGN(message.kind, ReadOp(item));
    std::string label;
    if (const lang::YamlNode* node = item.Get("label")) {
      WF_ASSIGN(label, text_.Name(*node, "label"));
    }
    WF_TRY(ReadEnds(item, label, message));
    WF_TRY(ReadAfter(item, message));
    if (const lang::YamlNode* delay = item.Get("delay_ms")) {
      WF_ASSIGN(const ConfigText::Two two, text_.Pair(*delay, "delay_ms", "[mean, sd]"));
      message.delay_mean_ns = two.first * kMilli;
      message.delay_sd_ns = two.second * kMilli;
    }
    WF_TRY(ReadParent(item, message));
    Add(message, label);
    return {};
  }

  Result<MessageKind> ReadOp(const lang::YamlNode& item) const {
    const lang::YamlNode* op = item.Get("op");
    if (op == nullptr) return text_.Bad(item, "a message without op", "CALL, RET or MSG");
    if (op->text == "CALL") return MessageKind::kCall;
    if (op->text == "RET") return MessageKind::kReturn;
    if (op->text == "MSG") return MessageKind::kMessage;
    return text_.Bad(*op, fmt::format("op: \"{}\" is none of CALL, RET, MSG", op->text),
                     "whose clock sights a message (_SENT, _RCVD) is decided by skew_ms");
  }

  // Sender and receiver, and of a return its call. A labelled return may leave its ends to the call.
  Status ReadEnds(const lang::YamlNode& item, const std::string& label, TraceletMessage& message) {
    const lang::YamlNode* from = item.Get("from");
    const lang::YamlNode* to = item.Get("to");
    const bool returns = message.kind == MessageKind::kReturn;
    if (returns && !label.empty()) {
      const auto known = labels_.find(label);
      message.call = known == labels_.end() ? kNoMessage : known->second.call;
      if (message.call == kNoMessage)
        return text_.Bad(item, fmt::format("no CALL above has the label \"{}\"", label));
      if (returned_[message.call])
        return text_.Bad(item, fmt::format("the call \"{}\" has a RET above", label));
      message.from = tracelet_.messages[message.call].to;
      message.to = tracelet_.messages[message.call].from;
    } else if (from == nullptr || to == nullptr) {
      return text_.Bad(item, "a message needs from and to",
                       "only a RET with a label may leave them to its CALL");
    }
    if (from != nullptr) {
      WF_ASSIGN(const std::string name, text_.Name(*from, "from"));
      message.from = nodes_.Index(name);
    }
    if (to != nullptr) {
      WF_ASSIGN(const std::string name, text_.Name(*to, "to"));
      const uint32_t node = nodes_.Index(name);
      // A reply may come from a third node, but it goes to the caller.
      if (message.call != kNoMessage && node != message.to)
        return text_.Bad(*to, fmt::format("the call \"{}\" did not come from {}", label, name));
      message.to = node;
    }
    if (returns && message.call == kNoMessage) {
      message.call = OpenCall([&](const TraceletMessage& call) {
        return call.from == message.to && call.to == message.from;
      });
      if (message.call == kNoMessage)
        return text_.Bad(item, "no open CALL above goes the other way",
                         "give CALL and RET the same label");
    }
    if (message.kind == MessageKind::kCall && !label.empty()) {
      const auto known = labels_.find(label);
      if (known != labels_.end() && known->second.call != kNoMessage &&
          !returned_[known->second.call])
        return text_.Bad(item, fmt::format("the label \"{}\" is that of an open CALL", label));
    }
    return {};
  }

  Status ReadAfter(const lang::YamlNode& item, TraceletMessage& message) const {
    const lang::YamlNode* after = item.Get("after");
    if (after == nullptr) {
      if (!tracelet_.messages.empty())
        message.after.push_back(static_cast<uint32_t>(tracelet_.messages.size() - 1));
      return {};
    }
    if (after->IsNull()) return {};  // the tracelet's start
    if (after->IsScalar()) return AddAfter(*after, message);
    if (!after->IsList() || after->items.empty())
      return text_.Bad(*after, "after is neither a label nor a list of labels");
    for (const lang::YamlNode& one : after->items) WF_TRY(AddAfter(one, message));
    return {};
  }

  // A label stands for the nearest message above that has it; "CALL x" and "RET x" say which.
  Status AddAfter(const lang::YamlNode& node, TraceletMessage& message) const {
    std::string label = node.text;
    bool call_only = false, return_only = false;
    if (label.rfind("CALL ", 0) == 0) {
      call_only = true;
      label.erase(0, 5);
    } else if (label.rfind("RET ", 0) == 0) {
      return_only = true;
      label.erase(0, 4);
    }
    const auto known = labels_.find(label);
    uint32_t found = kNoMessage;
    if (node.IsScalar() && known != labels_.end())
      found = call_only ? known->second.call : known->second.last;
    if (found == kNoMessage ||
        (return_only && tracelet_.messages[found].kind != MessageKind::kReturn)) {
      return text_.Bad(node, fmt::format("after: no message above is \"{}\"", node.text),
                       "after names the label of a message above");
    }
    message.after.push_back(found);
    return {};
  }

  Status ReadParent(const lang::YamlNode& item, TraceletMessage& message) const {
    const lang::YamlNode* parent = item.Get("parent");
    if (message.kind == MessageKind::kReturn) {
      if (parent != nullptr) return text_.Bad(*parent, "a RET has no parent but its CALL");
      return {};
    }
    if (parent == nullptr) {
      message.parent =
          OpenCall([&](const TraceletMessage& call) { return call.to == message.from; });
      return {};
    }
    if (parent->IsNull()) return {};
    const auto known = labels_.find(parent->text);
    if (!parent->IsScalar() || known == labels_.end() || known->second.call == kNoMessage)
      return text_.Bad(*parent,
                       fmt::format("parent: no CALL above has the label \"{}\"", parent->text));
    message.parent = known->second.call;
    return {};
  }

  template <typename Wanted>
  uint32_t OpenCall(const Wanted& wanted) const {
    for (size_t i = tracelet_.messages.size(); i-- > 0;) {
      const TraceletMessage& call = tracelet_.messages[i];
      if (call.kind == MessageKind::kCall && !returned_[i] && wanted(call))
        return static_cast<uint32_t>(i);
    }
    return kNoMessage;
  }

  void Add(TraceletMessage& message, const std::string& label) {
    const auto index = static_cast<uint32_t>(tracelet_.messages.size());
    if (message.kind == MessageKind::kReturn) {
      returned_[message.call] = true;
      message.path = tracelet_.messages[message.call].path;
    } else if (message.parent != kNoMessage) {
      message.path = tracelet_.messages[message.parent].path;
    } else {
      message.path = PathOfMessageInto(message);
    }
    if (!label.empty()) {
      Labelled& labelled = labels_[label];
      labelled.last = index;
      if (message.kind == MessageKind::kCall) labelled.call = index;
    }
    tracelet_.messages.push_back(message);
    returned_.push_back(false);
  }

  // A one-way message goes on where one came in; what nothing came before begins a path.
  uint32_t PathOfMessageInto(const TraceletMessage& message) {
    for (size_t i = tracelet_.messages.size(); i-- > 0 && message.kind == MessageKind::kMessage;) {
      const TraceletMessage& before = tracelet_.messages[i];
      if (before.kind == MessageKind::kMessage && before.to == message.from) return before.path;
    }
    return tracelet_.paths++;
  }

  const ConfigText& text_;
  NodeNames& nodes_;
  Tracelet tracelet_;
  std::vector<bool> returned_;  // by message: a call whose return stands above
  std::map<std::string, Labelled> labels_;
};

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& name) : text_(name), nodes_(config_.nodes) {}

  Result<GeneratorConfig> Read(const lang::YamlNode& root) {
    WF_TRY(text_.CheckKeys(root, "the file", {"duration_s", "skew_ms", "drop", "groups"}));
    const lang::YamlNode* duration = root.Get("duration_s");
    if (duration == nullptr) return text_.Bad(root, "duration_s is missing");
    WF_ASSIGN(const double seconds, text_.Number(*duration, "duration_s", 0, kMostSeconds));
    config_.duration = static_cast<Nanos>(std::llround(seconds * kSecond));
    const lang::YamlNode* groups = root.Get("groups");
    if (groups == nullptr || !groups->IsList() || groups->items.empty())
      return text_.Bad(groups ? *groups : root, "groups is not a list of groups");
    for (const lang::YamlNode& group : groups->items) WF_TRY(ReadGroup(group));
    if (const lang::YamlNode* drop = root.Get("drop"); drop != nullptr && !drop->IsNull())
      WF_TRY(ReadDrop(*drop));
    config_.skews.resize(config_.nodes.size());
    if (const lang::YamlNode* skews = root.Get("skew_ms"); skews != nullptr && !skews->IsNull())
      WF_TRY(ReadSkews(*skews));
    return std::move(config_);
  }

 private:
  Status ReadGroup(const lang::YamlNode& item) {
    WF_TRY(text_.CheckKeys(item, "a group", {"parallel", "think_ms", "tracelets"}));
    TraceletGroup group;
    if (const lang::YamlNode* parallel = item.Get("parallel")) {
      WF_ASSIGN(group.parallel, text_.Count(*parallel, "parallel", kMostParallel));
    }
    if (const lang::YamlNode* think = item.Get("think_ms")) {
      WF_ASSIGN(const ConfigText::Two two, text_.Pair(*think, "think_ms", "[least, most]"));
      if (two.second < two.first) return text_.Bad(*think, "think_ms: most is below least");
      group.think_least = std::llround(two.first * kMilli);
      group.think_most = std::llround(two.second * kMilli);
    }
    const lang::YamlNode* tracelets = item.Get("tracelets");
    if (tracelets == nullptr || !tracelets->IsList() || tracelets->items.empty())
      return text_.Bad(tracelets ? *tracelets : item, "a group needs a list of tracelets");
    double weight = 0;
    bool takes_time = group.think_most > 0;
    for (const lang::YamlNode& tracelet : tracelets->items) {
      WF_ASSIGN(Tracelet read, TraceletReader(text_, nodes_).Read(tracelet));
      weight += read.weight;
      for (const TraceletMessage& message : read.messages)
        takes_time |= read.weight > 0 && message.delay_mean_ns + message.delay_sd_ns >= 1;
      group.tracelets.push_back(std::move(read));
    }
    if (!(weight > 0)) return text_.Bad(*tracelets, "no tracelet of the group has a weight");
    if (!takes_time)
      return text_.Bad(item, "its tracelets take no time, and there is no think time between them",
                       "they would be repeated for ever: give delay_ms or think_ms");
    config_.groups.push_back(std::move(group));
    return {};
  }

  Status ReadDrop(const lang::YamlNode& item) {
    WF_TRY(text_.CheckKeys(item, "drop", {"rate", "queue"}));
    const lang::YamlNode* rate = item.Get("rate");
    const lang::YamlNode* queue = item.Get("queue");
    if (rate == nullptr || queue == nullptr)
      return text_.Bad(item, "drop needs rate (messages a second) and queue (messages)");
    SnifferLimit limit;
    WF_ASSIGN(limit.rate, text_.Number(*rate, "rate", 1e-6, 1e12));
    WF_ASSIGN(limit.queue, text_.Count(*queue, "queue", 1e9));
    config_.drop = limit;
    return {};
  }

  Status ReadSkews(const lang::YamlNode& item) {
    if (!item.IsMap()) return text_.Bad(item, "skew_ms is not a map of nodes and milliseconds");
    for (const lang::YamlMember& member : item.members) {
      const uint32_t* node = nodes_.Find(member.name);
      if (node == nullptr) {
        const std::string meant = lang::DidYouMean(member.name, config_.nodes);
        return text_.Bad(member.value,
                         fmt::format("skew_ms: no message names the node {}", member.name),
                         meant.empty() ? "the nodes are " + Listed(config_.nodes) : meant);
      }
      WF_ASSIGN(const double skew,
                text_.Number(member.value, "skew_ms", -kMostMillis, kMostMillis));
      config_.skews[*node] = std::llround(skew * kMilli);
      config_.own_clocks = true;
    }
    return {};
  }

  const ConfigText text_;
  GeneratorConfig config_;
  NodeNames nodes_;
};

}  // namespace

Result<GeneratorConfig> ReadGeneratorConfig(std::string_view text, const std::string& name) {
  WF_ASSIGN(const lang::YamlNode root, lang::ReadYaml(text, name, kLimits));
  return ConfigReader(name).Read(root);
}

}  // namespace wf::scenario
