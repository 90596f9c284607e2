#include "pipeline/trigger.h"

#include <algorithm>

#include "import/decode/attribute_rules.h"

namespace wf::pipeline {
namespace {

constexpr uint32_t kKnown = 1u << 31;

Error BadTrigger(std::string_view text, const std::string& why) {
  return BadInput("trigger \"" + std::string(text) + "\": " + why,
                  "write NAME TIMEOUT after first|last [within DURATION] [limit DURATION] [when "
                  "KEY=VALUE], as in: live 10s after last within 60s");
}

std::string_view NextWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(word.size());
  return word;
}

std::string DurationText(Nanos duration) {
  struct Unit {
    Nanos size;
    const char* name;
  };
  for (const Unit& unit : {Unit{kDay, "d"}, Unit{kHour, "h"}, Unit{kMinute, "m"},
                           Unit{kSecond, "s"}, Unit{kMilli, "ms"}}) {
    if (duration % unit.size == 0) return std::to_string(duration / unit.size) + unit.name;
  }
  return std::to_string(duration) + "ns";
}

constexpr std::string_view kKindNames[] = {"unspecified", "internal", "server",
                                           "client",      "producer", "consumer"};

bool HasAttribute(const EventBatch& batch, std::string_view packed, const Trigger& trigger) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (batch.str(key) == trigger.key && decode::GlobMatches(trigger.value, ValueText(value)))
      return true;
  }
  return false;
}

}  // namespace

Nanos Trigger::ReadyAt(Nanos first, Nanos last) const {
  if (since == Since::kFirst) return SaturatingAdd(first, timeout);
  const Nanos quiet = SaturatingAdd(last, timeout);
  return within ? std::min(quiet, SaturatingAdd(first, *within)) : quiet;
}

Result<Trigger> ParseTrigger(std::string_view text) {
  Trigger trigger;
  std::string_view rest = text;
  trigger.name = NextWord(rest);
  if (trigger.name.empty()) return BadTrigger(text, "it has no name");
  const auto duration = [&](std::string_view what) -> Result<Nanos> {
    auto parsed = ParseDuration(NextWord(rest));
    if (!parsed.ok()) return BadTrigger(text, std::string(what) + ": " + parsed.error().message);
    if (*parsed < 0) return BadTrigger(text, std::string(what) + " is negative");
    return *parsed;
  };
  WF_ASSIGN(trigger.timeout, duration("the timeout"));
  if (NextWord(rest) != "after") return BadTrigger(text, "expected \"after\" behind the timeout");
  const std::string_view since = NextWord(rest);
  if (since != "first" && since != "last")
    return BadTrigger(text, "expected \"first\" or \"last\" behind \"after\"");
  trigger.since = since == "first" ? Trigger::Since::kFirst : Trigger::Since::kLast;
  for (std::string_view word; !(word = NextWord(rest)).empty();) {
    if (word == "within") {
      WF_ASSIGN(trigger.within, duration("within"));
    } else if (word == "limit") {
      WF_ASSIGN(trigger.limit, duration("limit"));
    } else if (word == "when") {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      const size_t equals = rest.find('=');
      if (equals == std::string_view::npos || equals == 0)
        return BadTrigger(text, "expected KEY=VALUE behind \"when\"");
      trigger.key = rest.substr(0, equals);
      trigger.value = rest.substr(equals + 1);  // to the end: values may hold spaces
      break;
    } else {
      return BadTrigger(text, "\"" + std::string(word) + "\" is not expected here");
    }
  }
  return trigger;
}

std::string TriggerText(const Trigger& trigger) {
  std::string text = trigger.name + " " + DurationText(trigger.timeout) + " after " +
                     (trigger.since == Trigger::Since::kFirst ? "first" : "last");
  if (trigger.within) text += " within " + DurationText(*trigger.within);
  if (trigger.limit != Trigger().limit) text += " limit " + DurationText(trigger.limit);
  if (!trigger.key.empty()) text += " when " + trigger.key + "=" + trigger.value;
  return text;
}

std::vector<Trigger> DefaultTriggers() {
  Trigger live;
  live.name = "live";
  live.timeout = 10 * kSecond;
  live.within = 60 * kSecond;
  return {live};
}

TriggerMatcher::TriggerMatcher(const std::vector<Trigger>& triggers, const EventBatch& batch)
    : triggers_(triggers), batch_(batch) {
  for (size_t i = 0; i < triggers.size(); ++i) {
    const uint32_t bit = 1u << i;
    const std::string& key = triggers[i].key;
    if (key.empty()) {
      always_ |= bit;
    } else if (key == "service" || key == "host") {
      by_process_ |= bit;
    } else if (key == "name" || key == "type" || key == "kind") {
      by_row_ |= bit;
    } else {  // an attribute, of the process or of the event
      by_process_ |= bit;
      by_row_ |= bit;
    }
  }
  if (by_process_ != 0) process_bits_.resize(batch.processes.size());
}

uint32_t TriggerMatcher::Match(size_t row) {
  uint32_t bits = always_;
  if (by_process_ != 0) {
    uint32_t& known = process_bits_[batch_.process[row]];
    if (known == 0) known = kKnown | MatchProcess(batch_.process[row]);
    bits |= known & ~kKnown;
  }
  for (uint32_t open = by_row_ & ~bits; open != 0; open &= open - 1) {
    const auto i = static_cast<size_t>(__builtin_ctz(open));
    if (MatchesRow(triggers_[i], row)) bits |= 1u << i;
  }
  return bits;
}

uint32_t TriggerMatcher::MatchProcess(uint32_t process) const {
  const Process& p = batch_.processes[process];
  uint32_t bits = 0;
  for (size_t i = 0; i < triggers_.size(); ++i) {
    if ((by_process_ >> i & 1) == 0) continue;
    const Trigger& trigger = triggers_[i];
    const bool matches =
        trigger.key == "service" ? decode::GlobMatches(trigger.value, batch_.str(p.service))
        : trigger.key == "host"
            ? decode::GlobMatches(trigger.value, batch_.str(p.host))
            : HasAttribute(batch_, batch_.Slice(p.attrs_begin, p.attrs_end), trigger);
    if (matches) bits |= 1u << i;
  }
  return bits;
}

bool TriggerMatcher::MatchesRow(const Trigger& trigger, size_t row) const {
  if (trigger.key == "name")
    return decode::GlobMatches(trigger.value, batch_.str(batch_.name[row]));
  if (trigger.key == "type") {
    const auto type = static_cast<size_t>(batch_.type[row]);
    return type < std::size(wherefore::kEventTypeNames) &&
           decode::GlobMatches(trigger.value, wherefore::kEventTypeNames[type]);
  }
  if (trigger.key == "kind") {
    const auto kind = static_cast<size_t>(batch_.kind[row]);
    return kind < std::size(kKindNames) && decode::GlobMatches(trigger.value, kKindNames[kind]);
  }
  return HasAttribute(batch_, batch_.attrs(row), trigger);
}

}  // namespace wf::pipeline
