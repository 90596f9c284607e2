// Path patterns for people: a tree per pattern, at most 100 columns wide, the node that adds most marked.
#pragma once

#include <string>

#include "answer/paths/paths_answer.h"

namespace wf::answer {

std::string PathsText(const PathsAnswer& answer);
std::string AccuracyText(const paths::PathAccuracy& accuracy);

}  // namespace wf::answer
