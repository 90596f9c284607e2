// What somebody probably meant by a word that is not known: the nearest of those that are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wf::lang {

// "did you mean Duration?", or "" when nothing known is near. Case does not count; one mistake per three letters does.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace wf::lang
