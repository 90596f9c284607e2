// Path patterns as JSON, in the form that docs/PATHS.md describes.
#pragma once

#include <string>

#include "answer/paths/paths_answer.h"

namespace wf {

class JsonWriter;

std::string PathsJson(const PathsAnswer& answer);
// The member "accuracy".
void WriteAccuracy(const PathAccuracy& accuracy, JsonWriter& json);

}  // namespace wf
