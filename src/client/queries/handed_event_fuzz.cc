// What a weaver says of its places, and records of them: any bytes give values or are refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/queries/handed_event.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wherefore::client;  // NOLINT(google-build-using-namespace)
  constexpr uint32_t kRecordBytes = 256;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string record(input.substr(0, kRecordBytes));
  record.resize(kRecordBytes);
  const auto json = ParseJson(input.substr(std::min<size_t>(size, kRecordBytes)));
  std::vector<HandedPlace> places;
  if (!json || !ReadPlaces(*json, kRecordBytes, places)) return 0;
  const ProcessIdentity process{"host", "name", 1};
  for (const HandedPlace& place : places) {
    const HandedEvent event(record, place, process, 1);
    for (const HandedVariable& variable : place.variables) event.Variable(variable.name);
    event.Variable("time");
  }
  return 0;
}
