// A JSON object of scalars as pairs of texts: what query strings carry
// ({"http.method":"GET","retry":true}).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wf {

// Members in the order they stand. A number or boolean becomes the text it was written as; an
// array, an object, null or anything but one object is refused with its place.
Result<std::vector<std::pair<std::string, std::string>>> ParseFlatObject(std::string_view json);

}  // namespace wf
