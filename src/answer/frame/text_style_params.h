// The parameters `width` (40 to 500 columns) and `color` (always, never): how text is to look, whatever is asked.
#pragma once

#include "answer/frame/params.h"
#include "answer/frame/text_style.h"
#include "base/result.h"

namespace wf::answer {

// Takes them out of `params`. What is not given stays as this thread has it.
Result<TextStyle> TakeTextStyle(Params& params);

}  // namespace wf::answer
