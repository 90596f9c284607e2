#include "answer/frame/text_style_params.h"

namespace wf::answer {

Result<TextStyle> TakeTextStyle(Params& params) {
  TextStyle style = CurrentTextStyle();
  WF_ASSIGN(const auto width, params.Integer("width", kMinTextWidth, kMaxTextWidth));
  WF_ASSIGN(const auto color, params.Choice("color", {"always", "never"}));
  if (width) style.width = static_cast<size_t>(*width);
  if (color) style.color = *color == "always" ? TextColor::kAnsi : TextColor::kPlain;
  Params rest;
  for (const auto& [name, value] : params.values()) {
    if (name != "width" && name != "color") rest.Add(name, value);
  }
  params = std::move(rest);
  return style;
}

}  // namespace wf::answer
