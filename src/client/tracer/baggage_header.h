// The text of the W3C `baggage` header (https://www.w3.org/TR/baggage/): members, and ours among them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/baggage/baggage_line.h"

namespace wherefore::client {

std::string_view Trim(std::string_view text);
bool TokenChar(char c);
// key=value[;properties]; the parts around "=" without blanks.
bool SplitBaggage(std::string_view member, std::string_view& key, std::string_view& value);
bool ValidBaggage(std::string_view text);
std::string PercentDecode(std::string_view text);
std::string PercentEncode(std::string_view text);

// Takes our members out of a valid header, wherever they stand; null if there are none, or at an edge.
std::shared_ptr<const BaggageSnapshot> TakeOwnMembers(std::string& header);
// Puts them behind everybody else's, as far as there is room. `baggage` may be null.
std::string WithOwnMembers(const std::string& others, const BaggageSnapshot* baggage);
std::string WithOwnMembers(const std::string& others, BaggageLine* baggage);

}  // namespace wherefore::client
