// Path patterns as JSON, in the form that docs/use/paths.md describes.
#pragma once

#include <string>

#include "answer/paths/paths_answer.h"

namespace wf {
class JsonWriter;
}

namespace wf::answer {}

namespace wf::answer {}

namespace wf::answer {

std::string PathsJson(const PathsAnswer& answer);
// The member "accuracy".
void WriteAccuracy(const paths::PathAccuracy& accuracy, JsonWriter& json);

}  // namespace wf::answer
