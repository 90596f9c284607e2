#include "answer/questions/question_kind.h"

namespace wf::answer {

QuestionFlag QuestionFlag::Value(std::string_view text) const {
  QuestionFlag flag = *this;
  flag.value = text;
  return flag;
}

QuestionFlag QuestionFlag::Unit(std::string_view text) const {
  QuestionFlag flag = *this;
  flag.unit = text;
  return flag;
}

QuestionFlag QuestionFlag::Default(std::string_view text) const {
  QuestionFlag flag = *this;
  flag.by_default = text;
  return flag;
}

QuestionFlag QuestionFlag::Required() const {
  QuestionFlag flag = *this;
  flag.need = FlagNeed::kRequired;
  return flag;
}

QuestionFlag QuestionFlag::Repeatable() const {
  QuestionFlag flag = *this;
  flag.count = FlagCount::kRepeatable;
  return flag;
}

QuestionFlag QuestionFlag::When(FlagCase which) const {
  QuestionFlag flag = *this;
  flag.when = which;
  return flag;
}

QuestionFlag QuestionFlag::RequestsOnly() const {
  QuestionFlag flag = *this;
  flag.door = FlagDoor::kRequests;
  return flag;
}

QuestionFlag TextFlag(std::string_view name, std::string_view help) {
  return {.name = name, .type = FlagType::kText, .help = help};
}

QuestionFlag SwitchFlag(std::string_view name, std::string_view help) {
  return {.name = name, .type = FlagType::kSwitch, .help = help};
}

QuestionFlag DurationFlag(std::string_view name, std::string_view help) {
  return {.name = name, .type = FlagType::kDuration, .help = help};
}

QuestionFlag InstantFlag(std::string_view name, std::string_view help) {
  return {.name = name, .type = FlagType::kInstant, .help = help};
}

QuestionFlag IntegerFlag(std::string_view name, int64_t min, int64_t max, std::string_view help) {
  return {.name = name, .type = FlagType::kInteger, .help = help, .min = min, .max = max};
}

QuestionFlag ChoiceFlag(std::string_view name, std::vector<std::string_view> choices,
                        std::string_view help) {
  return {.name = name, .type = FlagType::kChoice, .help = help, .choices = std::move(choices)};
}

std::string ValueName(const QuestionFlag& flag) {
  if (!flag.value.empty()) return std::string(flag.value);
  switch (flag.type) {
    case FlagType::kSwitch:
      return "";
    case FlagType::kText:
      return "TEXT";
    case FlagType::kDuration:
      return "DURATION";
    case FlagType::kInstant:
      return "TIME";
    case FlagType::kInteger:
      return "N";
    case FlagType::kChoice:
      break;
  }
  std::string words;
  for (const std::string_view choice : flag.choices)
    words.append(words.empty() ? "" : "|").append(choice);
  return words;
}

std::string HelpWithDefault(const QuestionFlag& flag) {
  std::string text(flag.help);
  if (!flag.by_default.empty()) text.append(" (").append(flag.by_default).append(")");
  if (flag.count == FlagCount::kRepeatable) text += "; may be given again";
  return text;
}

}  // namespace wf::answer
