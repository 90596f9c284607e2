#include "answer/frame/params.h"

#include <algorithm>
#include <charconv>

namespace wf::answer {
namespace {

Error Named(std::string_view name, const Error& error) {
  return Error{error.code, FlagName(name) + ": " + error.message, error.hint};
}

std::string Join(const std::vector<std::string_view>& words) {
  std::string out;
  for (std::string_view word : words) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

bool Contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string FlagName(std::string_view name) {
  std::string flag = "--";
  for (char c : name) flag.push_back(c == '_' ? '-' : c);
  return flag;
}

std::optional<std::string> Params::Get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name && !value.empty()) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Params::All(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_) {
    if (key == name && !value.empty()) out.push_back(value);
  }
  return out;
}

Result<std::optional<Nanos>> Params::Duration(std::string_view name) const {
  const auto text = Get(name);
  if (!text) return std::optional<Nanos>();
  auto value = ParseDuration(*text);
  if (!value.ok()) return Named(name, value.error());
  return std::optional<Nanos>(*value);
}

Result<std::optional<Nanos>> Params::Instant(std::string_view name, Nanos now) const {
  const auto text = Get(name);
  if (!text) return std::optional<Nanos>();
  auto value = ParseInstant(*text, now);
  if (!value.ok()) return Named(name, value.error());
  return std::optional<Nanos>(*value);
}

Result<std::optional<int64_t>> Params::Integer(std::string_view name, int64_t min,
                                               int64_t max) const {
  const auto text = Get(name);
  if (!text) return std::optional<int64_t>();
  int64_t value = 0;
  auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (ec != std::errc() || end != text->data() + text->size() || value < min || value > max) {
    return BadInput(FlagName(name) + ": \"" + *text + "\" is not a whole number from " +
                        std::to_string(min) + " to " + std::to_string(max),
                    "give a number in that range");
  }
  return std::optional<int64_t>(value);
}

Result<std::optional<std::string>> Params::Choice(
    std::string_view name, const std::vector<std::string_view>& choices) const {
  auto text = Get(name);
  if (text && !Contains(choices, *text)) {
    return BadInput(FlagName(name) + ": \"" + *text + "\" is not one of " + Join(choices),
                    "choose one of them");
  }
  return text;
}

Result<bool> Params::Switch(std::string_view name) const {
  const auto text = Get(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1") return true;
  return BadInput(FlagName(name) + ": \"" + *text + "\" is neither true nor false",
                  "give it without a value, or leave it out");
}

Status Params::Check(const std::vector<std::string_view>& known,
                     const std::vector<std::string_view>& repeatable) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::string& name = values_[i].first;
    if (Contains(repeatable, name)) continue;
    if (!Contains(known, name)) {
      std::string all = Join(known);
      if (!repeatable.empty()) all += (all.empty() ? "" : ", ") + Join(repeatable);
      return BadInput("\"" + name + "\" is not a flag of this question", "known: " + all);
    }
    for (size_t j = 0; j < i; ++j) {
      if (values_[j].first == name)
        return BadInput(FlagName(name) + " is given twice", "give it once");
    }
  }
  return {};
}

}  // namespace wf::answer
